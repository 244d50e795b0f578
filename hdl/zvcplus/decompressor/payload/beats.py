"""The beats of a block."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.prefix import PrefixSum, add, popcount, prefix_sums
from cdma.hdl.lib.queue import Queue
from cdma.hdl.lib.signals import wire
from cdma.hdl.zvc.network import expand, routes
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.layouts import Block, SizedBeat


class BlockBeats(wiring.Component):
    """Cut blocks into beats, and add up the bits of their words.

    A packet's last block has as many beats as it has words for, at least one. A raw block always
    has all: so the words past the packet's end are checked.

    With repeats, a block that uses them waits for their bits, and those of a beat are spread to
    their words a cycle before: ``starts`` and ``length`` leave repeated words out.

    A block is kept while its beats leave. Throughput one beat a cycle; latency two cycles, with
    repeats three; ``o.valid`` and ``o.payload`` come from registers. ``i.ready`` follows
    ``o.ready`` combinationally.

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
        beats = self.config.block_beats
        block = Signal(Block(self.config), reset_less=True)  # its mask moves down beat by beat
        is_kept = Signal()
        beat, is_first = Signal(range(beats)), Signal(init=1)
        is_block_end = Signal()  # the beat is the last of the block
        loads, is_free = Signal(), Signal()
        sized = Signal(SizedBeat(self.config))
        self._tag(m, block, beat, sized.tags)
        m.d.comb += [
            sized.first.eq(is_first),
            sized.begins.eq(is_first.replicate(2)),
            loads.eq(is_kept & is_free),
        ]
        moved = [
            wire(m, bits, f"moved_{name}")
            for name, bits in zip(("mask", "widths"), _moved(block, self.config), strict=True)
        ]
        # What comes next is chosen early; whether it comes is known late.
        is_new, moves = Signal(), Signal()
        first = self.i.payload
        m.d.comb += [
            is_new.eq(~is_kept | is_block_end),
            moves.eq(~is_kept | is_free),
            self.i.ready.eq(is_new & moves),
        ]
        with m.If(moves):
            m.d.sync += [
                block.mask.eq(Mux(is_new, first.mask, moved[0])),
                is_kept.eq(~is_new | self.i.valid),
                beat.eq(Mux(is_new, 0, beat + 1)),
                is_first.eq(is_new),
                is_block_end.eq(
                    Mux(
                        is_new,
                        _is_last(first, 0, self.config),
                        _is_last(block, beat + 1, self.config),
                    )
                ),
            ]
            if not self.config.word.is_float:
                m.d.sync += block.widths.as_value().eq(
                    Mux(is_new, first.widths.as_value(), moved[1])
                )
        with m.If(self.i.ready):
            moving = {"mask"} if self.config.word.is_float else {"mask", "widths"}
            m.d.sync += [
                block[name].eq(first[name])
                for name in dict(Block(self.config))
                if name not in moving
            ]
        if self.config.has_repeats:
            is_told = self._spread(m, block, loads, sized.tags, is_first, is_block_end)
            sized, widths, pairs, gives = self._keep_spread(
                m, block, sized, loads, is_free, is_told
            )
            mask = sized.tags.mask & ~sized.tags.repeated
        else:
            m.d.comb += is_free.eq(~self.o.valid | self.o.ready)
            gives, mask = loads, sized.tags.mask
            widths = _widths(block.widths.as_value(), self.config)
            # Of the beat at hand, from a cycle before.
            new = _fours(m, first.mask, first.widths.as_value(), self.config)
            following = _fours(m, *moved, self.config)
            pairs = []
            for one, other in zip(new, following, strict=True):
                pair = Signal(len(one), name=f"pair{len(pairs)}", reset_less=True)
                with m.If(moves):
                    m.d.sync += pair.eq(Mux(is_new, one, other))
                pairs.append(pair)
        sums = self._added_up(m, mask, widths, pairs)
        given, begins = Signal(SizedBeat(self.config), reset_less=True), Signal(2, init=1)
        m.d.comb += [self.o.payload.eq(given), self.o.payload.begins.eq(begins)]
        with m.If(gives):
            m.d.sync += [given.eq(sized), given.length.eq(sums[-1]), begins.eq(sized.begins)]
            m.d.sync += [
                start.eq(below)
                for start, below in zip(list(given.starts)[1:], sums[:-1], strict=True)
            ]
        m.d.sync += self.o.valid.eq(gives | (self.o.valid & ~self.o.ready))
        return m

    def _tag(self, m, block, beat, tags):
        """What stays with a beat."""
        lanes, beats = self.config.lanes, self.config.block_beats
        # Words of the packet from the block on, in units of beats and of words.
        full = Signal(range(beats + 1))
        rest = Signal(range(lanes))
        is_last = Signal()
        m.d.comb += [
            full.eq(block.words[len(rest) :]),
            rest.eq(block.words),
            # The last beat has words for one to all lanes, or it is the only one and has none.
            is_last.eq(
                block.last & Mux(rest == 0, (beat + 1 == full) | (block.words == 0), beat == full)
            ),
            tags.mask.eq(block.mask),
            tags.code.eq(block.code),
            tags.parity.eq(block.parity),
            tags.last.eq(is_last),
            tags.given.eq(~block.last | (beat < full) | ((beat == full) & (rest != 0)) | is_last),
            tags.words.eq(
                Mux(block.last, Mux(beat < full, lanes, Mux(beat == full, rest, 0)), lanes)
            ),
            tags.final.eq(block.last & Mux(block.code.raw, beat == beats - 1, is_last)),
        ]
        if not self.config.word.is_float:
            m.d.comb += tags.widths.eq(block.widths.as_value())
        if self.config.has_repeats:
            m.d.comb += tags.failed.eq(block.failed)

    def _keep_spread(self, m, block, sized, loads, is_free, is_told):
        """A register for the beat whose repeated words are known."""
        m.submodules.spread = spread = Queue(_Spread(self.config), 1, pipe=True)
        kept, tags = spread.o.payload, sized.tags
        new = tags.mask & ~tags.repeated
        pairs = _pairs(m, new, block.widths.as_value(), self.config)
        width = []
        if self.config.word.is_float:
            width.append(spread.i.payload.width.eq(block.widths[0]))
            widths = [kept.width] * self.config.lanes
        else:
            widths = _widths(kept.beat.tags.widths.as_value(), self.config)
        m.d.comb += [
            is_free.eq(spread.i.ready & is_told),
            spread.i.valid.eq(loads),
            spread.i.payload.beat.eq(sized),
            *width,
            spread.i.payload.pairs.eq(Cat(pairs)),
            spread.o.ready.eq(~self.o.valid | self.o.ready),
        ]
        gives = spread.o.valid & spread.o.ready
        return kept.beat, widths, list(kept.pairs), gives

    def _spread(self, m, block, loads, tags, is_first, is_block_end):
        """Spread the bits of repeats to the words of a beat; gives whether they are known."""
        words = self.config.word.block_words
        lanes = self.config.lanes
        kept, passed = Signal(words, reset_less=True), Signal(range(words))
        bits = Mux(is_first, self.i_repeats.payload[:lanes], (kept >> passed)[:lanes])
        bits = wire(m, bits, "bits")
        m.submodules.prefix = prefix = PrefixSum(lanes, most=lanes)  # combinational
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

    def _added_up(self, m, mask, widths, pairs):
        """Prefix sums of the words' widths. Those of pairs are known; without repeats, the second
        pair of four words has the sum of all four."""
        own = [
            wire(m, width & bit.replicate(len(width)), f"own{lane}")
            for lane, (width, bit) in enumerate(zip(widths, mask, strict=True))
        ]
        terms = [pairs[lane // 2] if lane % 2 else each for lane, each in enumerate(own)]
        if self.config.has_repeats:
            return prefix_sums(m, terms, 2)
        for lane in range(2, len(terms), 4):
            terms[lane] = add(m, terms[lane], terms[lane - 1])
        return prefix_sums(m, terms, 4)


class _Spread(data.StructLayout):
    """A beat whose repeated words are known, of floats the width of the others, and sums of pairs.
    Widths of int8 are tags."""

    def __init__(self, config: Config):
        width = {"width": range(config.word.bits + 1)} if config.word.is_float else {}
        pairs = data.ArrayLayout(config.word.bits.bit_length() + 1, config.lanes // 2)
        super().__init__({"beat": SizedBeat(config), **width, "pairs": pairs})


def _moved(block, config: Config):
    """Mask and widths of a block without its first beat."""
    used = config.beat_groups * len(block.widths[0])
    widths = block.widths.as_value()
    return block.mask >> config.lanes, widths if config.word.is_float else widths >> used


def _widths(widths, config: Config):
    """Width of each lane's word."""
    size = config.word.bits.bit_length()
    groups = [lane * config.beat_groups // config.lanes for lane in range(config.lanes)]
    return [widths[group * size :][:size] for group in groups]


def _pairs(m, mask, widths, config: Config):
    """Sum of the widths of each pair of words: a pair has one width."""
    sums = []
    for pair, width in enumerate(_widths(widths, config)[::2]):
        one, other = mask[2 * pair], mask[2 * pair + 1]
        total = Cat(width & (one ^ other).replicate(len(width)), Const(0, 1)) | Cat(
            Const(0, 1), width & (one & other).replicate(len(width))
        )
        sums.append(wire(m, total, f"sum{pair}"))
    return sums


def _fours(m, mask, widths, config: Config):
    """The same, but every other sum is that of four words."""
    sums = _pairs(m, mask, widths, config)
    return [add(m, each, sums[k - 1]) if k % 2 else each for k, each in enumerate(sums)]


def _is_last(block, beat, config: Config):
    """A beat is the last of its block: a packet's last block ends with its words, if it is not raw;
    a block has one beat at least."""
    is_short = block.last & ~block.code.raw & (block.words <= (beat + 1) * config.lanes)
    return (beat == config.block_beats - 1) | is_short
