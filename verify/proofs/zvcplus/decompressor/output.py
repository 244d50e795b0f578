"""The output: which beats leave, and one status for each packet."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.layouts import PacketEnd
from cdma.hdl.zvcplus.decompressor.output import BeatOutput
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, hold_to_rule, offer, take
from cdma.verify.proofs.proof import Proof, faults
from cdma.zvcplus import ErrorCode

NUMBER_BITS = 3  # packets are counted modulo 8, of which at most three are in the unit
DEPTH = 2  # of both queues


class GivesBeats(Elaboratable):
    """Each beat that is given leaves once, with the words of the packet, and each packet has the
    status of its own end and of its own beats, in order.

    Packets are counted by their final beats, by their ends and by their statuses. The end and the
    beats of any packet are kept, and compared with its status.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        tags, beat, config = dut.tags, dut.o.payload, dut.config
        leaves = self._beats(m)
        takes = Signal()
        m.d.comb += takes.eq(dut.valid & dut.ready)
        # Of any byte of a beat.
        byte = Signal(range(config.beat_bytes))
        m.d.comb += [
            byte.eq(AnyConst(len(byte))),
            Assume(tags.words <= config.lanes),
            Assert(leaves == (takes & tags.given)),
        ]
        with m.If(dut.o.valid):
            size = config.beat_bytes // config.lanes
            m.d.comb += [
                Assert(dut.valid & tags.given),
                Assert(beat.words.as_value() == dut.words.as_value()),
                Assert(beat.keep.bit_select(byte, 1) == (byte < size * tags.words)),
                Assert(beat.last == tags.last),
            ]
        self._statuses(m, takes)
        return m

    def _statuses(self, m, takes):
        dut, tags = self.dut, self.dut.tags
        ends, reports = offer(m, dut.i_end, "end"), take(m, dut.o_status, "o_status")
        final, ended, told, number = (
            Signal(NUMBER_BITS, name=name) for name in ("final", "ended", "told", "number")
        )
        end, past = Signal(PacketEnd()), Signal()  # of the packet with the number
        is_past, has_past = Signal(), Signal()  # of the packet whose beats come
        passes = Signal()
        m.d.comb += [
            number.eq(AnyConst(NUMBER_BITS)),
            passes.eq(takes & tags.final),
            is_past.eq(has_past | (takes & dut.is_past)),
        ]
        m.d.sync += [
            final.eq(final + passes),
            ended.eq(ended + ends),
            told.eq(told + reports),
            has_past.eq(is_past & ~passes),
        ]
        with m.If(ends & (ended == number)):
            m.d.sync += end.eq(dut.i_end.payload)
        with m.If(passes & (final == number)):
            m.d.sync += past.eq(is_past)

        here, due = Signal(NUMBER_BITS), Signal(NUMBER_BITS)  # ends, and final beats
        is_due = probe(m, "dut.is_due", 1)
        finals = Signal(NUMBER_BITS)  # of those, in the queue
        m.d.comb += [
            here.eq(ended - told),
            due.eq(final - told),
            finals.eq(due - is_due),
            Assert(dut.o_status.valid == ((here != 0) & (finals != 0))),
            # Only a final beat waits, for the one before.
            Assert(dut.ready == ((dut.o.ready | ~tags.given) & ~(tags.final & is_due))),
            Assert(dut.i_end.ready == (here != DEPTH)),
            Cover(is_due & (finals == DEPTH)),
        ]
        lesser = (end.error == ErrorCode.NONE) | (end.error == ErrorCode.TRAILING)
        with m.If(dut.o_status.valid & (told == number)):
            given = dut.o_status.payload
            m.d.comb += [
                Assert(given.bytes == end.bytes),
                Assert(given.error == Mux(past & lesser, ErrorCode.MASK_PAST_END, end.error)),
                Cover(past & ~lesser),
            ]
        # Invariants: what the queues have of the packet.
        m.d.comb += [
            Assert(here <= DEPTH),
            Assert(finals <= DEPTH),
            Assert(probe(m, "dut.started", 1) == has_past),
            Assert(probe(m, "dut.ends.valid", DEPTH) == (1 << here) - 1),
            Assert(probe(m, "dut.finals.valid", DEPTH) == (1 << finals) - 1),
        ]
        with m.If(is_due & ((final - 1)[:NUMBER_BITS] == number)):
            m.d.comb += Assert(probe(m, "dut.is_wrong", 1) == past)
        for k in range(DEPTH):
            own = (told + k)[:NUMBER_BITS] == number
            entry = probe(m, f"dut.ends.entry{k}", len(end.as_value()))
            flag = probe(m, f"dut.finals.entry{k}", 1)
            with m.If(own & (here > k)):
                m.d.comb += Assert(entry == end.as_value())
            with m.If(own & (finals > k)):
                m.d.comb += Assert(flag == past)

    def _beats(self, m):
        """Offer any beats at any time, each until it is taken; assert the rule of the output."""
        dut = self.dut
        every = Signal(1 + sum(len(Value.cast(each)) for each in (dut.tags, dut.words)))
        kept, is_kept = Signal.like(every), Signal()
        beat = Mux(is_kept, kept, anything(m, len(every), "beat"))
        tags, words = len(dut.tags.as_value()), len(dut.words.as_value())
        m.d.comb += [
            every.eq(beat),
            dut.is_past.eq(every[0]),
            dut.tags.eq(every[1:][:tags]),
            dut.words.eq(every[1 + tags :][:words]),
            dut.valid.eq(is_kept | anything(m, 1, "beat_valid")),
            dut.o.ready.eq(anything(m, 1, "o_ready")),
        ]
        m.d.sync += is_kept.eq(dut.valid & ~dut.ready)
        m.d.sync += kept.eq(Mux(dut.valid & ~dut.ready, every, 0))
        hold_to_rule(m, dut.o, "o")
        leaves = Signal()
        m.d.comb += leaves.eq(dut.o.valid & dut.o.ready)
        return leaves


SIZES = {"fp32": Config("fp32"), "int8": Config("int8"), "bf16-left": Config("bf16", "left")}

PROOFS = (
    Proof(
        name="beat_output",
        promise="Beats that are given leave, and each packet has the status of its end and beats",
        components=(BeatOutput,),
        design=lambda config: GivesBeats(BeatOutput(config)),
        sizes=SIZES,
        broken=faults(
            SIZES["fp32"],
            8,
            stuck_at(1, "dut.flows"),
            late("dut.is_wrong"),
            stuck_at(0, "dut.ends.valid", 1),
            stuck_at(1, "dut.o__valid"),
        ),
    ),
)
