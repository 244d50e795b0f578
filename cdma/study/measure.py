"""Measure all figures of one array in one pass."""

from collections.abc import Callable, Sequence

import numpy as np

from cdma.study.algorithms.mask import Mask, entropy_bound
from cdma.study.algorithms.registry import ALGORITHMS, BOUND, Subject
from cdma.study.chunks import CHUNK_BYTES, chunks
from cdma.tensors.commonest import Commonest
from cdma.tensors.rows import TYPE_OF


def measure(
    array: np.ndarray,
    algorithms: Sequence[str],
    *,
    chunk_bytes: int = CHUNK_BYTES,
    watchers: Sequence[Callable[[np.ndarray], None]] = (),
    type_: str | None = None,
    row: int | None = None,
) -> dict:
    """Measure an array in C order.

    Memory is a few chunks. The figures do not depend on the size of the chunks.

    Parameters
    ----------
    array : ndarray
        Numbers of 1, 2, 4 or 8 bytes, any shape and strides.
    algorithms : sequence of str
        Names of ``ALGORITHMS``.
    chunk_bytes : int
        Size of a chunk (see ``chunks``).
    watchers : sequence of callables
        Called with every chunk.
    type_, row
        Type and row of the ``Subject``; by default, the type follows from the element type.

    Returns
    -------
    dict
        ``words``, ``bytes``, ``nonzeros``, ``density``, the shares ``zero_blocks`` and
        ``full_blocks``, ``commonest`` (see :class:`~cdma.tensors.commonest.Commonest`), and
        ``sizes``: bytes by algorithm, and the ``bound``. An algorithm that is not made for the
        elements is left out. Shares of an empty array are ``None``.
    """
    mask, commonest = Mask(array.itemsize * 8), Commonest(array.itemsize)
    type_ = TYPE_OF.get(array.dtype.name) if type_ is None else type_
    subject = Subject(array.itemsize, array.nbytes, type_, row)
    made = {name: ALGORITHMS[name].make(subject) for name in algorithms}
    sizers = {name: sizer for name, sizer in made.items() if sizer is not None}
    for words in chunks(array, chunk_bytes):
        for taker in (mask, commonest, *sizers.values()):
            taker.update(words)
        for watch in watchers:
            watch(words)
    sizes = {name: sizer.finish() for name, sizer in sizers.items()}
    sizes[BOUND] = entropy_bound(mask.words, mask.nonzeros, array.itemsize)
    return {
        "words": mask.words,
        "bytes": array.nbytes,
        "nonzeros": mask.nonzeros,
        "density": mask.nonzeros / mask.words if mask.words else None,
        "zero_blocks": mask.zero_blocks / mask.blocks if mask.blocks else None,
        "full_blocks": mask.full_blocks / mask.blocks if mask.blocks else None,
        "commonest": commonest.finish(),
        "sizes": sizes,
    }
