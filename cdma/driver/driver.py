"""The driver: offload and prefetch tensors, over any register accessor."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np

from cdma.driver.errors import DriverError, EngineError
from cdma.driver.memory import Buffer, Memory
from cdma.driver.registers import Accessor
from cdma.driver.session import Session
from cdma.driver.software.execute import Execution
from cdma.engine_codes import OFFLOAD_RING, PREFETCH_RING, Op, Status
from cdma.engine_config import INDEX_BYTES
from cdma.golden.codecs import codec_of
from cdma.golden.engine.descriptor import Completion, Descriptor
from cdma.golden.engine.stripes import channels_of, placement, raw_policy


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


class Driver(Session):
    """Drives one engine.

    The methods for descriptors, completions and recovery are those of
    :class:`~cdma.driver.session.Session`.

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
    attributes : (int, int) or None
        Register ATTR of the offload and of the prefetch ring: AxUSER, AxPROT and AxCACHE of their
        bursts. ``None`` leaves the values of a reset: normal, non-cacheable memory.

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
        attributes: tuple[int, int] | None = None,
    ):
        if fallback and device is None:
            raise ValueError("fallback needs device memory that this processor reaches")
        if device_window is None and device is not None:
            device_window = device.base, device.limit
        self.device, self._fallback = device, fallback
        options = wait, log2_ring, timeout, coalesce, device_window, barrier, attributes
        super().__init__(accessor, host, *options)

    # -- tensors --

    def offload(
        self,
        tensor,
        row_bytes: int = 0,
        *,
        rows: int = 1,
        pitch: int | None = None,
        raw: str = "auto",
        limit: int | None = None,
        crc: bool = False,
    ) -> Offloaded:
        """Compress a tensor in device memory into new host buffers.

        Parameters
        ----------
        tensor : int or array_like
            Device address; or an array, which is first copied to device memory.
        row_bytes, rows : int
            Size of the tensor at an address.
        pitch : int or None
            Bytes from row to row; ``None`` is ``row_bytes``: the rows lie one behind the other.
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
        EngineTimeoutError, DriverError, ValueError
            After any error, the driver frees the buffers: at once, or when the engine cannot use
            them any more.
        """
        options = {"raw": raw_policy(raw), "limit": limit, "crc": crc}
        if not isinstance(tensor, (int, np.integer)):
            return self._offload_array(tensor, **options)
        return self._offload(tensor, row_bytes, rows, pitch, **options)

    def prefetch(
        self, source: Offloaded, address: int | None = None, *, pitch: int | None = None
    ) -> Completion | np.ndarray:
        """Decompress a tensor into device memory.

        If the job ends with an error while a channel is in quarantine, the engine may still write
        to the address: do not use the address for other data before :attr:`is_quiet` is true. The
        error may be another one than TIMEOUT, in a lower stripe. With ``fallback``, this also
        applies after a prefetch that returns normally while a channel is in quarantine.

        Parameters
        ----------
        source : Offloaded
        address : int or None
            Device address; ``None`` for a tensor that was offloaded as an array.
        pitch : int or None
            Bytes from row to row; ``None`` is the bytes of a row.

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
        return self._in(Op.VERIFY, source, address, None)

    def measure(
        self,
        address: int,
        row_bytes: int,
        *,
        rows: int = 1,
        pitch: int | None = None,
        raw: str = "auto",
    ) -> Completion:
        """Measure the bytes of an offload, in ``stream_bytes``, without writing to memory."""
        policy = raw_policy(raw)
        descriptor = self._descriptor(Op.MEASURE, address, row_bytes, rows, pitch, raw=policy)
        return self._run(OFFLOAD_RING, descriptor)

    def copy_out(
        self, address: int, row_bytes: int, *, rows: int = 1, pitch: int | None = None
    ) -> Buffer:
        """Copy a tensor unchanged to a new host buffer."""
        with self._custody.allocate(self.host, row_bytes * rows) as (buffer,):
            descriptor = self._copy(Op.COPY_OUT, buffer, address, row_bytes, rows, pitch)
            self._run(OFFLOAD_RING, descriptor, [buffer])
        return buffer

    def copy_in(
        self,
        buffer: Buffer,
        address: int,
        row_bytes: int,
        *,
        rows: int = 1,
        pitch: int | None = None,
    ) -> Completion:
        """Copy a host buffer unchanged to device memory."""
        if row_bytes * rows > buffer.size:
            raise ValueError(f"buffer must have {row_bytes * rows} bytes, not {buffer.size}")
        descriptor = self._copy(Op.COPY_IN, buffer, address, row_bytes, rows, pitch)
        return self._run(PREFETCH_RING, descriptor)

    def release(self, *items: Offloaded | Buffer) -> None:
        """Free host buffers."""
        for item in items:
            is_pair = isinstance(item, Offloaded)
            for buffer in (item.stream_buffer, item.index_buffer) if is_pair else (item,):
                self.host.release(buffer)

    # -- inside --

    def _descriptor(self, op, address, row_bytes, rows, pitch, **more) -> Descriptor:
        if rows < 1:  # the engine takes 0 as 1, for which the buffers are too small
            raise ValueError(f"rows must be at least 1, not {rows!r}")
        return Descriptor(
            op,
            device=int(address),
            row_bytes=row_bytes,
            rows=rows,
            pitch=row_bytes if pitch is None else pitch,
            word_bytes=self.config.word_bytes,
            interrupt=self._wait is not None,
            **more,
        )

    def _copy(self, op, buffer, address, row_bytes, rows, pitch) -> Descriptor:
        place = {"host": buffer.address, "limit": row_bytes * rows}
        return self._descriptor(op, address, row_bytes, rows, pitch, **place)

    def _run(
        self,
        ring: int,
        descriptor: Descriptor,
        results: Sequence[Buffer] = (),
        place: Buffer | None = None,
    ) -> Completion:
        """Submit one descriptor and wait.

        After an error, the custody keeps the caller's new host buffers ``results``, and the
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
                completion = self._in_software(descriptor) or completion
            if completion.is_ok:
                # A channel in quarantine issues nothing. Without a new one, nothing is outstanding.
                is_new = set(self.quarantined) - quarantined
                for buffer in results if is_new else buffers:
                    self._custody.held.remove(buffer)
        elif not (completion.is_ok or self.is_quiet):
            self._custody.held += buffers
        if not completion.is_ok:
            raise EngineError(completion)
        return completion

    def _device_buffer(self, nbytes: int) -> AbstractContextManager[Buffer]:
        """Temporary device memory for an array."""
        if self.device is None:
            raise DriverError("arrays need device memory that this processor reaches")
        return self._custody.temporary(self.device, nbytes, self.config.stripe_bytes)

    def _in_software(self, descriptor: Descriptor) -> Completion | None:
        """Process a descriptor with the golden engine, if it uses a channel in quarantine.

        ``None`` if it uses none.
        """
        addresses = placement(
            self.config,
            descriptor.device,
            descriptor.row_bytes,
            descriptor.row_count,
            descriptor.pitch,
        )
        if not set(channels_of(self.config, addresses).tolist()) & set(self.quarantined):
            return None
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
        self,
        op: Op,
        source: Offloaded,
        address: int,
        pitch: int | None,
        place: Buffer | None = None,
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
        fmt = self.config.format
        data = codec_of(fmt).words_of(array, fmt).view(np.uint8)
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
