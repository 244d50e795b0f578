"""Stimulus for what counts: timeouts, rates, coalescing, and counts of long rings."""

from collections.abc import Callable

import numpy as np

from cdma.engine_codes import Op, State
from cdma.engine_config import COMPLETION_BYTES
from cdma.golden import engine as golden
from cdma.golden.engine.descriptor import Descriptor, phase
from cdma.sim.engine.engine import DEVICE, HOST
from cdma.sim.engine.model import OFFLOAD, PREFETCH, EngineModel
from cdma.verify.mutation.engine.land import MarkedModel

#: Longest timeout that is waited for, as a power of two, and one that has several bits.
_WAITED, _LIMIT = 12, 0x1DA5
#: Descriptors of a lap behind a stop of its ring.
_LAST = 64
#: Registers that count the jobs of a ring.
_COUNTS = ("SQ_TAIL", "SQ_HEAD", "CQ_TAIL", "CQ_HEAD")


def timeouts(made: Callable[[int], MarkedModel], channels: int) -> list:
    """A read or a write of a channel or of the link is not answered, with each bit of TIMEOUT."""
    seen = []
    places = [(HOST, on, 0) for on in ("read", "write")]
    places += [(DEVICE, on, channel) for on in ("read", "write") for channel in range(channels)]
    for number, (space, on, channel) in enumerate(places):
        model = made(number)
        config = model.config
        model.write("ENGINE", "IRQ_ENABLE", 0x3F)
        model.write("ENGINE", "TIMEOUT", 0)
        words = np.arange(3 * config.stripe_words).astype(config.format.dtype)
        tensor = model.place_tensor(words, channel=channel)
        made_ = golden.offload(words, config)
        host = model.allocate(HOST, config.bound(words.nbytes), fill=0)
        index = model.allocate(HOST, made_.index.size)
        ring = OFFLOAD if (space, on) in ((DEVICE, "read"), (HOST, "write")) else PREFETCH
        if ring == PREFETCH:
            host.data[: made_.stream.size] = made_.stream
            index.data[:] = made_.index
        at = tensor if space == DEVICE else host
        limit = host.data.size if ring == OFFLOAD else made_.stream.size
        model.engine.fault(space, at.address, 8, delay=60_000, count=1, on=on)
        descriptor = Descriptor(
            Op.OFFLOAD if ring == OFFLOAD else Op.PREFETCH,
            device=tensor.address,
            host=host.address,
            index=index.address,
            row_bytes=words.nbytes,
            limit=limit,
            word_bytes=config.word_bytes,
            with_index=True,
            interrupt=True,
        )
        model.submit(ring, descriptor)
        model.engine.run(400)
        for bit in range(31, _WAITED, -1):
            model.write("ENGINE", "TIMEOUT", 1 << bit)
            model.engine.run(12)
            seen.append(model.read("ENGINE", "STATUS"))
        model.write("ENGINE", "TIMEOUT", _LIMIT)
        seen += [model.engine.run(2 * _LIMIT, irq=True), model.engine.cycle]
        for _ in range(4):
            model.engine.run(100)
            seen += [model.read("ENGINE", "STATUS"), model.read("ENGINE", "IRQ_STATUS")]
        seen += [model.state(each) for each in (OFFLOAD, PREFETCH)]
        seen += [str(model.peek(ring)), model.engine.cycle]
        if space == DEVICE:
            model.engine.run(61_000 if on == "read" else 10)
        seen += model.moves()
    return seen


def numbers(made: Callable[[int], MarkedModel]) -> list:
    """Jobs of some hundred stripes that fail behind many of them, and what the registers keep."""
    seen = []
    for number, op in enumerate((Op.OFFLOAD, Op.PREFETCH)):
        model = made(number)
        config = model.config
        words = np.zeros((342 + 171 * number) * config.stripe_words, config.format.dtype)
        words[:: 5 * config.stripe_words] = 9
        tensor = model.place_tensor(words)
        last = tensor.address + tensor.data.size - config.stripe_bytes
        made_ = golden.offload(words, config)
        host, index = (model.allocate(HOST, each.size) for each in (made_.stream, made_.index))
        if op is Op.PREFETCH:
            host.data[:], index.data[:] = made_.stream, made_.index
        model.engine.fault(DEVICE, last, 8, response=2 + number)
        descriptor = Descriptor(
            op,
            device=tensor.address,
            host=host.address,
            index=index.address,
            row_bytes=words.nbytes,
            limit=host.data.size,
            word_bytes=config.word_bytes,
            with_index=True,
        )
        job = model.run(number, descriptor)
        seen += [str(job.completion), job.cycles, host.data.tobytes(), index.data.tobytes()]
        for channel in range(config.channels):
            for register in model.map.block("CHANNEL").registers:
                seen.append(model.read("CHANNEL", register.name, channel))
        seen += model.moves()
    return seen


def latencies(model: EngineModel) -> list:
    """Reads of each latency up to 2**14 cycles on both channels, and the counters behind each."""
    config, seen = model.config, []
    words = np.ones(config.channels * config.stripe_words, config.format.dtype)
    for bit in range(15):
        tensor = model.tensor_address()
        for channel in range(config.channels):
            delay = (1 << bit) + 5 * channel
            address = tensor + channel * config.stripe_bytes
            model.engine.fault(DEVICE, address, 8, delay=delay, count=1, on="read")
        job = model.offload(words)
        seen += [job.cycles, sorted(job.counters.items())]
    return [*seen, sorted(model.counters().items())]


def falling_latencies(model: EngineModel) -> list:
    """A read of each latency up to 2**14 cycles, then one of half of it: the maximum stays."""
    config, seen = model.config, []
    words = np.ones(config.channels * config.stripe_words, config.format.dtype)
    for bit in range(1, 15):
        for delay in (1 << bit, 1 << bit - 1):
            tensor = model.tensor_address()
            for channel in range(config.channels):
                address = tensor + channel * config.stripe_bytes
                model.engine.fault(DEVICE, address, 8, delay=delay, count=1, on="read")
            model.offload(words, counters=False)
            seen.append(sorted(model.counters().items()))
    return seen


def rates(model: EngineModel) -> list:
    """Each bit of RATE of both channels, in both directions."""
    config, seen = model.config, []
    rng = np.random.default_rng(14)
    words = np.ones(3 * config.stripe_words, config.format.dtype)
    for bit in range(10, 32):
        for channel in range(config.channels):
            low = int(rng.integers(1 << bit))
            model.write("CHANNEL", "RATE", 1 << bit | low, channel)
        job = model.offload(words, counters=False)
        back = model.prefetch(job, counters=False)
        seen += [job.cycles, back.cycles]
    model.write("CHANNEL", "ENABLE", 0, 0)
    counters = model.counters()
    return [*seen, sorted(counters.items())]


def interrupts(model: EngineModel) -> list:
    """Completions up to each bit of COUNT, and one with each bit of TIMER."""
    seen, nop = [], Descriptor(Op.NOP, interrupt=True)

    def fire(ring, cycles):
        seen.extend([model.engine.run(cycles, irq=True), model.engine.cycle])
        seen.append(model.read("ENGINE", "IRQ_STATUS"))
        model.write("ENGINE", "IRQ_STATUS", 0x3F)

    model.write("ENGINE", "IRQ_ENABLE", 3)
    for bit in range(8):
        model.write("ENGINE", "IRQ_COALESCE", 0xFFFFFF00 | 1 << bit)
        for ring in (OFFLOAD, PREFETCH):
            model.submit(ring, *[nop] * (1 << bit))
            fire(ring, 4000)
            seen += [str(each) for each in model.collect(ring, 1 << bit)]
    for bit in range(24):
        ring = bit % 2
        model.write("ENGINE", "IRQ_COALESCE", 1 << 8 + bit | 0xFF)
        model.submit(ring, nop)
        fire(ring, 2500)
        if bit % 3 == 0:
            seen += [str(each) for each in model.collect(ring, 1)]
        else:  # two wait, one is read: the next interrupt is of the other
            model.submit(ring, nop)
            model.wait(ring)
            model.acknowledge(ring)
            fire(ring, 600)
            seen += [str(each) for each in model.collect(ring, 1)]
        model.write("ENGINE", "IRQ_COALESCE", 1)
        fire(ring, 200)
    model.write("ENGINE", "IRQ_COALESCE", 0xFFFFFFFF)
    model.submit(OFFLOAD, Descriptor(9))  # a status other than OK is urgent
    fire(OFFLOAD, 300)
    return [*seen, model.engine.cycle]


def laps(model: EngineModel, number: int) -> list:
    """Many NOPs in both rings at once, so that counts carry. Both rings stop and run again shortly
    before the end of each lap, from the counts of then on, which are read."""
    seen, each = [], 1 << model.rings[0].log2
    for lap in range(number):
        for ring in (OFFLOAD, PREFETCH):
            memory = model.rings[ring]
            nop = Descriptor(Op.NOP, cookie=lap * 0x0123_4567_89AB_CDEF % (1 << 64))
            entry = nop.pack(phase(memory.tail, memory.log2))
            memory.descriptors.data[:] = np.tile(entry, each)
        seen += _nops(model, each - _LAST)
        for ring in (OFFLOAD, PREFETCH):
            for run, state in ((0, State.STOPPED), (1, State.RUNNING)):
                model.write("RING", "CTRL", run, ring)
                model.until_state(ring, state)
            seen += [model.read("RING", name, ring) for name in _COUNTS]
        seen += _nops(model, _LAST)
        for ring in (OFFLOAD, PREFETCH):
            seen.append(model.rings[ring].completions.data.tobytes())
    return [*seen, model.state(OFFLOAD), model.state(PREFETCH)]


def _nops(model, count):
    """So many descriptors of both rings, which are there; gives when they are completed."""
    seen = []
    for ring in (OFFLOAD, PREFETCH):
        memory = model.rings[ring]
        memory.tail = (memory.tail + count) & 0xFFFF
        model.doorbell(ring)
    for ring in (OFFLOAD, PREFETCH):
        memory = model.rings[ring]
        done = memory.completions.data
        last = (memory.tail - 1) & 0xFFFF
        byte = (last % (1 << memory.log2) + 1) * COMPLETION_BYTES - 1
        value = phase(last, memory.log2) << 7
        seen.append(model.engine.run(60 * count, byte=(done, byte), mask=128, value=value))
        seen.append(model.engine.cycle)
        memory.head = memory.tail
        model.acknowledge(ring)
    return seen


def stop_and_go(model: EngineModel) -> list:
    """Both rings with long queues, stopped and started again, one after the other."""
    seen = []
    for number in range(6):
        for ring in (OFFLOAD, PREFETCH):
            jobs = [Descriptor(Op.NOP, fence=bool(k % 3 == 2), cookie=k << 32) for k in range(14)]
            model.submit(ring, *jobs)
        model.engine.run(5 + 11 * number)
        ring = number % 2
        model.write("RING", "CTRL", 0, ring)
        model.until_state(ring, State.STOPPED)
        model.engine.run(50)
        seen += [model.read("RING", "SQ_HEAD", each) for each in (OFFLOAD, PREFETCH)]
        model.write("RING", "CTRL", 1, ring)
        for each in (OFFLOAD, PREFETCH):
            seen += [str(found) for found in model.collect(each, 14)]
        seen.append(model.engine.cycle)
    return seen
