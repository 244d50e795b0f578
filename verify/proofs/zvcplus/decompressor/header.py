"""Controls read field by field, each behind the one before it."""

from amaranth.hdl import Assert, Const, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.zvcplus.config import WIDTH_BITS, Config
from cdma.hdl.zvcplus.decompressor.header import HeaderReader
from cdma.hdl.zvcplus.decompressor.layouts import Header, window_bits
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.stream_rules import leave_open
from cdma.verify.proofs.proof import Proof, faults

#: Values of the fields ``mode`` and ``ext``, of ``d`` with a base behind, ``k`` of no offsets.
EXTENDED, RAW, RESERVED, BASE_FOLLOWS, AS_IS = 3, 0, 3, 7, 7


class ReadsFields(Elaboratable):
    """A header has the fields of its control, which are read one after the other.

    Where a block has no mask, its mode says all. Fields that a control does not have are not
    promised, nor is the mask of one that is dense.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        config, word = dut.config, dut.config.word
        leave_open(m, dut, "bits", "nothing", "skip")
        read = Signal(Header(config))
        self.bits, self.length = dut.bits, Const(0, 1)

        mode, is_wide, is_raw_mask, is_dense = Signal(2), Signal(), Signal(), Signal()
        ext, is_extended, is_coded = Signal(3), Signal(), Signal()
        m.d.comb += [mode.eq(self._take(m, "mode", 2)), is_extended.eq(mode == EXTENDED)]
        m.d.comb += [
            ext.eq(self._take(m, "ext", 3, is_extended)),
            is_coded.eq((mode == 1) | (mode == 2)),
        ]
        with m.If(is_extended):
            with m.Switch(ext):
                with m.Case(1, 5):
                    m.d.comb += is_raw_mask.eq(1)
                with m.Case(2, 6):
                    m.d.comb += is_dense.eq(1)
            m.d.comb += [
                is_coded.eq((ext != RAW) & (ext != RESERVED)),
                is_wide.eq(ext >= 4),
            ]
        if config.has_repeats:
            m.d.comb += read.has_repeats.eq(is_coded & self._take(m, "rep", 1, is_coded))
        if word.is_float:
            m.d.comb += read.d.eq(self._take(m, "d", 3, is_coded))
            k = self._take(m, "k", 3, is_coded)
            # No offset is longer than an exponent.
            is_shorter = (k <= word.exponent) | (k == AS_IS)
            m.d.comb += read.k.eq(Mux(is_shorter, k, word.exponent))
        else:
            half, groups = Signal(), config.block_groups
            m.d.comb += half.eq(self._take(m, "half", 1, is_coded))
            pairs, others = Signal(WIDTH_BITS * groups // 2), Signal(WIDTH_BITS * groups // 2)
            m.d.comb += pairs.eq(self._take(m, "pairs", len(pairs), is_coded))
            m.d.comb += others.eq(self._take(m, "others", len(others), is_coded & half))
            own = pairs | (others << len(pairs))
            for group, width in enumerate(read.widths):
                shared = pairs.word_select(group // 2, WIDTH_BITS)
                m.d.comb += width.eq(Mux(half, own.word_select(group, WIDTH_BITS), shared))
        has_flags = is_coded & ~is_raw_mask & ~is_dense
        flags = self._take(m, "flags", word.flags, has_flags)
        if word.is_float:
            follows = is_coded & (read.d == BASE_FOLLOWS)
            m.d.comb += read.base.eq(self._take(m, "base", word.exponent, follows))
        m.d.comb += [
            read.coded.eq(is_coded),
            read.raw.eq(is_extended & (ext == RAW)),
            read.reserved.eq(is_extended & (ext == RESERVED)),
            read.differences.eq((mode == 1) | (is_extended & (ext == 4))),
            read.dense.eq(is_dense),
            read.wide.eq(is_wide),
            read.flags.eq(Mux(is_raw_mask, (1 << word.flags) - 1, Mux(is_coded, flags, 0))),
            read.body.eq(self.bits),
        ]
        nibbles = sum(read.flags[k] for k in range(word.flags)) * ~is_dense
        count_bits = Mux(read.has_repeats, word.count_bits, 0) if config.has_repeats else 0
        m.d.comb += read.length.eq(self.length + 4 * nibbles[:8] + count_bits)
        if config.has_repeats:
            m.d.comb += read.nibbles.eq(nibbles)
        self._compare(m, read)
        return m

    def _take(self, m, name, width, exists=1):
        """The next field, if it is there; the stream goes on behind it."""
        field = Signal(width, name=f"field_{name}")
        rest, length = Signal(len(self.bits), name=f"behind_{name}"), Signal(9, name=f"to_{name}")
        m.d.comb += [
            field.eq(self.bits),
            rest.eq(Mux(exists, self.bits >> width, self.bits)),
            length.eq(self.length + Mux(exists, width, 0)),
        ]
        self.bits, self.length = rest, length
        return field

    def _compare(self, m, read):
        """The registers are those of the cycle before, as far as the control had the fields."""
        dut = self.dut
        kept, is_nothing, is_loaded = Signal.like(read), Signal(), Signal()
        is_skipped = Signal()
        m.d.sync += [
            kept.eq(read),
            is_nothing.eq(dut.nothing),
            is_skipped.eq(dut.skip),
            is_loaded.eq(1),
        ]
        given = dut.header
        with m.If(is_loaded):
            m.d.comb += Assert(dut.control == Mux(is_skipped, 0, given.length))
        with m.If(is_loaded & is_nothing):
            m.d.comb += Assert(given.as_value() == 0)
        with m.If(is_loaded & ~is_nothing):
            names = ("coded", "raw", "reserved", "dense", "wide", "length")
            m.d.comb += [Assert(given[name] == kept[name]) for name in names]
            m.d.comb += [
                Cover(given.length == 2),
                Cover(given.raw),
                Cover(given.differences & given.wide & (given.flags == 5)),
                Cover(given.dense),
                Cover(given.length == window_bits(dut.config)),
            ]
            if dut.config.has_repeats:
                m.d.comb += Assert(given.has_repeats == kept.has_repeats)
            with m.If(given.coded):
                self._compare_coded(m, given, kept)
            with m.Else():
                m.d.comb += Assert(given.flags == 0)

    def _compare_coded(self, m, given, kept):
        if self.dut.config.has_repeats:
            # The body goes on with the number of repeated words.
            m.d.comb += [Assert(given.nibbles == kept.nibbles), Assert(given.body == kept.body)]
        if self.dut.config.word.is_float:
            m.d.comb += [
                Assert(given.d == kept.d),
                Assert(given.k == kept.k),
                Assert((given.d != BASE_FOLLOWS) | (given.base == kept.base)),
            ]
        else:
            m.d.comb += Assert(given.widths.as_value() == kept.widths.as_value())
        with m.If(~given.dense):
            m.d.comb += [
                Assert(given.differences == kept.differences),
                Assert(given.flags == kept.flags),
                Assert(given.body == kept.body),
            ]


SIZES = {
    **{name: Config(name) for name in ("fp32", "fp16", "bf16", "int8")},
    "fp32-left": Config("fp32", "left"),
    "bf16-left": Config("bf16", "left"),
    "int8-left": Config("int8", "left"),
}

PROOFS = (
    Proof(
        name="header_reader",
        promise="A header has the fields of its control and the control's length",
        components=(HeaderReader,),
        design=lambda config: ReadsFields(HeaderReader(config)),
        sizes=SIZES,
        slow=("int8", "int8-left"),
        broken=(
            *faults(
                SIZES["fp32"],
                3,
                stuck_at(0, "dut.is_extended"),
                late("dut.extended_has_base"),
                inverted("dut.short.body", 3),
            ),
            *faults(SIZES["int8"], 3, inverted("dut.short_length4", 0)),
        ),
    ),
)
