"""The arena of streams with APPEND: the pointer goes behind each stream, and the room is exact."""

from amaranth.hdl import Assert, Assume, Cat, Const, Cover, Elaboratable, Module, Mux, Signal

from cdma.engine_config import HOST_ALIGNMENT
from cdma.hdl.engine.front.ring.arena import Arena
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, leave_open
from cdma.verify.proofs.proof import Proof, faults, swapped

_LOW = HOST_ALIGNMENT.bit_length() - 1
_PART = 8


class KeepsPointer(Elaboratable):
    """A ring runs and stops at any time. One stream at a time is started, while the arena is free,
    and ends at any time, with any size.

    While the ring does not run, the arena's end changes at any time; software writes the pointer
    when nothing is in flight and no carry is on its way.

    While the ring runs, the arena stays free until a stream is started.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut, bits = self.dut, self.dut.bits
        m.submodules.dut = elaborated(dut, platform)
        parts = dut.settle // 2
        names = ("run", "takes", "ends", "advances", "size")
        leave_open(m, dut, *names, "write_low", "write_high", "write_data", "clear")
        is_busy, quiet, had_run = Signal(), Signal(range(parts + 1)), Signal()
        end, pointer = Signal(bits, name="kept_end"), Signal(bits, name="expected")
        writes = dut.write_low | dut.write_high | dut.clear
        m.d.comb += [
            dut.end.eq(Mux(dut.run, end, Cat(Const(0, _LOW), anything(m, bits - _LOW, "any_end")))),
            # A job that was taken in the cycle before the ring stopped starts in that cycle.
            Assume(~dut.takes | (dut.is_free & (dut.run | had_run))),
            Assume(~dut.ends | (is_busy & ~dut.takes)),
            Assume(~dut.advances | dut.ends),
            Assume(~writes | (~dut.run & ~is_busy & ~dut.adds)),
        ]
        m.d.sync += [
            had_run.eq(dut.run),
            end.eq(dut.end),
            is_busy.eq(Mux(dut.takes | dut.ends, dut.takes, is_busy)),
            quiet.eq(Mux(dut.ends, 0, Mux(quiet == parts, parts, quiet + 1))),
        ]
        with m.If(dut.ends & dut.advances):
            whole = (dut.size + (HOST_ALIGNMENT - 1)) >> _LOW
            m.d.sync += pointer.eq((pointer + (whole << _LOW))[:bits])
        low_bits = 32 - _LOW
        with m.If(dut.write_low):
            m.d.sync += pointer[_LOW : _LOW + low_bits].eq(dut.write_data[_LOW:])
        with m.If(dut.write_high):
            m.d.sync += pointer[_LOW + low_bits :].eq(dut.write_data)
        with m.If(dut.clear):
            m.d.sync += pointer.eq(0)
        room = Signal(bits)
        m.d.comb += room.eq(Mux(dut.end > pointer, dut.end - pointer, 0))
        with m.If(dut.is_free & dut.run):
            m.d.comb += [
                Assert(~is_busy),
                Assert(dut.pointer == pointer),
                Assert(dut.room == room),
                Cover((room != 0) & (pointer == HOST_ALIGNMENT << 8)),
                Cover((room == 0) & (dut.end != pointer)),
            ]
        was_free = Signal()
        m.d.sync += was_free.eq(dut.is_free & dut.run & ~dut.takes)
        m.d.comb += Assert(dut.is_free | ~was_free)
        # Carries on their way are what the pointer lacks; none is after as many cycles as parts.
        carries = [probe(m, f"dut.carry{low}", 1) for low in range(0, bits - _LOW - _PART, _PART)]
        lacks, may_add = Signal(bits), Signal()
        m.d.sync += may_add.eq(dut.adds | dut.ends)
        m.d.comb += [
            lacks.eq(Cat(*(Cat(Const(0, _PART), carry)[1:] for carry in carries))),
            Assert((dut.pointer + (lacks << (_LOW + 1)))[:bits] == pointer),
            Assert(dut.adds == (Cat(carries) != 0)),
            Assert(~dut.adds | may_add),
            Cover(writes & (quiet < parts)),
            Assert(probe(m, "dut.is_busy", 1) == is_busy),
        ]
        for k, carry in enumerate(carries):
            m.d.comb += Assert(~carry | (quiet <= k))
        settled = probe(m, "dut.settled", dut.settle.bit_length())
        m.d.comb += [
            Assert(dut.end[:_LOW] == 0),
            Assert(is_busy | (settled <= dut.settle)),
            Assert(is_busy | (quiet == parts) | (settled <= quiet)),
        ]
        return m


class FreeInTurns(Arena):
    """Is free in every other cycle only."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        waits = Signal()
        m.d.sync += waits.eq(~waits)
        with m.If(waits):
            m.d.comb += self.is_free.eq(0)
        return m


PROOFS = (
    Proof(
        name="arena",
        promise="The arena's pointer goes behind each stream, and its room is up to its end",
        components=(Arena,),
        design=lambda bits: KeepsPointer(Arena(bits)),
        sizes={f"{bits} bits of address": bits for bits in (20, 28, 33, 40)},
        depth=12,
        broken=(
            *faults(
                20,
                16,
                late("dut.carry0"),
                stuck_at(0, "dut.borrow0"),
                stuck_at(1, "dut.settled", 2),
                late("dut.is_busy"),
                late("dut.adds"),
            ),
            *swapped(16, {"is free in turns": lambda: KeepsPointer(FreeInTurns(20))}),
        ),
    ),
)
