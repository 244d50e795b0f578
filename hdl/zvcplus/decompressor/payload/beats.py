"""The beats of a block."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.prefix import PrefixSum, popcount, prefix_sums
from cdma.hdl.lib.queue import Queue
from cdma.hdl.lib.signals import one_of, select
from cdma.hdl.zvc.network import expand, routes
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.layouts import Block, SizedBeat


class BlockBeats(wiring.Component):
    """Cut blocks into beats, and add up the bits of their words.

    A packet's last block has as many beats as it has words for, at least one. A raw block always
    has all: so the words past the packet's end are checked.

    With repeats, a block that uses them waits for their bits, and those of a beat are spread to
    their words a cycle before: ``starts`` and ``length`` leave repeated words out.

    Throughput one beat a cycle; latency one cycle, with repeats two; ``o.valid`` and ``o.payload``
    come from registers. ``i.ready`` follows ``o.ready`` combinationally.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    i : In stream of :class:`~cdma.hdl.zvcplus.decompressor.layouts.Block`
    i_repeats : In stream, with repeats: for each block that uses them, a bit per word of its mask
    o : Out stream of :class:`~cdma.hdl.zvcplus.decompressor.layouts.SizedBeat`
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(Block(config))),
                **(
                    {"i_repeats": In(stream.Signature(config.word.block_words))}
                    if config.has_repeats
                    else {}
                ),
                "o": Out(stream.Signature(SizedBeat(config))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        lanes, beats = self.config.lanes, self.config.block_beats
        block = self.i.payload
        beat, at = Signal(range(beats)), Signal(beats, init=1)  # the same, decoded
        loads, is_block_end, is_free = Signal(), Signal(), Signal()
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
            tags.mask.eq(one_of(at, [block.mask.word_select(k, lanes) for k in range(beats)])),
            tags.code.eq(block.code),
            tags.last.eq(is_last),
            tags.given.eq(~block.last | (beat < full) | ((beat == full) & (rest != 0)) | is_last),
            tags.words.eq(
                Mux(block.last, Mux(beat < full, lanes, Mux(beat == full, rest, 0)), lanes)
            ),
            tags.final.eq(block.last & Mux(block.code.raw, beat == beats - 1, is_last)),
            is_block_end.eq(Mux(block.last, tags.final, beat == beats - 1)),
            sized.first.eq(beat == 0),
            loads.eq(self.i.valid & is_free),
            self.i.ready.eq(is_block_end & is_free),
        ]
        widths = self._widths(m, beat, tags)
        if self.config.has_repeats:
            is_told = self._spread(m, loads, tags, at[0], is_block_end)
            m.submodules.spread = spread = Queue(_Spread(self.config), 1, pipe=True)
            m.d.comb += [
                is_free.eq(spread.i.ready & is_told),
                spread.i.valid.eq(loads),
                spread.i.payload.beat.eq(sized),
                spread.i.payload.width.eq(widths[0]),
                spread.o.ready.eq(~self.o.valid | self.o.ready),
            ]
            gives = spread.o.valid & spread.o.ready
            sized = Signal(SizedBeat(self.config), name="spread_beat")
            m.d.comb += sized.eq(spread.o.payload.beat)
            tags = sized.tags
            sums = self._added_up(m, tags.mask & ~tags.repeated, [spread.o.payload.width] * lanes)
        else:
            m.d.comb += is_free.eq(~self.o.valid | self.o.ready)
            gives = loads
            sums = self._added_up(m, tags.mask, widths)
        with m.If(loads):
            m.d.sync += [
                beat.eq(Mux(is_block_end, 0, beat + 1)),
                at.eq(Mux(is_block_end, 1, at << 1)),
            ]
        with m.If(gives):
            m.d.sync += [self.o.payload.eq(sized), self.o.payload.length.eq(sums[-1])]
            m.d.sync += [
                start.eq(below)
                for start, below in zip(list(self.o.payload.starts)[1:], sums[:-1], strict=True)
            ]
        m.d.sync += self.o.valid.eq(gives | (self.o.valid & ~self.o.ready))
        return m

    def _spread(self, m, loads, tags, is_first, is_block_end):
        """Spread the bits of repeats to the words of a beat; gives whether they are known."""
        block, words = self.i.payload, self.config.word.block_words
        lanes = self.config.lanes
        kept, passed = Signal(words, reset_less=True), Signal(range(words))
        bits = Mux(is_first, self.i_repeats.payload[:lanes], (kept >> passed)[:lanes])
        m.submodules.prefix = prefix = PrefixSum(lanes)  # of few enough lanes: combinational
        starts = routes(m, prefix.ranks, Const(0, lanes.bit_length() - 1))
        spread = expand(m, [Value.cast(bit) for bit in bits], starts)
        used = block.has_repeats
        m.d.comb += [
            prefix.enable.eq(1),
            prefix.mask.eq(tags.mask),
            tags.repeated.eq(Cat(spread) & tags.mask & used.replicate(lanes)),
            self.i_repeats.ready.eq(loads & is_first & used),
        ]
        half = lanes // 2
        counts = [popcount(m, part) for part in (tags.mask[:half], tags.mask[half:])]
        with m.If(loads):
            m.d.sync += passed.eq(Mux(is_block_end, 0, passed + counts[0] + counts[1]))
        with m.If(is_first):
            m.d.sync += kept.eq(self.i_repeats.payload)
        return ~(is_first & used) | self.i_repeats.valid

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

    def _added_up(self, m, mask, widths):
        """Prefix sums of the words' widths."""
        own = [width & bit.replicate(len(width)) for width, bit in zip(widths, mask, strict=True)]
        return prefix_sums(m, own)


class _Spread(data.StructLayout):
    """A beat whose repeated words are known, and the width of the others."""

    def __init__(self, config: Config):
        super().__init__({"beat": SizedBeat(config), "width": range(config.word.bits + 1)})
