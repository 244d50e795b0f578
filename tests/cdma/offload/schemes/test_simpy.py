"""The schedules against a second model of them, processes in SimPy with whole picoseconds."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from offload_drawn import job_of, setups

from cdma.offload.compute import Times
from cdma.offload.schemes import asynchronous, synchronised
from cdma.offload.setup import Setup

simpy = pytest.importorskip("simpy")
_FEW = settings(max_examples=10, deadline=None)
PICO = 10**12


def _whole(setup: Setup) -> Setup:
    """Times in whole picoseconds."""
    forward, backward = (
        tuple(round(t * PICO) for t in times)
        for times in (setup.times.forward, setup.times.backward)
    )
    own = setup.times.forward_bytes
    return replace(setup, times=Times(forward, backward, own, own))


def _simulated_vdnn(job) -> int:
    """The synchronised schedule as SimPy processes, written from vDNN's description."""
    env = simpy.Environment()
    layers, moves = job.network.layers, job.moves

    def copy(seconds):
        yield env.timeout(seconds)

    def train():
        for i, seconds in enumerate(job.times.forward):
            mine = sum(move.down for move in moves if move.tensor.slot == i)
            yield env.process(copy(seconds)) & env.process(copy(mine))
        here = set()
        for m in reversed(range(len(layers))):
            for k, move in enumerate(moves):
                if move.tensor.need == m and k not in here:
                    here.add(k)
                    yield env.timeout(move.up)
            beside = 0
            for j in range(m - 1, -1, -1):
                absent = [k for k in range(len(moves)) if moves[k].tensor.need == j]
                absent = [k for k in absent if k not in here]
                if absent:
                    here.add(absent[-1])
                    beside = moves[absent[-1]].up
                    break
                if layers[j].kind == "conv":
                    break
            yield env.process(copy(job.times.backward[m])) & env.process(copy(beside))

    env.run(env.process(train()))
    return env.now


def _simulated_async(job, k: int) -> int:
    """The FIFO schedule as SimPy processes: semaphores of k + 1 tensors each way."""
    env = simpy.Environment()
    layers, moves = job.network.layers, job.moves
    order = sorted(range(len(moves)), key=lambda q: (-moves[q].tensor.need, -q))
    down, up = simpy.Resource(env), simpy.Resource(env)
    done = [env.event() for _ in moves]
    came = [env.event() for _ in moves]
    begun = [env.event() for _ in moves]

    def out(q):
        with down.request() as turn:
            yield turn
            yield env.timeout(moves[q].down)
        done[q].succeed()

    def back():
        for place, q in enumerate(order):
            if place > k:
                yield begun[order[place - k - 1]]
            with up.request() as turn:
                yield turn
                yield env.timeout(moves[q].up)
            came[q].succeed()

    def train():
        issued = 0
        for i, seconds in enumerate(job.times.forward):
            if issued > k:
                yield done[issued - k - 1]
            while issued < len(moves) and moves[issued].tensor.slot == i:
                env.process(out(issued))
                issued += 1
            yield env.timeout(seconds)
        yield env.all_of(done)
        env.process(back())
        for m in reversed(range(len(layers))):
            mine = [q for q in range(len(moves)) if moves[q].tensor.need == m]
            if k == 0 and len(mine) > 1:
                return  # a layer that needs two tensors has room for one
            yield env.all_of([came[q] for q in mine])
            for q in mine:
                begun[q].succeed()
            yield env.timeout(job.times.backward[m])

    env.run(env.process(train()))
    return env.now


def _picoseconds(setup: Setup):
    """A job whose times, and those of its copies, are whole picoseconds."""
    setup = _whole(setup)
    job = job_of(setup)
    moves = [
        replace(move, down=round(move.down * PICO), up=round(move.up * PICO)) for move in job.moves
    ]
    return replace(job, moves=tuple(moves))


@_FEW
@given(setups())
def test_simpy_agrees_on_the_synchronised_schedule(setup):
    job = _picoseconds(setup)
    assert synchronised.run(job).seconds == _simulated_vdnn(job)


@_FEW
@given(setups(), st.integers(1, 4))
def test_simpy_agrees_on_the_asynchronous_schedule(setup, k):
    job = _picoseconds(setup)
    needs = [move.tensor.need for move in job.moves]
    if max(needs.count(need) for need in needs) > k + 1:
        return
    assert asynchronous.run(job, k).seconds == _simulated_async(job, k)
