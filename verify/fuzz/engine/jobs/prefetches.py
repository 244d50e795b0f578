"""Makes jobs of the ring of prefetches."""

import numpy as np

from cdma.engine_codes import LINK, STREAM_ERRORS, Op, Raw, Status
from cdma.engine_config import INDEX_BYTES
from cdma.golden import engine as golden
from cdma.golden.engine.descriptor import Completion, Descriptor
from cdma.golden.engine.index import unpack_index
from cdma.sim.engine.engine import DEVICE, HOST
from cdma.sim.engine.model import PREFETCH
from cdma.verify.fuzz.engine.jobs.common import Common
from cdma.verify.fuzz.engine.jobs.damage import damaged
from cdma.verify.fuzz.engine.jobs.plan import BUS, Plan, failed
from cdma.verify.fuzz.engine.jobs.tensor import Tensor, tensor_to_write


class Prefetches(Common):
    """Makes jobs of the ring of prefetches. Parameters as of :class:`Common`."""

    def prefetch(self, op: Op = Op.PREFETCH) -> Plan:
        """A prefetch of a stream that is not damaged."""
        random = self.random
        words = self.words.draw(random)
        crc = random.random() < 0.5
        made = golden.offload(words, self.config, Raw(random.randrange(3)), crc=crc)
        return self._fetch(op, words, made.stream, made.index, made.stream.size, crc, made)

    def verify(self) -> Plan:
        """A prefetch that writes nothing."""
        return self.prefetch(Op.VERIFY)

    def damaged(self) -> Plan:
        """A prefetch whose stream, index or limit was damaged."""
        random, config = self.random, self.config
        words = self.words.draw(random)
        crc = random.random() < 0.5
        made = golden.offload(words, config, Raw(random.randrange(3)), crc=crc)
        op = Op.VERIFY if random.random() < 0.15 else Op.PREFETCH
        stream, index, limit = made.stream, made.index, made.stream.size
        if stream.size:
            stream, index, limit = damaged(stream, index, config, random)
        return self._fetch(op, words, stream, index, limit, crc, None)

    def _fetch(self, op, tensor_words, stream, index, limit, crc, good):
        """A prefetch of any stream; ``good`` is the offload that made it, if it is not damaged."""
        config, random, size = self.config, self.random, tensor_words.nbytes
        is_verify = op == Op.VERIFY
        plan = Plan("prefetch", PREFETCH, None)
        offset = config.word_bytes * random.randrange(64 // config.word_bytes)
        host = self.host(PREFETCH, stream.size, offset=offset, readable=True)
        host.data[:] = stream
        entries = self.host(
            PREFETCH, index.size, offset=INDEX_BYTES * random.randrange(8), readable=True
        )
        entries.data[:] = index
        if is_verify:
            tensor = Tensor(config, None, size, {"device": self._any_device(), "row_bytes": size})
        else:
            tensor = tensor_to_write(self.heap, config, random, size)
        plan.parts = [each for each in (tensor.part, host, entries) if each is not None]
        plan.channels = tensor.channels
        fault = None
        if good is not None and size and self.is_faulty():
            fault = self._fetch_fault(plan, tensor, good, host, entries, is_verify)
        is_intact = good is not None and fault is None and random.random() < 0.9

        def result(fault):
            if is_intact and fault is None:
                found = _intact(tensor_words, good)
            else:
                count = size // config.word_bytes
                found = golden.salvage_stripes(
                    stream[:limit], index, count, config, crc=crc, fault=fault and fault[:2]
                )
            self._expect_words(plan, tensor, found, fault, is_verify)

        self.expect(plan, tensor, result, fault)
        plan.descriptor = Descriptor(
            op,
            host=host.address,
            index=entries.address,
            limit=limit,
            word_bytes=config.word_bytes,
            with_index=True,
            crc=crc,
            **tensor.fields,
            **self.flags(),
        )
        return plan

    def _any_device(self):
        """An address at which VERIFY writes nothing."""
        config = self.config
        places = (1 << config.address_bits - 1) // config.alignment
        return config.alignment * self.random.randrange(places)

    def _expect_words(self, plan, tensor, found, fault, is_verify):
        """Completion and tensor of a prefetch."""
        where, channel = found.where, LINK
        if found.status == Status.OK:
            where = found.raw_stripes
        elif found.status in STREAM_ERRORS:
            channel = tensor.channel(found.stripe)
        plan.completion = Completion(
            found.status,
            stream_bytes=found.bytes,
            where=where,
            stripe=found.stripe,
            channel=channel,
        )
        if fault is not None and (found.stripe, found.status) == fault[:2]:
            plan.completion = failed(found.status, found.stripe, found.bytes, *fault[2:])
        if is_verify:
            return
        tensor.expect(plan, found.words[: found.written].view(np.uint8))
        word = self.config.word_bytes
        for part in found.open_words:
            tensor.open(plan, part.start * word, min(part.stop, found.written) * word)
        if found.status in BUS:
            tensor.open(plan, found.written * word, tensor.size)

    def _fetch_fault(self, plan, tensor, good, host, entries, is_verify):
        config, random = self.config, self.random
        kind = random.choice(("tensor", "stream", "index"))
        if kind == "tensor" and not is_verify:
            return self._device_write_fault(plan, tensor)
        part = entries if kind == "index" else host
        byte = random.randrange(part.data.size)
        plan_fault, status = self.fault(HOST, part.address + byte, "read")
        plan.faults.append(plan_fault)
        beat = part.address + byte & -config.link_bytes
        first = max(0, beat - part.address)
        if kind == "index":
            return first // INDEX_BYTES, status, beat, LINK
        ends = np.cumsum(config.padded(unpack_index(good.index).sizes))
        return int(np.searchsorted(ends, first, "right")), status, beat, LINK

    def _device_write_fault(self, plan, tensor):
        stripe, address = tensor.at(self.random.randrange(tensor.size))
        plan_fault, status = self.fault(DEVICE, address, "write")
        plan.faults.append(plan_fault)
        _, start = tensor.at(stripe * self.config.stripe_bytes)
        burst = max(start, self.burst(address))
        return stripe, status, burst, self.config.channel(address)

    def copy_in(self) -> Plan:
        """Words as they are, sometimes more than the stream has."""
        config, random = self.config, self.random
        words = self.words.draw(random)
        size = words.nbytes
        limit = size + config.word_bytes * random.choice((0, 0, 0, 1, 100, -1))
        limit = max(0, limit)
        host = self.host(
            PREFETCH,
            limit,
            offset=config.word_bytes * random.randrange(64 // config.word_bytes),
            readable=True,
        )
        data = words.view(np.uint8)
        host.data[: min(size, limit)] = data[:limit]
        tensor = tensor_to_write(self.heap, config, random, size)
        plan = Plan("copy_in", PREFETCH, None, channels=tensor.channels)
        count = config.stripes(size)

        def result(fault):
            plan.completion, done = Completion(Status.OK, stream_bytes=size, stripe=count), size
            if limit < size:
                plan.completion = Completion(Status.OVERFLOW, stream_bytes=size, where=limit)
                done = 0
            elif fault is not None:
                done = fault[0] * config.stripe_bytes
                plan.completion = failed(fault[1], fault[0], done, *fault[2:])
                tensor.open(plan, done, size)
            tensor.expect(plan, data[:done])

        is_good = limit >= size > 0
        fault = self._device_write_fault(plan, tensor) if is_good and self.is_faulty() else None
        self.expect(plan, tensor, result, fault)
        plan.descriptor = Descriptor(
            Op.COPY_IN,
            host=host.address,
            index=random.getrandbits(64),
            limit=limit,
            word_bytes=config.word_bytes,
            **tensor.fields,
            **self.flags(),
        )
        plan.parts = [tensor.part, host]
        return plan


def _intact(words, made):
    """Prefetch of a stream that is not damaged: it gives the words back."""
    size = made.stream.size if words.size else 0
    count = len(made.index) // INDEX_BYTES
    return golden.Prefetch(words, words.size, Status.OK, size, count, 0, made.raw_stripes)
