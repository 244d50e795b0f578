"""Offload without synchronisation at the layers: FIFO copies, k earlier tensors in flight.

Out: a copy begins when its layer begins and all copies before it are done; a layer waits until at
most k copies are unfinished. Back: copies run in the order of need; the copy
of tensor q may begin with the layer that consumes tensor ``q - k - 1``. With k = 0 the way out
takes the time of vDNN.
"""

from cdma.offload.schemes.step import Event, Job, Step, by_position, with_dram


def run(job: Job, k: int) -> Step:
    """Schedule a step with ``k`` earlier tensors in flight, each way."""
    events: list[Event] = []
    start = _forward(job, k, events)
    order = sorted(range(len(job.moves)), key=lambda q: (-job.moves[q].tensor.need, -q))
    _backward(job, k, events, start, order)
    return Step(tuple(events), tuple(_resident(job, k, order)))


def _forward(job: Job, k: int, events: list[Event]) -> float:
    clock = link = 0.0
    slots = by_position(job.moves, "slot")
    ends: list[float] = []
    for i, layer in enumerate(job.network.layers):
        moves = [job.moves[q] for q in slots.get(i, ())]
        if len(ends) > k:
            clock = max(clock, ends[-1 - k])
        moved = sum(move.tensor.bytes for move in moves)
        own = job.times.forward_bytes[i]
        compute = with_dram(job.times.forward[i], own, moved, job.dram)
        compute += sum(move.before for move in moves)
        events.append(Event("compute", layer.name, clock, clock + compute))
        for move in moves:
            begin = max(clock, link)
            link = begin + move.down
            ends.append(link)
            events.append(Event("down", move.tensor.name, begin, link))
        clock += compute
    return max([clock, *ends])


def _backward(job: Job, k: int, events: list[Event], clock: float, order: list[int]) -> None:
    moves, layers = job.moves, job.network.layers
    link, begun, arrived, issued = clock, {}, {}, 0
    for m in range(len(layers) - 1, -1, -1):
        mine = [q for q in order if moves[q].tensor.need == m]
        while issued < len(order):  # copies that may begin before this layer does
            gate = issued - k - 1
            if gate >= 0 and order[gate] not in begun:
                # Several tensors of one layer: all must come before the layer can begin.
                if order[issued] not in mine:
                    break
                freed = clock
            else:
                freed = begun[order[gate]] if gate >= 0 else link
            q = order[issued]
            start = max(link, freed)
            link = start + moves[q].up
            arrived[q] = link
            events.append(Event("up", moves[q].tensor.name, start, link))
            issued += 1
        clock = max([clock, *(arrived[q] for q in mine)])
        begun |= dict.fromkeys(mine, clock)
        moved = sum(moves[q].tensor.bytes for q in mine)
        own = job.times.backward_bytes[m]
        compute = with_dram(job.times.backward[m], own, moved, job.dram)
        compute += sum(moves[q].after for q in mine)
        events.append(Event("compute", f"{layers[m].name} backward", clock, clock + compute))
        clock += compute


def _resident(job: Job, k: int, order: list[int]):
    """From the order of the copies alone: a tensor leaves when its copy must have ended."""
    count = len(job.network.layers)
    moves = job.moves
    for q, move in enumerate(moves):
        tensor = move.tensor
        after = [other.tensor.slot for other in moves[q + 1 : q + 2 + k]]
        left = min(max(after[-1], tensor.slot), count - 1) if len(after) > k else count - 1
        yield max(tensor.producer, 0), left, tensor.bytes
    for place, q in enumerate(order):
        gate = place - k - 1
        tensor = moves[q].tensor
        first = moves[order[gate]].tensor.need if gate >= 0 else count - 1
        first = max(first, tensor.need)
        yield 2 * count - 1 - first, 2 * count - 1 - tensor.last, tensor.bytes
