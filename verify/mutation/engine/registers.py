"""Stimulus of registers and rings: values that tell registers apart, and stops in each cycle."""

import numpy as np

from cdma.engine_codes import Op, State
from cdma.errors import SimulationError
from cdma.golden import engine as golden
from cdma.golden.engine.descriptor import Descriptor
from cdma.hdl.engine.registers import Access, Guard
from cdma.sim.engine.engine import HOST
from cdma.sim.engine.model import OFFLOAD, PREFETCH, EngineModel
from cdma.verify.mutation.engine.jobs import state

#: Rounds of writes to all registers.
_ROUNDS = 6
#: Cycles from a doorbell on in which a ring is stopped, or its state read.
_SPAN = 90
_STOP, _ABORT = 0, 2


def values(model: EngineModel) -> list:
    """Each register gets values of its own, in any order, and all are read after each round.

    A register that takes what is written to another one is found, as in the rounds with running
    rings, whose registers must take nothing.
    """
    seen = []
    rng = np.random.default_rng(19)
    places = [
        (block, register, instance)
        for block in model.map.blocks
        for instance in range(block.count)
        for register in block.registers
        if register.is_written and register.name not in ("CTRL", "SNAPSHOT", "SQ_TAIL", "CQ_HEAD")
    ]
    known = {}
    for number in range(_ROUNDS):
        is_running = number % 3 == 2
        for ring in (OFFLOAD, PREFETCH):
            if is_running:
                model.program(ring)
            model.write("RING", "CTRL", int(is_running), ring)
            model.until_state(ring, State.RUNNING if is_running else State.STOPPED)
        known = {} if is_running else known
        for place in rng.permutation(len(places)):
            block, register, instance = places[place]
            value = int(rng.integers(1 << 32))
            response = model.write(block.name, register.name, value, instance)
            seen.append(response)
            is_open = not is_running or register.guard is Guard.NONE
            if bool(response) == is_open:
                raise SimulationError(f"response {response} of {block.name}.{register.name}")
            if is_open:
                known[block.name, register.name, instance] = value
        for block, register, instance in places:
            name = block.name, register.name, instance
            found = model.read(*name)
            seen.append(found)
            mask = sum(each.mask for each in register.fields if each.access is Access.RW)
            if name in known and (found ^ known[name]) & mask:
                raise SimulationError(f"{name} is {found:#x} after {known[name]:#x}")
        seen += state(model)
    return seen


def stops(model: EngineModel) -> list:
    """In each cycle after the doorbell of one short job, or more, its ring's state is read, or the
    ring is stopped or aborted."""
    seen = []
    jobs = [_job(model, ring) for ring in (OFFLOAD, PREFETCH)]
    kinds = [(each, value) for each in (0, 1, 2) for value in (_STOP, _ABORT, None)]
    for after in range(_SPAN):
        for ring in (OFFLOAD, PREFETCH):
            for kind, value in kinds:
                model.submit(ring, *([jobs[ring]], [Descriptor(Op.NOP)], [jobs[ring]] * 3)[kind])
                model.engine.run(after)
                if value is not None:
                    _write(model, "CTRL", value, ring)
                seen += [model.read("RING", "STATE", ring) for _ in range(3)]
                seen.append(model.read("ENGINE", "STATUS"))
                if value is None:
                    seen += [str(each) for each in model.collect(ring, (1, 1, 3)[kind])]
                    continue
                _write(model, "SQ_SIZE", model.rings[ring].log2, ring)
                seen.append(_drained(model, ring))
                seen.append(model.resync(ring))
                model.write("RING", "CTRL", 1, ring)
                model.until_state(ring, State.RUNNING)
    return seen


def _job(model, ring):
    """A job of a few words of either ring."""
    config = model.config
    words = np.full(5, 7, config.format.dtype)
    made = golden.offload(words, config)
    tensor = model.place_tensor(words)
    host, index = (model.allocate(HOST, 64) for _ in range(2))
    host.data[: made.stream.size] = made.stream
    index.data[: made.index.size] = made.index
    return Descriptor(
        (Op.OFFLOAD, Op.PREFETCH)[ring],
        device=tensor.address,
        host=host.address,
        index=index.address,
        row_bytes=words.nbytes,
        limit=made.stream.size,
        word_bytes=config.word_bytes,
        with_index=True,
    )


def _write(model, name, value, ring):
    """Write a register of a ring with address and data in the same cycle, always."""
    return model.engine.access(model.map.block("RING").address(name, ring), value).response


def _drained(model, ring):
    """Cycles until the ring has stopped and nothing is left of its jobs."""
    for number in range(500):
        value = model.read("RING", "STATE", ring)
        if value & 7 == State.STOPPED and not value >> 8 & 1:
            return number
    raise SimulationError(f"ring {ring} stays in {value:#x}")
