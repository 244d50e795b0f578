"""Stimulus that random jobs seldom have: streams close to raw, long stalls, errors behind a reset.

Each function plays on a model and gives what was observed.
"""

from collections.abc import Callable

import numpy as np

from cdma.engine_codes import Op, State
from cdma.engine_config import INDEX_BYTES
from cdma.golden.engine.descriptor import Descriptor
from cdma.sim.engine.engine import DEVICE
from cdma.sim.engine.model import OFFLOAD, PREFETCH, EngineModel
from cdma.verify.mutation.engine.jobs import state

#: Cycles for which a channel of a port is stalled.
_HELD = 900
#: Stripes of a job of which one has a wrong entry: more than fit the channels.
_ENTRIES, _STEP = 96, 4
#: Jobs of each ring that do nothing: more than there is room for completions.
_NOPS = 24


def nearly_dense(model: EngineModel) -> list:
    """Stripes whose stream is as long as their words, or a few words more or less.

    The zeros are in the first block, in the last one, or spread, so that the lead of the stream is
    large or small before it ends.
    """
    config, seen = model.config, []
    stripe, block = config.stripe_words, config.block_words
    blocks = stripe // block
    words = np.arange(1, stripe + 1).astype(config.format.dtype)
    words[words == 0] = 1
    for channel in range(config.channels):
        stripes = []
        for zeros in range(2 * blocks + 2):
            for at in (0, stripe - zeros, None):
                one = words.copy()
                place = slice(at, at + zeros) if at is not None else slice(0, zeros * 3, 3)
                one[place] = 0
                stripes.append(one)
        # Every stripe comes to each channel once.
        stripes = stripes[channel:] + stripes[:channel]
        job = model.offload(np.concatenate(stripes), "auto")
        back = model.prefetch(job)
        seen += [str(job.completion), job.cycles, job.index.tobytes(), str(back.completion)]
    return seen


def stalls(model: EngineModel) -> list:
    """Each channel of each port is stalled for long, while jobs of both rings wait for it."""
    config, seen = model.config, []
    words = np.arange(4 * config.channels * config.stripe_words) % 3
    words = words.astype(config.format.dtype)
    first = model.offload(words)
    for port in model.engine.ports.values():
        for channel in ("ar", "r", "aw", "w", "b"):
            model.engine.hold(port, channel, _HELD)
            job = model.offload(words)
            model.engine.hold(port, channel, _HELD)
            back = model.prefetch(first)
            seen += [job.cycles, back.cycles, sorted(job.counters.items())]
            seen += [sorted(back.counters.items())]
    return [*seen, sorted(model.counters().items())]


def unanswered(model: EngineModel) -> list:
    """The host answers no write until as many completions wait for it as there is room for."""
    seen = []
    for _ in range(2):
        for ring in (OFFLOAD, PREFETCH):
            nops = (Descriptor(Op.NOP, word_bytes=model.config.word_bytes) for _ in range(_NOPS))
            model.submit(ring, *nops)
        model.engine.hold(model.engine.link, "b", _HELD)
        seen += [str(each) for ring in (OFFLOAD, PREFETCH) for each in model.collect(ring, _NOPS)]
        seen.append(model.engine.cycle)
    return seen


def bad_entries(made: Callable[[int], EngineModel]) -> list:
    """An index entry that is wrong comes while the channels are full: they are stalled, and many
    stripes, or few, are in front of it. What the channels wait for then is kept."""
    seen = []
    for place in range(0, _ENTRIES, _STEP):
        model = made(place)
        config = model.config
        words = np.arange(_ENTRIES * config.stripe_words) % 3
        good = model.offload(words.astype(config.format.dtype), counters=False)
        index = good.index.copy()
        index[INDEX_BYTES * place + 3] ^= 0x80
        for port in range(config.channels):
            for channel in ("aw", "w"):
                model.engine.hold(port, channel, _HELD)
        job = model.fetch(good.stream, index, words.size * config.word_bytes)
        seen += [str(job.completion), job.cycles, *_channels(model), *model.moves()]
    return seen


def errors_again(model: EngineModel) -> list:
    """An error, CTRL.RESET, a job without one, and an error at another place, twice."""
    config, seen = model.config, []
    words = np.ones(4 * config.channels * config.stripe_words, config.format.dtype)
    for number in range(2):
        for stripe in (2 + number, 2 * config.channels + 1):
            tensor = model.tensor_address()
            model.engine.fault(DEVICE, tensor + stripe * config.stripe_bytes, 8, response=2)
            job = model.offload(words, index=False, counters=False)
            seen += [str(job.completion), *_channels(model)]
            model.engine.clear_faults()
            model.write("ENGINE", "CTRL", 1)
            model.engine.run(300)
            for ring in (OFFLOAD, PREFETCH):
                model.until_state(ring, State.STOPPED)
            seen += _channels(model)
            for ring in (OFFLOAD, PREFETCH):
                memory = model.rings[ring]
                memory.tail = memory.head = memory.acknowledged = 0
                model.set_ring(ring, memory.log2)
            good = model.offload(words, counters=False)
            seen += [str(good.completion), good.cycles, *_channels(model)]
    return seen


def _channels(model):
    """What the registers of the channels hold."""
    return [data for *_, data in state(model, "CHANNEL")]
