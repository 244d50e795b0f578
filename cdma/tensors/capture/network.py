"""A small convolutional network in NumPy, which is trained to have real activations.

Activations are float32 arrays of shape (images, channels, height, width) up to the first dense
layer, then (images, features). ``backward`` takes and returns gradients of the same shapes.
"""

import numpy as np

KERNEL = 3


class _Weighted:
    """A layer with weights: gradient descent with momentum."""

    def __init__(self, rng: np.random.Generator, inputs: int, outputs: int):
        scale = np.sqrt(2 / inputs)  # He initialisation, for ReLU
        self.weight = (scale * rng.standard_normal((inputs, outputs))).astype(np.float32)
        self.bias = np.zeros(outputs, np.float32)
        self._weight_speed = np.zeros_like(self.weight)
        self._bias_speed = np.zeros_like(self.bias)

    def _affine(self, rows: np.ndarray) -> np.ndarray:
        self._rows = rows
        return rows @ self.weight + self.bias

    def _affine_backward(self, gradient: np.ndarray) -> np.ndarray:
        self._weight_gradient = self._rows.T @ gradient
        self._bias_gradient = gradient.sum(axis=0)
        return gradient @ self.weight.T

    def step(self, rate: float, momentum: float) -> None:
        """Move the weights against the gradients of the last ``backward``."""
        self._weight_speed = momentum * self._weight_speed - rate * self._weight_gradient
        self._bias_speed = momentum * self._bias_speed - rate * self._bias_gradient
        self.weight += self._weight_speed
        self.bias += self._bias_speed


class Convolution(_Weighted):
    """3 x 3 convolution with zero padding: the output has the height and width of the input."""

    def __init__(self, rng: np.random.Generator, channels: int, filters: int):
        super().__init__(rng, channels * KERNEL**2, filters)

    def forward(self, x: np.ndarray) -> np.ndarray:
        images, channels, height, width = self._shape = x.shape
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        patches = np.lib.stride_tricks.sliding_window_view(padded, (KERNEL, KERNEL), axis=(2, 3))
        rows = patches.transpose(0, 2, 3, 1, 4, 5).reshape(-1, channels * KERNEL**2)
        y = self._affine(rows).reshape(images, height, width, -1)
        return np.ascontiguousarray(y.transpose(0, 3, 1, 2))

    def backward(self, gradient: np.ndarray) -> np.ndarray:
        images, channels, height, width = self._shape
        filters = gradient.shape[1]
        rows = self._affine_backward(gradient.transpose(0, 2, 3, 1).reshape(-1, filters))
        patches = rows.reshape(images, height, width, channels, KERNEL, KERNEL)
        padded = np.zeros((images, channels, height + 2, width + 2), np.float32)
        for i in range(KERNEL):
            for j in range(KERNEL):
                patch = patches[..., i, j].transpose(0, 3, 1, 2)
                padded[:, :, i : i + height, j : j + width] += patch
        return padded[:, :, 1:-1, 1:-1]


class Dense(_Weighted):
    """Fully connected layer, which flattens its input."""

    def forward(self, x: np.ndarray) -> np.ndarray:
        self._shape = x.shape
        return self._affine(x.reshape(len(x), -1))

    def backward(self, gradient: np.ndarray) -> np.ndarray:
        return self._affine_backward(gradient).reshape(self._shape)


class ReLU:
    """Rectifier, which produces the zeros."""

    def forward(self, x: np.ndarray) -> np.ndarray:
        self._passed = x > 0
        return np.where(self._passed, x, np.float32(0))

    def backward(self, gradient: np.ndarray) -> np.ndarray:
        return gradient * self._passed


class MaxPool:
    """Largest value of each 2 x 2 square. Height and width must be even."""

    def forward(self, x: np.ndarray) -> np.ndarray:
        images, channels, height, width = x.shape
        squares = x.reshape(images, channels, height // 2, 2, width // 2, 2)
        y = squares.max(axis=(3, 5), keepdims=True)
        largest = squares == y
        self._share = largest / largest.sum(axis=(3, 5), keepdims=True, dtype=np.float32)
        self._shape = x.shape
        return y[:, :, :, 0, :, 0]

    def backward(self, gradient: np.ndarray) -> np.ndarray:
        return (gradient[:, :, :, None, :, None] * self._share).reshape(self._shape)


class Network:
    """Two convolutions, each with ReLU and pooling, and two dense layers, for 8 x 8 images.

    Attributes
    ----------
    layers : dict of str to layer
        In order. The outputs of ``relu1``, ``pool1``, ``relu2``, ``pool2`` and ``relu3`` are saved.
    """

    def __init__(self, rng: np.random.Generator, classes: int):
        self.layers = {
            "conv1": Convolution(rng, 1, 16),
            "relu1": ReLU(),
            "pool1": MaxPool(),
            "conv2": Convolution(rng, 16, 32),
            "relu2": ReLU(),
            "pool2": MaxPool(),
            "dense3": Dense(rng, 32 * 2 * 2, 64),
            "relu3": ReLU(),
            "dense4": Dense(rng, 64, classes),
        }

    def activations(self, images: np.ndarray) -> dict[str, np.ndarray]:
        """Output of every layer for ``images``, shape (images, 1, 8, 8)."""
        outputs, x = {}, images
        for name, layer in self.layers.items():
            x = outputs[name] = layer.forward(x)
        return outputs

    def accuracy(self, images: np.ndarray, labels: np.ndarray) -> float:
        """Share of ``images`` whose label, shape (images,), gets the highest score."""
        scores = self.activations(images)["dense4"]
        return float(np.mean(scores.argmax(axis=1) == labels))

    def train(
        self, images: np.ndarray, labels: np.ndarray, rate: float = 0.02, momentum: float = 0.9
    ) -> None:
        """One step of gradient descent on the cross-entropy of a batch."""
        scores = self.activations(images)["dense4"]
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        gradient = odds / odds.sum(axis=1, keepdims=True)
        gradient[np.arange(len(labels)), labels] -= 1
        gradient /= len(labels)
        for layer in reversed(self.layers.values()):
            gradient = layer.backward(gradient)
        for layer in self.layers.values():
            if isinstance(layer, _Weighted):
                layer.step(rate, momentum)
