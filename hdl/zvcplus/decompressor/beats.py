"""The beats of a block."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.prefix import prefix_sums
from cdma.hdl.lib.signals import select
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.layouts import Block, SizedBeat


class BlockBeats(wiring.Component):
    """Cut blocks into beats, and add up the bits of their words.

    A packet's last block has as many beats as it has words for, at least one. A raw block always
    has all: so the words past the packet's end are checked.

    Throughput one beat a cycle; latency one cycle, ``o.valid`` and ``o.payload`` come from
    registers. ``i.ready`` follows ``o.ready`` combinationally.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    i : In stream of :class:`~cdma.hdl.zvcplus.decompressor.layouts.Block`
    o : Out stream of :class:`~cdma.hdl.zvcplus.decompressor.layouts.SizedBeat`
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(Block(config))),
                "o": Out(stream.Signature(SizedBeat(config))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        lanes, beats = self.config.lanes, self.config.block_beats
        block = self.i.payload
        beat = Signal(range(beats))
        loads, is_block_end = Signal(), Signal()
        sized = Signal(SizedBeat(self.config))
        tags = sized.tags
        # Words of the packet from this beat on, in units of beats and of words.
        full = Signal(range(beats + 1))
        rest = Signal(range(lanes))
        lane_bits = len(rest)
        is_last = Signal()
        m.d.comb += [
            full.eq(block.words[lane_bits:]),
            rest.eq(block.words),
            # The last beat has words for one to all lanes, or it is the only one and has none.
            is_last.eq(
                block.last & Mux(rest == 0, (beat + 1 == full) | (block.words == 0), beat == full)
            ),
            tags.mask.eq(select(m, beat, [block.mask[k * lanes :][:lanes] for k in range(beats)])),
            tags.code.eq(block.code),
            tags.last.eq(is_last),
            tags.given.eq(~block.last | (beat < full) | ((beat == full) & (rest != 0)) | is_last),
            tags.words.eq(
                Mux(block.last, Mux(beat < full, lanes, Mux(beat == full, rest, 0)), lanes)
            ),
            tags.final.eq(block.last & Mux(block.code.raw, beat == beats - 1, is_last)),
            is_block_end.eq(Mux(block.last, tags.final, beat == beats - 1)),
            sized.first.eq(beat == 0),
            loads.eq(self.i.valid & (~self.o.valid | self.o.ready)),
            self.i.ready.eq(is_block_end & (~self.o.valid | self.o.ready)),
        ]
        self._add_up(m, sized, self._widths(m, beat, tags))
        with m.If(loads):
            m.d.sync += [beat.eq(Mux(is_block_end, 0, beat + 1)), self.o.payload.eq(sized)]
        m.d.sync += self.o.valid.eq(loads | (self.o.valid & ~self.o.ready))
        return m

    def _widths(self, m, beat, tags):
        """Width of each lane's group."""
        widths, groups = self.i.payload.widths, self.config.beat_groups
        if self.config.word.is_float:
            return [widths[0]] * self.config.lanes
        each = len(widths.as_value()) // self.config.block_beats
        chosen = [widths.as_value().word_select(k, each) for k in range(self.config.block_beats)]
        m.d.comb += tags.widths.eq(select(m, beat, chosen, "widths"))
        return [
            tags.widths[lane * groups // self.config.lanes] for lane in range(self.config.lanes)
        ]

    def _add_up(self, m, sized, widths):
        """Prefix sums of the words' widths."""
        own = [
            width & bit.replicate(len(width))
            for width, bit in zip(widths, sized.tags.mask, strict=True)
        ]
        sums = prefix_sums(m, own)
        m.d.comb += sized.length.eq(sums[-1])
        for lane, below in enumerate(sums[:-1], 1):
            m.d.comb += sized.starts[lane].eq(below)
