"""Measure one tensor in each of its layouts."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cdma.study.chunks import CHUNK_BYTES
from cdma.study.layouts import LAYOUTS, arranged, axes_of, layouts_of
from cdma.study.measure import measure
from cdma.study.metadata import Metadata
from cdma.study.rtl import RtlCompressor
from cdma.study.source import described
from cdma.sweep.pools import advance
from cdma.sweep.sweep import Task
from cdma.tensors.codec.elements import dtype_of, element_name, typed
from cdma.tensors.load import load_tensor
from cdma.tensors.rows import TYPE_OF, row_distance
from cdma.zvcplus import TYPES

#: Weight of a tensor in a sweep. A running task reports its progress in parts of this weight.
WEIGHT = 1_000_000
#: Fields that a record copies from the metadata.
_COPIED = (
    *("network", "layer", "is_part", "kind", "stage", "step"),
    *("images", "mode", "about", "position", "is_pool"),
)


@dataclass(frozen=True)
class Job:
    """A tensor and the figures to measure.

    Parameters
    ----------
    name : str
        Tensor, as ``load_tensor`` takes it.
    metadata : Metadata
    algorithms : tuple of str
        Names of ``ALGORITHMS``.
    layouts : tuple of str
        Layouts to compare. A tensor without four axes is measured as stored.
    with_rtl : bool
        Also simulate the RTL of the compressor.
    lanes : int or None
        Words in a beat of the RTL.
    dtype : str or None
        NumPy type that the elements are, whatever the file says.
    chunk_bytes : int
        Bytes of a chunk. Each chunk is in memory as a whole.
    """

    name: str
    metadata: Metadata
    algorithms: tuple[str, ...]
    layouts: tuple[str, ...] = LAYOUTS
    with_rtl: bool = False
    lanes: int | None = None
    dtype: str | None = None
    chunk_bytes: int = CHUNK_BYTES


def plan(
    arguments: Sequence[str],
    axes: str | None = None,
    failures: dict[str, str] | None = None,
    dtype: str | None = None,
    **options,
) -> list[Task]:
    """Tasks for ``sweep(analyze, ...)``, one for each tensor of ``arguments``.

    Parameters
    ----------
    arguments : sequence of str
        Files, files with keys, and folders (``described``).
    axes : str or None
        Layout of tensors whose layout is in no list.
    failures : dict or None
        Receives the error of each file or folder that cannot be opened, by its name. With
        ``None``, the error is raised.
    dtype : str or None
        NumPy type that the elements of all tensors are, whatever the files say.
    **options
        Further parameters of each ``Job``.

    Raises
    ------
    UserError
        When a file or folder cannot be opened, a list of metadata cannot be understood, or there is
        no such type.
    """
    if dtype is not None:
        dtype_of(dtype)
    tasks = []
    for name, metadata in described(arguments, failures):
        if metadata.layout is None:
            metadata = replace(metadata, layout=axes)
        tasks.append(Task(name, Job(name, metadata, dtype=dtype, **options), WEIGHT))
    return tasks


def analyze(job: Job) -> list[dict]:
    """Measure one tensor.

    Returns
    -------
    list of dict
        A record for each layout: the metadata, ``shape`` and ``axes`` as stored, the results of
        ``measure``, ``ratios`` (bytes of the tensor for each encoded byte), ``rtl`` (the result of
        ``RtlCompressor``, or ``None``), and a ``digest`` of the values. The digest does not depend
        on the stored layout.

    Raises
    ------
    UserError
        When the tensor cannot be read or has no elements of that type, or the RTL cannot be built.
    """
    array, _ = typed(load_tensor(job.name), job.dtype)
    dtype = element_name(array, job.dtype)
    axes = axes_of(array.shape, job.metadata.layout)
    layouts = [layout for layout in layouts_of(axes) if layout in job.layouts] or [axes]
    common = {
        "tensor": job.name,
        **{name: getattr(job.metadata, name) for name in _COPIED},
        "format": dtype if job.dtype else job.metadata.format or dtype,
        "dtype": dtype,
        "shape": list(array.shape),
        "axes": axes,
        "digest": "",
    }
    records = []
    for layout in layouts:
        digest = hashlib.blake2b(digest_size=8)
        rtl = None
        watchers = [partial(_report_progress, array.nbytes * len(layouts))]
        if job.with_rtl:
            rtl = RtlCompressor(array.itemsize * 8, job.lanes)
            watchers.append(rtl.update)
        if not records:
            watchers.append(digest.update)
        view = arranged(array, axes, layout)
        figures = measure(
            view,
            job.algorithms,
            chunk_bytes=job.chunk_bytes,
            watchers=watchers,
            type_=_type_of(common["format"], dtype, array.itemsize),
            row=row_distance(view.shape, layout) if layout in LAYOUTS else None,
        )
        common["digest"] = common["digest"] or digest.hexdigest()
        size = figures["bytes"]
        ratios = {name: size / coded if coded else None for name, coded in figures["sizes"].items()}
        rtl_figures = rtl and rtl.finish()
        records.append(
            {**common, "layout": layout, **figures, "ratios": ratios, "rtl": rtl_figures}
        )
    return records


def _type_of(name: str, dtype: str, itemsize: int) -> str | None:
    """Type of ZVC+ for a format of the metadata: bits of 16 have no type unless it names one."""
    named = next((type_ for type_ in TYPES if name.startswith(type_)), None)
    if named and TYPES[named].bits == 8 * itemsize:
        return named
    return {"uint32": "fp32", **TYPE_OF}.get(dtype)


def _report_progress(size: int, words: np.ndarray) -> None:
    """Report the chunk ``words`` as done to the sweep. ``size`` is the sum over all chunks."""
    advance(WEIGHT * words.nbytes // size)
