"""The places of controls and payloads, compared with numbers of bits."""

from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.layouts import (
    BIT_BITS,
    most_crossed,
    place_bits,
    reach,
    row_bits,
    window_bits,
)
from cdma.hdl.zvcplus.decompressor.place import ControlPlace
from cdma.hdl.zvcplus.decompressor.rows import slot_of
from cdma.hdl.zvcplus.decompressor.unit import Decompressor
from cdma.verify.formal.fault import inverted, late
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import leave_open
from cdma.verify.proofs.proof import Proof, faults

ROW = 1 << BIT_BITS
NAMES = ("place", "tail", "behind")


class FollowsThePlace(Elaboratable):
    """A place is a number of bits. It grows by controls and payloads, and a packet's first control
    begins a row.

    A control has no more bits than the window, and bits of repeats are one for each word of a block
    at most. A first control is the next behind a start, which the fetcher's steps keep.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        config, depth = dut.config, dut.depth
        inputs = ["come", "start", "start_row", "is_first", "is_tail", "follow", "advance"]
        inputs += ["length", "control", "sum", "carry", *(["skip"] if config.has_repeats else [])]
        leave_open(m, dut, *inputs)
        size = place_bits(depth)
        place, tail, behind = (Signal(size, name=f"the_{name}") for name in NAMES)
        after, is_fresh = Signal(size), Signal()  # a start, and no step since
        m.d.comb += [
            Assume(dut.length <= window_bits(config)),
            Assume(dut.control <= window_bits(config)),
            Assume(~(dut.advance & dut.is_first) | is_fresh),
            after.eq(dut.sum + dut.carry + dut.control),
        ]
        with m.If(dut.advance):
            m.d.sync += [
                place.eq(Mux(dut.is_first, place + dut.length, after)),
                tail.eq(Mux(dut.is_first & ~dut.is_tail, place + dut.length, after)),
                behind.eq(Mux(dut.is_first, place + dut.length, tail + dut.control)),
                is_fresh.eq(0),
            ]
        with m.Elif(dut.follow & ~dut.is_first):
            m.d.sync += tail.eq(place)
        with m.If(dut.start):
            m.d.sync += [place.eq(dut.start_row << BIT_BITS), is_fresh.eq(1)]
        has_place, has_tail, has_behind = self._known(m)
        chunk_bits = (len(dut.chunk) - 1).bit_length()
        m.d.comb += Assert(~is_fresh | (has_place & (place[:BIT_BITS] == 0)))
        with m.If(has_place):
            m.d.comb += [
                Assert(Cat(dut.bit, dut.row) == place),
                Assert(dut.slot == slot_of(dut.row, depth)),
                Assert(dut.chunk == 1 << (dut.bit >> BIT_BITS - chunk_bits)),
            ]
            self._show_rows(m, place)
        with m.If(has_tail):
            m.d.comb += [
                Assert(dut.tail == tail),
                Cover((place == 5 * ROW + 7) & (tail == 4 * ROW + 250)),
            ]
        with m.If(has_behind):
            m.d.comb += Assert(dut.behind == behind)
        self._front(m, tail, has_tail)
        return m

    def _known(self, m):
        """Whether place, tail and the place behind are known. Their registers have no reset: a
        start sets them, and the steps behind it."""
        dut, names = self.dut, ("has_place", "has_tail", "has_behind")
        has_place, has_tail, has_behind = (Signal(name=name) for name in names)
        with m.If(dut.start | dut.advance):
            m.d.sync += has_place.eq(1)
        with m.If(dut.advance | (dut.follow & ~dut.is_first)):
            m.d.sync += has_tail.eq(dut.advance | has_place)
        with m.If(dut.advance):
            m.d.sync += has_behind.eq(dut.is_first | has_tail)
        return has_place, has_tail, has_behind

    def _show_rows(self, m, place):
        """A control is there when the row of its last bit that is read has come."""
        dut = self.dut
        rows, least = row_bits(dut.depth), -(-reach(dut.config) // ROW)
        last, ahead = Signal(place_bits(dut.depth)), Signal(rows)
        m.d.comb += [
            last.eq(place + reach(dut.config) - 1),
            ahead.eq(dut.come - (place >> BIT_BITS)),
            # Rows that have come in front of the control's own are none.
            Assert(
                dut.here == (~ahead[-1] & (ahead > (last[BIT_BITS:] - place[BIT_BITS:])[:rows]))
            ),
            Cover(dut.here & (ahead == least)),
            Cover(~dut.here & (ahead == least)),
        ]

    def _front(self, m, tail, has_tail):
        """The words of the payload are behind the control, and bits of repeats."""
        dut, front = self.dut, self.dut.front
        size = place_bits(dut.depth)
        start, place = Signal(size), Signal(size)
        row, was_row = (Signal(size - BIT_BITS, name=name) for name in ("in_row", "was_row"))
        m.d.comb += [start.eq(tail), place.eq(start + dut.control)]
        is_known = has_tail
        if not dut.config.has_repeats:
            m.d.comb += row.eq(start[BIT_BITS:])
        else:
            skipped, is_known = Signal(size), Signal(name="is_known")
            m.d.sync += [
                skipped.eq(tail + dut.skip),
                was_row.eq(tail[BIT_BITS:]),
                is_known.eq(has_tail),
            ]
            m.d.comb += start.eq(skipped)
            if most_crossed(dut.config) == 1:
                m.d.comb += row.eq(start[BIT_BITS:])
            else:  # bits of repeats can end in another row
                passed = probe(m, "dut.passed", 1)
                m.d.comb += [
                    Assume(dut.skip <= dut.config.word.block_words),
                    row.eq(was_row),
                    Assert(~is_known | (passed == (start[BIT_BITS:] != was_row))),
                    Cover(front.crosses == 2),
                ]
        with m.If(is_known):
            m.d.comb += [
                Assert(front.bit == place[:BIT_BITS]),
                Assert(
                    Mux(front.wraps, front.slot.rotate_left(1), front.slot)
                    == slot_of(place[BIT_BITS:], dut.depth)
                ),
                Assert(front.crosses == (place[BIT_BITS:] - row)[: len(row)]),
                Cover(front.crosses & (front.bit == 9)),
            ]
            if dut.config.has_repeats:
                m.d.comb += Assert(probe(m, "dut.skipped", size) == start)


def place(config: Config) -> ControlPlace:
    """The place of a unit."""
    return ControlPlace(config, Decompressor.rows(config))


SIZES = {
    **{name: Config(name) for name in ("fp32", "int8")},
    **{f"{name}-left": Config(name, "left") for name in ("fp32", "int8")},
}

PROOFS = (
    Proof(
        name="control_place",
        promise="A control's place is behind all controls and payloads, and so are its words",
        components=(ControlPlace,),
        design=lambda config: FollowsThePlace(place(config)),
        sizes=SIZES,
        broken=faults(
            SIZES["fp32-left"],
            6,
            late("dut.row"),
            inverted("dut.added", 8),
            late("dut.slot"),
            inverted("dut.words", 8),
        ),
    ),
)
