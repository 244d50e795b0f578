"""Each entry of an index is written once, at its place, and nothing else is."""

from dataclasses import replace

from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.hdl.engine.offload.index import IndexPacker
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, offer, take
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.proof import Proof, faults

ENTRY = 8  # bytes


class PlacesEntries(Elaboratable):
    """The beat that leaves has all entries that came since the last one, and enables only these.

    Entry ``n`` of an index is at byte ``8 n`` from its start, with its CRC if it has one. An index
    starts at any multiple of 8 when the packer is empty, and is flushed after its last entry.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut = self.dut
        m.submodules.dut = elaborated(dut, platform)
        link = dut.config.link_bytes
        slots = link // ENTRY
        enters, pairs = offer(m, dut.i, "i"), offer(m, dut.i_crc, "crc")
        leaves, beat = take(m, dut.o, "o"), dut.o.payload
        is_idle, flushes, has_crc = Signal(init=1), Signal(), Signal()
        started = Signal()
        m.d.comb += [
            dut.start.eq(anything(m, 1, "start") & is_idle & ~dut.i.valid),
            dut.address.eq(anything(m, dut.config.address_bits - 3, "start_address") << 3),
            dut.has_crc.eq(has_crc),
            dut.flush.eq(flushes),
            Assume(~dut.i.valid | (started & ~flushes)),
            Assert(dut.idle == is_idle),
            Assert(pairs == (enters & has_crc)),
        ]
        at = Signal(dut.config.address_bits - 3)  # of the next entry, in entries
        with m.If(dut.start):
            m.d.sync += [at.eq(dut.address >> 3), started.eq(1), flushes.eq(0)]
            m.d.sync += has_crc.eq(anything(m, 1, "wants_crc"))
        with m.Else():
            m.d.sync += [at.eq(at + enters)]
            m.d.sync += flushes.eq(flushes | (started & anything(m, 1, "flush") & ~dut.i.valid))
        # What waits: which slots of a beat, their entries, the beat's address and first tag.
        slot = at[: slots.bit_length() - 1] if slots > 1 else 0
        waits, words = Signal(slots), [Signal(8 * ENTRY, name=f"word{k}") for k in range(slots)]
        base, tag = Signal(dut.config.address_bits), Signal(len(Value.cast(beat.tag)))
        entry = dut.i.payload
        word = Cat(entry.bytes, entry.raw, has_crc, 0, 0, 0, 0, 0, 0)
        word = Cat(word, Mux(has_crc, dut.i_crc.payload, 0))
        with m.If(leaves):
            m.d.sync += [waits.eq(0), is_idle.eq(1)]
            m.d.comb += Assert(~enters)
        with m.If(enters):
            m.d.sync += [waits.eq(waits | (1 << slot)), is_idle.eq(0)]
            for k in range(slots):
                with m.If(slot == k):
                    m.d.sync += words[k].eq(word)
            with m.If(waits == 0):
                m.d.sync += [base.eq((at << 3) & -link), tag.eq(Value.cast(entry.tag))]
            # It belongs to the beat that waits, behind all that is in there.
            with m.Else():
                m.d.comb += Assert(base == ((at << 3) & -link)[: len(base)])
                m.d.comb += Assert((waits >> slot) == 0)
        with m.If(dut.o.valid):
            m.d.comb += [
                Assert(waits != 0),
                Assert(waits[-1] | flushes),
                Assert(beat.last == ~waits[-1]),
            ]
        m.d.comb += Assert((waits != 0) == ~is_idle)
        with m.If(waits != 0):
            m.d.comb += [Assert(beat.address == base), Assert(Value.cast(beat.tag) == tag)]
            for k in range(slots):
                strobes = beat.strobe[ENTRY * k : ENTRY * (k + 1)]
                m.d.comb += Assert(strobes == waits[k].replicate(ENTRY))
                with m.If(waits[k]):
                    m.d.comb += Assert(beat.data[64 * k : 64 * (k + 1)] == words[k])
        self._invariants(m, at, waits, started, enters)
        m.d.comb += [
            Cover(leaves & flushes & (at[-1] != 0)),
            Cover(leaves & ~flushes & has_crc),
        ]
        return m

    def _invariants(self, m, at, waits, started, enters):
        """Also: an entry is taken within two cycles, unless a beat waits to leave."""
        dut = self.dut
        bits = dut.config.address_bits
        place, carry = probe(m, "dut.place", bits), probe(m, "dut.place_carry", 1)
        found, idle = Signal(bits - 3), Signal(2)
        can = dut.i.valid & (dut.i_crc.valid | ~dut.has_crc) & ~dut.o.valid
        m.d.sync += idle.eq(Mux(can & ~enters, idle + 1, 0))
        slots = len(waits)
        if slots > 1:
            last = waits[-1] | ((waits != 0) & (at[: slots.bit_length() - 1] != 0))
            m.d.comb += Assert(~started | (waits == 0) | last)
        for k in range(slots - 1):  # what waits has no gap up to the next entry
            m.d.comb += Assert(~waits[k] | waits[k + 1] | (at[: slots.bit_length() - 1] == k + 1))
        base = (((at << 3) - ENTRY * 1)[:bits]) & -dut.config.link_bytes
        with m.If(waits != 0):
            m.d.comb += Assert(dut.o.payload.address == base[:bits])
        m.d.comb += [
            found.eq((place >> 3) + (carry << (bits // 2))),
            Assert(idle < 2),
            Assert((idle == 0) | ~carry),
            Assert(started | (waits == 0)),
            Assert(probe(m, "dut.is_full", 1) == waits[-1]),
        ]
        with m.If(started):
            m.d.comb += [Assert(found == at), Assert(place[:3] == 0)]


def sized(link_bytes: int):
    """A small engine with a link of so many bytes."""
    return replace(small(), link_bytes=link_bytes)


PROOFS = (
    Proof(
        name="index_packer",
        promise="Each entry of an index is written once, at its place, and no other byte is",
        components=(IndexPacker,),
        design=lambda config: PlacesEntries(IndexPacker(config)),
        sizes={f"link of {link} bytes": sized(link) for link in (8, 16, 32)},
        broken=faults(
            sized(16),
            8,
            late("dut.is_empty"),
            stuck_at(0, "dut.place_carry"),
            stuck_at(0, "dut.is_full"),
            stuck_at(1, "dut.i__ready"),
        ),
    ),
)
