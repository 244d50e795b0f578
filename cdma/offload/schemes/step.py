"""A training step as events, and the device memory that it needs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cdma.offload.compute import WORD, Times
from cdma.offload.moves import Move
from cdma.offload.networks.graph import Network
from cdma.offload.tensors import Tensor


@dataclass(frozen=True)
class Event:
    """Something that takes time.

    Parameters
    ----------
    track : str
        compute, down or up.
    name : str
    start, end : float
        Seconds.
    """

    track: str
    name: str
    start: float
    end: float


@dataclass(frozen=True)
class Job:
    """What a schedule is given.

    Parameters
    ----------
    network : Network
        The part that is timed.
    times : Times
    moves : tuple of Move
        In the order of the tensors' slots.
    dram : float
        Bandwidth of the device memory; ``inf`` leaves it out.
    """

    network: Network
    times: Times
    moves: tuple[Move, ...]
    dram: float = float("inf")


@dataclass(frozen=True)
class Step:
    """A schedule's outcome.

    Parameters
    ----------
    events : tuple of Event
    resident : tuple of (int, int, int)
        First step, last step and bytes of every saved tensor in device memory. Steps 0 to n-1 are
        the forward passes, layer m's backward pass is step ``2n - 1 - m``.
    """

    events: tuple[Event, ...]
    resident: tuple[tuple[int, int, int], ...]

    @property
    def seconds(self) -> float:
        """Length of the step."""
        return max((event.end for event in self.events), default=0.0)


def kept(tensor: Tensor, layers: int) -> tuple[int, int, int]:
    """Residence of a tensor that stays on the device."""
    return max(tensor.producer, 0), 2 * layers - 1 - tensor.last, tensor.bytes


def peak_bytes(
    network: Network, features: Network, batch: int, resident: Iterable[tuple[int, int, int]],
    saved: Sequence[Tensor],
) -> int:  # fmt: skip
    """Peak device memory of a step, without workspaces.

    Counted: weights, their gradients and momentum of the whole network; the saved tensors while
    they are resident; outputs that no backward pass reads, up to their last consumer; gradients of
    activations from their first writer to their reader.
    """
    layers = features.layers
    count = len(layers)
    changes = [0] * (2 * count + 1)

    def add(first: int, last: int, size: int) -> None:
        changes[first] += size
        changes[last + 1] -= size

    for interval in resident:
        add(*interval)
    names = {tensor.producer for tensor in saved}
    reader = {x: i for i, layer in enumerate(layers) for x in layer.inputs}  # the last one
    for i, layer in enumerate(layers):
        size = layer.elements * batch * WORD
        last = reader.get(i, i)
        if i not in names:
            add(i, last, size)
        add(2 * count - 1 - last, 2 * count - 1 - i, size)
    live = highest = 0
    for change in changes:
        live += change
        highest = max(highest, live)
    return highest + 3 * WORD * sum(layer.weights for layer in network.layers)


def by_position(moves: Sequence[Move], key: str) -> dict[int, list[int]]:
    """Indices of moves by the position that an attribute of their tensors has."""
    found: dict[int, list[int]] = {}
    for k, move in enumerate(moves):
        found.setdefault(getattr(move.tensor, key), []).append(k)
    return found


def with_dram(seconds: float, own: float, moved: float, dram: float) -> float:
    """Time of a layer when its own traffic and that of the moved tensors share the memory."""
    return max(seconds, (own + moved) / dram)
