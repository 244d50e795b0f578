"""Counts that software writes: right and wrong ones, at rings of all sizes."""

import numpy as np

from cdma.engine_codes import Op, State
from cdma.errors import SimulationError
from cdma.golden.engine.descriptor import Descriptor
from cdma.sim.engine.model import EngineModel

#: Heads at which counts are written, and writes at each.
_HEADS, _WRITES = 8, 48
_COUNTS = 1 << 16


def counts(model: EngineModel) -> list:
    """SQ TAIL and CQ HEAD of stopped rings, near the last that is allowed and anywhere.

    A tail is right when it is at most the ring's size ahead of SQ HEAD; a count of completions when
    it is between the one before and SQ HEAD. A wrong one is ignored, and the ring enters ERROR.
    """
    seen = []
    rng = np.random.default_rng(18)
    for number in range(_HEADS):
        ring = number % 2
        jobs = int(rng.integers(1, 1 << model.rings[ring].log2))
        model.submit(ring, *[Descriptor(Op.NOP)] * jobs)
        seen += [str(model.wait(ring)) for _ in range(jobs)]  # not acknowledged
        model.abort(ring)
        head = model.read("RING", "SQ_HEAD", ring)
        for _ in range(_WRITES):
            size, is_read = int(rng.integers(16)), int(rng.integers(2))
            model.write("RING", "SQ_SIZE", size, ring)
            most = (head - model.read("RING", "CQ_HEAD", ring)) % _COUNTS if is_read else 1 << size
            ahead = _distance(rng, most)
            value = (head - ahead if is_read else head + ahead) % _COUNTS
            seen += _written(model, ring, is_read, value, ahead <= most)
        # Back to what the rings in memory have.
        model.program(ring)
        model.resync(ring)
        model.write("RING", "CTRL", 1, ring)
        model.until_state(ring, State.RUNNING)
    return [*seen, model.engine.cycle]


def _distance(rng, most):
    """How far a count is ahead: often as far as it may be, or one more or less."""
    if rng.random() < 0.5:
        return max(0, most + int(rng.integers(-1, 2)))
    return int(rng.integers(_COUNTS)) >> int(rng.integers(0, 16))


def _written(model, ring, is_read, value, is_right):
    """Write a count, and what is seen of it. An error is cleared by an abort."""
    name = ("SQ_TAIL", "CQ_HEAD")[is_read]
    before = model.read("RING", name, ring)
    model.write("RING", name, value, ring)
    found, state = model.read("RING", name, ring), model.state(ring)
    expected = value if is_right else before
    if (found, state[0] == State.ERROR) != (expected, not is_right):
        raise SimulationError(f"{name} is {found:#x} and the ring in {state} after {value:#x}")
    if not is_right:
        model.abort(ring)
    return [found, state, model.read("ENGINE", "IRQ_STATUS")]
