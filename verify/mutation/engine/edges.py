"""Descriptors at the edges of windows. No job of them gets far: each access to memory fails."""

from dataclasses import replace

import numpy as np

from cdma.engine_codes import Op, State, Status
from cdma.engine_config import COMPLETION_BYTES, DESCRIPTOR_BYTES, INDEX_BYTES
from cdma.errors import SimulationError
from cdma.golden.engine.descriptor import Descriptor
from cdma.golden.engine.rules import Bounds, Window, refusal
from cdma.sim.engine.engine import DEVICE, HOST
from cdma.sim.engine.model import OFFLOAD, PREFETCH
from cdma.verify.mutation.engine.land import OpenModel

#: Windows of each ring, and descriptors in each of them.
_WINDOWS, _EACH = 12, 12
_OPS = {OFFLOAD: (Op.OFFLOAD, Op.MEASURE, Op.COPY_OUT), PREFETCH: (Op.PREFETCH, Op.VERIFY)}


def edges(model: OpenModel) -> list:
    """Tensors, rows, streams and indices that end at the window's end, or a little behind it."""
    config, seen = model.config, []
    rng = np.random.default_rng(12)
    end = 1 << config.address_bits
    first = model.rings[OFFLOAD].descriptors.address
    last = model.rings[PREFETCH].completions.end
    model.engine.fault(DEVICE, 0, end, response=3)
    model.engine.fault(HOST, 0, first - 64, response=3)
    model.engine.fault(HOST, last + 64, end - last - 64, response=2)
    for ring in (OFFLOAD, PREFETCH):
        for descriptor in _ends(config, ring):
            seen += _played(model, ring, descriptor, Bounds(Window(0, end), Window(0, end)))
    for number in range(2 * _WINDOWS):
        ring = number % 2
        bounds = _bounds(rng, config, first, last)
        model.write("RING", "CTRL", 0, ring)
        model.until_state(ring, State.STOPPED)
        windows = {"DEV_BASE": bounds.device.base, "DEV_LIMIT": bounds.device.limit}
        windows |= {"HOST_BASE": bounds.host.base, "HOST_LIMIT": bounds.host.limit}
        model.program(ring, **windows)
        model.write("RING", "CTRL", 1, ring)
        model.until_state(ring, State.RUNNING)
        for _ in range(_EACH):
            seen += _played(model, ring, _descriptor(rng, config, bounds, ring), bounds)
    return seen


def ring_windows(model: OpenModel) -> list:
    """Rings of all sizes anywhere, whose window ends with them or cuts a byte off."""
    config, seen = model.config, []
    rng = np.random.default_rng(17)
    end = 1 << config.address_bits
    for number in range(64):
        ring, sizes = number % 2, rng.integers(0, 16, 2)
        bases = [64 * int(rng.integers(0, (end >> 6) - (1 << 15))) for _ in sizes]
        lasts = [
            base + (entry << int(size))
            for base, entry, size in zip(
                bases, (DESCRIPTOR_BYTES, COMPLETION_BYTES), sizes, strict=True
            )
        ]
        low, high = min(bases), max(lasts)
        cut = (None, "low", "high")[int(rng.integers(3))]
        values = {"SQ_BASE": bases[0], "CQ_BASE": bases[1]}
        values |= {"HOST_BASE": low + (cut == "low"), "HOST_LIMIT": high - (cut == "high")}
        model.write("RING", "CTRL", 2, ring)
        model.until_state(ring, State.STOPPED)
        for name, value in values.items():
            model.write("RING", f"{name}_LO", value & 0xFFFF_FFFF, ring)
            model.write("RING", f"{name}_HI", value >> 32, ring)
        model.write("RING", "SQ_SIZE", int(sizes[0]), ring)
        model.write("RING", "CQ_SIZE", int(sizes[1]), ring)
        model.write("RING", "CTRL", 1, ring)
        model.until_state(ring, State.RUNNING if cut is None else State.ERROR)
        seen.append([model.read("RING", f"ERROR_{half}", ring) for half in ("LO", "HI")])
    return seen


def _played(model, ring, descriptor, bounds):
    """What is observed of a descriptor, whether it is refused as it must be."""
    reason = refusal(descriptor, ring, model.config, bounds)
    job = model.run(ring, descriptor)
    is_bad = job.completion.status == Status.BAD_DESCRIPTOR
    if is_bad != (reason is not None):
        raise SimulationError(f"{job.completion} of {descriptor}: {reason}")
    return [str(job.completion), job.cycles]


def _ends(config, ring):
    """Jobs at the end of all addresses, and behind it."""
    end, stripe, word = 1 << config.address_bits, config.stripe_bytes, config.word_bytes
    op = _OPS[ring][0]
    has_index = op is Op.PREFETCH
    good = Descriptor(op, row_bytes=stripe, limit=word, word_bytes=word, with_index=has_index)
    changes = [
        {},
        *({"host": host, "limit": limit} for host in (0, end - 64, end) for limit in (0, 64, 128)),
        *({"host": 0, "limit": limit} for limit in (end - word, end, end + word)),
        *({"host": 64, "limit": limit} for limit in (end - 64, end)),
        *({"device": at, "row_bytes": size} for at in (0, stripe) for size in (end - stripe, end)),
        {"device": end - stripe, "row_bytes": stripe + word},
        {"device": end},
        {"row_bytes": end + word},
        {"row_bytes": 2 * end},
        {"index": end - 8},
        {"index": end},
        {"index": end - 8, "row_bytes": 2 * stripe},
        # One row too many, with each bit of the number of rows.
        *(
            {"rows": (1 << bit) + 1, "pitch": pitch, "device": device, "limit": word}
            for bit in range(config.address_bits - stripe.bit_length() + 1, 32)
            for pitch, device in ((stripe, 0), (-stripe, end - stripe))
        ),
    ]
    return [replace(good, **change) for change in changes]


def _bounds(rng, config, first, last):
    """Windows of any size; the host's has the rings."""
    end = 1 << config.address_bits
    base = int(rng.integers(0, end // 2)) >> int(rng.integers(0, 12))
    room = int(rng.integers(config.stripe_bytes, end - base)) >> int(rng.integers(0, 16))
    low = int(rng.integers(0, first))
    high = int(rng.integers(last, end + 1)) if rng.random() < 0.8 else end
    return Bounds(Window(base, base + room), Window(low - low % DESCRIPTOR_BYTES, high))


def _descriptor(rng, config, bounds, ring):
    """A job inside of its windows, of which one part is moved to an edge, or over it."""
    stripe, word = config.stripe_bytes, config.word_bytes
    device, host = bounds.device, bounds.host
    end = 1 << config.address_bits
    op = _OPS[ring][int(rng.integers(len(_OPS[ring])))]
    least = -(-device.base // stripe)
    start = stripe * int(rng.integers(least, max(least + 1, device.limit // stripe)))
    over = int(rng.integers(-1, 2))
    rows, pitch = 1, stripe * int(rng.integers(-9, 9))
    kind = rng.choice(["row", "up", "down", "first", "stream", "index", "long"])
    size = max(word, (device.limit - start) // word * word) >> int(rng.integers(0, 20))
    size = max(word, size // word * word)
    if kind == "row":
        size = max(0, (device.limit - start) // word * word + over * word)
    elif kind == "first":
        start = stripe * max(0, least + over)
    elif kind in ("up", "down"):
        size = stripe * int(rng.integers(1, 4))
        rows = int(rng.integers(2, 1 << int(rng.integers(2, 12))))
        room = device.limit - start - size if kind == "up" else start - device.base
        pitch = stripe * (room // stripe // (rows - 1) + over) if room > 0 else stripe
        pitch = pitch if kind == "up" else -pitch
    elif kind == "long":
        size = stripe * int(rng.integers(1, 1 << 20))
        rows, pitch = int(rng.integers(1, 1 << 32)), 0
    stripes = rows * config.stripes(size)
    at = 64 * int(rng.integers(-(-host.base // 64), host.limit // 64))
    limit = word * int(rng.integers(0, max(1, (host.limit - at) // word)))
    index = 8 * int(rng.integers(-(-host.base // 8), host.limit // 8))
    index = max(-(-host.base // 8) * 8, min(index, (host.limit - 8 * stripes) // 8 * 8))
    if kind == "stream":
        limit = max(0, (host.limit - at) // word * word + over * word)
        if rng.random() < 0.4:
            at, limit = max(0, (-(-host.base // 64) + over) * 64), 64
    elif kind == "index":
        index = host.limit // 8 * 8 - INDEX_BYTES * (stripes + over)
        if rng.random() < 0.4:
            index = (-(-host.base // 8) + over) * 8
    has_index = op in (Op.PREFETCH, Op.VERIFY) or (op is not Op.COPY_OUT and rng.random() < 0.7)
    return Descriptor(
        op,
        device=start,
        host=at,
        index=min(max(0, index), end) if has_index else 0,
        row_bytes=size,
        rows=rows,
        pitch=max(-(1 << 62), min(pitch, 1 << 62)),
        limit=limit,
        word_bytes=word,
        with_index=has_index,
        cookie=int(rng.integers(1 << 63)),
    )
