"""vDNN's schedule: one copy beside a layer, and both end before the next begins (equation 2).

Source: Rhu et al., vDNN, MICRO 2016, sections III.B and III.C. A layer's input moves out beside its
forward pass. Beside each backward pass one earlier tensor is fetched: the nearest that is on the
host; the search ends at the first convolution that needs none. A tensor that is not there when it
is needed is fetched first, and nothing runs beside that.
"""

from cdma.offload.schemes.step import Event, Job, Step, by_position, with_dram

_WEIGHTED = ("conv", "linear", "fc")


def run(job: Job, prefetches: bool = True) -> Step:
    """Schedule a step; moves' ``before`` and ``after`` run alone, before their layer.

    Without prefetch every tensor comes back when it is needed, and nothing runs beside that.
    """
    events: list[Event] = []
    return backward_from(job, _forward(job, events), events, prefetches)


def fetched_beside(job: Job) -> dict[int, int]:
    """By move, the layer beside whose backward pass it comes back; sizes have no influence."""
    return _backward(job, [], 0.0)


def backward_from(job: Job, clock: float, events: list[Event], prefetches: bool = True) -> Step:
    """The step whose forward pass, of these events, has ended at ``clock``."""
    fetched = _backward(job, events, clock, prefetches)
    count = len(job.network.layers)
    resident = []
    for k, move in enumerate(job.moves):
        tensor = move.tensor
        resident.append((max(tensor.producer, 0), tensor.slot, tensor.bytes))
        last = 2 * count - 1 - tensor.last
        resident.append((2 * count - 1 - fetched[k], last, tensor.bytes))
    return Step(tuple(events), tuple(resident))


def _forward(job: Job, events: list[Event]) -> float:
    clock = 0.0
    slots = by_position(job.moves, "slot")
    for i, layer in enumerate(job.network.layers):
        moves = [job.moves[k] for k in slots.get(i, ())]
        for move in moves:
            clock = _alone(events, "compute", f"{move.tensor.name} encode", clock, move.before)
        moved = sum(move.tensor.bytes for move in moves)
        own = job.times.forward_bytes[i]
        compute = with_dram(job.times.forward[i], own, moved, job.dram)
        events.append(Event("compute", layer.name, clock, clock + compute))
        end = clock
        for move in moves:
            events.append(Event("down", move.tensor.name, end, end + move.down))
            end += move.down
        clock = max(clock + compute, end)
    return clock


def _backward(
    job: Job, events: list[Event], clock: float, prefetches: bool = True
) -> dict[int, int]:
    """Add the backward pass; gives, by move, the layer beside which it was fetched."""
    layers, moves = job.network.layers, job.moves
    needs = by_position(moves, "need")
    fetched: dict[int, int] = {}
    for m in range(len(layers) - 1, -1, -1):
        for k in needs.get(m, ()):
            if k not in fetched:
                fetched[k] = m
                clock = _alone(events, "up", moves[k].tensor.name, clock, moves[k].up)
                clock = _alone(events, "compute", _decode(moves[k]), clock, moves[k].after)
        k = _search(layers, needs, fetched, m) if prefetches else None
        moved, copy = 0, 0.0
        if k is not None:
            fetched[k] = m
            moved, copy = moves[k].tensor.bytes, moves[k].up
            clock = _alone(events, "compute", _decode(moves[k]), clock, moves[k].after)
            events.append(Event("up", moves[k].tensor.name, clock, clock + copy))
        own = job.times.backward_bytes[m]
        compute = with_dram(job.times.backward[m], own, moved, job.dram)
        events.append(Event("compute", f"{layers[m].name} backward", clock, clock + compute))
        clock += max(compute, copy)
    return fetched


def _search(layers, needs: dict[int, list[int]], fetched: dict[int, int], m: int) -> int | None:
    """Move to fetch beside layer m's backward pass."""
    for j in range(m - 1, -1, -1):
        waiting = [k for k in needs.get(j, ()) if k not in fetched]
        if waiting:
            return waiting[-1]
        if layers[j].kind in _WEIGHTED:
            return None
    return None


def _decode(move) -> str:
    return f"{move.tensor.name} decode"


def _alone(events: list[Event], track: str, name: str, clock: float, seconds: float) -> float:
    if seconds:
        events.append(Event(track, name, clock, clock + seconds))
    return clock + seconds
