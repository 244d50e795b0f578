"""Execute one valid descriptor in software, with the golden engine."""

from collections.abc import Collection

import numpy as np

from cdma.driver.memory import BusError, Memory
from cdma.engine_codes import LINK, STREAM_ERRORS, Op, Raw, Status
from cdma.engine_config import INDEX_BYTES, EngineConfig
from cdma.golden import engine
from cdma.golden.engine import stripes
from cdma.golden.engine.descriptor import Completion, Descriptor
from cdma.golden.engine.index import unpack_index


class Execution:
    """One descriptor, from its memories to its completion.

    Bus errors have the granularity of bytes, not of bursts: all stripes before the first faulty
    byte are processed.

    Parameters
    ----------
    config : EngineConfig
    host, device : Memory
    descriptor : Descriptor
        Valid descriptor.
    address, limit : int
        Address and capacity of the stream, from the descriptor or the arena.
    quarantined : set of int
        Channels that are not accessed: their first stripe is a TIMEOUT.
    """

    def __init__(
        self,
        config: EngineConfig,
        host: Memory,
        device: Memory,
        descriptor: Descriptor,
        address: int,
        limit: int,
        quarantined: Collection[int] = (),
    ):
        self._config, self._host, self._device = config, host, device
        self._descriptor, self._address, self._limit = descriptor, address, limit
        self._quarantined = quarantined
        row_bytes = 0 if descriptor.op == Op.NOP else descriptor.row_bytes
        rows = descriptor.row_count if row_bytes else 1  # any number of rows without bytes
        self._addresses = stripes.placement(
            config, descriptor.device, row_bytes, rows, descriptor.pitch
        )
        self._sizes = np.tile(stripes.memory_sizes(row_bytes, config), rows)
        #: Channels without a response. The engine may still use their buffers.
        self.lost: set[int] = set()
        #: Bytes of words and of the stream transferred, for the counters.
        self.moved = (0, 0)

    def run(self) -> Completion:
        """Execute the descriptor. The completion has no cookie and no head."""
        if not len(self._addresses) or self._descriptor.op == Op.NOP:
            return Completion(Status.OK)
        if self._descriptor.op in (Op.OFFLOAD, Op.MEASURE):
            return self._offload()
        if self._descriptor.op in (Op.PREFETCH, Op.VERIFY):
            return self._prefetch()
        return self._copy(out=self._descriptor.op == Op.COPY_OUT)

    def _offload(self) -> Completion:
        descriptor = self._descriptor
        limit = None if descriptor.op == Op.MEASURE else self._limit
        options = {"raw": Raw(descriptor.raw), "limit": limit, "crc": descriptor.crc}
        whole, error = self._read_tensor()
        words = self._as_words(whole)
        found = engine.offload(words, self._config, **options) if len(words) else None
        sizes = unpack_index(found.index).sizes if found else np.zeros(0, np.int64)
        sizes = self._config.padded(sizes)
        ends = np.cumsum(sizes)
        faults = [] if error is None else [error]
        if limit is not None:
            faults += self._host_faults(ends - sizes, np.minimum(ends, limit))
        faults += self._index_faults(len(sizes))
        fault = min(faults, key=_rank) if faults else None
        if fault is not None:
            padded = np.zeros(int(self._sizes.sum()) // self._config.word_bytes, words.dtype)
            padded[: len(words)] = words
            options["fault"] = fault[:2]
            found = engine.offload(padded, self._config, **options)
        if limit is not None:
            self._host.write(self._address, found.stream)
        if descriptor.with_index:
            self._host.write(descriptor.index, found.index)
        self.moved = (len(whole), len(found.stream))
        return self._completion(found, fault)

    def _prefetch(self) -> Completion:
        descriptor, config = self._descriptor, self._config
        count = int(self._sizes.sum()) // config.word_bytes
        index, faults = self._read_index()
        unread = faults[0] if faults else None
        sizes = config.padded(unpack_index(index).sizes)
        ends = np.cumsum(sizes)
        # A limit past the sum of the index is an error. One more word shows it.
        limit = min(self._limit, int(ends[-1]) + config.word_bytes)
        faults += self._host_faults(ends - sizes, np.minimum(ends, limit))
        if descriptor.op == Op.PREFETCH:
            faults += self._device_faults(len(self._addresses))
        fault = min(faults, key=_rank) if faults else None
        found = engine.salvage_stripes(
            self._readable_stream(limit),
            index,
            count,
            config,
            crc=descriptor.crc,
            fault=None if fault is None else fault[:2],
        )
        if descriptor.op == Op.PREFETCH:
            self._write_tensor(found.words[: found.written].view(np.uint8))
        self.moved = (found.written * config.word_bytes, found.bytes)
        if unread is not None and (found.status, found.stripe) == (Status.INDEX, unread[0]):
            return self._failed(unread, found.bytes)  # the entry was not read: report the bus error
        return self._completion(found, fault)

    def _copy(self, out: bool) -> Completion:
        total = int(self._sizes.sum())
        if self._limit < total:
            return Completion(
                Status.OVERFLOW, stream_bytes=total, where=self._limit, stripe=0, channel=LINK
            )
        ends = np.cumsum(self._sizes)
        faults = self._device_faults(len(self._sizes))
        faults += self._host_faults(ends - self._sizes, ends)
        fault = min(faults, key=_rank) if faults else None
        stop = len(self._sizes) if fault is None else fault[0]
        good = int(ends[stop - 1]) if stop else 0
        if out:
            self._host.write(self._address, self._gather(stop))
        else:
            self._write_tensor(self._host.read(self._address, good))
        self.moved = (good, good)
        if fault is None:
            return Completion(Status.OK, stream_bytes=total, stripe=stop)
        return self._failed(fault, good)

    # -- memories ---------------------------------------------------------------------------------

    def _read_tensor(self) -> tuple[np.ndarray, tuple | None]:
        """Bytes of the stripes before the first device error, and that error."""
        faults = self._device_faults(len(self._addresses))
        if not faults:
            return self._gather(len(self._addresses)), None
        return self._gather(faults[0][0]), faults[0]

    def _gather(self, count: int) -> np.ndarray:
        """Bytes of the first ``count`` stripes."""
        pairs = zip(self._addresses[:count].tolist(), self._sizes.tolist(), strict=False)
        parts = [self._device.view(address, size) for address, size in pairs]
        return np.concatenate(parts) if parts else np.zeros(0, np.uint8)

    def _write_tensor(self, data: np.ndarray) -> None:
        """Write the first stripes to device memory."""
        done = 0
        for address, size in zip(self._addresses.tolist(), self._sizes.tolist(), strict=True):
            if done >= len(data):
                break
            self._device.write(address, data[done : done + size])
            done += size

    def _as_words(self, data: np.ndarray) -> np.ndarray:
        return data.view(self._config.format.dtype)

    def _read_index(self) -> tuple[np.ndarray, list]:
        """All entries, with zeros from the first unreadable entry; and the read error."""
        count = len(self._addresses)
        faults = self._index_faults(count)
        good = faults[0][0] if faults else count
        index = np.zeros(count * INDEX_BYTES, np.uint8)
        index[: good * INDEX_BYTES] = self._host.read(self._descriptor.index, good * INDEX_BYTES)
        return index, faults

    def _readable_stream(self, limit: int) -> np.ndarray:
        """The stream, with zeros from the first unreadable byte."""
        error = self._host.fault(self._address, limit)
        good = limit if error is None else error.address - self._address
        stream = np.zeros(limit, np.uint8)
        stream[:good] = self._host.read(self._address, good)
        return stream

    # -- errors: (stripe, status, address, channel), the first of each kind ------------------------

    def _device_faults(self, count: int) -> list[tuple]:
        for stripe in range(count):
            address = int(self._addresses[stripe])
            channel = self._config.channel(address)
            if channel in self._quarantined:
                return [(stripe, Status.TIMEOUT, address, channel)]
            error = self._device.fault(address, int(self._sizes[stripe]))
            if error is not None:
                if error.kind == "HANG":
                    self.lost.add(channel)
                return [(stripe, error.status(is_host=False), error.address, channel)]
        return []

    def _host_faults(self, starts: np.ndarray, ends: np.ndarray) -> list[tuple]:
        for stripe, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
            error = self._host.fault(self._address + start, end - start)
            if error is not None:
                return [self._on_link(stripe, error)]
        return []

    def _index_faults(self, count: int) -> list[tuple]:
        if not self._descriptor.with_index:
            return []
        error = self._host.fault(self._descriptor.index, count * INDEX_BYTES)
        if error is None:
            return []
        return [self._on_link((error.address - self._descriptor.index) // INDEX_BYTES, error)]

    def _on_link(self, stripe: int, error: BusError) -> tuple:
        if error.kind == "HANG":
            self.lost.add(LINK)
        return stripe, error.status(is_host=True), error.address, LINK

    # -- completions -------------------------------------------------------------------------------

    def _completion(self, found: engine.Offload | engine.Prefetch, fault) -> Completion:
        if fault is not None and (found.stripe, found.status) == fault[:2]:
            return self._failed(fault, found.bytes)
        where, channel = found.where, LINK
        if found.status == Status.OK:
            where = found.raw_stripes
        elif found.status in STREAM_ERRORS:
            channel = self._config.channel(int(self._addresses[found.stripe]))
        return Completion(
            found.status,
            stream_bytes=found.bytes,
            where=where,
            stripe=found.stripe,
            channel=channel,
        )

    @staticmethod
    def _failed(fault: tuple, nbytes: int) -> Completion:
        stripe, status, address, channel = fault
        return Completion(
            status, stream_bytes=nbytes, where=address, stripe=stripe, channel=channel
        )


def _rank(fault: tuple) -> tuple:
    """Sort key: lowest stripe first; in a stripe, the host before the device."""
    stripe, _, _, channel = fault
    return stripe, channel != LINK
