"""Which tensors a step keeps for its backward pass, where they move, and when they are needed.

The rules are equation 3: a storage moves once, in its last forward consumer, and is needed at its
first backward reader. Layers that share a storage: ReLU in place, and concat, whose inputs are
written into its output (vDNN's offloaded bytes of GoogLeNet fit no other rule).
"""

from dataclasses import dataclass

from cdma.offload.compute import WORD
from cdma.offload.networks.graph import IMAGE, Layer, Network

#: Kinds that need their input in the backward pass.
_NEEDS_INPUT = {"conv", "linear", "fc", "bn", "maxpool", "lrn", "square"}
#: Kinds that need their output too, beside a ReLU's.
_NEEDS_OUTPUT = {"maxpool", "lrn"}
_KINDS = {"all": None, "conv": {"conv", "linear", "fc"}}


@dataclass(frozen=True)
class Tensor:
    """A storage that the backward pass reads.

    Parameters
    ----------
    name : str
        Layer that writes it.
    producer : int
        Position of that layer, ``IMAGE`` for the image.
    slot : int
        Position of its last forward consumer, during which it moves.
    need : int
        Position of its first reader of the backward pass.
    last : int
        Position of the last reader of the backward pass.
    bytes : int
        Raw bytes.
    kind : str
        relu, pool, dense, image or mask.
    depth : float
        Place in the network, 0 to 1.
    for_conv : bool
        Whether a layer with weights reads it: the policy ``conv`` moves only these.
    """

    name: str
    producer: int
    slot: int
    need: int
    last: int
    bytes: int
    kind: str
    depth: float
    for_conv: bool

    @property
    def is_sparse(self) -> bool:
        """Whether it comes out of a ReLU, perhaps by way of pooling or concat."""
        return self.kind in ("relu", "pool")


def tensors_of(network: Network, batch: int, policy: str = "all") -> list[Tensor]:
    """Storages that move, in the order of their slots.

    Parameters
    ----------
    network : Network
        The part that is trained with offloading (``Network.features``).
    batch : int
    policy : str
        ``"all"`` or ``"conv"`` (vDNN).
    """
    if policy not in _KINDS:
        raise ValueError(f"Policy must be all or conv, not {policy!r}")
    layers = network.layers
    owner = _owners(network)
    readers: dict[int, set[int]] = {}
    consumers: dict[int, set[int]] = {}
    for i, layer in enumerate(layers):
        for x in layer.inputs:
            consumers.setdefault(owner[x], set()).add(i)
            if layer.kind in _NEEDS_INPUT:
                readers.setdefault(owner[x], set()).add(i)
        if layer.kind in _NEEDS_OUTPUT or layer.relu:
            readers.setdefault(owner[i], set()).add(i)
    found = []
    for storage, who in readers.items():
        # A storage that only its own ReLU or pool reads is kept by none of the published systems.
        used = consumers.get(storage, set()) & who
        if used:
            slot = max(consumers[storage])
            found.append(_tensor(network, batch, storage, slot, who, used))
    for i, layer in enumerate(layers):
        if layer.kind == "dropout":
            size = layer.elements * batch
            depth = i / len(layers)
            found.append(Tensor(f"{layer.name}/mask", i, i, i, i, size, "mask", depth, False))
    kept = [tensor for tensor in found if policy == "all" or tensor.for_conv]
    return sorted(kept, key=lambda tensor: (tensor.slot, tensor.need, tensor.producer))


def _owners(network: Network) -> dict[int, int]:
    """Storage that each layer's output lies in, named by the layer that completes it."""
    owner = {IMAGE: IMAGE} | {i: i for i in range(len(network.layers))}
    for i, layer in enumerate(network.layers):
        if layer.kind == "concat":
            for x in layer.inputs:
                owner[x] = i
    return owner


def _tensor(network, batch, storage, slot, who, used) -> Tensor:
    layers = network.layers
    a, b, c = network.shape_of(storage)
    name = "image" if storage == IMAGE else layers[storage].name
    reads = [layers[i].kind in _KINDS["conv"] for i in used]
    depth = (storage + 1) / len(layers)
    kind = kind_of(network, storage)
    size = a * b * c * batch * WORD
    return Tensor(name, storage, slot, max(who), min(who), size, kind, depth, any(reads))


def kind_of(network: Network, storage: int) -> str:
    """What the values of a storage are: relu, pool (of ReLU), dense or image."""
    if storage == IMAGE:
        return "image"
    layer: Layer = network.layers[storage]
    if layer.relu:
        return "relu"
    inputs = {kind_of(network, x) for x in layer.inputs}
    if layer.kind in ("maxpool", "avgpool"):
        return "pool" if inputs <= {"relu", "pool"} else "dense"
    if layer.kind in ("concat", "dropout", "lrn", "square"):
        return "relu" if inputs <= {"relu", "pool"} else "dense"
    return "dense"
