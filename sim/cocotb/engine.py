"""The bench for cocotb with the engine: a round trip on the simulated pins.

``job.pickle`` in the working folder has one job: size, memories and tensor. The bench writes a
:class:`~cdma.sim.engine.cosim.Trip` to ``report-0.pickle``. Software, memories and rules are the
same as for the compiled model, with the same cycles. No output may be X or Z from the reset on,
where it counts: fields of a channel while its VALID is high, bytes of write data where enabled.
"""

import ctypes
import pickle
import time
from pathlib import Path

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.task import bridge, resume
from cocotb.triggers import RisingEdge

from cdma.sim.cocotb.ports import Violation
from cdma.sim.engine import pins
from cdma.sim.engine.bank import Ask, Bank, Lite
from cdma.sim.engine.cosim import travel
from cdma.sim.engine.engine import ACCESS_CYCLES, HOST, memory_of
from cdma.sim.engine.limits import port_limits
from cdma.sim.engine.model import EngineModel

PERIOD_NS = 2
_ADDRESSES = ("ar", "aw")


@cocotb.test()
async def run(dut):
    """Play the job and report, whether it succeeds or not."""
    (job,) = pickle.loads(Path("job.pickle").read_bytes())

    def play():
        engine = SimulatedEngine(dut, job)
        model = EngineModel(job["config"], seed=job["seed"], engine=engine)
        return travel(model, job["array"], **job["options"])

    Clock(dut.aclk, PERIOD_NS, "ns").start(start_high=False)
    trip = await bridge(play)()
    Path("report-0.pickle").write_bytes(pickle.dumps(trip))


class SimulatedEngine:
    """The engine in the simulator, with the functions of the compiled model.

    Parameters
    ----------
    dut : cocotb handle
    job : dict
        ``config``, ``device``, ``host``, ``ports`` (prefixes), ``seed``.
    """

    def __init__(self, dut, job):
        config, seed = job["config"], job["seed"]
        self.config, self.cycle = config, 0
        self.link = config.channels
        self._dut, self._edge = dut, RisingEdge(dut.aclk)
        self._banks = [Bank(job["device"], seed), Bank(job["host"], seed)]
        self._ports = []
        for number, prefix in enumerate(job["ports"]):
            bank = self._banks[number == self.link]
            memory = memory_of(config, number, job["device"], job["host"])
            port = bank.add_port(prefix, port_limits(config, number), memory, number)
            self._ports.append(_Port(dut, prefix, bank, port))
        self._registers = _Registers(dut, "s_axil", seed)
        self._was_reset, self._told = False, time.monotonic()
        self.reset()

    @property
    def irq(self) -> int:
        """The interrupt line."""
        return int(self._dut.irq.value)

    def reset(self, cycles: int = 4) -> None:
        """Hold ``aresetn`` low for some cycles. Memories drop outstanding transactions."""
        self._dut.aresetn.value = 0
        self.run(cycles)
        self._dut.aresetn.value = 1
        self.run(1)

    def add(self, buffer, *, readable: bool = True, writable: bool = True) -> None:
        """Allow the engine to access a buffer in place."""
        access = {"readable": readable, "writable": writable}
        self._banks[buffer.space == HOST].add_buffer(buffer.address, buffer.data, **access)

    def remove(self, buffer) -> None:
        """Forbid a buffer again."""
        self._banks[buffer.space == HOST].remove_buffer(buffer.address)

    def run(
        self,
        cycles: int,
        *,
        byte: tuple[np.ndarray, int] | None = None,
        mask: int = 0xFF,
        value: int = 0,
        irq: bool = False,
    ) -> bool:
        """Run for some cycles, or until a condition is true. Returns whether it was true."""

        def is_met():
            return (byte is not None and byte[0][byte[1]] & mask == value) or (irq and self.irq)

        return resume(self._run)(cycles, is_met)

    def access(self, address: int, data: int | None = None, *, strobe: int = 15, order: int = 0):
        """Read (or, with ``data``, write) a register. Returns response, data and cycles."""
        access = pins.Access(address=address, data=data or 0, write=data is not None)
        access.strobe, access.order = strobe, order
        self._registers.begin(access)
        resume(self._run)(ACCESS_CYCLES, lambda: not self._registers.lite.is_busy)
        if access.done < 0:
            raise Violation(f"s_axil: no answer from {address:#x} in {ACCESS_CYCLES} cycles")
        return access

    async def _run(self, cycles, is_met):
        for _ in range(cycles):
            await self._edge
            is_reset = not int(self._dut.aresetn.value)
            reset = is_reset + (is_reset and not self._was_reset)
            for port in (*self._ports, self._registers):
                port.tick(self.cycle, reset)
            if not is_reset and not self._dut.irq.value.is_resolvable:
                raise Violation(f"irq is {self._dut.irq.value} in cycle {self.cycle}")
            self._was_reset = is_reset
            self.cycle += 1
            if not self.cycle % 1024 and time.monotonic() > self._told + 1:
                self._told = time.monotonic()
                Path("progress").write_text(f"cycle {self.cycle:,}")
            if is_met():
                return True
        return False


class _Pins:
    """Pins of a port. An output of the bench is written only when its value changes."""

    def __init__(self, dut, prefix, driven):
        self._dut, self._prefix, self._at = dut, prefix, f"{prefix}: {{}} is neither 0 nor 1"
        self._driven = {name: 0 for name in driven if self.has(name)}
        for name in self._driven:
            self.pin(name).value = 0

    def has(self, name):
        return hasattr(self._dut, f"{self._prefix}_{name}")

    def pin(self, name):
        return getattr(self._dut, f"{self._prefix}_{name}")

    def flag(self, name, cycle):
        """Value of a pin, all of whose bits must be known."""
        value = self.pin(name).value
        if not value.is_resolvable:
            raise Violation(f"{self._prefix}: {name} is {value} in cycle {cycle}")
        return int(value)

    def bytes(self, name, strobes, cycle):
        """Value of a pin in bytes. Those that are enabled must be known, others read as zero."""
        value = self.pin(name).value
        if not value.is_resolvable:
            text = str(value)[::-1]
            for byte in range(len(text) // 8):
                if strobes >> byte & 1 and set(text[8 * byte : 8 * byte + 8]) - {"0", "1"}:
                    raise Violation(f"{self._prefix}: byte {byte} of {name} is X in cycle {cycle}")
            value = value.resolve("zeros")
        return int(value)

    def drive(self, source):
        for name, before in self._driven.items():
            after = getattr(source, name)
            if after != before:
                self.pin(name).value = self._driven[name] = after


class _Port(_Pins):
    """An AXI4 manager's port, and the memory behind it."""

    def __init__(self, dut, prefix, bank, number):
        super().__init__(dut, prefix, pins.PLAIN_ANSWER)
        self._bank, self._number, self._ask = bank, number, Ask()
        self._size = len(self.pin("wdata")) // 8
        self._fields = {
            channel: [name for name in pins.ADDRESS if self.has(f"{channel}{name}")]
            for channel in _ADDRESSES
        }
        self._data = 0
        self.pin("rdata").value = 0

    def tick(self, cycle, reset):
        """Process one edge. ``reset`` is 2 in the first cycle of a reset, then 1."""
        ask = self._ask
        for channel in _ADDRESSES:
            address = getattr(ask, channel)
            address.valid = self._is_valid(channel, cycle, reset)
            if address.valid:
                for name in self._fields[channel]:
                    setattr(address, name, self.flag(f"{channel}{name}", cycle))
        ask.wvalid = self._is_valid("w", cycle, reset)
        if ask.wvalid:
            strobes = self.flag("wstrb", cycle)
            ctypes.memmove(ask.wstrb, strobes.to_bytes(16, "little"), 16)
            data = self.bytes("wdata", strobes, cycle).to_bytes(self._size, "little")
            ctypes.memmove(ask.wdata, data, self._size)
            ask.wlast = self.flag("wlast", cycle)
        if not reset:
            ask.rready, ask.bready = self.flag("rready", cycle), self.flag("bready", cycle)
        answer = self._bank.tick(self._number, ask, cycle, reset=reset)
        self.drive(answer)
        if answer.rvalid:
            data = int.from_bytes(bytes(answer.rdata[: self._size]), "little")
            if data != self._data:
                self.pin("rdata").value = self._data = data

    def _is_valid(self, channel, cycle, reset):
        # Before the first edge of a reset, all values are unknown.
        return 0 if reset == 2 else self.flag(f"{channel}valid", cycle)


class _Registers(_Pins):
    """The AXI4-Lite port, and its manager."""

    def __init__(self, dut, prefix, seed):
        super().__init__(dut, prefix, pins.LITE_IN)
        self.lite = Lite(seed)

    def begin(self, access):
        self.lite.begin(access)
        self.drive(self.lite.pins)

    def tick(self, cycle, reset):
        """Process one edge. ``reset`` is 2 in the first cycle of a reset, then 1."""
        # Before the first edge of a reset, all values are unknown.
        for name in pins.LITE_OUT if reset != 2 else ():
            # A response counts while its VALID is high.
            valid = {"rdata": "rvalid", "rresp": "rvalid", "bresp": "bvalid"}.get(name)
            is_known = valid is None or self.flag(valid, cycle)
            setattr(self.lite.pins, name, self.flag(name, cycle) if is_known else 0)
        self.lite.tick(cycle, reset=reset)
        self.drive(self.lite.pins)
