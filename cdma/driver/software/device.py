"""The software device: registers and interrupt of an engine, with two memories."""

from collections.abc import Iterator
from contextlib import contextmanager

from cdma.driver.errors import RegisterError
from cdma.driver.memory import Memory
from cdma.driver.software.ring import Settings, SoftwareRing
from cdma.engine_codes import State, Status
from cdma.engine_config import EngineConfig
from cdma.hdl.engine.registers import Access, Block, Guard, Register, register_map

#: Register pairs that are settings of a ring.
_PAIRS = ("SQ_BASE", "CQ_BASE", "DEV_BASE", "DEV_LIMIT", "HOST_BASE", "HOST_LIMIT")
_PAIRS += ("ARENA_BASE", "ARENA_LIMIT", "ARENA_POINTER")
_WINDOWS = ("dev_base", "dev_limit", "host_base", "host_limit")
_SET = {
    name: (pair.lower(), half)
    for pair in _PAIRS
    for half, name in enumerate((f"{pair}_LO", f"{pair}_HI"))
} | {"SQ_SIZE": ("sq_size", None), "CQ_SIZE": ("cq_size", None)}


class SoftwareDevice:
    """A software engine, for development without hardware and as fallback.

    It has the driver's view of an engine: registers, rings and buffers in host memory, tensors in
    device memory, and an interrupt. It executes whole descriptors and has no notion of time.
    TIMEOUT comes from device memory with an injected hang (``Memory.fail(..., "HANG")``). A hang of
    host memory is a failure of the link: the job has no completion, and no reset ends. The
    coalescing timer expires when the interrupt is read.

    Parameters
    ----------
    config : EngineConfig
    host, device : Memory or None
        Memories at the link and at the channels. ``None`` allocates 16 MiB each.
    automatic : bool
        Execute descriptors on each register write. Otherwise, call ``start``, ``finish``, ``step``.
    """

    def __init__(
        self,
        config: EngineConfig | None = None,
        host: Memory | None = None,
        device: Memory | None = None,
        automatic: bool = True,
    ):
        self.config = EngineConfig() if config is None else config
        self.host = Memory(1 << 24, 0x1000_0000) if host is None else host
        self.memory = Memory(1 << 24) if device is None else device
        self.automatic = automatic
        self.map = register_map(self.config)
        self._addresses = self.map.addresses()
        self._quarantined: set[int] = set()
        self._disabled: set[int] = set()
        self.rings = [
            SoftwareRing(
                number,
                self.config,
                self.host,
                self.memory,
                self._quarantined,
                self._disabled,
                self._completed,
            )
            for number in range(2)
        ]
        self._locked = [False, False]
        self._resets = False
        self._values: dict[int, int] = {}
        self._reset()

    # -- registers --

    def read(self, address: int) -> int:
        """Value of a register. Raises RegisterError if there is no register at the address."""
        self._pass()
        block, instance, register = self._find(address)
        special = getattr(self, f"_read_{block.name.lower()}")(instance, register)
        return self._values[address] if special is None else special

    def write(self, address: int, value: int) -> None:
        """Write a register. Raises RegisterError if the write is not allowed."""
        self._pass()
        block, instance, register = self._find(address)
        if not register.is_written:
            raise RegisterError(f"{register.name} at {address:#x} is read-only")
        if block.name == "RING":
            self._guard(instance, register)
        kept = sum(field.mask for field in register.fields if field.access is Access.RW)
        self._values[address] = value & kept
        with self._alarms():
            getattr(self, f"_write_{block.name.lower()}")(instance, register, value)
        if self.automatic:
            self.work()

    @property
    def lag(self) -> int:
        """Register accesses between a completion in memory and its count; 0 counts at once.

        In hardware, a completion is visible before its count, because the write response is later.
        """
        return self.rings[0].lag

    @lag.setter
    def lag(self, accesses: int) -> None:
        for ring in self.rings:
            ring.lag = accesses

    def _pass(self) -> None:
        for ring in self.rings:
            ring.count_on()

    def _find(self, address: int) -> tuple[Block, int, Register]:
        try:
            return self._addresses[address]
        except KeyError:
            raise RegisterError(f"no register at {address:#x}") from None

    def _guard(self, instance: int, register: Register) -> None:
        ring = self.rings[instance]
        is_active = ring.state == State.RUNNING or ring.is_busy
        if register.guard is not Guard.NONE and is_active:
            raise RegisterError(f"{register.name} of ring {instance} cannot change while it runs")
        if register.guard is Guard.WINDOW and self._locked[instance]:
            raise RegisterError(f"{register.name} of ring {instance} is locked")

    def _read_engine(self, _, register: Register) -> int | None:
        if register.name == "STATUS":
            busy = sum(ring.is_busy << number for number, ring in enumerate(self.rings))
            busy |= self._has_failed_link << 2
            return busy | sum(1 << 8 + channel for channel in self._quarantined)
        if register.name == "IRQ_STATUS":
            return self._irq
        if register.name == "CTRL":
            self._resets &= self._has_failed_link  # a reset waits for the responses of the link
            return int(self._resets)
        return 0 if register.name == "SNAPSHOT" else None

    def _write_engine(self, _, register: Register, value: int) -> None:
        if register.name == "CTRL" and value & 1:
            self._resets = True
            if not self._has_failed_link:
                for ring in self.rings:
                    ring.abort()
                if not self._look_at_link():
                    self._reset()
        elif register.name == "IRQ_STATUS":
            self._irq &= ~value
        elif register.name == "SNAPSHOT" and value & 1:
            self._snapshot = self._count()

    def _read_ring(self, number: int, register: Register) -> int | None:
        ring = self.rings[number]
        if register.name in _SET:
            name, half = _SET[register.name]
            value = getattr(ring.settings, name)
            return value if half is None else value >> 32 * half & 0xFFFFFFFF
        found = {
            "SQ_TAIL": ring.tail,
            "SQ_HEAD": ring.counted,
            "CQ_TAIL": ring.counted,
            "CQ_HEAD": ring.cq_head,
            "CTRL": (ring.state == State.RUNNING)
            | ring.halts_on_error << 2
            | self._locked[number] << 3,
            "STATE": ring.state | ring.is_busy << 8 | ring.status << 16,
            "ERROR_LO": ring.error & 0xFFFFFFFF,
            "ERROR_HI": ring.error >> 32,
        }
        return found.get(register.name)

    def _write_ring(self, number: int, register: Register, value: int) -> None:
        ring = self.rings[number]
        if register.name in _SET:
            name, half = _SET[register.name]
            low = sum(field.mask for field in register.fields)
            if half is None:
                setattr(ring.settings, name, value & low)
            else:
                other = getattr(ring.settings, name) & ~(0xFFFFFFFF << 32 * half)
                setattr(ring.settings, name, other | (value & low) << 32 * half)
        elif register.name == "SQ_TAIL":
            ring.submit(value & 0xFFFF)
        elif register.name == "CQ_HEAD":
            if ring.consume(value & 0xFFFF) and ring.cq_head != ring.head:
                self._pend(number)
        elif register.name == "CTRL":
            self._control(number, ring, value)

    def _control(self, number: int, ring: SoftwareRing, value: int) -> None:
        ring.halts_on_error = bool(value & 4)
        self._locked[number] |= bool(value & 8)
        if value & 2:
            ring.abort()
            self._look_at_link()
        elif not value & 1:
            ring.stop()
        elif not self._resets:
            ring.run()

    def _read_channel(self, channel: int, register: Register) -> int | None:
        if register.name == "QUARANTINE":
            return int(channel in self._quarantined)
        if register.name == "OUTSTANDING":
            return int(self._is_owed(channel))
        return None

    def _write_channel(self, channel: int, register: Register, value: int) -> None:
        if register.name == "QUARANTINE" and value & 1 and not self._is_owed(channel):
            self._quarantined.discard(channel)
        elif register.name == "ENABLE":
            (self._disabled.discard if value & 1 else self._disabled.add)(channel)

    @property
    def _has_failed_link(self) -> bool:
        """Whether the link has timed out. Nothing ends that but another device."""
        return any(ring.link_failed for ring in self.rings)

    def _is_owed(self, channel: int) -> bool:
        """Whether the channel has outstanding responses: the memory hangs until it is healed."""
        return channel in self._quarantined and self.memory.hangs

    def _read_counters(self, _, register: Register) -> int:
        return self._counter(register.name)

    def _read_channel_counters(self, channel: int, register: Register) -> int:
        return self._counter(f"{register.name[:-3]}_{channel}{register.name[-3:]}")

    def _counter(self, name: str) -> int:
        value = self._snapshot.get(name[:-3], 0)
        return value >> 32 if name.endswith("_HI") else value & 0xFFFFFFFF

    def _count(self) -> dict[str, int]:
        """Counters that need no time. Bytes are distributed evenly over the channels."""
        spread = self.config.beat_bytes * self.config.channels
        words = sum(ring.words_moved for ring in self.rings)
        streams = sum(ring.stream_moved for ring in self.rings)
        counts = {"ERRORS": sum(ring.errors for ring in self.rings)}
        for channel in range(self.config.channels):
            counts[f"RAW_BEATS_{channel}"] = words // spread
            counts[f"STREAM_BEATS_{channel}"] = streams // spread
        return counts

    def _reset(self) -> None:
        """Reset all state except locked windows and channels in quarantine."""
        self._values = {
            address: self._values[address] if self._stays(*place) else place[2].reset
            for address, place in self._addresses.items()
        }
        for ring, is_locked in zip(self.rings, self._locked, strict=True):
            kept = {name: getattr(ring.settings, name) for name in _WINDOWS} if is_locked else {}
            ring.settings = Settings(**kept)
            ring.clear()
        self._disabled.clear()
        self._irq = 0
        self._pending = [0, 0]
        self._snapshot: dict[str, int] = {}

    def _stays(self, block: Block, instance: int, register: Register) -> bool:
        """Whether LOCK keeps the register through a reset."""
        is_window = register.guard is Guard.WINDOW
        return block.name == "RING" and is_window and self._locked[instance]

    # -- work --

    def start(self, number: int) -> bool:
        """Start the next descriptor of a ring. False if there is none or it must wait."""
        has_started = self.rings[number].start(self.rings[1 - number])
        self._look_at_link()
        return has_started

    def finish(self, number: int) -> bool:
        """Finish the oldest started descriptor of a ring. False if there is none."""
        quarantined = len(self._quarantined)
        with self._alarms():
            done = self.rings[number].finish()
        self._look_at_link()
        if len(self._quarantined) > quarantined:
            self._irq |= 0b10000
        return done

    def _look_at_link(self) -> bool:
        """Whether the link has just failed: then both rings are in ERROR."""
        if not self._has_failed_link or all(ring.link_failed for ring in self.rings):
            return False
        with self._alarms():
            for ring in self.rings:
                ring.link_failed = True
                ring.enter_error(Status.TIMEOUT, 0)
        self._irq |= 0b100000
        return True

    def step(self, number: int) -> bool:
        """Start and finish one descriptor of a ring. False if there is nothing to do."""
        self.start(number)
        return self.finish(number)

    def work(self) -> None:
        """Execute all pending descriptors."""
        while sum(self.step(number) for number in range(2)):
            pass

    # -- interrupt --

    @property
    def irq(self) -> bool:
        """Level of the interrupt."""
        return bool(self._irq & self._register("IRQ_ENABLE"))

    def elapse(self) -> None:
        """Let the coalescing timer expire."""
        for number in range(2):
            if self._pending[number]:
                self._fire(number)

    def wait(self, timeout: float) -> bool:
        """``wait`` of the driver. Returns at once: all possible work is already done."""
        del timeout
        self.elapse()
        return self.irq

    def _register(self, name: str) -> int:
        return self._values[self.map.block("ENGINE").address(name)]

    def _completed(self, number: int, interrupt: bool, status: int) -> None:
        if status != Status.OK:
            self._fire(number)
        elif interrupt:
            self._pend(number)

    def _pend(self, number: int) -> None:
        """Count a completion towards the coalesced interrupt."""
        coalesce = self._register("IRQ_COALESCE")
        count, timer = coalesce & 0xFF, coalesce >> 8
        self._pending[number] += 1
        if timer == 0 or self._pending[number] >= count:
            self._fire(number)

    def _fire(self, number: int) -> None:
        self._irq |= 1 << number
        self._pending[number] = 0

    @contextmanager
    def _alarms(self) -> Iterator[None]:
        """Raises an interrupt for each ring that enters HALTED or ERROR."""
        before = [ring.state for ring in self.rings]
        yield
        for number, ring in enumerate(self.rings):
            if ring.state != before[number] and ring.state in (State.HALTED, State.ERROR):
                self._irq |= 4 << number
