"""Both units behind one another: a packet becomes a stream, and the stream the packet again."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal
from amaranth.lib import wiring

from cdma.hdl.zvc.beat import thermometer
from cdma.hdl.zvcplus.compressor.unit import Compressor
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.unit import Decompressor
from cdma.verify.formal.fault import stuck_at
from cdma.verify.proofs.proof import BOUNDED, Proof, faults
from cdma.zvcplus import ErrorCode

#: Cycle after reset in which a packet of a beat is back, its status too.
DEADLINE = 32


class BeatComesBack(Elaboratable):
    """The first packet after a reset, of one beat, comes back, with any words and any number of
    them. No port stalls. The decompressor finds no error, and as many bytes as the compressor made.

    All parts of both units are proven by induction, for any packets and stalls. An induction over a
    whole unit would need the invariants of all of them at once. So this is a bounded check: up to
    the cycle in which the packet must be back. It shows that the parts fit: places, codings, fields
    and controls meet in the right cycle, for each of the streams that a beat can have.
    """

    def __init__(self, config: Config):
        self.config = config

    def elaborate(self, platform):
        m = Module()
        config = self.config
        lanes, bits = config.lanes, config.word.bits
        m.submodules.compressor = into = Compressor(config)
        m.submodules.decompressor = back = Decompressor(config)
        wiring.connect(m, into.o, back.i)
        words = [Signal(bits, name=f"word{lane}") for lane in range(lanes)]
        count, kept = Signal(range(lanes + 1)), Signal(lanes)
        m.d.comb += [
            *(word.eq(AnyConst(bits)) for word in words),
            count.eq(AnyConst(len(count))),
            Assume(count <= lanes),
            kept.eq(thermometer(count, lanes)),
        ]
        # The packet and its command are offered until they are taken.
        has_entered, is_commanded = Signal(), Signal()
        beat, size = into.i.payload, bits // 8
        m.d.comb += [
            into.i.valid.eq(~has_entered),
            beat.last.eq(1),
            back.i_command.valid.eq(~is_commanded),
            back.i_command.payload.words.eq(count),
            *(port.ready.eq(1) for port in (into.o_status, back.o, back.o_status)),
        ]
        for lane, word in enumerate(words):
            m.d.comb += [
                beat.words[lane].eq(word),
                beat.keep.word_select(lane, size).eq(kept[lane].replicate(size)),
            ]
        m.d.sync += [
            has_entered.eq(has_entered | into.i.ready),
            is_commanded.eq(is_commanded | back.i_command.ready),
        ]
        self._compare(m, into, back, words, count, kept)
        return m

    def _compare(self, m, into, back, words, count, kept):
        """The beat that comes back, and the statuses."""
        size = self.config.word.bits // 8
        is_sized, is_back, is_reported = Signal(), Signal(), Signal()
        cycle, made = Signal(range(DEADLINE + 2)), Signal.like(into.o_status.payload.bytes)
        m.d.sync += cycle.eq(Mux(cycle == DEADLINE + 1, cycle, cycle + 1))
        with m.If(into.o_status.valid):
            m.d.sync += [is_sized.eq(1), made.eq(into.o_status.payload.bytes)]
            m.d.comb += [Assert(~is_sized), Assert(into.o_status.payload.words == count)]
        with m.If(back.o.valid):
            out = back.o.payload
            m.d.sync += is_back.eq(1)
            m.d.comb += [Assert(~is_back), Assert(out.last)]
            for lane, word in enumerate(words):
                m.d.comb += [
                    Assert(out.words[lane] == Mux(kept[lane], word, 0)),
                    Assert(out.keep.word_select(lane, size) == kept[lane].replicate(size)),
                ]
        with m.If(back.o_status.valid):
            status = back.o_status.payload
            m.d.sync += is_reported.eq(1)
            m.d.comb += [
                Assert(~is_reported & is_sized),
                Assert(status.error == ErrorCode.NONE),
                Assert(status.bytes == made),
                Cover(made == 0),
                # A beat of words in two rows of the stream.
                Cover(made > self.config.beat_bytes),
            ]
        with m.If(cycle == DEADLINE):
            m.d.comb += Assert(is_back & is_reported)


SIZES = {"fp32": Config("fp32")}

PROOFS = (
    Proof(
        name="beat_comes_back",
        promise="A packet of a beat comes back through both units, whatever its words",
        components=(Compressor, Decompressor),
        design=BeatComesBack,
        sizes=SIZES,
        slow=tuple(SIZES),
        mode=BOUNDED,
        depth=DEADLINE + 1,
        broken=faults(
            SIZES["fp32"],
            DEADLINE + 1,
            stuck_at(0, "compressor.coder.rest", 1),
            stuck_at(0, "decompressor.fetcher.is_due"),
        ),
    ),
)
