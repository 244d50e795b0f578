"""Makes jobs of the ring of offloads."""

from dataclasses import replace

import numpy as np

from cdma.engine_codes import LINK, Op, Raw, Status
from cdma.engine_config import INDEX_BYTES
from cdma.golden import engine as golden
from cdma.golden.engine.descriptor import Completion, Descriptor
from cdma.golden.engine.index import unpack_index
from cdma.sim.engine.engine import DEVICE, HOST
from cdma.sim.engine.model import OFFLOAD
from cdma.verify.fuzz.engine.jobs.common import Common
from cdma.verify.fuzz.engine.jobs.heap import Part
from cdma.verify.fuzz.engine.jobs.plan import BUS, Plan, failed
from cdma.verify.fuzz.engine.jobs.tensor import tensor_to_read


class Offloads(Common):
    """Makes jobs of the ring of offloads.

    Parameters
    ----------
    *common
        See :class:`Common`.
    arena : Part or None
        Arena of APPEND. Its streams follow each other in the order of the jobs.
    """

    def __init__(self, *common, arena: Part | None):
        super().__init__(*common)
        self.arena = arena
        self._pointer = 0 if arena is None else arena.address

    def offload(self, *, append: bool = False) -> Plan:
        """An offload, sometimes into too small a buffer."""
        config, random = self.config, self.random
        tensor = tensor_to_read(self.heap, self.words, random, OFFLOAD)
        words = tensor.words
        raw, crc = Raw(random.randrange(3)), random.random() < 0.5
        has_index = raw != Raw.NEVER or random.random() < 0.8
        limit = config.padded(config.bound(words.nbytes))
        is_faulty = words.size > 0 and not append and self.is_faulty()
        if append:
            room = self.arena.end - self._pointer
            kind = random.random()
            if kind < 0.2:
                limit = random.randrange(limit + 1) & -8
            elif kind < 0.3:  # as much as fits the arena
                limit = random.getrandbits(random.randrange(limit.bit_length(), 65)) & -8
            capacity = min(limit, room)
        else:
            if not is_faulty and random.random() < 0.2:
                limit = random.randrange(words.size + 2) * config.word_bytes
            capacity = limit
        index = self._index_to_write(config.stripes(words.nbytes) if has_index else 0)
        plan = Plan("offload", OFFLOAD, None, channels=tensor.channels)
        host = self.arena if append else self.host(OFFLOAD, limit, writable=True)
        fault = None
        if is_faulty:
            good = golden.offload(words, config, raw, crc=crc)
            fault = self._offload_fault(plan, tensor, good, host, index)
        at = self._pointer - host.address if append else 0

        def result(fault):
            made = golden.offload(words, config, raw, capacity, crc, fault and fault[:2])
            plan.write(host, made.stream, at)
            self._expect(plan, made, fault, None if append else host, index)

        self.expect(plan, tensor, result, fault)
        plan.descriptor = Descriptor(
            Op.OFFLOAD,
            host=random.getrandbits(64) if append else host.address,
            index=index.address if has_index else random.getrandbits(64),
            limit=limit,
            word_bytes=config.word_bytes,
            raw=raw,
            with_index=has_index,
            crc=crc,
            append=append,
            **tensor.fields,
            **self.flags(),
        )
        plan.parts = [tensor.part, index] if append else [tensor.part, host, index]
        made = plan.completion
        if append and made.status == Status.OK:
            plan.completion = replace(made, where=self._pointer)
            self._pointer = self._pointer + made.stream_bytes + 63 & -64
        return plan

    def append(self) -> Plan:
        """An offload into the arena, if there is one."""
        if self.arena is None:
            return self.offload()
        return self.offload(append=True)

    def _expect(self, plan, made, fault, host, index):
        """Completion and index of an offload, and what is open behind an error."""
        plan.write(index, made.index[: index.data.size])
        where = made.raw_stripes if made.status == Status.OK else made.where
        plan.completion = Completion(
            made.status, stream_bytes=made.bytes, where=where, stripe=made.stripe
        )
        if fault is not None and made.status == fault[1]:
            plan.completion = failed(made.status, made.stripe, made.bytes, *fault[2:])
        if made.status in BUS:
            plan.leave_open(host, made.stream.size)
            plan.leave_open(index, made.index.size)

    def _offload_fault(self, plan, tensor, made, host, index):
        """An error of one access: stripe, status, where and channel."""
        random = self.random
        kind = random.choice(("tensor", "tensor", "stream", "index"))
        ends = np.cumsum(self.config.padded(unpack_index(made.index).sizes))
        if kind == "stream" and host is not None:
            byte = host.address + random.randrange(made.stream.size)

            def stripe(burst):
                return int(np.searchsorted(ends, burst - host.address, "right"))

            return self._write_fault(plan, host.address, byte, stripe, ends)
        if kind == "index" and index.data.size:
            byte = index.address + random.randrange(index.data.size)

            def stripe(burst):
                return max(0, burst - index.address) // INDEX_BYTES

            first = index.address & -self.config.link_bytes
            return self._write_fault(plan, first, byte, stripe, ends)
        if not tensor.is_plain:
            return None
        return self._device_read_fault(plan, tensor)

    def _write_fault(self, plan, first, byte, stripe, ends):
        """An error of the burst that writes a byte: of the longest, or of a shorter one."""
        plan_fault, status = self.fault(HOST, byte, "write")
        plan.faults.append(plan_fault)
        burst = max(first, self.burst(byte))
        for later in self.later_bursts(burst, byte):
            at = stripe(later)
            plan.others.append(failed(status, at, int(ends[at - 1]) if at else 0, later))
        return stripe(burst), status, burst, LINK

    def _device_read_fault(self, plan, tensor):
        byte = self.random.randrange(tensor.size)
        stripe, address = tensor.at(byte)
        plan_fault, status = self.fault(DEVICE, address, "read")
        plan.faults.append(plan_fault)
        beat = address & -self.config.beat_bytes
        return stripe, status, beat, self.config.channel(address)

    def measure(self) -> Plan:
        """Sizes without a stream."""
        config, random = self.config, self.random
        tensor = tensor_to_read(self.heap, self.words, random, OFFLOAD)
        raw, crc = Raw(random.randrange(3)), random.random() < 0.5
        has_index = random.random() < 0.8
        index = self._index_to_write(config.stripes(tensor.size) if has_index else 0)
        plan = Plan("measure", OFFLOAD, None, channels=tensor.channels)
        fault = None
        if tensor.size and tensor.is_plain and self.is_faulty():
            fault = self._device_read_fault(plan, tensor)

        def result(fault):
            made = golden.offload(tensor.words, config, raw, None, crc, fault and fault[:2])
            self._expect(plan, made, fault, None, index)

        self.expect(plan, tensor, result, fault)
        plan.descriptor = Descriptor(
            Op.MEASURE,
            host=random.getrandbits(64),
            limit=random.getrandbits(64),
            index=index.address if has_index else random.getrandbits(64),
            word_bytes=config.word_bytes,
            raw=raw,
            with_index=has_index,
            crc=crc,
            **tensor.fields,
            **self.flags(),
        )
        plan.parts = [tensor.part, index]
        return plan

    def copy_out(self) -> Plan:
        """Words as they are, sometimes into too small a buffer."""
        config, random = self.config, self.random
        tensor = tensor_to_read(self.heap, self.words, random, OFFLOAD)
        size = tensor.size
        limit = size + config.word_bytes * random.choice((0, 0, 1, 100, -1, -size // 8))
        limit = max(0, limit // config.word_bytes * config.word_bytes)
        host = self.host(OFFLOAD, limit, writable=True)
        plan = Plan("copy_out", OFFLOAD, None, channels=tensor.channels)
        made = golden.copy_out(tensor.words, config, limit)

        def result(fault):
            stream = made.stream
            plan.completion = Completion(
                made.status, stream_bytes=made.bytes, where=made.where, stripe=made.stripe
            )
            if fault is not None:
                stream = stream[: fault[0] * config.stripe_bytes]
                plan.completion = failed(fault[1], fault[0], stream.size, *fault[2:])
                plan.leave_open(host, stream.size)
            plan.write(host, stream)

        is_good = made.status == Status.OK and size and tensor.is_plain
        fault = self._device_read_fault(plan, tensor) if is_good and self.is_faulty() else None
        self.expect(plan, tensor, result, fault)
        plan.descriptor = Descriptor(
            Op.COPY_OUT,
            host=host.address,
            index=random.getrandbits(64),
            limit=limit,
            word_bytes=config.word_bytes,
            **tensor.fields,
            **self.flags(),
        )
        plan.parts = [tensor.part, host]
        return plan

    def _index_to_write(self, stripes):
        offset = INDEX_BYTES * self.random.randrange(8)
        size = INDEX_BYTES * stripes
        return self.heap.place(HOST, size, OFFLOAD, offset=offset, writable=True)
