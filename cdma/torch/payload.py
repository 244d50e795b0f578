"""The elements of a tensor in memory of the host: lossless, lossy, or the mask of a ReLU."""

from dataclasses import dataclass, replace

import numpy as np
import torch

from cdma.format import Format
from cdma.golden.lossy.bound import Bound
from cdma.golden.lossy.codec import Quantised, dequantise_words, quantise_words
from cdma.golden.lossy.elements import ELEMENTS
from cdma.golden.zvc.codec import compress, decompress


@dataclass(frozen=True, eq=False)
class Packed:
    """Words as a stream, or as they are where a stream would not be smaller."""

    data: np.ndarray
    count: int
    fmt: Format
    is_raw: bool

    @classmethod
    def of(cls, words: np.ndarray) -> "Packed":
        """Compress unsigned words; always a copy."""
        fmt = Format(8 * words.itemsize)
        stream = compress(words, fmt)
        if stream.nbytes < words.nbytes:
            return cls(stream, len(words), fmt, False)
        return cls(words.copy(), len(words), fmt, True)

    def words(self) -> np.ndarray:
        """The words, in memory of their own."""
        return self.data.copy() if self.is_raw else decompress(self.data, self.count, self.fmt)


@dataclass(frozen=True, eq=False)
class Lossless:
    """Elements bit for bit."""

    packed: Packed
    dtype: torch.dtype

    @classmethod
    def of(cls, run: torch.Tensor) -> "Lossless":
        """Compress elements in host memory, shape (elements,)."""
        return cls(Packed.of(_words(run)), run.dtype)

    @property
    def nbytes(self) -> int:
        """Bytes stored."""
        return self.packed.data.nbytes

    def run(self) -> torch.Tensor:
        """The elements, in host memory."""
        return _tensor(self.packed.words(), self.dtype)


@dataclass(frozen=True, eq=False)
class Lossy:
    """Elements within an error bound."""

    packed: Packed
    quantised: Quantised  # without its numbers
    dtype: torch.dtype

    @classmethod
    def of(cls, run: torch.Tensor, bound: Bound) -> "Lossy":
        """Quantise and compress elements in host memory, shape (elements,).

        Raises
        ------
        ValueError
            When these elements have no such bound, see :meth:`Bound.of`.
        """
        quantised = quantise_words(_words(run), name_of(run.dtype), tuple(run.shape), bound)
        packed = Packed.of(quantised.q.view(f"<u{quantised.q.itemsize}"))
        return cls(packed, replace(quantised, q=quantised.q[:0].copy()), run.dtype)

    @property
    def nbytes(self) -> int:
        """Bytes stored, outliers included."""
        outliers = self.quantised.outliers.nbytes + self.quantised.outlier_words.nbytes
        return self.packed.data.nbytes + outliers

    def run(self) -> torch.Tensor:
        """The elements, in host memory."""
        q = self.packed.words().view(self.quantised.q.dtype)
        return _tensor(dequantise_words(replace(self.quantised, q=q)), self.dtype)


@dataclass(frozen=True, eq=False)
class Mask:
    """Which elements of a ReLU's result let the gradient pass: 1 bit each."""

    bits: np.ndarray
    count: int
    dtype: torch.dtype

    @classmethod
    def of(cls, run: torch.Tensor) -> "Mask":
        """Take the mask of elements in host memory, shape (elements,)."""
        passes = ~(run <= 0)  # as PyTorch has it: the gradient of a NaN passes
        return cls(np.packbits(passes.numpy()), len(run), run.dtype)

    @property
    def nbytes(self) -> int:
        """Bytes stored."""
        return self.bits.nbytes

    def run(self) -> torch.Tensor:
        """Ones and zeros, in host memory: all that the gradient of a ReLU looks at."""
        return torch.from_numpy(np.unpackbits(self.bits, count=self.count)).to(self.dtype)


def name_of(dtype: torch.dtype) -> str:
    """``float32`` of ``torch.float32``."""
    return str(dtype).removeprefix("torch.")


def has_bound(dtype: torch.dtype) -> bool:
    """Whether the lossy codec takes elements of this type."""
    return name_of(dtype) in ELEMENTS


def _words(run: torch.Tensor) -> np.ndarray:
    """Bit patterns; elements of 16 bytes are two words."""
    return run.view(torch.uint8).numpy().view(f"<u{min(run.itemsize, 8)}")


def _tensor(words: np.ndarray, dtype: torch.dtype) -> torch.Tensor:
    return torch.from_numpy(words.view(np.uint8)).view(dtype)
