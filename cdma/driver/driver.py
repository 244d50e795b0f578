"""The driver: offload and prefetch tensors, over any register accessor."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

import numpy as np

from cdma.driver import barrier as barriers
from cdma.driver.custody import Custody
from cdma.driver.errors import DriverError, EngineError, EngineStoppedError, EngineTimeoutError
from cdma.driver.memory import Buffer, Memory
from cdma.driver.registers import Accessor, Registers
from cdma.driver.ring import Ring, Ticket
from cdma.driver.software.execute import Execution
from cdma.engine_codes import OFFLOAD_RING, PREFETCH_RING, Op, Status
from cdma.engine_config import INDEX_BYTES
from cdma.golden.engine.descriptor import Completion, Descriptor
from cdma.golden.engine.stripes import channels_of, placement, raw_policy
from cdma.golden.zvc.words import format_for, to_words

_IRQ_ALL = 0x3F
_LOOK = 1e-3  # seconds between two looks at the ring's state while polling


@dataclass(eq=False)
class Offloaded:
    """A compressed tensor in host memory.

    Attributes
    ----------
    stream_buffer, index_buffer : Buffer
        Host buffers. ``Driver.release`` frees them.
    completion : Completion
    row_bytes, rows : int
        Size of the tensor.
    array : (dtype, shape) or None
        Type and shape of the offloaded array; ``None`` if the tensor was offloaded by address.
    """

    stream_buffer: Buffer
    index_buffer: Buffer
    completion: Completion
    row_bytes: int
    rows: int
    array: tuple | None = None

    @property
    def stream(self) -> np.ndarray:
        """The stream, uint8 of shape (bytes,)."""
        return self.stream_buffer.data[: self.completion.stream_bytes]

    @property
    def index(self) -> np.ndarray:
        """The index, uint8 of shape (8 * stripes,)."""
        return self.index_buffer.data[: INDEX_BYTES * self.completion.stripe]


class Driver:
    """Drives one engine.

    Parameters
    ----------
    accessor : Accessor
        Access to the engine's registers.
    host : Memory
        Memory at the engine's link, for rings, streams and indexes.
    device : Memory or None
        Device memory that this processor can access. Arrays in place of addresses, and the
        fallback, need it.
    wait : callable or None
        ``wait(seconds)`` sleeps until the engine's interrupt, at most this long. With ``None``, the
        driver polls the completion rings.
    log2_ring : int
        log2 of the entries of each ring.
    timeout : float
        Seconds to wait for a descriptor.
    coalesce : (int, int)
        Completions (at most 255) and cycles (at most 2**24 - 1) until an interrupt.
    device_window : (int, int) or None
        First byte, and first byte past the end, of the device memory that the engine may access.
        ``None`` is the range of ``device``, or all addresses without ``device``. The host window is
        the range of ``host``.
    fallback : bool
        Process jobs in software if one of their channels is in quarantine. Needs ``device``.
    barrier : callable or None
        Called without arguments; orders all earlier accesses to memory and registers before all
        later ones. x86 needs none. Other processors need one with hardware: the driver insists for
        accessors with ``is_mapped``, such as ``UioDevice``.

    Raises
    ------
    DriverError
        When the device is not an engine, the host memory is too small for the rings, or this
        processor needs a barrier.
    """

    def __init__(
        self,
        accessor: Accessor,
        host: Memory,
        device: Memory | None = None,
        wait: Callable[[float], object] | None = None,
        log2_ring: int = 6,
        timeout: float = 10.0,
        coalesce: tuple[int, int] = (1, 0),
        device_window: tuple[int, int] | None = None,
        fallback: bool = False,
        barrier: Callable[[], object] | None = None,
    ):
        if fallback and device is None:
            raise ValueError("fallback needs device memory that this processor reaches")
        for name, value, bits in zip(("count", "cycles"), coalesce, (8, 24), strict=True):
            if not 0 <= value < 1 << bits:
                raise ValueError(f"coalesce {name} must be in 0..{2**bits - 1}, not {value!r}")
        self._barrier = barriers.choose(barrier, accessor)
        self.registers = Registers(accessor)
        self.config = self.registers.config
        self.host, self.device, self.timeout = host, device, timeout
        self._wait, self._fallback, self._coalesce = wait, fallback, coalesce
        if device_window is None:
            end = min(1 << self.config.address_bits, (1 << 64) - 1)
            device_window = (0, end) if device is None else (device.base, device.limit)
        self._device_window = device_window
        windows = (*device_window, host.base, host.limit)
        self._cookie = 0
        self.rings: list[Ring] = []
        self._custody = Custody(self.rings)
        self._reset_engine()
        try:
            for number in (OFFLOAD_RING, PREFETCH_RING):
                ring = Ring(self.registers, host, number, log2_ring, windows, self._barrier)
                self.rings.append(ring)
            self._setup_interrupts()
        except BaseException:
            self.close()
            raise

    # -- tensors --

    def offload(
        self,
        tensor,
        row_bytes: int = 0,
        *,
        rows: int = 1,
        pitch: int = 0,
        raw: str = "auto",
        limit: int | None = None,
        crc: bool = False,
    ) -> Offloaded:
        """Compress a tensor in device memory into new host buffers.

        Parameters
        ----------
        tensor : int or array_like
            Device address; or an array, which is first copied to device memory.
        row_bytes, rows, pitch : int
            Size of the tensor at an address.
        raw : str
            ``"never"``, ``"auto"`` or ``"always"``.
        limit : int or None
            Capacity of the stream's buffer; ``None`` is the maximum size of the stream.
        crc : bool
            Whether the index has CRCs, which prefetch then checks.

        Returns
        -------
        Offloaded

        Raises
        ------
        EngineError
            When the descriptor ends with a status other than OK.
        EngineTimeoutError, DriverError
            After any error, the driver frees the buffers: at once, or when the engine cannot use
            them any more.
        """
        options = {"raw": raw_policy(raw), "limit": limit, "crc": crc}
        if not isinstance(tensor, (int, np.integer)):
            return self._offload_array(tensor, **options)
        return self._offload(tensor, row_bytes, rows, pitch, **options)

    def prefetch(self, source: Offloaded, address: int | None = None, *, pitch: int = 0):
        """Decompress a tensor into device memory.

        If the job ends with TIMEOUT, the engine may still write to the address: do not use the
        address for other data before :meth:`clear_quarantine` has succeeded. With ``fallback``,
        this also applies after a prefetch that returns normally while a channel is in quarantine.

        Parameters
        ----------
        source : Offloaded
        address : int or None
            Device address; ``None`` for a tensor that was offloaded as an array.
        pitch : int
            Bytes from row to row.

        Returns
        -------
        Completion, or ndarray
            Without an address: the array.

        Raises
        ------
        EngineError
            When the stream or index is damaged, or memory fails.
        EngineTimeoutError, DriverError
        """
        if address is None:
            return self._prefetch_array(source)
        return self._in(Op.PREFETCH, source, address, pitch)

    def verify(self, source: Offloaded, address: int | None = None) -> Completion:
        """Decompress a tensor without writing to memory.

        ``address`` selects the channels that decompress. The engine checks it as for a prefetch.
        ``None`` is the start of the device window. Errors as for :meth:`prefetch`.
        """
        if address is None:
            address = -(-self._device_window[0] // self.config.stripe_bytes)
            address *= self.config.stripe_bytes
        return self._in(Op.VERIFY, source, address, source.row_bytes)

    def measure(
        self, address: int, row_bytes: int, *, rows: int = 1, pitch: int = 0, raw: str = "auto"
    ) -> Completion:
        """Measure the bytes of an offload, in ``stream_bytes``, without writing to memory."""
        policy = raw_policy(raw)
        descriptor = self._descriptor(Op.MEASURE, address, row_bytes, rows, pitch, raw=policy)
        return self._run(OFFLOAD_RING, descriptor)

    def copy_out(self, address: int, row_bytes: int, *, rows: int = 1, pitch: int = 0) -> Buffer:
        """Copy a tensor unchanged to a new host buffer."""
        with self._custody.allocate(self.host, row_bytes * rows) as (buffer,):
            descriptor = self._descriptor(
                Op.COPY_OUT,
                address,
                row_bytes,
                rows,
                pitch,
                host=buffer.address,
                limit=row_bytes * rows,
            )
            self._run(OFFLOAD_RING, descriptor, [buffer])
        return buffer

    def copy_in(
        self, buffer: Buffer, address: int, row_bytes: int, *, rows: int = 1, pitch: int = 0
    ) -> Completion:
        """Copy a host buffer unchanged to device memory."""
        descriptor = self._descriptor(
            Op.COPY_IN,
            address,
            row_bytes,
            rows,
            pitch,
            host=buffer.address,
            limit=row_bytes * rows,
        )
        return self._run(PREFETCH_RING, descriptor)

    def release(self, *items: Offloaded | Buffer) -> None:
        """Free host buffers."""
        for item in items:
            is_pair = isinstance(item, Offloaded)
            for buffer in (item.stream_buffer, item.index_buffer) if is_pair else (item,):
                self.host.release(buffer)

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
        self.rings[ring].submit(tickets)
        return tickets

    def wait(self, ticket: Ticket, timeout: float | None = None) -> Completion:
        """Wait for the completion of a descriptor, with any status.

        Raises
        ------
        EngineTimeoutError
            When no completion comes within ``timeout`` seconds (``None``: the driver's timeout).
            The engine still owns the descriptor and its buffers. :meth:`recover` takes them back.
        EngineStoppedError
            At once, when the ring is HALTED or in ERROR and nothing is outstanding.
        """
        seconds = self.timeout if timeout is None else timeout
        begin = time.monotonic()
        deadline, look = begin + seconds, begin + _LOOK
        while ticket.completion is None:
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
                state = self.rings[ticket.ring].state.name
                raise EngineTimeoutError(
                    f"no completion in {seconds:g} s, ring {ticket.ring} is {state}"
                )
            if self._wait is not None:
                self._wait(left)
                self.acknowledge()
        return ticket.completion

    def poll(self) -> list[Ticket]:
        """Read all new completions of both rings. Frees the buffers of abandoned descriptors."""
        done = []
        for ring in self.rings:
            for ticket in ring.poll():
                self._custody.end(ticket)
                done.append(ticket)
        if self._custody.held and self._is_quiet():
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

    def recover(self, ring: int) -> list[Ticket]:
        """Abort a ring and restart it, from any state except after a failure of the link.

        Frees the buffers of the descriptors that it returns, and of abandoned descriptors. The
        caller frees the buffers of its other descriptors, which all have a completion now.

        Returns
        -------
        list of Ticket
            Descriptors that were not started.
        """
        if self.registers.field("ENGINE", "STATUS", "FATAL"):
            raise DriverError("the link has failed: only a reset of the hardware recovers")
        waiting = self.rings[ring].waiting
        withdrawn = self.rings[ring].restart()
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
        """Reset the engine and set it up again.

        Returns
        -------
        list of Ticket
            The descriptors without a completion, which are lost. Their buffers are freed.
        """
        lost = self._stop()
        for ring in self.rings:
            ring.setup()
        self._setup_interrupts()
        return lost

    def close(self) -> list[Ticket]:
        """Reset the engine and free the rings and all other buffers that the driver keeps.

        Returns
        -------
        list of Ticket
            The descriptors without a completion, which are lost. Their buffers are freed.
        """
        lost = self._stop()
        self._custody.free_held()
        for ring in self.rings:
            ring.close()
        return lost

    # -- inside --

    def _setup_interrupts(self) -> None:
        count, timer = self._coalesce
        self.registers.write("ENGINE", "IRQ_COALESCE", count | timer << 8)
        self.registers.write("ENGINE", "IRQ_ENABLE", _IRQ_ALL if self._wait else 0)

    def _reset_engine(self) -> None:
        self.registers.write("ENGINE", "CTRL", 1)
        deadline = time.monotonic() + self.timeout
        while self.registers.read("ENGINE", "CTRL") & 1:
            if time.monotonic() > deadline:
                raise DriverError("the engine does not leave reset")

    def _stop(self) -> list[Ticket]:
        """Reset the engine. Frees the buffers of the lost descriptors, which it returns."""
        lost = [ticket for ring in self.rings for ticket in ring.waiting]
        self._reset_engine()
        for ticket in lost:
            self._custody.free(ticket.buffers)
        return lost

    def _owed(self, channel: int) -> bool:
        return self.registers.field("CHANNEL", "OUTSTANDING", "NOW", channel) != 0

    def _is_quiet(self) -> bool:
        """Whether no response is outstanding after a timeout."""
        if self.registers.field("ENGINE", "STATUS", "FATAL"):
            return False
        return not any(self._owed(channel) for channel in self.quarantined)

    def _standstill(self, ticket: Ticket) -> bool:
        """Whether the completion has arrived. Raises if it will never arrive."""
        ring = self.rings[ticket.ring]
        reason = ring.standstill
        if reason is not None:
            self._barrier()
            self.poll()
            if ticket.completion is None:
                raise EngineStoppedError(
                    f"no completion follows, ring {ticket.ring} is {reason}: "
                    f"recover({ticket.ring}) restarts it"
                )
        return ticket.completion is not None

    def _descriptor(self, op, address, row_bytes, rows, pitch, **more) -> Descriptor:
        return Descriptor(
            op,
            device=int(address),
            row_bytes=row_bytes,
            rows=rows,
            pitch=pitch,
            word_bytes=self.config.word_bytes,
            interrupt=self._wait is not None,
            **more,
        )

    def _run(
        self,
        ring: int,
        descriptor: Descriptor,
        results: Sequence[Buffer] = (),
        place: Buffer | None = None,
    ) -> Completion:
        """Submit one descriptor and wait.

        After a timeout, the custody keeps the caller's new host buffers ``results``, and the
        temporary device memory ``place``, as long as the engine may use them.
        """
        buffers = [*results] if place is None else [*results, place]
        quarantined = set(self.quarantined) if self._fallback else set()
        (ticket,) = self.submit(ring, descriptor, buffers=buffers)
        try:
            completion = self.wait(ticket)
        except BaseException:
            ticket.is_abandoned = True  # `poll` or `recover` frees the buffers
            raise
        if completion.status == Status.TIMEOUT:
            self._custody.held += buffers
            if self._fallback:
                completion = self._in_software(descriptor)
            if completion.is_ok:
                # A channel in quarantine issues nothing. Without a new one, nothing is outstanding.
                is_new = set(self.quarantined) - quarantined
                for buffer in results if is_new else buffers:
                    self._custody.held.remove(buffer)
        if not completion.is_ok:
            raise EngineError(completion)
        return completion

    def _device_buffer(self, nbytes: int) -> AbstractContextManager[Buffer]:
        """Temporary device memory for an array."""
        if self.device is None:
            raise DriverError("arrays need device memory that this processor reaches")
        return self._custody.temporary(self.device, nbytes, self.config.stripe_bytes)

    def _in_software(self, descriptor: Descriptor) -> Completion:
        """Process a descriptor with the golden engine, if it uses a channel in quarantine."""
        addresses = placement(
            self.config,
            descriptor.device,
            descriptor.row_bytes,
            descriptor.row_count,
            descriptor.pitch,
        )
        if not set(channels_of(self.config, addresses).tolist()) & set(self.quarantined):
            return Completion(Status.TIMEOUT)
        work = Execution(
            self.config, self.host, self.device, descriptor, descriptor.host, descriptor.limit
        )
        return work.run()

    def _offload(
        self, address, row_bytes, rows, pitch, *, raw, limit, crc, place: Buffer | None = None
    ) -> Offloaded:
        capacity = self.config.bound(row_bytes * rows) if limit is None else limit
        sizes = capacity, INDEX_BYTES * rows * self.config.stripes(row_bytes)
        with self._custody.allocate(self.host, *sizes) as (stream, index):
            descriptor = self._descriptor(
                Op.OFFLOAD,
                address,
                row_bytes,
                rows,
                pitch,
                host=stream.address,
                index=index.address,
                limit=capacity,
                raw=raw,
                with_index=True,
                crc=crc,
            )
            completion = self._run(OFFLOAD_RING, descriptor, [stream, index], place)
        return Offloaded(stream, index, completion, row_bytes, rows)

    def _in(
        self, op: Op, source: Offloaded, address: int, pitch: int, place: Buffer | None = None
    ) -> Completion:
        flags = source.index.view("<u4")[::2]
        descriptor = self._descriptor(
            op,
            address,
            source.row_bytes,
            source.rows,
            pitch,
            host=source.stream_buffer.address,
            index=source.index_buffer.address,
            limit=source.completion.stream_bytes,
            with_index=True,
            crc=bool((flags >> 25 & 1).any()),
        )
        return self._run(PREFETCH_RING, descriptor, place=place)

    def _offload_array(self, tensor, **options) -> Offloaded:
        array = np.asarray(tensor)
        format_for(array.dtype, self.config.format)
        data = to_words(array).view(np.uint8)
        with self._device_buffer(len(data)) as place:
            place.data[: len(data)] = data
            result = self._offload(place.address, len(data), 1, 0, **options, place=place)
        result.array = (array.dtype, array.shape)
        return result

    def _prefetch_array(self, source: Offloaded) -> np.ndarray:
        if source.array is None:
            raise ValueError("prefetch needs an address: the tensor was not offloaded as an array")
        with self._device_buffer(source.row_bytes) as place:
            self._in(Op.PREFETCH, source, place.address, 0, place)
            data = place.data[: source.row_bytes].copy()
        dtype, shape = source.array
        return data.view(dtype.newbyteorder("<")).reshape(shape)
