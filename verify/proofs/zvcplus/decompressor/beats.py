"""The beats of blocks: which words they have, and how many bits are in front of any of them."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import data

from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.layouts import BeatTags, Block, SizedBeat
from cdma.hdl.zvcplus.decompressor.payload.beats import BlockBeats
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import offer, take
from cdma.verify.proofs.proof import Proof, faults


class CutsBlocks(Elaboratable):
    """Each block gives its beats in order. A word begins behind the words of its beat in front of
    it that are sent, and the beat ends behind the last.

    A packet's last block has no more beats than words, but one, or all if it is raw. The fetcher
    keeps the words of a block, as ``control_steps`` proves, and a block without words is
    not raw, because it has no control.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut = self.dut
        m.submodules.dut = elaborated(dut, platform)
        config, block = dut.config, dut.i.payload
        offer(m, dut.i, "i")
        leaves = take(m, dut.o, "o")
        # The block whose beats leave.
        self.block, self.is_held = Signal(Block(config), name="held"), Signal(name="is_held")
        number = Signal(range(config.block_beats))
        cuts, is_end = Signal(), Signal()
        tags = Signal(BeatTags(config), name="tags")
        self.lane = Signal(range(config.lanes))
        m.d.comb += [
            self.lane.eq(AnyConst(len(self.lane))),
            Assume(block.words <= config.word.block_words),
            Assume(~block.last | (block.words != 0) | ~block.code.raw),
        ]
        m.d.comb += [Assume(width <= config.word.bits) for width in block.widths]
        last_number = self._cut(m, number, tags, is_end)
        with m.If(~self.is_held | (cuts & is_end)):
            m.d.sync += [self.is_held.eq(dut.i.valid), self.block.eq(block), number.eq(0)]
        with m.Elif(cuts):
            m.d.sync += number.eq(number + 1)

        # A register, with repeats two: the expected beats, and the widths of their words.
        beat = Signal(Expected(config))
        m.d.comb += [beat.tags.eq(tags), beat.is_first.eq(number == 0)]
        for group, width in enumerate(beat.widths):
            m.d.comb += width.eq(self._width(number, group))
        is_told = self._repeat(m, number, beat.tags, cuts) if config.has_repeats else 1
        is_offered = self.is_held & is_told
        free = Signal(1 + config.has_repeats)
        stages, first = [], None
        for stage in range(len(free)):
            kept, is_full = Signal.like(beat, name=f"kept{stage}"), Signal(name=f"is_full{stage}")
            with m.If(free[stage]):
                m.d.sync += is_full.eq(is_offered)
                with m.If(is_offered):
                    m.d.sync += kept.eq(beat)
            first = kept if first is None else first
            stages.append(is_full)
            beat, is_offered = kept, is_full
        m.d.comb += [
            free[-1].eq(~stages[-1] | leaves),
            *([free[0].eq(~stages[0] | free[1])] if config.has_repeats else []),
            cuts.eq(self.is_held & is_told & free[0]),
            Assert(dut.o.valid == stages[-1]),
            Assert(dut.i.ready == (~self.is_held | (is_end & is_told & free[0]))),
        ]
        self._know_block(m, number, last_number, is_end)
        if config.has_repeats:
            self._know_spread(m, stages[0], first)
        self._compare(m, stages[-1], beat)
        return m

    def _know_block(self, m, number, last_number, is_end):
        """Invariants: the block that the unit keeps, less the beats that have left, and the sums of
        pairs of its next beat."""
        config, held = self.dut.config, self.block
        kept = Block(config)(probe(m, "dut.block", Block(config).size))
        widths = held.widths.as_value()
        used = 0 if config.word.is_float else config.beat_groups * len(held.widths[0])
        m.d.comb += [
            Assert(probe(m, "dut.is_kept", 1) == self.is_held),
            Assert((number == 0) | self.is_held),
            Assert(probe(m, "dut.beat", len(number)) == number),
            Assert(probe(m, "dut.is_first", 1) == (number == 0)),
        ]
        with m.If(self.is_held):
            m.d.comb += [
                Assert(number <= last_number),
                Assert(held.words <= config.word.block_words),
                Assert(~held.last | (held.words != 0) | ~held.code.raw),
                *(Assert(width <= config.word.bits) for width in held.widths),
                Assert(probe(m, "dut.is_block_end", 1) == is_end),
                Assert(kept.mask == held.mask >> number * config.lanes),
                Assert(kept.widths.as_value() == (widths >> (number * used) if used else widths)),
                *(
                    Assert(Value.cast(kept[name]) == Value.cast(held[name]))
                    for name, _ in Block(config)
                    if name not in ("mask", "widths")
                ),
            ]
            if not config.has_repeats:
                per_group = config.lanes // config.beat_groups
                for pair in range(config.lanes // 2):
                    width = kept.widths[2 * pair // per_group]
                    total = _sum(kept.mask, pair, width)
                    if pair % 2:  # of four words
                        total += _sum(kept.mask, pair - 1, kept.widths[2 * (pair - 1) // per_group])
                    own = probe(m, f"dut.pair{pair}", len(width) + 1 + pair % 2)
                    m.d.comb += Assert(own == total)

    def _cut(self, m, number, tags, is_end):
        """The next beat of the block."""
        config, block = self.dut.config, self.block
        lanes, beats = config.lanes, config.block_beats
        words, last_number = Signal(range(lanes + 1)), Signal.like(number)
        most = Signal(range(beats + 1))  # beats with words, at least one
        m.d.comb += [
            most.eq(Mux(block.words == 0, 1, (block.words + lanes - 1) // lanes)),
            tags.mask.eq(block.mask.word_select(number, lanes)),
            tags.code.eq(block.code),
            tags.parity.eq(block.parity),
            *([tags.failed.eq(block.failed)] if config.has_repeats else []),
            tags.last.eq(block.last & (number == most - 1)),
            tags.given.eq(~block.last | (number < most)),
            tags.words.eq(words),
            last_number.eq(Mux(block.last & ~block.code.raw, most, beats) - 1),
            is_end.eq(number == last_number),
            tags.final.eq(block.last & is_end),
        ]
        with m.If(~block.last | (block.words >= (number + 1) * lanes)):
            m.d.comb += words.eq(lanes)
        with m.Elif(block.words > number * lanes):
            m.d.comb += words.eq(block.words - number * lanes)
        if not config.word.is_float:
            for group, width in enumerate(tags.widths):
                m.d.comb += width.eq(self._width(number, group))
        return last_number

    def _width(self, number, group):
        """Width of a group of a beat."""
        widths, groups = self.block.widths, self.dut.config.beat_groups
        chosen = widths[group]
        if self.dut.config.word.is_float:  # all words of a block have one width
            return chosen
        for beat in range(1, self.dut.config.block_beats):
            chosen = Mux(number == beat, widths[beat * groups + group], chosen)
        return chosen

    def _repeat(self, m, number, tags, cuts):
        """Whether any word is repeated, in the lowest bit: one bit for each word of the mask.

        Returns whether they are there: a block that uses them waits for them in its first beat.
        """
        config, block = self.dut.config, self.block
        offered, words, lanes = self.dut.i_repeats, config.word.block_words, config.lanes
        takes = offer(m, offered, "repeats")
        is_first, is_told, used = number == 0, Signal(), block.has_repeats
        passed, kept = (
            probe(m, f"dut.{name}", size)
            for name, size in (("passed", words.bit_length() - 1), ("kept", words))
        )
        # The words of the block that are in front of the beat, and in front of the word.
        before, ahead, bits = Signal(range(words)), Signal(range(lanes)), Signal(words)
        held = Signal(words)
        with m.Switch(number):
            for beat in range(1, config.block_beats):
                with m.Case(beat):
                    m.d.comb += before.eq(sum(block.mask[k] for k in range(beat * lanes)))
        m.d.comb += [
            ahead.eq(sum(tags.mask[k] & (k < self.lane) for k in range(lanes))),
            bits.eq(Mux(is_first, offered.payload, held)),
            tags.repeated.eq(
                used & tags.mask.bit_select(self.lane, 1) & bits.bit_select(before + ahead, 1)
            ),
        ]
        with m.If(cuts & is_first):
            m.d.sync += held.eq(offered.payload)
        m.d.comb += [
            is_told.eq(~is_first | ~used | offered.valid),
            Assert(takes == (cuts & is_first & used)),
            # Invariants: the bits, of a block that uses them, and how many of them are taken.
            Assert(passed == before),
            Assert(is_first | ~used | (held == kept)),
        ]
        return is_told

    def _know_spread(self, m, is_full, kept):
        """Invariants: the beat in the first register."""
        config = self.dut.config
        width = {"width": range(config.word.bits + 1)} if config.word.is_float else {}
        layout = data.StructLayout(
            {
                "beat": SizedBeat(config),
                **width,
                "pairs": data.ArrayLayout(config.word.bits.bit_length() + 1, config.lanes // 2),
            }
        )
        entry = layout(probe(m, "dut.spread.entry0", layout.size))
        tags = entry.beat.tags
        m.d.comb += Assert(probe(m, "dut.spread.valid", 1) == is_full)
        per_group = config.lanes // config.beat_groups
        if config.word.is_float:
            m.d.comb += Assert(~is_full | (entry.width == kept.widths[0]))
        with m.If(is_full):
            m.d.comb += [
                *(Assert(width <= config.word.bits) for width in kept.widths),
                Assert(entry.beat.starts[0] == 0),
                Assert(entry.beat.first == kept.is_first),
                Assert(entry.beat.begins == kept.is_first.replicate(2)),
                self._are_equal(entry.beat.tags, kept.tags),
                *(
                    Assert(
                        own
                        == _sum(
                            tags.mask & ~tags.repeated, pair, kept.widths[2 * pair // per_group]
                        )
                    )
                    for pair, own in enumerate(entry.pairs)
                ),
            ]

    def _are_equal(self, given, expected):
        """Tags are equal; of repeated words, that of one lane."""
        names = [name for name, _ in BeatTags(self.dut.config) if name != "repeated"]
        equal = [Value.cast(given[name]) == Value.cast(expected[name]) for name in names]
        if self.dut.config.has_repeats:
            equal.append(given.repeated.bit_select(self.lane, 1) == expected.repeated[0])
        return [Assert(each) for each in equal]

    def _compare(self, m, is_full, expected):
        """The beat at the output, and of any word that the next one begins behind it."""
        dut, lanes = self.dut, self.dut.config.lanes
        beat, tags, widths = dut.o.payload, expected.tags, expected.widths
        lane, behind, own = self.lane, Signal(9), Signal(9)
        is_sent = tags.mask.bit_select(lane, 1)
        if dut.config.has_repeats:
            is_sent = is_sent & ~tags.repeated[0]
        m.d.comb += behind.eq(beat.length)
        with m.If(is_sent):
            m.d.comb += own.eq(widths[lane // (lanes // len(widths))])
        with m.If(lane != lanes - 1):
            m.d.comb += behind.eq(beat.starts[(lane + 1)[: len(lane)]])
        with m.If(is_full):
            m.d.comb += [Assert(width <= dut.config.word.bits) for width in widths]
            m.d.comb += [
                Assert(beat.first == expected.is_first),
                Assert(beat.begins == expected.is_first.replicate(2)),
                self._are_equal(beat.tags, tags),
                Assert(beat.starts[0] == 0),
                Assert(behind == beat.starts[lane] + own),
                Cover(tags.last & ~tags.final & (beat.length == 3 * widths[0])),
                Cover(~tags.given & (tags.mask != 0)),
            ]


def _sum(mask, pair, width):
    """Bits of two words with one width."""
    return Mux(mask[2 * pair], width, 0) + Mux(mask[2 * pair + 1], width, 0)


class Expected(data.StructLayout):
    """A beat, and the widths of its words by group."""

    def __init__(self, config: Config):
        widths = data.ArrayLayout(range(config.word.bits + 1), config.beat_groups)
        super().__init__({"tags": BeatTags(config), "is_first": 1, "widths": widths})


SIZES = {
    **{name: Config(name) for name in ("fp32", "bf16", "int8")},
    "fp32-left": Config("fp32", "left"),
}

PROOFS = (
    Proof(
        name="beats_of_blocks",
        promise="Blocks are cut into beats, and a word begins behind those in front of it",
        components=(BlockBeats,),
        design=lambda config: CutsBlocks(BlockBeats(config)),
        sizes=SIZES,
        slow=("bf16", "int8", "fp32-left"),
        broken=(
            *faults(
                SIZES["fp32"],
                8,
                stuck_at(0, "dut.is_last"),
                late("dut.is_block_end"),
                inverted("dut.pair1", 0),
            ),
            *faults(SIZES["fp32-left"], 8, stuck_at(0, "dut.passed", 1), inverted("dut.kept", 9)),
        ),
    ),
)
