"""The driver: offload and prefetch tensors, over any register accessor."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from cdma.driver.errors import DriverError, EngineError, EngineTimeoutError
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
        Completions and cycles until an interrupt.
    device_window : (int, int) or None
        First byte, and first byte past the end, of the device memory that the engine may access.
        ``None`` is the range of ``device``, or all addresses without ``device``. The host window is
        the range of ``host``.
    fallback : bool
        Process jobs in software if one of their channels is in quarantine. Needs ``device``.

    Raises
    ------
    DriverError
        When the device is not an engine, or the host memory is too small for the rings.
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
    ):
        if fallback and device is None:
            raise ValueError("fallback needs device memory that this processor reaches")
        self.registers = Registers(accessor)
        self.config = self.registers.config
        self.host, self.device, self.timeout = host, device, timeout
        self._wait, self._fallback, self._coalesce = wait, fallback, coalesce
        if device_window is None:
            end = min(1 << self.config.address_bits, (1 << 64) - 1)
            device_window = (0, end) if device is None else (device.base, device.limit)
        self._device_window = device_window
        windows = (*device_window, host.base, host.limit)
        self._reset_engine()
        self.rings = [
            Ring(self.registers, host, number, log2_ring, windows)
            for number in (OFFLOAD_RING, PREFETCH_RING)
        ]
        self._setup_interrupts()
        self._cookie = 0
        self._held: list[Buffer] = []

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
            When the descriptor ends with a status other than OK. The buffers are freed.
        EngineTimeoutError, DriverError
        """
        if not isinstance(tensor, (int, np.integer)):
            return self._offload_array(tensor, raw=raw, limit=limit, crc=crc)
        nbytes = row_bytes * rows
        capacity = self.config.bound(nbytes) if limit is None else limit
        stream = self.host.allocate(capacity)
        index = self.host.allocate(INDEX_BYTES * rows * self.config.stripes(row_bytes))
        descriptor = self._descriptor(
            Op.OFFLOAD,
            tensor,
            row_bytes,
            rows,
            pitch,
            host=stream.address,
            index=index.address,
            limit=capacity,
            raw=raw_policy(raw),
            with_index=True,
            crc=crc,
        )
        completion = self._run(OFFLOAD_RING, descriptor, [stream, index])
        return Offloaded(stream, index, completion, row_bytes, rows)

    def prefetch(self, source: Offloaded, address: int | None = None, *, pitch: int = 0):
        """Decompress a tensor into device memory.

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
        return self._run(OFFLOAD_RING, descriptor, [])

    def copy_out(self, address: int, row_bytes: int, *, rows: int = 1, pitch: int = 0) -> Buffer:
        """Copy a tensor unchanged to a new host buffer."""
        buffer = self.host.allocate(row_bytes * rows)
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
        return self._run(PREFETCH_RING, descriptor, [])

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

        Returns
        -------
        list of Ticket
            One per descriptor, for :meth:`wait`.
        """
        tickets = []
        for descriptor in descriptors:
            self._cookie += 1
            numbered = replace(descriptor, cookie=self._cookie)
            tickets.append(Ticket(numbered, ring, list(buffers or [])))
        self.rings[ring].submit(tickets)
        return tickets

    def wait(self, ticket: Ticket, timeout: float | None = None) -> Completion:
        """Wait for the completion of a descriptor, with any status.

        Raises
        ------
        EngineTimeoutError
            When no completion comes within ``timeout`` seconds (``None``: the driver's timeout).
            The engine still owns the descriptor and its buffers. :meth:`recover` takes them back.
        """
        seconds = self.timeout if timeout is None else timeout
        deadline = time.monotonic() + seconds
        while ticket.completion is None:
            self.poll()
            if ticket.completion is not None:
                break
            left = deadline - time.monotonic()
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
        """Read all new completions of both rings."""
        done = [ticket for ring in self.rings for ticket in ring.poll()]
        if self._held and not any(self._owed(channel) for channel in self.quarantined):
            self._give_back(self._held)
            self._held = []
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

        Returns
        -------
        list of Ticket
            Descriptors that were not started. Their buffers are freed.
        """
        if self.registers.field("ENGINE", "STATUS", "FATAL"):
            raise DriverError("the link has failed: only a reset of the hardware recovers")
        waiting = self.rings[ring].waiting
        withdrawn = self.rings[ring].restart()
        for ticket in waiting:
            completion = ticket.completion
            if completion is not None and completion.status == Status.TIMEOUT:
                self._held += ticket.buffers
            elif ticket.is_abandoned or completion is None or not completion.is_ok:
                self._give_back(ticket.buffers)
        self.acknowledge()
        return withdrawn

    def clear_quarantine(self, channel: int) -> bool:
        """Take a channel out of quarantine. False while it has outstanding responses."""
        if self._owed(channel):
            return False
        self.registers.write("CHANNEL", "QUARANTINE", 1, channel)
        self.poll()
        return channel not in self.quarantined

    def reset(self) -> None:
        """Reset the engine and set it up again. All submitted descriptors are lost."""
        lost = [ticket for ring in self.rings for ticket in ring.waiting]
        self._reset_engine()
        for ring in self.rings:
            ring.setup()
        for ticket in lost:
            self._give_back(ticket.buffers)
        self._setup_interrupts()

    def close(self) -> None:
        """Reset the engine and give the memory of the rings back."""
        lost = [ticket for ring in self.rings for ticket in ring.waiting]
        self._reset_engine()
        for ticket in lost:
            self._give_back(ticket.buffers)
        for ring in self.rings:
            ring.close()

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

    def _owed(self, channel: int) -> bool:
        return self.registers.field("CHANNEL", "OUTSTANDING", "NOW", channel) != 0

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

    def _run(self, ring: int, descriptor: Descriptor, buffers: list[Buffer]) -> Completion:
        """Submit one descriptor and wait. On an error, free its buffers."""
        try:
            (ticket,) = self.submit(ring, descriptor, buffers=buffers)
        except DriverError:
            self._give_back(buffers)
            raise
        try:
            completion = self.wait(ticket)
        except EngineTimeoutError:
            ticket.is_abandoned = True  # `recover` frees the buffers
            raise
        if completion.status == Status.TIMEOUT and self._fallback:
            completion = self._in_software(descriptor)
        if completion.is_ok:
            return completion
        if completion.status == Status.TIMEOUT:
            self._held += buffers  # the engine may still use them
        else:
            self._give_back(buffers)
        raise EngineError(completion)

    @staticmethod
    def _give_back(buffers: list[Buffer]) -> None:
        for buffer in buffers:
            buffer.memory.release(buffer)

    @contextmanager
    def _device_buffer(self, nbytes: int) -> Iterator[Buffer]:
        """Temporary device memory, freed at the end unless the engine may still use it."""
        if self.device is None:
            raise DriverError("arrays need device memory that this processor reaches")
        place = self.device.allocate(nbytes, self.config.stripe_bytes)
        try:
            yield place
        except EngineTimeoutError:
            # `recover` or `reset` frees it with the descriptor.
            for ring in self.rings:
                for ticket in ring.waiting:
                    if ticket.is_abandoned and ticket.descriptor.device == place.address:
                        ticket.buffers.append(place)
            raise
        except EngineError as error:
            if error.completion.status == Status.TIMEOUT:
                self._held.append(place)
            else:
                self.device.release(place)
            raise
        self.device.release(place)

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

    def _in(self, op: Op, source: Offloaded, address: int, pitch: int) -> Completion:
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
        return self._run(PREFETCH_RING, descriptor, [])

    def _offload_array(self, tensor, **options) -> Offloaded:
        array = np.asarray(tensor)
        format_for(array.dtype, self.config.format)
        data = to_words(array).view(np.uint8)
        with self._device_buffer(len(data)) as place:
            place.data[: len(data)] = data
            result = self.offload(place.address, len(data), **options)
        result.array = (array.dtype, array.shape)
        return result

    def _prefetch_array(self, source: Offloaded) -> np.ndarray:
        if source.array is None:
            raise ValueError("prefetch needs an address: the tensor was not offloaded as an array")
        with self._device_buffer(source.row_bytes) as place:
            self._in(Op.PREFETCH, source, place.address, 0)
            data = place.data[: source.row_bytes].copy()
        dtype, shape = source.array
        return data.view(dtype.newbyteorder("<")).reshape(shape)
