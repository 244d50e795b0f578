"""Registers: reads change nothing and are answered, and writes change only what they name."""

from amaranth.hdl import Assert, Cat, Cover, Elaboratable, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from cdma.engine_config import EngineConfig
from cdma.hdl.engine.front.registers import IN_MEMORY, RegisterBlock
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import Proof, faults, swapped

SIZE = EngineConfig(1, 2, 32, 1024)


class ReadsChangeNothing(Elaboratable):
    """Two register blocks get the same writes, but only one gets reads: no output differs.

    Only what is read differs, and the reads of the counters, which have a memory of their own. A
    write that is refused changes nothing either: it drives no output.

    The read of a register ends two cycles after it has begun, that of a counter with the answer of
    the counters, which are asked in the cycle in which it begins.
    """

    def __init__(self, one, other):
        self.one, self.other = one, other

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut, m.submodules.other = self.one, self.other
        one, other = self.one, self.other
        for name in ("write_address", "write_data"):
            port = getattr(one.bus, name)
            same = anything(m, len(port), name)
            m.d.comb += [port.eq(same), getattr(other.bus, name).eq(same)]
        # All that software writes has its reset value in the second cycle.
        has_run = Signal()
        m.d.sync += has_run.eq(1)
        write, clear = anything(m, 1, "write"), anything(m, 1, "clear")
        m.d.comb += [
            one.bus.write.eq(write),
            other.bus.write.eq(write),
            one.clear.eq(clear),
            other.clear.eq(clear),
            one.bus.read.eq(anything(m, 1, "read")),
            one.bus.read_address.eq(anything(m, len(one.bus.read_address), "read_address")),
            one.counter_done.eq(anything(m, 1, "counter_done")),
            one.counter_data.eq(anything(m, 32, "counter_data")),
            Assert(one.bus.write_refused == other.bus.write_refused),
            Cover(write & ~one.bus.write_refused),
            Cover(write & one.bus.write_refused & one.bus.read),
        ]
        for block in one.blocks:
            mine, its = getattr(one, block), getattr(other, block)
            for name, member in mine.signature.members.items():
                value, twin = getattr(mine, name), getattr(its, name)
                if member.flow is In:
                    free = anything(m, len(value), f"{block}_{name}")
                    m.d.comb += [value.eq(free), twin.eq(free)]
                elif member.flow is Out:
                    with m.If(has_run):
                        m.d.comb += Assert(value == twin)
                    if name.endswith(("_write", "_pulse")):
                        with m.If(~write | one.bus.write_refused):
                            m.d.comb += Assert(value == 0)
                    else:
                        self._kept(m, block, name, value, write & ~one.bus.write_refused, clear)
        self._answers(m)
        return m

    def _answers(self, m):
        """When a read ends, and what is read of a counter."""
        dut, bus = self.one, self.one.bus
        was_read, is_counter = Signal(2), Signal()  # a cycle ago, and two
        words = [
            address >> 2
            for address, (block, *_) in dut.map.addresses().items()
            if block.name in IN_MEMORY
        ]
        m.d.sync += was_read.eq(Cat(bus.read, was_read))
        m.d.comb += [
            is_counter.eq(Cat(bus.read_address[2:] == word for word in words).any()),
            Assert(dut.counter_read == (bus.read & is_counter)),
            Assert(dut.counter_address == bus.read_address),
            Assert(bus.read_done == Mux(is_counter, dut.counter_done, was_read[1])),
            Assert(~is_counter | ((bus.read_data == dut.counter_data) & ~bus.read_refused)),
            Cover(bus.read_done & ~is_counter & ~bus.read_refused),
        ]

    def _kept(self, m, block, name, value, accepted, clear):
        """A register changes only two cycles after an accepted write, or when all are cleared, or
        after reset; LOCK a cycle after the write."""
        was, has_run = Signal(len(value), name=f"{block}_{name}_was"), Signal(2)
        may_change = Signal(2, name=f"{block}_{name}_may_change")
        m.d.sync += [
            was.eq(value),
            may_change.eq(Cat(accepted | clear, may_change)),
            has_run.eq(Cat(1, has_run)),
        ]
        with m.If(has_run.all() & ~may_change[name != "ctrl_lock"]):
            m.d.comb += Assert(value == was)


class ReadsClear(RegisterBlock):
    """A read clears the registers."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        with m.If(self.bus.read):
            m.d.sync += self.ring0.ctrl_lock.eq(0)
        return m


class AsksForOne(RegisterBlock):
    """Asks for the counter at address 0, whatever is read."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.comb += self.counter_address.eq(0)
        return m


PROOFS = (
    Proof(
        name="register_block",
        promise="A read has no side effect, and a refused write neither; a read ends after two "
        "cycles, or with the counters",
        components=(RegisterBlock,),
        design=lambda config: ReadsChangeNothing(
            RegisterBlock.of(config), RegisterBlock.of(config)
        ),
        sizes={"1 channel": SIZE},
        slow=("1 channel",),
        depth=2,
        broken=(
            *swapped(
                5,
                {
                    "reads clear": lambda: ReadsChangeNothing(
                        ReadsClear.of(SIZE), RegisterBlock.of(SIZE)
                    ),
                    "asks for one counter": lambda: ReadsChangeNothing(
                        AsksForOne.of(SIZE), RegisterBlock.of(SIZE)
                    ),
                },
            ),
            *faults(
                SIZE,
                5,
                stuck_at(1, "dut.engine0_timeout_accepted"),
                stuck_at(0, "dut.bus__read_done"),
                late("dut.last"),
                stuck_at(0, "dut.is_counter"),
                stuck_at(1, "dut.bus__read_refused"),
            ),
        ),
    ),
)
