"""``.pt`` and ``.pth`` files: tensors, also in nested objects such as state dicts.

Files are loaded with ``weights_only=True``, so no code of the file runs.
"""

import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from pickle import UnpicklingError

import numpy as np

from cdma.errors import UserError, require
from cdma.golden.container.elements import numpy_dtype
from cdma.tensors.npy import unsigned


@contextmanager
def opened(path: Path) -> Iterator[dict[str, Callable[[], np.ndarray]]]:
    """Functions that return the tensors, by their keys or positions in the nested objects."""
    torch = require("torch", extra="torch", verb=str(path))
    try:
        with warnings.catch_warnings(action="ignore"):
            # Only archives can be mapped. The files of PyTorch before 1.6 are no archives.
            loaded = torch.load(
                path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path)
            )
    except UnpicklingError as error:
        raise UserError(
            f"{path}: holds Python objects or is damaged, expected tensors or a state dict"
        ) from error
    except Exception as error:  # damaged files raise many types, see npy.py
        reason = str(error).split(". ")[0] or type(error).__name__
        raise UserError(f"{path}: damaged or not a file of tensors ({reason})") from error
    yield {
        key: partial(as_array, tensor, f"{path}:{key}")
        for key, tensor in _tensors(loaded, path).items()
    }


def _tensors(loaded, path: Path) -> dict:
    import torch

    found = {}
    seen = set()  # an object may contain itself, or be in several objects
    pending = [("", loaded)]
    while pending:
        key, value = pending.pop()
        if isinstance(value, torch.Tensor):
            if key in found:
                raise UserError(f"{path}: two tensors have the name {key!r}")
            found[key] = value
        elif isinstance(value, (dict, list, tuple)) and id(value) not in seen:
            seen.add(id(value))
            items = value.items() if isinstance(value, dict) else enumerate(value)
            nested = [(f"{key}/{inner}" if key else str(inner), item) for inner, item in items]
            pending += reversed(nested)
    return found


def as_array(tensor, name: str) -> np.ndarray:
    import torch

    if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_meta:
        kind = "quantised" if tensor.is_quantized else "meta" if tensor.is_meta else "sparse"
        raise UserError(f"{name}: is a {kind} tensor, expected a dense one")
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.uint16).numpy().view(numpy_dtype("bfloat16"))
    if tensor.dtype.is_floating_point and tensor.itemsize == 1:
        kind = str(tensor.dtype).removeprefix("torch.")
        return tensor.view(torch.uint8).numpy().view(unsigned(1, kind))
    try:
        return tensor.numpy()
    except TypeError as error:  # a type that NumPy lacks, such as packed 4-bit floats
        raise UserError(
            f"{name}: elements are {tensor.dtype}, expected numbers of 1, 2, 4 or 8 bytes"
        ) from error
