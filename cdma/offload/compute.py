"""Compute times of layers: a roofline calibrated on published logs (equation 1).

Rates are in ``constants.py``. The model is linear in the batch.
"""

from collections import Counter
from dataclasses import dataclass

from cdma.offload import constants
from cdma.offload.networks.graph import IMAGE, Layer, Network

#: Bytes of an element: the published systems train in fp32.
WORD = 4


@dataclass(frozen=True)
class Board:
    """A GPU relative to the calibrated one.

    Parameters
    ----------
    name : str
    compute : float
        Its arithmetic rate over that of the Titan X (Maxwell).
    dram : float
        Bandwidth of its device memory in bytes per second.
    """

    name: str
    compute: float
    dram: float

    @property
    def memory(self) -> float:
        """Its memory rate over that of the calibrated board."""
        return min(self.dram / constants.TITAN_X_DRAM.value, 1e12)


BOARDS = {
    "titan-x": Board("Titan X (Maxwell)", 1.0, constants.TITAN_X_DRAM.value),
    "titan-xp": Board("Titan Xp", constants.TITAN_XP_COMPUTE.value, constants.TITAN_XP_DRAM.value),
}


@dataclass(frozen=True)
class Times:
    """Seconds of each layer and the bytes of device memory that it moves itself.

    Parameters
    ----------
    forward, backward : tuple of float
        Seconds, in the order of the layers.
    forward_bytes, backward_bytes : tuple of float
    """

    forward: tuple[float, ...]
    backward: tuple[float, ...]
    forward_bytes: tuple[float, ...]
    backward_bytes: tuple[float, ...]

    @property
    def total(self) -> float:
        """Seconds of a step without any wait."""
        return sum(self.forward) + sum(self.backward)

    def scaled(self, factor: float) -> "Times":
        """The same with every time multiplied."""
        forward = tuple(factor * t for t in self.forward)
        backward = tuple(factor * t for t in self.backward)
        return Times(forward, backward, self.forward_bytes, self.backward_bytes)


def rates_of(layer: Layer) -> tuple[float, float]:
    """Achieved FLOP/s of the forward and the backward pass of a layer with weights."""
    if layer.kind != "conv":
        kind = "fully connected"
    elif layer.inputs[0] == IMAGE:
        size = min((3, 7, 11), key=lambda k: abs(k - layer.kernel))
        kind = f"first {size}x{size}"
    elif layer.kernel == 1:
        kind = "1x1"
    elif layer.kernel == 3:
        kind = "3x3 thin" if layer.in_shape[0] <= constants.THIN_3X3 else "3x3"
    else:
        kind = "5x5 thin" if layer.in_shape[0] <= constants.THIN_5X5 else "5x5"
    forward, backward = constants.RATES[kind]
    return forward.value, backward.value


def times_of(network: Network, batch: int, board: Board) -> Times:
    """Times of all layers of a network."""
    found = [_layer(network, layer, batch, board) for layer in network.layers]
    readers = Counter(x for layer in network.layers for x in layer.inputs if x != IMAGE)
    for i, count in readers.items():  # gradients of several readers are added up
        moved = 3 * (count - 1) * network.layers[i].elements * batch * WORD
        forward, backward, own, back = found[i]
        backward += moved / (constants.MEMORY.value * board.memory)
        found[i] = forward, backward, own, back + moved
    return Times(*(tuple(column) for column in zip(*found, strict=True)))


def _layer(network: Network, layer: Layer, batch: int, board: Board) -> tuple[float, ...]:
    """Seconds forward and backward, own bytes forward and backward."""
    sizes = [network.shape_of(x) for x in layer.inputs]
    x = sum(a * b * c for a, b, c in sizes) * batch * WORD
    y = layer.elements * batch * WORD
    w = layer.weights * WORD
    rate = constants.MEMORY.value * board.memory
    if layer.weights:
        flops = 2 * layer.macs * batch
        forward_rate, backward_rate = rates_of(layer)
        speed = board.compute * (network.speedup if layer.kind == "conv" else 1)
        forward = max(flops / (forward_rate * speed), (x + y + w) / rate)
        # dW reads x and dY, dX reads dY and the weights; the first layer makes no dX.
        other = 0 if layer.inputs[0] == IMAGE else x
        own = 2 * y + x + other + 2 * w
        backward = max(2 * flops / (backward_rate * speed), own / rate)
        moved = x + y + w
    else:
        moved, own = _passes(layer, x, y)
        if layer.kind in ("maxpool", "avgpool"):
            known = constants.POOL_FORWARD
            key = (layer.kernel, layer.stride)
            nearest = known.get(key, known[3, 2] if layer.stride > 1 else known[3, 1])
            forward = moved / (nearest.value * board.memory)
            backward = own / (constants.POOL_BACKWARD.value * board.memory)
        else:
            forward, backward = moved / rate, own / rate
    if layer.relu:  # in place: read and write y; then read y and dY, write dY
        forward, backward = forward + 2 * y / rate, backward + 3 * y / rate
        moved, own = moved + 2 * y, own + 3 * y
    return forward, backward, moved, own


def _passes(layer: Layer, x: float, y: float) -> tuple[float, float]:
    """Bytes forward and backward of a layer without weights."""
    if layer.kind == "bn":  # statistics and scaling read x; then two sweeps over x and dY
        return 2 * x + y, 2 * (x + y) + x
    if layer.kind == "add":  # the gradient is shared
        return x + y, 0.0
    if layer.kind == "dropout":  # a mask of one byte an element
        return x + y + y / WORD, x + y + y / WORD
    if layer.kind in ("maxpool", "avgpool", "lrn"):
        return x + y, 2 * x + y
    return x + y, x + y
