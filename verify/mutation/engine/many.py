"""Stimulus in large numbers: very many stripes in a job, and reads and writes that all wait."""

from collections.abc import Callable

import numpy as np

from cdma.engine_codes import Op
from cdma.errors import SimulationError
from cdma.golden import engine as golden
from cdma.golden.engine.descriptor import Descriptor
from cdma.sim.engine.engine import DEVICE, HOST
from cdma.sim.engine.model import OFFLOAD
from cdma.verify.mutation.engine.jobs import state
from cdma.verify.mutation.engine.land import MarkedModel, OpenModel

#: Stripes of errors: bits 13 to 16 are set, so other channels' numbers have them too; a nearer one
#: has the bits below.
FAR, NEARER = 0x1_E003, 0x7D0
#: Cycles of a stripe, and a few more.
_STRIPE_CYCLES = 80
#: Most bursts that wait, cycles for which they do, and the timeout.
_WAITING, _DELAY, _TIMEOUT = 17, 2500, 300


def far_stripe(model: OpenModel, last: int = FAR, *, rows: bool = False) -> list:
    """An error behind very many stripes, and what the registers keep of each channel.

    The stripes are of one row, or each is a row.
    """
    stripe = model.config.stripe_bytes
    device = 7 * stripe
    model.engine.fault(DEVICE, device + last * stripe, 4, response=2)
    job = Descriptor(
        Op.MEASURE,
        device=device,
        row_bytes=stripe * (1 if rows else last + 64),
        rows=last + 64 if rows else 1,
        pitch=stripe if rows else 0,
        word_bytes=model.config.word_bytes,
        limit=model.config.word_bytes,
    )
    done = model.run_long(OFFLOAD, job, _STRIPE_CYCLES * last)
    if done.stripe != last:
        raise SimulationError(f"{done}, expected an error of stripe {last:,}")
    return [str(done), model.engine.cycle, *state(model)]


def waiting(made: Callable[[int], MarkedModel]) -> list:
    """Each number of bursts of a channel waits, longer than the timeout: reads, then writes."""
    seen = []
    for number in range(2 * _WAITING):
        model = made(number)
        config = model.config
        ring, jobs = number % 2, 1 + number // 2
        channel = number // 2 % config.channels
        for each in range(2):
            seen += _waits(model, ring, jobs, (channel + each) % config.channels)
            model.engine.run(_DELAY)
            for k in range(config.channels):
                model.write("CHANNEL", "QUARANTINE", 1, k)
        seen += model.moves()
    return seen


def _waits(model, ring, jobs, channel):
    """Jobs of a word each, whose bursts to the channel are all answered late."""
    config = model.config
    word = np.full(1, 7, config.format.dtype)
    made = golden.offload(word, config)
    tensor = model.place_tensor(np.full(config.stripe_words, 7, word.dtype), channel)
    host, index = (model.allocate(HOST, 64) for _ in range(2))
    host.data[: made.stream.size] = made.stream
    index.data[: made.index.size] = made.index
    on = ("read", "write")[ring]
    model.engine.fault(DEVICE, tensor.address, config.stripe_bytes, delay=_DELAY, on=on)
    job = Descriptor(
        (Op.OFFLOAD, Op.PREFETCH)[ring],
        device=tensor.address,
        host=host.address,
        index=index.address,
        row_bytes=word.nbytes,
        limit=(host.data.size, made.stream.size)[ring],
        word_bytes=config.word_bytes,
        with_index=True,
    )
    model.write("ENGINE", "TIMEOUT", 0)
    model.submit(ring, *[job] * jobs)
    model.engine.run(100 + 60 * jobs)
    seen = [model.read("CHANNEL", "OUTSTANDING", channel)]
    model.write("ENGINE", "TIMEOUT", _TIMEOUT)
    model.engine.run(_TIMEOUT + 50)
    seen += [model.read("ENGINE", "STATUS"), model.read("CHANNEL", "QUARANTINE", channel)]
    seen += [str(each) for each in model.collect(ring, jobs)]
    model.engine.clear_faults()
    return [*seen, model.read("CHANNEL", "OUTSTANDING", channel)]
