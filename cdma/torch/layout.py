"""Where the elements of a strided tensor lie in memory, so that strides can be restored."""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Layout:
    """Shape and strides of a tensor, and how its elements are taken as one run.

    Attributes
    ----------
    size, stride : tuple of int
        Of the tensor, in elements.
    span : int
        Elements from its first to its last in memory.
    has_gaps : bool
        Whether memory of others lies between them. Without gaps the run is the memory itself:
        the views of one memory have the same run, whatever their shapes.
    """

    size: tuple[int, ...]
    stride: tuple[int, ...]
    span: int
    has_gaps: bool

    @classmethod
    def of(cls, tensor: torch.Tensor) -> "Layout":
        """Layout of a strided tensor with at least one element."""
        size, stride = tuple(tensor.shape), tuple(tensor.stride())
        steps = sorted((s, n) for n, s in zip(size, stride, strict=True) if n > 1 and s > 0)
        covered = 1  # elements from the first to the last so far
        has_gaps = False
        overlaps = False
        for step, count in steps:
            has_gaps |= step > covered
            overlaps |= step < covered
            covered += (count - 1) * step
        return cls(size, stride, covered, has_gaps and not overlaps)

    def run(self, tensor: torch.Tensor) -> torch.Tensor:
        """The elements of a tensor of this layout, contiguous; shape (elements,)."""
        if self.has_gaps:
            once = tensor.as_strided(self._once(), self.stride, tensor.storage_offset())
            return once.contiguous().view(-1)
        return tensor.as_strided((self.span,), (1,), tensor.storage_offset())

    def restore(self, run: torch.Tensor) -> torch.Tensor:
        """A tensor of this layout with the elements of :meth:`run`."""
        if not self.has_gaps:
            return run.as_strided(self.size, self.stride)
        once = self._once()
        restored = torch.empty_strided(once, self.stride, dtype=run.dtype, device=run.device)
        restored.copy_(run.view(once))
        return restored.as_strided(self.size, self.stride)

    def _once(self) -> tuple[int, ...]:
        """Shape that has elements of expanded dimensions once."""
        return tuple(1 if s == 0 else n for n, s in zip(self.size, self.stride, strict=True))
