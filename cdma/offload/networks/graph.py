"""Layers of a network and their shapes; a builder that works the shapes out."""

import math
from dataclasses import dataclass, field, replace

#: Where an input is the image itself, not the output of a layer.
IMAGE = -1
Shape = tuple[int, int, int]


@dataclass(frozen=True)
class Layer:
    """One layer with the ReLU that follows in place.

    Parameters
    ----------
    name : str
    kind : str
        conv, linear, fc, maxpool, avgpool, bn, add, concat, lrn, dropout or square.
    inputs : tuple of int
        Positions of the layers that it reads; ``IMAGE`` is the image.
    in_shape, shape : tuple of int
        Channels, height and width of the first input and of the output, for one image.
    kernel, stride, groups : int
    relu : bool
        Whether a ReLU follows in place: it shares the storage of the output.
    """

    name: str
    kind: str
    inputs: tuple[int, ...]
    in_shape: Shape
    shape: Shape
    kernel: int = 1
    stride: int = 1
    groups: int = 1
    relu: bool = False

    @property
    def elements(self) -> int:
        """Elements of the output, for one image."""
        return math.prod(self.shape)

    @property
    def weights(self) -> int:
        """Elements of the weights, without biases."""
        if self.kind in ("conv", "linear"):
            return self.shape[0] * self.in_shape[0] // self.groups * self.kernel**2
        return self.elements * math.prod(self.in_shape) if self.kind == "fc" else 0

    @property
    def macs(self) -> int:
        """Multiply-accumulates of the forward pass, for one image."""
        places = 1 if self.kind == "fc" else self.shape[1] * self.shape[2]
        return self.weights * places


@dataclass(frozen=True)
class Network:
    """Layers in the order in which they run.

    Parameters
    ----------
    name : str
    title : str
        How a table calls it.
    image : tuple of int
        Shape of the input.
    layers : tuple of Layer
    source : str
        Where the shapes come from.
    batch : int
        Batch that a run takes unless another is given.
    speedup : float
        How much faster its convolutions are than the calibrated rates.
    """

    name: str
    title: str
    image: Shape
    layers: tuple[Layer, ...]
    source: str
    batch: int = 128
    speedup: float = 1.0

    def shape_of(self, position: int) -> Shape:
        """Shape of the output of a layer, or of the image."""
        return self.image if position == IMAGE else self.layers[position].shape

    @property
    def features(self) -> "Network":
        """The network up to its first fully connected layer, the part that the model times."""
        end = next((i for i, layer in enumerate(self.layers) if layer.kind == "fc"), None)
        return replace(self, layers=self.layers[:end])


def _size(length: int, kernel: int, stride: int, pad: int, ceil: bool) -> int:
    span = length + 2 * pad - kernel
    return (-(-span // stride) if ceil else span // stride) + 1


@dataclass
class Builder:
    """Collects layers; each method gives the position of the layer that it adds."""

    image: Shape = (3, 224, 224)
    layers: list[Layer] = field(default_factory=list)

    def shape(self, position: int) -> Shape:
        """Shape at a position."""
        return self.image if position == IMAGE else self.layers[position].shape

    def _add(self, name: str, kind: str, inputs: tuple[int, ...], shape: Shape, **more) -> int:
        self.layers.append(Layer(name, kind, inputs, self.shape(inputs[0]), shape, **more))
        return len(self.layers) - 1

    def conv(
        self, x: int, name: str, channels: int, kernel: int = 3, stride: int = 1,
        pad: int | None = None, groups: int = 1, relu: bool = True,
    ) -> int:  # fmt: skip
        """Convolution; ``pad`` is half the kernel unless given."""
        pad = kernel // 2 if pad is None else pad
        _, height, width = self.shape(x)
        shape = (channels, *(_size(n, kernel, stride, pad, False) for n in (height, width)))
        more = {"kernel": kernel, "stride": stride, "groups": groups, "relu": relu}
        return self._add(name, "conv", (x,), shape, **more)

    def pool(
        self, x: int, name: str, kernel: int, stride: int, pad: int = 0, ceil: bool = True,
        kind: str = "maxpool",
    ) -> int:  # fmt: skip
        """Pooling; sizes are rounded up, as in Caffe, unless ``ceil`` is false."""
        channels, height, width = self.shape(x)
        shape = (channels, *(_size(n, kernel, stride, pad, ceil) for n in (height, width)))
        return self._add(name, kind, (x,), shape, kernel=kernel, stride=stride)

    def global_pool(self, x: int, name: str) -> int:
        """Average over all places."""
        channels, height, _ = self.shape(x)
        return self._add(name, "avgpool", (x,), (channels, 1, 1), kernel=height)

    def same(self, x: int, name: str, kind: str, relu: bool = False) -> int:
        """Layer whose output has its input's shape: bn, lrn, dropout or square."""
        return self._add(name, kind, (x,), self.shape(x), relu=relu)

    def linear(self, x: int, name: str, channels: int, relu: bool = False) -> int:
        """Matrix product at every place, as in a transformer."""
        shape = (channels, *self.shape(x)[1:])
        return self._add(name, "linear", (x,), shape, relu=relu)

    def join(self, xs: list[int], name: str, kind: str, relu: bool = False) -> int:
        """Add or concat."""
        first = self.shape(xs[0])
        count = first[0] if kind == "add" else sum(self.shape(x)[0] for x in xs)
        return self._add(name, kind, tuple(xs), (count, *first[1:]), relu=relu)

    def fc(self, x: int, name: str, channels: int, relu: bool = True) -> int:
        """Fully connected layer over all elements."""
        return self._add(name, "fc", (x,), (channels, 1, 1), relu=relu)

    def normed(self, x: int, name: str, channels: int, *sizes, relu: bool = True, **more) -> int:
        """Convolution without ReLU, batch normalisation, and a ReLU on its output."""
        x = self.conv(x, name, channels, *sizes, relu=False, **more)
        return self.same(x, f"{name}/bn", "bn", relu=relu)
