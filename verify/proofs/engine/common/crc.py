"""The CRC of each stripe is that of its words, bit by bit.

The polynomial has 8 bits in place of 32: matrices, states and steps are made of it in the same way,
and a solver compares XORs of a few bits only. Simulation compares the real one with zlib.
"""

from dataclasses import replace
from unittest import mock

from amaranth.hdl import Assert, Assume, Cat, Const, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.engine.common import crc
from cdma.hdl.engine.common.crc import StripeCrc, UnitCrc
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, offer, take
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.proof import Proof, faults

BITS, POLYNOMIAL = 8, 0x8C  # of CRC-8/MAXIM, bits reflected
ONES = (1 << BITS) - 1
SHORT = {"_BITS": BITS, "_POLYNOMIAL": POLYNOMIAL, "_ONES": ONES}


class _ShortCrc(UnitCrc):
    """With the short polynomial."""

    def __init__(self, *args):
        with mock.patch.multiple(crc, **SHORT):
            super().__init__(*args)

    def elaborate(self, platform):
        with mock.patch.multiple(crc, **SHORT):
            return super().elaborate(platform)


class _Core:
    """Inside of a :class:`UnitCrc` at ``path``: its state follows the model's by a cycle.

    Parameters
    ----------
    m : Module
    path : str
    units : int
        Words, or bytes, of a unit.
    size : int
        Bits of one.
    """

    def __init__(self, m, path: str, units: int, size: int):
        self.units, self.size = units, size
        self.added, self.ends, self.is_busy = (
            probe(m, f"{path}.{name}", 1) for name in ("has_added", "ends", "is_busy")
        )
        self.after, self.state = probe(m, f"{path}.after", BITS), probe(m, f"{path}.state", BITS)
        self.result = probe(m, f"{path}.result", BITS)
        bits = (units - 1).bit_length()
        self.left = probe(m, f"{path}.left", bits) if bits else Const(0, 1)
        self.past = probe(m, f"{path}.past", bits) if bits else Const(0, 1)

    def follows(self, m, state, expected, is_due, idle):
        """Assert that it is at ``state`` in its stripe, and will give ``expected`` if ``is_due``.

        ``idle`` counts the cycles since the stripe's end.
        """
        # With zeros in place of what is past the end.
        padded = [expected]
        for _ in range(1, self.units):
            padded.append(_step(padded[-1], Const(0, self.size)))
        for k, value in enumerate(padded):
            with m.If(self.ends & (self.past == k)):
                m.d.comb += Assert(self.after == value)
            with m.If(self.is_busy & (self.left == k)):
                m.d.comb += [Assert(self.result == value), Assert(idle + k <= self.units)]
        m.d.comb += [
            Assert(~(self.ends & self.is_busy)),
            Assert(is_due == (self.ends | self.is_busy)),
            Assert(self.added | ~self.ends),
            Assert(~self.ends | (idle == 0)),
        ]
        with m.If(self.added & ~self.ends):
            m.d.comb += Assert(self.after == state)
        with m.Elif(~self.added):
            m.d.comb += Assert(self.state == state)
        with m.Else():
            m.d.comb += Assert(state == ONES)


class AddsUnits(Elaboratable):
    """A stripe has one CRC: that of a shift register that takes the bits of its units in order.

    Units come at any time, all but what the last one has too much. CRCs are taken at any time.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        gives, units = take(m, dut.o, "o"), dut.bits // dut.size
        m.d.comb += [
            dut.clear.eq(anything(m, 1, "clear") & dut.idle),
            dut.valid.eq(anything(m, 1, "valid")),
            dut.unit.eq(anything(m, dut.bits, "any_unit")),
            dut.last.eq(anything(m, 1, "last") & dut.idle),
            dut.excess.eq(anything(m, len(dut.excess), "any_excess")),
            Assume((dut.excess < units) & (dut.last | (dut.excess == 0))),
        ]
        parts = [dut.unit[k : k + dut.size] for k in range(0, dut.bits, dut.size)]
        for k, part in enumerate(parts):
            m.d.comb += Assume((part == 0) | (k < units - dut.excess))
        state, end, expected, is_due = Signal(BITS, init=-1), Signal(BITS), Signal(BITS), Signal()
        states = [state]
        for k, part in enumerate(parts):
            behind = Signal(BITS, name=f"behind{k}")
            m.d.comb += behind.eq(_step(states[-1], part))
            states.append(behind)
        for k in range(units):
            with m.If(dut.excess == k):
                m.d.comb += end.eq(states[units - k])
        with m.If(dut.clear):
            m.d.sync += state.eq(ONES)
        with m.Elif(dut.valid):
            m.d.sync += state.eq(Mux(dut.last, ONES, states[-1]))
        ends = dut.valid & dut.last & ~dut.clear
        with m.If(ends):
            m.d.sync += [expected.eq(end), is_due.eq(1)]
        with m.Elif(gives):
            m.d.sync += is_due.eq(0)
        with m.If(dut.o.valid):
            m.d.comb += [Assert(is_due), Assert(dut.o.payload == ~expected)]
        idle = Signal(range(units + 3))
        m.d.sync += idle.eq(Mux(is_due & ~dut.o.valid, idle + 1, 0))
        m.d.comb += [
            Assert(dut.idle == ~is_due),
            Assert(idle <= units),
            Cover(gives & dut.valid),
            Cover(gives & (idle == units)),
        ]
        core = _Core(m, "dut", units, dut.size)
        core.follows(m, state, expected, is_due, idle)
        return m


class IsBitSerial(Elaboratable):
    """A stripe has one CRC: that of a shift register that takes the bits of its words in order.

    Rows come at any time, a stripe may end after any word, CRCs are taken at any time.
    """

    def __init__(self, config):
        self.config = config
        with mock.patch.multiple(crc, **SHORT):
            self.dut = StripeCrc(config)

    def elaborate(self, platform):
        m = Module()
        dut, lanes = self.dut, self.config.lanes
        with mock.patch.object(crc, "UnitCrc", _ShortCrc):
            m.submodules.dut = elaborated(dut, platform)
        enters, gives, row = offer(m, dut.i, "i"), take(m, dut.o, "o"), dut.i.payload
        m.d.comb += [
            Assume((row.count != 0) & (row.count <= lanes)),
            Assume(row.last | (row.count == lanes)),
            *(Assume((row.words[k] == 0) | (row.count > k)) for k in range(lanes)),
        ]
        # The state before the row, and behind each of its words.
        state = Signal(BITS, init=-1)
        states = [state]
        for k in range(lanes):
            behind = Signal(BITS, name=f"behind{k}")
            m.d.comb += behind.eq(_step(states[-1], row.words[k]))
            states.append(behind)
        end, expected, is_due = Signal(BITS), Signal(BITS), Signal()
        for k in range(1, lanes + 1):
            with m.If(row.count == k):
                m.d.comb += end.eq(states[k])
        with m.If(enters):
            m.d.sync += state.eq(Mux(row.last, ONES, end))
            with m.If(row.last):
                m.d.sync += [expected.eq(end), is_due.eq(1)]
                m.d.comb += Assert(~is_due)  # one CRC waits at a time: none is lost
        with m.If(gives):
            m.d.sync += is_due.eq(0)
        with m.If(dut.o.valid):
            m.d.comb += [Assert(is_due), Assert(dut.o.payload == ~expected)]
        # Not later than three cycles and one for each word that is taken back.
        idle = Signal(range(lanes + 4))
        m.d.sync += idle.eq(Mux(is_due & ~dut.o.valid, idle + 1, 0))
        m.d.comb += [
            Assert(dut.idle == ~is_due),
            Assert(idle < 3 + dut.words),
            Cover(gives & enters),
            Cover(gives & (idle == dut.words)),
        ]
        self._invariants(m, states, expected, is_due, idle)
        return m

    def _invariants(self, m, states, expected, is_due, idle):
        """The component takes a row in units."""
        dut, words = self.dut, self.dut.words
        pieces = self.config.lanes // words
        bits = (max(pieces, 2) - 1).bit_length()
        place, turned = probe(m, "dut.place", bits), probe(m, "dut.turned", bits)
        behind = Signal(BITS, name="behind_units")
        m.d.comb += behind.eq(states[0])
        for k in range(1, pieces):
            with m.If(place == k):
                m.d.comb += behind.eq(states[k * words])
        core = _Core(m, "dut.core", words, self.config.word_bits)
        core.follows(m, behind, expected, is_due, idle)
        m.d.comb += [
            Assert(place < pieces),
            Assert(turned == (~place)[:bits]),
            Assert((place == 0) | (dut.i.valid & (dut.i.payload.count > place * words))),
            Assert(~core.ends | (place == 0)),
        ]


def _step(state, word):
    """The state behind a word, bit by bit."""
    for k in range(len(word)):
        carry = state[0] ^ word[k]
        state = Cat(state[1:], 0)[:BITS] ^ Mux(carry, POLYNOMIAL, 0)
    return state


def sized(lanes: int, link_bytes: int):
    """A small engine with so many lanes and a link of so many bytes."""
    return replace(small(lanes=lanes), link_bytes=link_bytes)


PROOFS = (
    Proof(
        name="unit_crc",
        promise="Each stripe has one CRC, that of its units and of no other",
        components=(UnitCrc,),
        design=lambda size: AddsUnits(_ShortCrc(*size)),
        sizes={"2 words of 4 bits": (8, 4), "2 words of 8 bits": (16, 8)},
        slow=("2 words of 8 bits",),
        broken=faults(
            (8, 4),
            6,
            late("dut.after", 3),
            stuck_at(0, "dut.has_added"),
            stuck_at(1, "dut.idle"),
        ),
    ),
    Proof(
        name="stripe_crc",
        promise="Each stripe has one CRC, that of its words and of no other",
        components=(StripeCrc,),
        design=IsBitSerial,
        sizes={
            f"{lanes} lanes, link of {link} words, 8 bits": sized(lanes, link)
            for lanes, link in ((2, 2), (2, 1))
        },
        slow=("2 lanes, link of 2 words, 8 bits",),
        broken=faults(
            sized(2, 2),
            6,
            late("dut.core.past"),
            stuck_at(0, "dut.core.has_added"),
            stuck_at(1, "dut.core.idle"),
            late("dut.core.after", 3),
        )
        + faults(sized(2, 1), 6, late("dut.turned")),
    ),
)
