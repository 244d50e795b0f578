"""Each entry of an index is given once, in order, with its CRC if it has one."""

from amaranth.hdl import Assert, Cat, Const, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.hdl.engine.offload.index import IndexEntries
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, offer
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.proof import Proof, faults

WAITING = 4  # entries


class GivesEntries(Elaboratable):
    """Entries come up to two cycles after ``is_tight`` is first seen, and leave in order.

    That there is room for each of them is an assertion of the component.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        was_tight = Signal(2)  # one and two cycles ago
        pairs = offer(m, dut.i_crc, "crc")
        m.d.comb += [
            dut.valid.eq(anything(m, 1, "valid") & ~was_tight[1]),
            Value.cast(dut.i).eq(anything(m, len(Value.cast(dut.i)), "entry")),
            dut.hold.eq(anything(m, 1, "hold")),
            dut.has_crc.eq(anything(m, 1, "has_crc")),
        ]
        m.d.sync += was_tight.eq(Cat(dut.is_tight, was_tight[0]))
        waiting = [Signal(dut.i.shape(), name=f"waiting{k}") for k in range(WAITING)]
        level = Signal(range(WAITING + 1))
        place = level - dut.o_valid
        m.d.sync += level.eq(level + dut.valid - dut.o_valid)
        for k, entry in enumerate(waiting):
            behind = (
                Value.cast(waiting[k + 1]) if k + 1 < WAITING else Const(0, len(entry.as_value()))
            )
            stays = Mux(dut.o_valid, behind, entry.as_value())
            m.d.sync += entry.eq(Mux(dut.valid & (place == k), Value.cast(dut.i), stays))
        first = waiting[0]
        flags = Cat(first.raw, dut.has_crc, Const(0, 6))
        crc = Mux(dut.has_crc, dut.i_crc.payload, 0)
        m.d.comb += [
            Assert(dut.idle == (level == 0)),
            Assert(dut.o_valid == ((level != 0) & ~dut.hold & (dut.i_crc.valid | ~dut.has_crc))),
            Assert(pairs == (dut.o_valid & dut.has_crc)),
            Cover(pairs & (level == WAITING)),
        ]
        with m.If(dut.o_valid):
            word = Cat((Const(0, 24) | first.bytes)[:24], flags, crc)
            m.d.comb += [Assert(dut.o.words[0] == word), Assert(dut.o.count == 1)]
        # Invariants: the queue has what waits, and what is on its way has room.
        valid = probe(m, "dut.waiting.valid", WAITING)
        for k, entry in enumerate(waiting):
            kept = probe(m, f"dut.waiting.entry{k}", len(entry.as_value()))
            m.d.comb += Assert(valid[k] == (level > k))
            m.d.comb += Assert(~valid[k] | (kept == entry.as_value()))
        m.d.comb += [
            Assert(level <= WAITING),
            Assert(was_tight[0] | (level <= 2)),
            Assert(was_tight[1] | (level <= 3)),
        ]
        return m


PROOFS = (
    Proof(
        name="index_entries",
        promise="Each entry of an index is given once, in order, with its CRC if it has one",
        components=(IndexEntries,),
        design=lambda config: GivesEntries(IndexEntries(config)),
        sizes={"stripes of 16 bytes": small()},
        broken=faults(
            small(),
            8,
            late("dut.is_tight"),
            stuck_at(1, "dut.i_crc__ready"),
            stuck_at(0, "dut.waiting.entry1", 0),
        ),
    ),
)
