"""The beats that wait: which of their words count as zero, and that they leave as they came."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib.wiring import Component

from cdma.hdl.zvc.compressor.intake import Intake
from cdma.hdl.zvc.compressor.zeros import pieces_of
from cdma.hdl.zvc.config import Config
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, offer
from cdma.verify.proofs.proof import PDR, Proof, faults, named, swapped


def drive_zero(m: Module, dut: Component) -> Value:
    """The word that a unit omits. A port for this word is driven with anything in each cycle."""
    fmt = dut.config.format
    if not dut.config.zero_port:
        return Value.cast(fmt.zero_value)
    m.d.comb += dut.zero.eq(anything(m, fmt.word_bits, "any_zero"))
    return dut.zero


def fix_zero(m: Module, *units: Component) -> None:
    """Drive the ports for the word that units omit, if they have one, with one unknown constant."""
    config = units[0].config
    if config.zero_port:
        zero = Signal(config.format.word_bits, name="fixed_zero")
        m.d.comb += zero.eq(AnyConst(len(zero)))
        m.d.comb += [unit.zero.eq(zero) for unit in units]


def is_omitted(word: Value, zero: Value, config: Config) -> Value:
    """A word is omitted from the stream: it is the zero value or, where that is folded, -0.0."""
    sign = 1 << (config.format.word_bits - 1)
    return (word == zero) | ((word == sign) if config.format.fold_negative_zero else 0)


def is_plain(config: Config) -> bool:
    """Words are omitted if all their bits are zero, and no others."""
    return config.format.is_plain and not config.zero_port


class Marks(Elaboratable):
    """A word is marked if and only if it is kept and is not omitted. The beats of a block are
    counted."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        config, beat = dut.config, dut.i.payload
        lanes, size, beats = config.lanes, config.format.word_bytes, config.block_beats
        enters = offer(m, dut.i, "i")
        m.d.comb += dut.issue.eq(anything(m, 1, "issue"))
        zero = drive_zero(m, dut)

        lane, word, is_kept = Signal(range(lanes)), Signal(config.format.word_bits), Signal()
        omitted = is_omitted(word, zero, config)
        m.d.comb += [
            lane.eq(AnyConst(len(lane))),
            word.eq(beat.words[lane]),
            is_kept.eq(~beat.last | beat.keep.bit_select(lane * size, 1)),
        ]
        number, ends = Signal(range(beats)), Signal()
        m.d.comb += ends.eq(beat.last | (number == beats - 1))
        with m.If(enters):
            m.d.sync += number.eq(Mux(ends, 0, number + 1))
        m.d.comb += [
            Assert(probe(m, "dut.block_beat", len(number)) == number),
            Assert(dut.accept == enters),
            Assert(dut.offers_end == (dut.i.valid & ends)),
        ]
        # Invariant: words and parts of masks are equally many. A full buffer has the highest bit
        # of its level set.
        rows = Intake.rows(config)
        full = 1 << (rows - 1).bit_length()
        level = probe(m, "dut.buffer.level", full.bit_length())
        m.d.comb += [
            Assert((level <= full) & (level >= full - rows)),
            Assert(dut.valid == (1 << (level - (full - rows))[: rows.bit_length()]) - 1),
        ]
        with m.If(enters):
            m.d.comb += [
                Assert(dut.mask.bit_select(lane, 1) == (is_kept & ~omitted)),
                Assert(dut.keep.bit_select(lane, 1) == is_kept),
                Assert(dut.first == (number == 0)),
                Assert(dut.last == beat.last),
                Cover(is_kept & omitted & (word == 0 if is_plain(config) else word != 0)),
                Cover(is_kept & ~omitted & beat.last & (number != 0)),
                Cover(~is_kept & ~omitted),
            ]
        return m


class Holds(Elaboratable):
    """A beat, picked at any time, comes to the head behind the beats before. Then its words are
    those that came, its part of the mask says which of them were marked, and how many are kept."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        config, beat, rows = dut.config, dut.i.payload, Intake.rows(dut.config)
        lanes, size, pieces = config.lanes, config.format.word_bytes, pieces_of(config)
        enters, leaves = offer(m, dut.i, "i"), Signal()
        m.d.comb += [
            dut.issue.eq(anything(m, 1, "issue")),
            leaves.eq(dut.issue & dut.valid[0]),
        ]
        zero = drive_zero(m, dut)
        level = Signal(range(rows + 2))
        m.d.sync += level.eq(level + enters - leaves)
        m.d.comb += [
            Assert(level <= rows),
            Assert(dut.i.ready == ((level != rows) | dut.issue)),
            Assert(dut.valid == (1 << level) - 1),
            Cover(level == rows),
        ]

        lane = Signal(range(lanes))
        m.d.comb += lane.eq(AnyConst(len(lane)))
        kept = beat.keep[::size]
        is_inside, is_marked, ahead = Signal(), Signal(), Signal(range(rows))
        word, count, is_last = Signal.like(beat.words[0]), Signal(range(lanes + 1)), Signal()
        omitted = is_omitted(beat.words[lane], zero, config)
        marks = (~beat.last | kept.bit_select(lane, 1)) & ~omitted
        with m.If(anything(m, 1, "picks") & enters & ~is_inside):
            m.d.sync += [
                is_inside.eq(1),
                ahead.eq(level - leaves),
                word.eq(beat.words[lane]),
                is_marked.eq(marks),
                is_last.eq(beat.last),
                count.eq(sum(kept)),
            ]
            # A packet's kept words are contiguous.
            m.d.comb += Assume(~beat.last | ((kept & (kept + 1)) == 0))
        with m.If(is_inside & leaves):
            m.d.sync += [is_inside.eq(ahead != 0), ahead.eq(Mux(ahead == 0, 0, ahead - 1))]
        part = dut.parts[0]
        m.d.comb += Assert(~is_inside | (ahead < level))
        with m.If(is_inside & (ahead == 0)):
            m.d.comb += [
                Assert(dut.words[lane] == word),
                Assert(part.pieces.word_select(lane, pieces).any() == is_marked),
                Assert(part.last == is_last),
                Assert(~is_last | (part.end & (part.kept == count))),
                Cover(is_marked & is_last & (count == lanes)),
                Cover(~is_marked & (word != 0) & (count != 0) & is_last),
            ]
        return m


class OnlyZeros(Intake):
    """Compares words with zero, whatever is omitted."""

    def _compared(self, words):
        return Value.cast(words)


class FoldsTheLowestBit(Intake):
    """In place of the sign, the lowest bit of a word is not compared."""

    def _compared(self, words):
        return Cat(Cat(0, word[1:]) for word in words)


SMALL = Config.of(2, 8, 8)
OPTIONS = [Config.parse(f"8x32{option}") for option in ("-z80000000", "-zport", "-fold")]
SMALL_OPTIONS = [Config.parse(f"2x8b8{option}") for option in ("-zport", "-fold", "-zport-asic")]

PROOFS = (
    Proof(
        name="intake_marks",
        promise="A word is marked if and only if it is kept and is not what the unit omits: zero, "
        "the zero value, that of the port, or -0.0 too",
        components=(Intake,),
        design=lambda config: Marks(Intake(config)),
        sizes=named(Config.of(8, 32), Config.of(16, 16), Config.of(32, 8), *OPTIONS),
        broken=(
            *faults(Config.of(8, 32), 4, stuck_at(0, "dut.block_beat", 1)),
            *swapped(
                2,
                {
                    f"zero is omitted at {config.name}": lambda config=config: Marks(
                        OnlyZeros(config)
                    )
                    for config in OPTIONS
                },
            ),
            *swapped(2, {"the lowest bit": lambda: Marks(FoldsTheLowestBit(OPTIONS[-1]))}),
        ),
    ),
    Proof(
        name="intake_holds",
        promise="Beats wait in order, each with its words and its part of the mask",
        components=(Intake,),
        design=lambda config: Holds(Intake(config)),
        sizes=named(SMALL, Config.parse("2x8b8-asic"), *SMALL_OPTIONS),
        slow=tuple(config.name for config in SMALL_OPTIONS),
        mode=PDR,
        depth=3,
        broken=faults(
            SMALL,
            10,
            late("dut.buffer.level"),
            stuck_at(0, "dut.queue.valid", 2),
            stuck_at(0, "dut.queue.i__payload.kept", 0),
        ),
    ),
)
