"""The CRC of each stripe is that of its words, bit by bit.

The polynomial has 8 bits in place of 32: matrices, states and steps are made of it in the same way,
and a solver compares XORs of a few bits only. Simulation compares the real one with zlib.
"""

from dataclasses import replace
from unittest import mock

from amaranth.hdl import Assert, Assume, Cat, Const, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.engine.common import crc
from cdma.hdl.engine.common.crc import StripeCrc
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import offer, take
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.proof import Proof, faults

BITS, POLYNOMIAL = 8, 0x8C  # of CRC-8/MAXIM, bits reflected
SHORT = {"_BITS": BITS, "_POLYNOMIAL": POLYNOMIAL, "_ONES": (1 << BITS) - 1}


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
        with mock.patch.multiple(crc, **SHORT):
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
            m.d.comb += behind.eq(self._step(states[-1], row.words[k]))
            states.append(behind)
        end, expected, is_due = Signal(BITS), Signal(BITS), Signal()
        for k in range(1, lanes + 1):
            with m.If(row.count == k):
                m.d.comb += end.eq(states[k])
        with m.If(enters):
            m.d.sync += state.eq(Mux(row.last, (1 << BITS) - 1, end))
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
        """The component's state follows by a cycle, in pieces, and takes words back at the end."""
        dut, words = self.dut, self.dut.words
        pieces = self.config.lanes // words
        place = probe(m, "dut.place", (max(pieces, 2) - 1).bit_length())
        added, ends = probe(m, "dut.has_added", 1), probe(m, "dut.ends", 1)
        is_busy, after = probe(m, "dut.is_busy", 1), probe(m, "dut.after", BITS)
        behind = Signal(BITS, name="behind_pieces")
        m.d.comb += behind.eq(states[0])
        for k in range(1, pieces):
            with m.If(place == k):
                m.d.comb += behind.eq(states[k * words])
        bits = (words - 1).bit_length()
        left = probe(m, "dut.left", bits) if bits else Const(0, 1)
        excess = probe(m, "dut.excess", bits) if bits else Const(0, 1)
        # With zeros in place of the words past the end.
        padded = [expected]
        for _ in range(1, words):
            padded.append(self._step(padded[-1], Const(0, self.config.word_bits)))
        for k, value in enumerate(padded):
            with m.If(ends & (excess == k)):
                m.d.comb += Assert(after == value)
            with m.If(is_busy & (left == k)):
                m.d.comb += [
                    Assert(probe(m, "dut.result", BITS) == value),
                    Assert(idle + k <= words),
                ]
        m.d.comb += [
            Assert(place < pieces),
            Assert((place == 0) | (dut.i.valid & (dut.i.payload.count > place * words))),
            Assert(~(ends & is_busy)),
            Assert(is_due == (ends | is_busy)),
            Assert(added | ~ends),
            Assert(~ends | ((idle == 0) & (place == 0))),
        ]
        with m.If(added & ~ends):
            m.d.comb += Assert(after == behind)
        with m.Elif(~added):
            m.d.comb += Assert(probe(m, "dut.state", BITS) == behind)
        with m.Else():
            m.d.comb += Assert(states[0] == (1 << BITS) - 1)

    def _step(self, state, word):
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
            late("dut.excess"),
            stuck_at(0, "dut.has_added"),
            stuck_at(0, "dut.is_pending"),
            late("dut.after", 3),
        ),
    ),
)
