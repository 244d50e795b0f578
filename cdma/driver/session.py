"""A session with an engine: descriptors, completions and recovery."""

import time
from collections.abc import Callable
from dataclasses import replace

from cdma.driver import barrier as barriers
from cdma.driver.custody import Custody
from cdma.driver.errors import LINK_FAILED, DriverError, EngineStoppedError, EngineTimeoutError
from cdma.driver.memory import Buffer, Memory
from cdma.driver.registers import Accessor, Registers
from cdma.driver.ring import Ring, Ticket
from cdma.engine_codes import OFFLOAD_RING, PREFETCH_RING
from cdma.golden.engine.descriptor import Completion, Descriptor

_IRQ_ALL = 0x3F
#: AxCACHE, AxPROT and AxUSER in the register ATTR.
_ATTRIBUTES = 0xF7FF
#: Seconds between two looks at the ring's state while polling, and the longest sleep before a
#: completion without an interrupt.
_LOOK = 1e-3


class Session:
    """The rings of one engine, for descriptors that the caller makes.

    :class:`~cdma.driver.driver.Driver` adds tensors.

    Parameters
    ----------
    accessor, host, wait, log2_ring, timeout, coalesce, barrier, attributes
        As for :class:`~cdma.driver.driver.Driver`.
    device_window : (int, int) or None
        First byte, and first byte past the end, of the device memory that the engine may access.
        ``None`` is all addresses.
    """

    def __init__(
        self,
        accessor: Accessor,
        host: Memory,
        wait: Callable[[float], object] | None = None,
        log2_ring: int = 6,
        timeout: float = 10.0,
        coalesce: tuple[int, int] = (1, 0),
        device_window: tuple[int, int] | None = None,
        barrier: Callable[[], object] | None = None,
        attributes: tuple[int, int] | None = None,
    ):
        for name, value, bits in zip(("count", "cycles"), coalesce, (8, 24), strict=True):
            if not 0 <= value < 1 << bits:
                raise ValueError(f"coalesce {name} must be in 0..{2**bits - 1}, not {value!r}")
        for value in attributes or ():
            if value & _ATTRIBUTES != value:
                raise ValueError(
                    f"attributes must be bits of ATTR, {_ATTRIBUTES:#x}, not {value:#x}"
                )
        self._barrier = barriers.choose(barrier, accessor)
        self.registers = Registers(accessor)
        self.config = self.registers.config
        self.host, self.timeout = host, timeout
        self._wait, self._coalesce = wait, coalesce
        end = min(1 << self.config.address_bits, (1 << 64) - 1)
        if device_window is None:
            device_window = (0, end)
        # The engine drops upper bits: it would use other memory.
        for what, (first, last) in (
            ("device window", device_window),
            ("host memory", (host.base, host.limit)),
        ):
            if not 0 <= first <= last <= end:
                raise ValueError(
                    f"{what} must be inside the engine's addresses 0x0..{end:#x}, "
                    f"not {first:#x}..{last:#x}"
                )
        self._device_window = device_window
        windows = (*device_window, host.base, host.limit)
        self._cookie = 0
        self.rings: list[Ring] = []
        self._is_closed = False
        self._custody = Custody(self.rings, lambda: self.is_quiet)
        self._reset_engine()
        try:
            for number in (OFFLOAD_RING, PREFETCH_RING):
                bits = None if attributes is None else attributes[number]
                options = windows, bits, self._barrier
                self.rings.append(Ring(self.registers, host, number, log2_ring, *options))
            self._setup_interrupts()
        except BaseException:
            self.close()
            raise

    # -- descriptors --

    def submit(
        self, ring: int, *descriptors: Descriptor, buffers: list[Buffer] | None = None
    ) -> list[Ticket]:
        """Submit descriptors without waiting. The driver sets their cookies.

        Parameters
        ----------
        ring : int
        descriptors : Descriptor
        buffers : list of Buffer or None
            Buffers of these descriptors, attached to the ticket of the last one. The caller frees
            them after its completion. :meth:`recover`, :meth:`reset` and :meth:`close` free them
            if they return this ticket.

        Returns
        -------
        list of Ticket
            One per descriptor, for :meth:`wait`.

        Raises
        ------
        ValueError, DriverError
            When a field does not fit, or the ring has no room. Then no descriptor is submitted.
        """
        tickets = []
        for descriptor in descriptors:
            self._cookie += 1
            tickets.append(Ticket(replace(descriptor, cookie=self._cookie), ring))
        if tickets:
            tickets[-1].buffers += buffers or []
        self._ring(ring).submit(tickets)
        return tickets

    def wait(self, ticket: Ticket, timeout: float | None = None) -> Completion:
        """Wait for the completion of a descriptor, with any status.

        Sleeps until the interrupt when the descriptor asks for one; otherwise, looks for the
        completion every millisecond.

        Raises
        ------
        EngineTimeoutError
            When no completion comes within ``timeout`` seconds (``None``: the driver's timeout).
            The engine still owns the descriptor and its buffers. :meth:`recover` takes them back.
        EngineStoppedError
            At once, when the ring is HALTED or in ERROR and nothing is outstanding, when the link
            has failed, or when the descriptor was withdrawn by :meth:`recover` or :meth:`reset`.
        """
        seconds = self.timeout if timeout is None else timeout
        begin = time.monotonic()
        deadline, look = begin + seconds, begin + _LOOK
        while ticket.completion is None:
            if ticket.is_withdrawn:
                raise EngineStoppedError("no completion follows, the descriptor was withdrawn")
            self.poll()
            if ticket.completion is not None:
                break
            now = time.monotonic()
            if self._wait is not None or now >= look:
                look = now + _LOOK
                if self._standstill(ticket):
                    break
            left = deadline - now
            if left <= 0:
                state = self._ring(ticket.ring).state.name
                raise EngineTimeoutError(
                    f"no completion in {seconds:g} s, ring {ticket.ring} is {state}"
                )
            if self._wait is not None:
                self._wait(left if ticket.descriptor.interrupt else min(left, _LOOK))
                self.acknowledge()
        return ticket.completion

    def poll(self) -> list[Ticket]:
        """Read all new completions of both rings. Frees the buffers of abandoned descriptors."""
        done = []
        for ring in self.rings:
            for ticket in ring.poll():
                self._custody.end(ticket)
                done.append(ticket)
        self._custody.free_held()
        return done

    def acknowledge(self) -> int:
        """Clear the pending interrupts. Returns their bits."""
        pending = self.registers.read("ENGINE", "IRQ_STATUS")
        if pending:
            self.registers.write("ENGINE", "IRQ_STATUS", pending)
        return pending

    # -- recovery --

    @property
    def quarantined(self) -> list[int]:
        """Channels in quarantine."""
        bits = self.registers.field("ENGINE", "STATUS", "QUARANTINED")
        return [channel for channel in range(self.config.channels) if bits >> channel & 1]

    @property
    def is_quiet(self) -> bool:
        """Whether no channel in quarantine has outstanding responses, and the link works.

        While this is false, the engine may still access the buffers of each job that was started
        and did not end with OK, whatever its status: also with ABORTED.
        """
        if self.registers.has_failed_link:
            return False
        return not any(self._owed(channel) for channel in self.quarantined)

    def recover(self, ring: int) -> list[Ticket]:
        """Abort a ring and restart it, from any state except after a failure of the link.

        Frees the buffers of the descriptors that it returns, and of abandoned descriptors. The
        caller frees the buffers of its other descriptors, which all have a completion now, but not
        before :attr:`is_quiet` is true.

        Returns
        -------
        list of Ticket
            Descriptors that were not started.
        """
        if self.registers.has_failed_link:
            raise DriverError(LINK_FAILED)
        waiting = self._ring(ring).waiting
        withdrawn = self._ring(ring).restart()
        for ticket in waiting:
            if ticket.completion is None:
                self._custody.free(ticket.buffers)
            else:
                self._custody.end(ticket)
        self.acknowledge()
        return withdrawn

    def clear_quarantine(self, channel: int) -> bool:
        """Take a channel out of quarantine. False while it has outstanding responses."""
        if self._owed(channel):
            return False
        self.registers.write("CHANNEL", "QUARANTINE", 1, channel)
        self.poll()
        return channel not in self.quarantined

    def reset(self) -> list[Ticket]:
        """Reset the engine and set it up again. A channel in quarantine stays there.

        Returns
        -------
        list of Ticket
            The descriptors without a completion, which are lost. Their buffers are freed, when
            :attr:`is_quiet` is true.

        Raises
        ------
        DriverError
            When the engine does not leave reset: at once, while the link does not respond. Then
            all buffers stay with the driver.
        """
        if self._is_closed:
            raise DriverError("the driver is closed")
        lost = self._stop()
        for ring in self.rings:
            ring.setup()
        self._setup_interrupts()
        return lost

    def close(self) -> list[Ticket]:
        """Reset the engine and free the rings and all other buffers that the driver keeps.

        Unless :attr:`is_quiet` is true before, the engine may still access them. The driver takes
        no descriptor afterwards. A second call does nothing.

        Returns
        -------
        list of Ticket
            The descriptors without a completion, which are lost. Their buffers are freed.

        Raises
        ------
        DriverError
            As for :meth:`reset`.
        """
        if self._is_closed:
            return []
        lost = self._stop()
        self._custody.free_all_held()
        for ring in self.rings:
            ring.close()
        self.rings.clear()
        self._is_closed = True
        return lost

    # -- inside --

    def _ring(self, number: int) -> Ring:
        if self._is_closed:
            raise DriverError("the driver is closed")
        return self.rings[number]

    def _setup_interrupts(self) -> None:
        count, timer = self._coalesce
        self.registers.write("ENGINE", "IRQ_COALESCE", count | timer << 8)
        self.registers.write("ENGINE", "IRQ_ENABLE", _IRQ_ALL if self._wait else 0)

    def _reset_engine(self) -> None:
        self.registers.write("ENGINE", "CTRL", 1)
        deadline = time.monotonic() + self.timeout
        while self.registers.read("ENGINE", "CTRL") & 1:
            if self.registers.has_failed_link:
                raise DriverError(LINK_FAILED)
            if time.monotonic() > deadline:
                raise DriverError("the engine does not leave reset")

    def _stop(self) -> list[Ticket]:
        """Reset the engine. Frees the buffers of the lost descriptors, which it returns."""
        lost = [ticket for ring in self.rings for ticket in ring.waiting]
        self._reset_engine()
        for ticket in lost:
            self._custody.settle(None, ticket.buffers)
        return lost

    def _owed(self, channel: int) -> bool:
        return self.registers.field("CHANNEL", "OUTSTANDING", "NOW", channel) != 0

    def _standstill(self, ticket: Ticket) -> bool:
        """Whether the completion has arrived. Raises if it will never arrive."""
        ring = self._ring(ticket.ring)
        reason = ring.standstill
        if reason is not None:
            self._barrier()
            self.poll()
            if ticket.completion is None:
                raise EngineStoppedError(f"no completion follows, {reason}")
        return ticket.completion is not None
