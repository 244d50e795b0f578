"""Stimulus of short jobs: registers, rings, operations, quarantine, fields of descriptors.

Each function plays on a model and gives what was observed.
"""

from dataclasses import replace

import numpy as np

from cdma.engine_codes import Op, State
from cdma.golden.engine.descriptor import Descriptor
from cdma.sim.engine.engine import DEVICE
from cdma.sim.engine.model import HOST, OFFLOAD, PREFETCH

_LOCK = 8  # in CTRL of a ring: no window changes any more
#: Bits of a descriptor's fields.
FIELDS = {
    "device": 64,
    "host": 64,
    "index": 64,
    "row_bytes": 64,
    "rows": 32,
    "pitch": 64,
    "limit": 64,
    "cookie": 64,
}


def _seen(model, job):
    """What is observed of a job."""
    buffers = (job.tensor, job.host, job.index_buffer)
    data = [None if each is None else each.data.tobytes() for each in buffers]
    return [str(job.completion), job.cycles, job.counters, data]


def _tensor(config, stripes, density, seed=1):
    rng = np.random.default_rng([seed, int(10 * stripes)])
    count = int(stripes * config.stripe_words)
    words = rng.integers(1, 1 << min(63, config.word_bits), count).astype(config.format.dtype)
    return words * (rng.random(count) < density).astype(words.dtype)


def few_jobs(model):
    """Each operation once, with index, CRC and counters."""
    config = model.config
    sparse, dense = _tensor(config, 3.3, 0.3), _tensor(config, 2, 1.0)
    first = model.offload(sparse, crc=True, interrupt=True, cookie=0x1234_5678_9ABC_DEF0)
    seen = _seen(model, first)
    seen += _seen(model, model.prefetch(first, crc=True))
    seen += _seen(model, model.prefetch(first, crc=True, op=Op.VERIFY))
    raw = model.offload(dense, "always", channel=config.channels - 1)
    seen += _seen(model, raw) + _seen(model, model.prefetch(raw))
    seen += _seen(model, model.offload(dense, "auto", limit=dense.nbytes // 2))
    seen += _seen(model, model.offload(sparse, "auto", op=Op.MEASURE))
    copy = model.offload(
        sparse, op=Op.COPY_OUT, index=False, counters=False, limit=sparse.nbytes, fence=True
    )
    seen += _seen(model, copy)
    seen += [str(model.run(ring, Descriptor(op)).completion) for ring, op in ((0, 9), (1, 0))]
    rows = Descriptor(
        Op.OFFLOAD,
        device=(tensor := model.place_tensor(_tensor(config, 6, 0.5))).address
        + 2 * config.stripe_bytes,
        host=(host := model.allocate(HOST, config.bound(2 * config.stripe_bytes))).address,
        rows=2,
        row_bytes=config.stripe_bytes,
        pitch=-2 * config.stripe_bytes,
        limit=host.data.size,
        word_bytes=config.word_bytes,
    )
    done = model.run(OFFLOAD, rows)
    model.free(tensor, host)
    return [*seen, str(done.completion), host.data.tobytes(), model.engine.irq, state(model)]


def state(model, *blocks: str) -> list:
    """All registers that can be read, or those of some blocks."""
    found = []
    for block in model.map.blocks:
        if blocks and block.name not in blocks:
            continue
        for instance in range(block.count):
            for register in block.registers:
                access = model.engine.access(block.address(register.name, instance))
                found.append((block.name, register.name, instance, access.response, access.data))
    return found


def registers(model):
    """Each register is written in several ways and read back, in a stopped and a running ring."""
    engine, seen = model.engine, []
    for ring in (OFFLOAD, PREFETCH):
        model.write("RING", "CTRL", 0, ring)
        model.until_state(ring, State.STOPPED)
    for value in (0xFFFF_FFFF, 0x5A5A_A5C3, 0):
        seen += _written(model, value, order=value & 1) + state(model)
    for address, strobe in ((0x10, 7), (0x12, 15), (0xFF8, 15)):
        seen.append(engine.access(address, 1, strobe=strobe).response)
        seen.append(engine.access(address).response)
    model.write("ENGINE", "CTRL", 1)
    engine.run(300)
    return [*seen, *state(model)]


def locks(model):
    """CTRL.RESET clears all registers, but the windows only as long as they are not locked."""
    seen = []
    for ring in (OFFLOAD, PREFETCH):
        model.write("RING", "CTRL", 0, ring)
        model.until_state(ring, State.STOPPED)
    for value, lock in ((0xFFFF_FFFF, None), (0x5A5A_A5C3, OFFLOAD), (0x3C3C_3CA5, PREFETCH)):
        seen += _written(model, value) + state(model)
        model.engine.run(1)  # a fault may show in every other cycle only
        seen += state(model)
        if lock is not None:
            model.write("RING", "CTRL", _LOCK, lock)
            seen += _written(model, ~value & 0xFFFF_FFFF) + state(model)
        model.write("ENGINE", "CTRL", 1)
        model.engine.run(300)
        seen += state(model)
    return seen


def _written(model, value, order=0):
    """Responses to writes of all registers that hold something."""
    return [
        model.engine.access(block.address(register.name, instance), value, order=order).response
        for block in model.map.blocks
        for instance in range(block.count)
        for register in block.registers
        if register.name not in ("CTRL", "SNAPSHOT")
    ]


def quarantine(model):
    """A read that is not answered: TIMEOUT, quarantine, recovery, RATE. Then one channel is lost
    after the other."""
    config, seen = model.config, []
    model.write("ENGINE", "TIMEOUT", 300)
    model.write("ENGINE", "IRQ_ENABLE", 0x3F)
    model.engine.fault(DEVICE, 0, 1 << 32, delay=3000, count=1, on="read")
    # The buffers stay: they belong to the engine until nothing is outstanding.
    tensor = model.place_tensor(_tensor(config, 4, 0.5))
    host = model.allocate(HOST, config.bound(tensor.data.size))
    descriptor = Descriptor(
        Op.OFFLOAD,
        device=tensor.address,
        host=host.address,
        row_bytes=tensor.data.size,
        limit=host.data.size,
        word_bytes=config.word_bytes,
        interrupt=True,
    )
    lost = model.run(OFFLOAD, descriptor).completion
    seen += [str(lost), model.read("ENGINE", "IRQ_STATUS"), model.engine.irq]
    model.engine.run(4000)
    for channel in range(config.channels):
        seen.append(model.read("CHANNEL", "QUARANTINE", channel))
        model.write("CHANNEL", "QUARANTINE", 1, channel)
        model.write("CHANNEL", "RATE", 700, channel)
    model.write("ENGINE", "IRQ_STATUS", 0x3F)
    after = model.offload(_tensor(config, 4, 0.5), crc=True)
    seen += _seen(model, after) + _seen(model, model.prefetch(after, crc=True))
    stripe = _tensor(config, 1, 0.5)
    for channel in reversed(range(config.channels)):
        model.engine.hold(channel, "r", 4000)
        at = model.place_tensor(stripe, channel=channel).address
        lost = Descriptor(
            Op.MEASURE, device=at, row_bytes=stripe.nbytes, word_bytes=config.word_bytes
        )
        seen += [str(model.run(OFFLOAD, lost).completion), model.read("ENGINE", "IRQ_STATUS")]
        model.write("ENGINE", "IRQ_STATUS", 0x3F)
        seen += [model.read("ENGINE", "IRQ_STATUS"), model.read("ENGINE", "STATUS")]
    return [*seen, *state(model)]


def fields(model):
    """Each bit of a descriptor's fields, one after the other, with windows that fit the buffers."""
    config = model.config
    tensor = model.place_tensor(_tensor(config, 2, 0.5))
    host = model.allocate(HOST, 2 * config.bound(tensor.data.size))
    base = Descriptor(
        Op.OFFLOAD,
        device=tensor.address,
        host=host.address,
        index=host.end - config.bound(config.stripe_bytes),
        row_bytes=config.stripe_bytes,
        rows=2,
        pitch=config.stripe_bytes,
        limit=config.bound(tensor.data.size),
        word_bytes=config.word_bytes,
        with_index=True,
    )
    windows = {
        "DEV_BASE": tensor.address,
        "DEV_LIMIT": tensor.end,
        "HOST_LIMIT": host.end,
    }
    seen = []
    for ring, op in ((OFFLOAD, Op.OFFLOAD), (PREFETCH, Op.PREFETCH)):
        model.write("RING", "CTRL", 0, ring)
        model.until_state(ring, State.STOPPED)
        model.program(ring, **windows)
        model.write("RING", "CTRL", 1, ring)
        model.until_state(ring, State.RUNNING)
        good = replace(base, op=op)
        done = model.run(ring, good).completion
        seen.append(str(done))
        if ring == OFFLOAD:
            base = replace(base, limit=done.stream_bytes)
        for name, bits in FIELDS.items():
            for bit in range(bits):
                value = getattr(good, name) ^ 1 << bit
                if name == "pitch" and bit == bits - 1:
                    value -= 1 << bits
                if name in ("host", "index") and value < host.address:
                    continue  # the rings lie there
                changed = replace(good, **{name: value})
                seen.append(str(model.run(ring, changed).completion))
    return [*seen, tensor.data.tobytes(), host.data.tobytes(), *state(model)]


def rings(model):
    """Rings of one entry and of several, FENCE, APPEND, a wrong count and a stale phase."""
    config, seen = model.config, []
    arena = model.allocate(HOST, 4 * config.stripe_bytes)
    model.write("RING", "CTRL", 0)  # the registers of a running ring cannot be written
    model.until_state(OFFLOAD, State.STOPPED)
    for name, value in (("BASE", arena.address), ("LIMIT", arena.end), ("POINTER", arena.address)):
        model.write("RING", f"ARENA_{name}_LO", value & 0xFFFF_FFFF)
        model.write("RING", f"ARENA_{name}_HI", value >> 32)
    model.write("RING", "CTRL", 1)
    model.until_state(OFFLOAD, State.RUNNING)
    tensor = model.place_tensor(_tensor(config, 1.2, 0.4))
    for _ in range(3):
        descriptor = Descriptor(
            Op.OFFLOAD,
            device=tensor.address,
            row_bytes=tensor.data.size,
            limit=4 * config.stripe_bytes,
            word_bytes=config.word_bytes,
            append=True,
            fence=True,
        )
        seen.append(str(model.run(OFFLOAD, descriptor).completion))
    for ring in (OFFLOAD, PREFETCH):
        model.submit(ring, Descriptor(Op.NOP, fence=True, interrupt=True))
        seen += [str(each) for each in model.collect(ring, 1)]
    model.place(OFFLOAD, Descriptor(Op.NOP), flip=1)
    model.doorbell(OFFLOAD)
    seen.append(str(model.wait(OFFLOAD)))
    seen += [arena.data.tobytes(), *state(model)]
    model.write("RING", "SQ_TAIL", 0x1234, PREFETCH)
    return [*seen, *state(model), model.engine.cycle]
