"""Stimulus of jobs across borders of addresses: odd multiples of each power of two."""

import numpy as np

from cdma.engine_codes import Op
from cdma.engine_config import INDEX_BYTES
from cdma.errors import SimulationError
from cdma.golden import engine as golden
from cdma.golden.engine.descriptor import Descriptor
from cdma.sim.engine.compare import offload_difference, prefetch_difference
from cdma.sim.engine.engine import DEVICE, HOST, Buffer
from cdma.sim.engine.model import OFFLOAD, PREFETCH
from cdma.verify.mutation.engine.land import OpenModel

#: Stripes of a job, of which a part is before its border, and bytes that any part may take.
_STRIPES, _ROOM = 12, 1 << 14
#: Lowest power of two, and jobs of each.
_LOWEST, _ROUNDS = 8, 3


def borders(model: OpenModel) -> list:
    """Tensors, streams and indices of both directions lie across such borders, each part at once.

    A carry of an address passes all bits below the border, and stops in the bits above.
    """
    config, seen = model.config, []
    rng = np.random.default_rng(20)
    stripe = config.stripe_bytes
    rings = model.rings[0].descriptors.address
    powers = list(range(_LOWEST, config.address_bits))
    for number in range(len(powers)):
        # Parts of a job have different powers: the highest ones have few borders.
        mine = [powers[(number + 4 * part) % len(powers)] for part in range(6)]
        for _ in range(_ROUNDS):
            words = rng.integers(0, 3, _STRIPES * config.stripe_words).astype(config.format.dtype)
            made = golden.offload(words, config, crc=True)
            taken = [rings]
            low = min(made.stream.size, words.nbytes)
            device, back = (_place(rng, config, [], mine[k], stripe, words.nbytes) for k in (0, 1))
            host = _place(rng, config, taken, mine[2], 64, low)
            copy = _place(rng, config, taken, mine[3], config.word_bytes, low)
            index, other = (
                _place(rng, config, taken, mine[k], INDEX_BYTES, made.index.size) for k in (4, 5)
            )
            fields = {"with_index": True, "crc": True, "word_bytes": config.word_bytes}
            fields |= {"row_bytes": words.nbytes}
            model.at(DEVICE, device, words.nbytes)[:] = words.view(np.uint8)
            limit = config.bound(words.nbytes)
            out = Descriptor(
                Op.OFFLOAD, device=device, host=host, index=index, limit=limit, **fields
            )
            job = model.run(OFFLOAD, out, **_buffers(model, out, limit, made))
            _check(offload_difference(job, made, config))
            model.at(HOST, copy, made.stream.size)[:] = made.stream
            model.at(HOST, other, made.index.size)[:] = made.index
            back_in = Descriptor(
                Op.PREFETCH,
                device=back,
                host=copy,
                index=other,
                limit=made.stream.size,
                **fields,
            )
            done = model.run(PREFETCH, back_in, **_buffers(model, back_in, back_in.limit, made))
            expected = golden.salvage_stripes(made.stream, made.index, words.size, config, crc=True)
            _check(prefetch_difference(done, expected, config, is_verify=False))
            seen += [str(job.completion), job.cycles, str(done.completion), done.cycles]
    return seen


def _place(rng, config, taken, power, unit, size):
    """Address of a part, apart from others, so that an odd multiple of the power is inside."""
    power = max(power, unit.bit_length() - 1)
    count = 1 << config.address_bits - power - 1
    end = (1 << config.address_bits) - _ROOM
    while True:
        border = (2 * int(rng.integers(count)) + 1) << power
        address = border - unit * int(rng.integers(1, max(2, size // unit)))
        is_free = all(abs(address - other) >= _ROOM for other in taken)
        if 0 <= address < end and is_free:
            taken.append(address)
            return address


def _buffers(model, descriptor, stream, made):
    return {
        name: Buffer(space, address, model.at(space, address, size))
        for name, space, address, size in (
            ("tensor", DEVICE, descriptor.device, descriptor.row_bytes),
            ("host", HOST, descriptor.host, stream),
            ("index_buffer", HOST, descriptor.index, made.index.size),
        )
    }


def _check(problem):
    if problem:
        raise SimulationError(problem)
