"""One ring of the software device: counts, state, and descriptors from fetch to completion."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from cdma.driver.memory import BusError, Memory
from cdma.driver.software.execute import Execution
from cdma.engine_codes import LINK, Op, State, Status
from cdma.engine_config import COMPLETION_BYTES, DESCRIPTOR_BYTES, HOST_ALIGNMENT, EngineConfig
from cdma.golden.engine import rules, stripes
from cdma.golden.engine.descriptor import Completion, Descriptor, phase

_COUNT = 0xFFFF


@dataclass
class Settings:
    """Settings of a ring by software. Addresses are in bytes."""

    sq_base: int = 0
    sq_size: int = 0
    cq_base: int = 0
    cq_size: int = 0
    dev_base: int = 0
    dev_limit: int = 0
    host_base: int = 0
    host_limit: int = 0
    arena_base: int = 0
    arena_limit: int = 0
    arena_pointer: int = 0


@dataclass(frozen=True)
class _Started:
    """A started descriptor, and its completion if it is already known."""

    descriptor: Descriptor
    completion: Completion | None = None
    halts: bool = False


class SoftwareRing:
    """A ring of the software device.

    Parameters
    ----------
    number : int
        0 offload, 1 prefetch.
    config : EngineConfig
    host, device : Memory
    quarantined, disabled : set of int
        Channels in quarantine, and channels that issue no address; shared with the device.
    on_completion : callable
        Called with (ring number, interrupt requested, status) after each completion is written.
    """

    def __init__(
        self,
        number: int,
        config: EngineConfig,
        host: Memory,
        device: Memory,
        quarantined: set[int],
        disabled: set[int],
        on_completion: Callable[[int, bool, int], None],
    ):
        self.number, self._config = number, config
        self._host, self._device = host, device
        self._quarantined, self._disabled = quarantined, disabled
        self._on_completion = on_completion
        self.settings = Settings()
        #: Register accesses between a completion in memory and its count, as in hardware.
        self.lag = 0
        #: The link did not respond: the ring stays in ERROR.
        self.link_failed = False
        self.clear()

    def clear(self) -> None:
        """Reset counts and state. Keep the settings."""
        self.tail = self.head = self.cq_head = 0
        self.state, self.status, self.error = State.STOPPED, Status.OK, 0
        if self.link_failed:
            self.enter_error(Status.TIMEOUT, 0)
        self.halts_on_error = False
        self._started: deque[_Started] = deque()
        self._waits_for = None  # snapshot of the other ring, for a fetched FENCE
        self._untrusted = False
        self._uncounted: list[int] = []
        #: Bytes of the whole ring. Bytes per channel are not known.
        self.words_moved = self.stream_moved = self.errors = 0

    # -- what software does --

    def submit(self, tail: int) -> None:
        """SQ TAIL was written. On an impossible count, the ring enters ERROR."""
        if (tail - self.counted) & _COUNT > 1 << self.settings.sq_size:
            self.enter_error(Status.OK, 0)
        else:
            self.tail = tail & _COUNT

    def consume(self, head: int) -> bool:
        """CQ HEAD was written. False on an impossible count: then the ring is in ERROR."""
        if (self.counted - head) & _COUNT > (self.counted - self.cq_head) & _COUNT:
            self.enter_error(Status.OK, 0)
            return False
        self.cq_head = head & _COUNT
        return True

    def run(self) -> None:
        """RUN was set. If a ring lies outside the host window, the ring enters ERROR."""
        if self.state not in (State.STOPPED, State.HALTED):
            return
        window = rules.Window(self.settings.host_base, self.settings.host_limit)
        for base, size, entry in (
            (self.settings.sq_base, self.settings.sq_size, DESCRIPTOR_BYTES),
            (self.settings.cq_base, self.settings.cq_size, COMPLETION_BYTES),
        ):
            end = base + (entry << size)
            if not window.holds(base, end) or end > 1 << self._config.address_bits:
                self.enter_error(Status.HOST_DECERR, base)
                return
        self.state, self.status, self._untrusted = State.RUNNING, Status.OK, False

    def stop(self) -> None:
        """RUN was cleared: started descriptors finish normally."""
        if self.state == State.RUNNING:
            self.state = State.STOPPED
        self._waits_for = None

    def abort(self) -> None:
        """Complete started descriptors as ABORTED, discard fetched ones, and stop."""
        if self.link_failed:  # what is outstanding does not end
            return
        self.state, self.status, self._waits_for = State.ABORTING, Status.OK, None
        while self._started:
            started = self._started[0]
            if not self._complete(started, started.completion or Completion(Status.ABORTED)):
                return
            self._started.popleft()
        self.state = State.STOPPED

    def enter_error(self, status: Status, address: int) -> None:
        """Enter ERROR. In ERROR, the first one stays."""
        if self.state != State.ERROR:
            self.state, self.status, self.error = State.ERROR, status, address

    # -- what the engine does --

    @property
    def counted(self) -> int:
        """SQ HEAD and CQ TAIL in the registers, without the completions not yet counted."""
        return (self.head - len(self._uncounted)) & _COUNT

    def count_on(self) -> None:
        """One register access. Completions are counted after ``lag`` accesses."""
        self._uncounted = [left - 1 for left in self._uncounted if left > 1]

    @property
    def started(self) -> int:
        """Number of started descriptors."""
        return (self.head + len(self._started)) & _COUNT

    @property
    def is_busy(self) -> bool:
        """Whether a descriptor is started and not complete."""
        return bool(self._started)

    def start(self, other: "SoftwareRing") -> bool:
        """Fetch, check and start the next descriptor. False if there is none or it must wait."""
        count = self.started
        has_room = (count - self.cq_head) & _COUNT < 1 << self.settings.cq_size
        runs = self.state == State.RUNNING and not self._untrusted
        if not runs or count == self.tail or not has_room:
            return False
        fetched = self._fetch(count)
        if fetched.completion is None and fetched.descriptor.append and self._is_appending:
            return False
        if fetched.completion is None and fetched.descriptor.fence and not self._is_open(other):
            return False
        self._waits_for = None
        self._untrusted = fetched.halts
        self._started.append(fetched)
        return True

    def finish(self) -> bool:
        """Execute the oldest started descriptor and write its completion.

        False if there is none, it waits for a disabled channel, or the link does not respond.
        """
        if not self._started or self.link_failed:
            return False
        started = self._started[0]
        if started.completion is None and self._touched(started.descriptor) & self._disabled:
            return False
        completion = started.completion or self._execute(started.descriptor)
        if self.link_failed or not self._complete(started, completion):
            return False
        self._started.popleft()
        return True

    @property
    def _is_appending(self) -> bool:
        return any(each.descriptor.append and not each.completion for each in self._started)

    def _is_open(self, other: "SoftwareRing") -> bool:
        """Whether no started descriptor blocks the FENCE."""
        if self._waits_for is None:
            self._waits_for = other.started
        waits = (self._waits_for - other.head) & _COUNT
        is_past = waits == 0 or waits > 0x8000  # the other ring has passed the snapshot
        return not self._started and is_past

    def _fetch(self, count: int) -> _Started:
        entry = count & ((1 << self.settings.sq_size) - 1)
        address = self.settings.sq_base + DESCRIPTOR_BYTES * entry
        none = Descriptor(Op.NOP)
        try:
            data = self._host.read(address, DESCRIPTOR_BYTES)
        except BusError as error:
            self.link_failed |= error.kind == "HANG"
            failed = Completion(error.status(is_host=True), where=address)
            return _Started(none, failed, halts=True)
        descriptor, bit = Descriptor.unpack(data)
        bad = Completion(Status.BAD_DESCRIPTOR, cookie=descriptor.cookie, where=address)
        if bit != phase(count, self.settings.sq_size):
            return _Started(none, Completion(Status.BAD_DESCRIPTOR, where=address), halts=True)
        if rules.refusal(descriptor, self.number, self._config, self._bounds()):
            return _Started(descriptor, bad)
        return _Started(descriptor)

    def _bounds(self) -> rules.Bounds:
        settings = self.settings
        return rules.Bounds(
            rules.Window(settings.dev_base, settings.dev_limit),
            rules.Window(settings.host_base, settings.host_limit),
            settings.arena_limit,
            settings.arena_pointer,
        )

    def _execute(self, descriptor: Descriptor) -> Completion:
        bounds = self._bounds()
        address = rules.stream_address(descriptor, bounds)
        limit = rules.capacity(descriptor, bounds)
        memories = self._host, self._device
        work = Execution(self._config, *memories, descriptor, address, limit, self._quarantined)
        completion = work.run()
        self._quarantined |= work.lost - {LINK}
        self.link_failed |= LINK in work.lost
        self.words_moved += work.moved[0]
        self.stream_moved += work.moved[1]
        if descriptor.append and completion.is_ok:
            end = address + completion.stream_bytes + HOST_ALIGNMENT - 1
            self.settings.arena_pointer = end // HOST_ALIGNMENT * HOST_ALIGNMENT
            completion = _with(completion, where=address)
        return completion

    def _touched(self, descriptor: Descriptor) -> set[int]:
        """Channels whose memory a descriptor accesses."""
        if descriptor.op in (Op.NOP, Op.VERIFY):
            return set()  # whatever their other fields say
        addresses = stripes.placement(
            self._config,
            descriptor.device,
            descriptor.row_bytes,
            descriptor.row_count,
            descriptor.pitch,
        )
        return set(stripes.channels_of(self._config, addresses).tolist())

    def _complete(self, started: _Started, completion: Completion) -> bool:
        """Write the completion, then update the counts, then signal the interrupt.

        False if the link does not respond to the write.
        """
        count = self.head
        entry = count & ((1 << self.settings.cq_size) - 1)
        address = self.settings.cq_base + COMPLETION_BYTES * entry
        cookie = 0 if started.halts else started.descriptor.cookie
        completion = _with(completion, cookie=cookie, head=(count + 1) & _COUNT)
        failure = None
        try:
            self._host.write(address, completion.pack(phase(count, self.settings.cq_size)))
        except BusError as error:
            if error.kind == "HANG":
                self.link_failed = True
                return False
            failure = error.status(is_host=True)
        self.head = (count + 1) & _COUNT
        if self.lag:
            self._uncounted.append(self.lag)
        # A completion that is not in memory counts as one with an error.
        result = completion.status if failure is None else failure
        self.errors += result != Status.OK
        if failure is not None:
            self.enter_error(failure, address)
        elif self.state == State.RUNNING and (
            started.halts or (self.halts_on_error and not completion.is_ok)
        ):
            self.state, self.status = State.HALTED, Status(completion.status)
        self._on_completion(self.number, started.descriptor.interrupt, result)
        return True


def _with(completion: Completion, **changes) -> Completion:
    return replace(completion, **changes)
