"""The front end: what rings, ports and timeouts need of registers and of a reset."""

from dataclasses import replace

from amaranth.hdl import Assert, Cat, Cover, Elaboratable, Module, Signal, Value
from amaranth.lib.wiring import In, Out

from cdma.hdl.engine.front import front
from cdma.hdl.engine.front.counters import Counters
from cdma.hdl.engine.front.fields import is_kept
from cdma.hdl.engine.front.front import ABORT_TIMEOUT, FrontEnd
from cdma.hdl.engine.front.interrupts import Interrupts
from cdma.hdl.engine.front.registers import RegisterBlock
from cdma.hdl.engine.front.ring.fetch import RINGS
from cdma.hdl.engine.front.ring.rings import Rings
from cdma.hdl.engine.registers import Guard
from cdma.hdl.lib.signals import any_of
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.stream_rules import anything, is_one_at_most, leave_ports_open
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.parts import AnyOutputs, with_parts
from cdma.verify.proofs.proof import PDR, Proof, faults, swapped

#: Parts whose ports the models look at.
PARTS = ("Rings", "Counters", "Interrupts", "RegisterBlock")


class AnyCounters(AnyOutputs, Counters):
    """Gives any counters."""


class AnyInterrupts(AnyOutputs, Interrupts):
    """Any interrupts wait."""


class AnyRings(Rings):
    """Rings that are active from a write of their control register on, not during a reset, and stop
    at any time.

    Members
    -------
    active : a bit for each ring
    """

    def __init__(self, config):
        super().__init__(config)
        self.active = Signal(RINGS, name="active", init=(1 << RINGS) - 1)

    def elaborate(self, platform):
        m = Module()
        leave_ports_open(m, self, Out, "is_stopped", "registers0", "registers1")
        m.d.comb += self.is_stopped.eq(anything(m, 1, "has_stopped") & ~self.active.any())
        for ring in range(RINGS):
            regs = getattr(self, f"registers{ring}")
            leave_ports_open(m, regs, Out, "is_active")
            goes_on = self.active[ring] & anything(m, 1, f"goes_on{ring}")
            m.d.sync += self.active[ring].eq((regs.ctrl_write & ~self.resets) | goes_on)
            m.d.comb += regs.is_active.eq(self.active[ring])
        return m


class _IgnoresLock(RegisterBlock):
    """Windows of a locked ring are written and cleared, as if they were not locked."""

    def _keep(self, m, port, block, register, address):
        if register.guard is Guard.WINDOW:
            register = replace(register, guard=Guard.IDLE)
        super()._keep(m, port, block, register, address)


class _FrontEnd(Elaboratable):
    """A front end with its registers, between any software and any data path. In place of rings,
    counters and interrupts are any."""

    def __init__(self, config, **instead):
        self.config, self._instead = config, instead

    def elaborate(self, platform):
        m = Module()
        self.dut = dut = FrontEnd(self.config)
        instead = {"Rings": AnyRings, "Counters": AnyCounters, "Interrupts": AnyInterrupts}
        instead |= self._instead
        m.submodules.dut, parts = with_parts(dut, platform, (front,), PARTS, instead)
        self.rings, _, _, self.registers = (parts[name] for name in PARTS)
        leave_ports_open(m, dut, In)
        self._check(m)
        return m

    def _was(self, m, value, name):
        """The value of the cycle before."""
        was = Signal(len(Value.cast(value)), name=f"{name}_was")
        m.d.sync += was.eq(Value.cast(value))
        return was


class KeepsRingsRegisters(_FrontEnd):
    """Counts of a ring are written one at a time, at least three cycles apart, at the address of
    each, and what is written stays for two more cycles. What is guarded does not change while its
    ring is active, nor the windows of a ring whose LOCK is set, in a reset neither. Registers are
    cleared when both rings have stopped, and RESET reads as 1 until then.
    """

    def _check(self, m):
        rings, registers = self.rings, self.registers
        ports = [getattr(rings, f"registers{ring}") for ring in range(RINGS)]
        pulses = Cat(each for p in ports for each in (p.sq_tail_write, p.cq_head_write))
        wrote, wrote_before = Signal(name="wrote"), Signal(name="wrote_before")
        m.d.sync += [wrote.eq(pulses.any()), wrote_before.eq(wrote)]
        m.d.comb += [
            Assert(~pulses.any() | ~(wrote | wrote_before)),
            Assert(is_one_at_most(pulses)),
            Cover(pulses[3]),
        ]
        data = self._was(m, rings.write_data, "write_data")
        m.d.comb += Assert(~(wrote | wrote_before) | (rings.write_data == data))
        for ring, port in enumerate(ports):
            for name in ("SQ_TAIL", "CQ_HEAD"):
                with m.If(getattr(port, f"{name.lower()}_write")):
                    address = port.signature.block.address(name, ring)
                    m.d.comb += Assert(rings.write_address == address)
        # As the proof of the rings says it.
        resets, begins, clears = (Signal(name=f"is_{name}") for name in ("reset", "new", "clear"))
        engine, stops = registers.engine0, rings.is_stopped & ~begins
        m.d.sync += [
            begins.eq(rings.reset),
            clears.eq(resets & stops),
            resets.eq(rings.reset | (resets & ~stops)),
        ]
        m.d.comb += [
            Assert(rings.reset == engine.ctrl_reset_pulse),
            Assert((rings.clear == clears) & (registers.clear == clears)),
            Assert(engine.ctrl_reset == (resets | clears)),
            Assert(rings.resets == (resets | clears)),
            Cover(clears & ~resets),
        ]
        # All registers have their reset value in the second cycle.
        has_run = Signal(2, name="has_run")
        m.d.sync += has_run.eq(Cat(1, has_run))
        for ring, port in enumerate(ports):
            was_active = self._was(m, port.is_active, f"active{ring}")
            was_locked = self._was(m, port.ctrl_lock, f"locked{ring}")
            for name, guard in _guarded(port.signature.block).items():
                value = getattr(port, name)
                was = self._was(m, value, f"{name}{ring}")
                stays = was_active & port.is_active
                if guard is Guard.WINDOW:
                    stays |= was_locked
                m.d.comb += Assert(~(has_run.all() & stays) | (value == was))
            m.d.comb += Cover(has_run.all() & was_locked & clears)


def _guarded(block):
    """Names of the fields that cannot be written while a ring is active, and their guards."""
    return {
        f"{register.name}_{field.name}".lower(): register.guard
        for register in block.registers
        for field in register.fields
        if register.guard is not Guard.NONE and is_kept(block, register, field)
    }


class KeepsTimeouts(_FrontEnd):
    """A timeout that is on is not zero, and is that of the cycle before, which loads the timers: it
    does not change while it is on, whatever is written. It is on in an abort, also where software
    has switched it off, and else only where it has not.
    """

    def _check(self, m):
        timeout, dut = self.dut.timeout, self.dut
        cycles = self._was(m, timeout.cycles, "cycles")
        aborts = dut.port0.abort | dut.port1.abort
        was_aborting = self._was(m, aborts, "aborts")
        # After three cycles in which the register is not written, an abort has a timeout.
        changes = self.registers.engine0.timeout_write | self.registers.clear
        calm = Signal(range(4), name="calm")
        m.d.sync += calm.eq(Cat(~changes & aborts, 0))
        with m.If(changes | ~aborts):
            m.d.sync += calm.eq(0)
        with m.Elif(calm != 3):
            m.d.sync += calm.eq(calm + 1)
        m.d.comb += [
            Assert(~timeout.on | (timeout.cycles != 0)),
            Assert(~timeout.on | (timeout.cycles == cycles)),
            Assert((calm != 3) | timeout.on),
            Assert(~timeout.on | (self.registers.engine0.timeout_cycles != 0) | was_aborting),
            Cover(timeout.on & (timeout.cycles == ABORT_TIMEOUT)),
            Cover(timeout.on & (timeout.cycles == 3)),
        ]


class FreezesChannels(_FrontEnd):
    """From the first error on, what a channel waits for and its stripe stay, up to a clear: the
    stripe is the last one that the channel began before. The most bursts of a channel are at least
    those of any cycle since a clear.
    """

    def _check(self, m):
        dut = self.dut
        ports = [getattr(dut, f"channel{channel}") for channel in range(self.config.channels)]
        clear = self._was(m, self.registers.clear, "clear")
        failing = dut.port0.failing | dut.port1.failing | any_of(p.quarantined for p in ports)
        failing = failing | self.rings.urgent.any()  # a completion that is not OK
        fails, has_run = self._was(m, failing, "failing"), Signal(name="has_run")
        m.d.sync += has_run.eq(1)
        for channel, port in enumerate(ports):
            regs = getattr(self.registers, f"channel{channel}")
            frozen = self._was(m, regs.frozen_wait_valid, f"frozen{channel}")
            known = Cat(regs.frozen_wait_wait, regs.frozen_stripe_stripe)
            was = self._was(m, known, f"known{channel}")
            most = self._was(m, port.outstanding, f"now{channel}")
            last = Signal(32, name=f"last_stripe{channel}")
            with m.If(port.events.stripe_valid & ~regs.frozen_wait_valid):
                m.d.sync += last.eq(port.events.stripe)
            m.d.comb += [
                Assert(~frozen | clear | (regs.frozen_wait_valid & (known == was))),
                Assert(~(fails & has_run) | clear | regs.frozen_wait_valid),
                Assert(regs.frozen_wait_valid | (known == 0)),
                Assert(~regs.frozen_wait_valid | (regs.frozen_stripe_stripe == last)),
                Assert(~has_run | clear | (regs.outstanding_maximum >= most)),
                Assert(regs.outstanding_now == port.outstanding),
                Cover(regs.frozen_wait_valid & (regs.frozen_wait_wait != 0) & (last == 5)),
            ]


CONFIG = replace(small(), address_bits=16)
_SIZE = {"1 channel": CONFIG}
_SIZES = {**_SIZE, "2 channels": replace(small(2), address_bits=16)}
#: Addresses have upper halves.
_WIDE = {"2 channels, addresses of 33 bits": replace(small(2), address_bits=33)}
PROOFS = (
    Proof(
        name="front_end",
        promise="Registers of a ring stay while it is active, counts are written one at a time, "
        "and all are cleared when both rings have stopped",
        components=(FrontEnd,),
        design=KeepsRingsRegisters,
        sizes=_SIZE | _WIDE,
        slow=tuple(_WIDE),
        mode=PDR,
        depth=3,
        broken=faults(CONFIG, 20, stuck_at(1, "dut.is_quiet"), late("dut.resets"))
        + swapped(
            20,
            {"LOCK ignored": lambda: KeepsRingsRegisters(CONFIG, RegisterBlock=_IgnoresLock)},
        ),
    ),
    Proof(
        name="timeouts",
        promise="A timeout that is on is not zero and does not change, and an abort has one",
        components=(FrontEnd,),
        design=KeepsTimeouts,
        sizes=_SIZE,
        mode=PDR,
        depth=3,
        broken=faults(CONFIG, 20, stuck_at(0, "dut.has_changed"), stuck_at(0, "dut.is_off")),
    ),
    Proof(
        name="frozen_channels",
        promise="What a channel did at the first error, and its stripe, stay until all is cleared",
        components=(FrontEnd,),
        design=FreezesChannels,
        sizes=_SIZES,
        mode=PDR,
        depth=3,
        broken=faults(
            CONFIG,
            20,
            stuck_at(0, "dut.is_frozen"),
            stuck_at(0, "dut.most0", 0),
            stuck_at(0, "dut.stripe0", 31),
        ),
    ),
)
