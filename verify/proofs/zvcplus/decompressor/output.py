"""The output: which beats leave, and one status for each packet."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.hdl.lib.queue import Queue
from cdma.hdl.zvc.beat import DecompressorStatus
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.output import BeatOutput
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, hold_to_rule, offer, take
from cdma.verify.proofs.proof import Proof, faults
from cdma.zvcplus import ErrorCode


class GivesBeats(Elaboratable):
    """Each beat that is given leaves once, with the words of the packet, and each packet has the
    status of its own end, in order.

    Raw words past the end of a packet come only when the end of the packet before was taken: the
    blocks of a packet wait for that.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        tags, beat, config = dut.tags, dut.o.payload, dut.config
        leaves = self._beats(m)
        ends, reports = offer(m, dut.i_end, "end"), take(m, dut.o_status, "o_status")
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

        # Packets with their last beat, and with their end, by number.
        final, ended = Signal(4), Signal(4)
        is_due, is_wrong = Signal(), Signal()
        m.d.comb += [is_due.eq(final != ended), Assume(~(dut.valid & dut.is_past & is_due))]
        m.d.sync += [
            final.eq(final + (takes & tags.final)),
            ended.eq(ended + ends),
            is_wrong.eq((is_wrong | (takes & dut.is_past)) & ~ends),
        ]
        # The error of a raw word comes before what follows the packet, and behind all others.
        end = dut.i_end.payload
        is_lesser = (end.error == ErrorCode.NONE) | (end.error == ErrorCode.TRAILING)
        m.submodules.told = told = Queue(DecompressorStatus(), 2)
        m.d.comb += [
            told.i.valid.eq(ends),
            told.i.payload.bytes.eq(end.bytes),
            told.i.payload.error.eq(end.error),
            told.o.ready.eq(dut.o_status.ready),
            Assert(~ends | (is_due & told.i.ready)),
            Assert(dut.o_status.valid == told.o.valid),
            # A beat waits for the output only, and a last one for the status before; no status is
            # kept back.
            Assert(dut.ready == ((dut.o.ready | ~tags.given) & ~(tags.final & is_due))),
            Assert(~dut.i_end.valid | ~is_due | dut.i_end.ready | ~told.i.ready),
            Cover(~told.i.ready & is_due),
        ]
        with m.If(is_wrong & is_lesser):
            m.d.comb += told.i.payload.error.eq(ErrorCode.MASK_PAST_END)
        with m.If(told.o.valid):
            given = dut.o_status.payload
            m.d.comb += [
                Assert(given.as_value() == told.o.payload.as_value()),
                Cover(reports & (given.error == ErrorCode.MASK_PAST_END)),
            ]
        # Invariants: the queue of the unit is that of the model.
        m.d.comb += [
            Assert((final - ended)[:4] <= 1),
            Assert(probe(m, "dut.is_due", 1) == is_due),
            Assert(probe(m, "dut.is_wrong", 1) == is_wrong),
            Assert(probe(m, "dut.statuses.valid", 2) == told.valid),
            Assert(told.valid != 2),
        ]
        for number, entry in enumerate(told.entries):
            with m.If(told.valid[number]):
                own = probe(m, f"dut.statuses.entry{number}", len(entry.as_value()))
                m.d.comb += Assert(own == entry.as_value())
        return m

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
            stuck_at(0, "dut.statuses.valid", 1),
            stuck_at(1, "dut.o__valid"),
        ),
    ),
)
