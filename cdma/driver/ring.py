"""One ring of the driver: submits descriptors and reads completions."""

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from cdma.driver.errors import LINK_FAILED, DriverError, RegisterError
from cdma.driver.memory import Buffer, Memory
from cdma.driver.registers import Registers
from cdma.engine_codes import State, Status
from cdma.engine_config import COMPLETION_BYTES, DESCRIPTOR_BYTES, HOST_ALIGNMENT
from cdma.golden.engine.descriptor import Completion, Descriptor, phase

_COUNT = 0xFFFF
_PATIENCE = 1_000_000  # limit of polls of a register that changes soon
RUN, ABORT, HALT, LOCK = 1, 2, 4, 8


@dataclass(eq=False)
class Ticket:
    """A submitted descriptor.

    Attributes
    ----------
    descriptor : Descriptor
    ring : int
    buffers : list of Buffer
        Buffers that the engine owns until the completion. The driver frees them if the descriptor
        is abandoned or withdrawn; otherwise, the caller frees them.
    completion : Completion or None
        ``None`` before the completion, and for withdrawn descriptors.
    is_abandoned : bool
        No caller waits for the descriptor: ``poll`` frees its buffers after its completion.
    is_withdrawn : bool
        The ring was restarted or reset before the engine has completed the descriptor: it has no
        completion, and none follows.
    """

    descriptor: Descriptor
    ring: int
    buffers: list[Buffer] = field(default_factory=list)
    completion: Completion | None = None
    is_abandoned: bool = False
    is_withdrawn: bool = False


class Ring:
    """Submission and completion ring of one direction.

    Parameters
    ----------
    registers : Registers
    host : Memory
        Memory for the rings.
    number : int
        0 offload, 1 prefetch.
    log2_size : int
        log2 of the entries of both rings.
    windows : (int, int, int, int)
        First byte and first byte past the end, of device memory and then of host memory. Windows
        and attributes that are locked in the engine stay as they are.
    attributes : int or None
        Value of the register ATTR; ``None`` leaves that of a reset.
    barrier : callable
        Orders all earlier accesses to memory and registers before all later ones.
    """

    def __init__(
        self,
        registers: Registers,
        host: Memory,
        number: int,
        log2_size: int,
        windows: tuple[int, int, int, int],
        attributes: int | None,
        barrier: Callable[[], object],
    ):
        if not 0 <= log2_size <= 15:
            raise ValueError(f"log2 of the ring's size must be in 0..15, not {log2_size!r}")
        self.number, self.log2_size = number, log2_size
        self._registers, self._windows, self._barrier = registers, windows, barrier
        self._attributes = attributes
        self._waiting: deque[Ticket] = deque()
        self._buffers: list[Buffer] = []
        try:
            for entry in (DESCRIPTOR_BYTES, COMPLETION_BYTES):
                self._buffers.append(host.allocate(entry << log2_size))
            self._sq, self._cq = self._buffers
            self.setup()
        except BaseException:
            self.close()
            raise

    def setup(self) -> None:
        """Program the ring and run it. Also used after a reset of the engine."""
        self._withdraw()
        self.tail = self.head = self._told = 0
        # Old entries could have the phase of new entries.
        self._sq.data[:] = 0
        self._cq.data[:] = 0
        if not self._registers.read("RING", "CTRL", self.number) & LOCK:
            names = ("DEV_BASE", "DEV_LIMIT", "HOST_BASE", "HOST_LIMIT")
            for name, value in zip(names, self._windows, strict=True):
                self._pair(name, value)
            if self._attributes is not None:
                self._write("ATTR", self._attributes)
        self._pair("SQ_BASE", self._sq.address)
        self._pair("CQ_BASE", self._cq.address)
        self._write("SQ_SIZE", self.log2_size)
        self._write("CQ_SIZE", self.log2_size)
        self._barrier()
        self._write("CTRL", RUN)

    def set_arena(self, base: int, limit: int) -> None:
        """Set the memory for streams of descriptors with APPEND. The ring must be idle.

        The arena lies in the driver's host memory. A ring that does not run stays as it is.

        After a reset there is none: streams that are still in it stay until a new one is set.

        Raises
        ------
        ValueError
            When an address is not a multiple of 64, they are not in order, or not in host memory.
            Nothing is written.
        DriverError
            When the ring has jobs. It runs on.
        """
        if base % HOST_ALIGNMENT or limit % HOST_ALIGNMENT or not 0 <= base <= limit:
            raise ValueError(
                f"arena from {base:#x} to {limit:#x}: expected multiples of {HOST_ALIGNMENT}, the "
                "first address and the one past the end"
            )
        _, _, first, end = self._windows
        if not first <= base <= limit <= end:
            raise ValueError(
                f"arena from {base:#x} to {limit:#x}: expected host memory, {first:#x} to {end:#x}"
            )
        is_busy = self._registers.field("RING", "STATE", "BUSY", self.number)
        if is_busy or self._registers.read("RING", "SQ_HEAD", self.number) != self.tail:
            raise DriverError(f"ring {self.number} has jobs: set the arena when they have ended")
        control = self._registers.read("RING", "CTRL", self.number) & (RUN | HALT)
        self._write("CTRL", control & HALT)
        self._pair("ARENA_BASE", base)
        self._pair("ARENA_LIMIT", limit)
        self._pair("ARENA_POINTER", base)
        self._write("CTRL", control)

    def _withdraw(self) -> list[Ticket]:
        """Forget the descriptors without a completion."""
        withdrawn = list(self._waiting)
        self._waiting.clear()
        for ticket in withdrawn:
            ticket.is_withdrawn = True
        return withdrawn

    @property
    def _size(self) -> int:
        return 1 << self.log2_size

    @property
    def room(self) -> int:
        """Number of descriptors that can be submitted now."""
        return self._size - len(self._waiting)

    @property
    def waiting(self) -> list[Ticket]:
        """Tickets without a completion, oldest first."""
        return list(self._waiting)

    @property
    def state(self) -> State:
        """State of the ring."""
        return State(self._registers.field("RING", "STATE", "STATE", self.number))

    @property
    def standstill(self) -> str | None:
        """Why no completion follows, such as HALTED after HOST_SLVERR, and what to do.

        ``None`` while the ring runs, is about to, or aborts, and while something is outstanding,
        unless the link has failed. After a read of this property and a barrier, all completions are
        in memory.
        """
        # STATE follows RUN some cycles later.
        if self._registers.read("RING", "CTRL", self.number) & RUN:
            return None
        found = self._registers.fields("RING", "STATE", self.number)
        if self._registers.has_failed_link:
            return LINK_FAILED
        if found["STATE"] == State.ABORTING or found["BUSY"]:
            return None
        why = found["STATUS"]
        known = Status(why).name if why in set(Status) else f"status {why}"
        state = State(found["STATE"]).name + (f" after {known}" if why else "")
        return f"ring {self.number} is {state}: recover({self.number}) restarts it"

    def submit(self, tickets: list[Ticket]) -> None:
        """Write descriptors and ring the doorbell once.

        Raises
        ------
        DriverError
            When the ring has no room for all of them, or the engine refuses the doorbell.
        ValueError
            When a field of a descriptor does not fit. After each of these errors, no descriptor is
            submitted.
        """
        if len(tickets) > self.room:
            raise DriverError(
                f"ring {self.number} has room for {self.room} descriptors, not {len(tickets)}"
            )
        if (self.tail - self._told & _COUNT) + len(tickets) > self._size:
            self._make_room()
        counts = [self.tail + number & _COUNT for number in range(len(tickets))]
        packed = [
            ticket.descriptor.pack(phase(count, self.log2_size))
            for ticket, count in zip(tickets, counts, strict=True)
        ]
        ring = self._sq.data.reshape(-1, DESCRIPTOR_BYTES)
        for entry, count in zip(packed, counts, strict=True):
            ring[count % len(ring)] = entry
        self._barrier()  # the descriptors are in memory before the doorbell
        before, self.tail = self.tail, self.tail + len(tickets) & _COUNT
        self._waiting.extend(tickets)
        try:
            self._write("SQ_TAIL", self.tail)
        except RegisterError:
            self.tail = before
            for _ in tickets:
                self._waiting.pop()
            raise

    def poll(self) -> list[Ticket]:
        """Read all new completions, usually without a register access.

        Raises
        ------
        DriverError
            When a completion does not belong to the oldest descriptor.
        """
        done = self._take()
        is_due = (self.head - self._told & _COUNT) >= max(1, self._size // 2)
        if is_due and self._is_counted:  # otherwise, a later call reports
            self._report()
        return done

    def _take(self) -> list[Ticket]:
        """Read all new completions without a register access."""
        ring = self._cq.data.reshape(-1, COMPLETION_BYTES)
        done = []
        while self._waiting:
            entry = ring[self.head % len(ring)]
            if int(entry[-1]) >> 7 != phase(self.head, self.log2_size):
                break
            self._barrier()  # read the phase before the rest: a copy of all bytes could be torn
            completion, _ = Completion.unpack(np.array(entry))
            ticket = self._waiting[0]
            untrusted = completion.cookie == 0 and completion.status != Status.OK
            if completion.cookie != ticket.descriptor.cookie and not untrusted:
                if done:
                    break  # the next call raises
                raise DriverError(
                    f"ring {self.number}: completion has cookie {completion.cookie}, "
                    f"expected {ticket.descriptor.cookie}"
                )
            self._waiting.popleft()
            self.head = self.head + 1 & _COUNT
            ticket.completion = completion
            done.append(ticket)
        return done

    @property
    def _is_counted(self) -> bool:
        """Whether the engine has counted all completions that were read.

        A completion is visible in memory before the engine updates its counts. The engine treats a
        CQ HEAD past its CQ TAIL as an error.
        """
        counted = self._registers.read("RING", "SQ_HEAD", self.number)
        return counted - self.head & 0x8000 == 0

    def _report(self) -> None:
        """Write CQ HEAD."""
        self._barrier()  # the entries were read before the engine may write them again
        self._write("CQ_HEAD", self.head)
        self._told = self.head

    def _make_room(self) -> None:
        """Wait for the engine's counts and report."""
        for _ in range(_PATIENCE):
            if self._is_counted:
                self._report()
                return
        raise DriverError(f"ring {self.number}: SQ HEAD does not reach {self.head}")

    def restart(self) -> list[Ticket]:
        """Abort from any state, withdraw descriptors that were not started, and run again.

        Returns
        -------
        list of Ticket
            Withdrawn descriptors, without completions.

        Raises
        ------
        DriverError
            When the ring does not stop.
        """
        halt = self._registers.read("RING", "CTRL", self.number) & HALT  # the caller's
        self._write("CTRL", ABORT | halt)
        for _ in range(_PATIENCE):
            if self.state == State.STOPPED:
                break
            if self._registers.has_failed_link:
                raise DriverError(LINK_FAILED)
        else:
            raise DriverError(f"ring {self.number} does not stop: reset the engine")
        self._barrier()
        with suppress(DriverError):  # a completion of another descriptor counts as lost
            self._take()
        head = self._registers.read("RING", "SQ_HEAD", self.number)
        lost = (head - self.head) & _COUNT  # completions that could not be written
        entries = self._cq.data.reshape(-1, COMPLETION_BYTES)
        for _ in range(min(lost, len(self._waiting))):
            ticket = self._waiting.popleft()
            ticket.completion = Completion(Status.ABORTED, cookie=ticket.descriptor.cookie)
            # Write the current phase, or the old entry would look new in the next round.
            entries[self.head % len(entries), -1] = phase(self.head, self.log2_size) << 7
            self.head = self.head + 1 & _COUNT
        self.tail = self._told = head
        self._write("SQ_TAIL", head)
        self._write("CQ_HEAD", head)
        self._barrier()
        self._write("CTRL", RUN | halt)
        return self._withdraw()

    def close(self) -> None:
        """Give the memory of the rings back; the engine must have been reset."""
        for buffer in self._buffers:
            buffer.memory.release(buffer)

    def _write(self, name: str, value: int) -> None:
        self._registers.write("RING", name, value, self.number)

    def _pair(self, name: str, value: int) -> None:
        self._registers.write_pair("RING", name, value, self.number)
