"""Metadata of tensors: network, layer, layout, stage of training.

The metadata is read from a ``manifest.json`` or ``capture.json`` (written by ``cdma capture``) in
the folder of the tensors' files::

    {"name": "digits",
     "tensors": [{"file": "step0020.npz", "key": "relu1", "network": "digits", "layer": "relu1",
                  "kind": "conv+relu", "layout": "NCHW", "step": 20, "format": "fp32",
                  "images": ["test 0-63"], "mode": "inference"}, ...],
     "weights_licences": {"digits": "trained here"}}

Only ``file`` is required, a file in the folder of the list. Unknown fields are ignored. ``key``
names the array in a file with several arrays. The default of ``network`` is the ``name`` of the
list, or else the name of the folder. A remark in parentheses at the end of ``layer``, such as
``relu1 (first 8 channels)``, is not part of the layer's name: the remark marks a tensor with a part
of the layer's output. ``stage``, a text with a number such as ``"train_040%"``, may replace
``step``, a finite number.
The list has the layers in the order of the network. Tensors of one network and stage with the same
``images`` contain the same images in the same order; the number of images may differ.
``weights_licences`` gives the origin of each network.
"""

import json
import math
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

from cdma.errors import UserError

FILES = ("manifest.json", "capture.json")
_REMARK = re.compile(r"\s*\([^()]*\)$")


@dataclass(frozen=True)
class Metadata:
    """Metadata of one tensor.

    Parameters
    ----------
    network, layer : str
    is_part : bool
        Whether the tensor is only a part of the layer's output.
    kind : str
        Operations of the layer, such as ``"conv+relu"``, ``"pool"`` or ``"fc+relu"``.
    layout : str or None
        Axes in the order in which they are stored, such as ``"NCHW"``.
    step : float or None
        Training step, in the unit of the list. ``None`` if the list has no step.
    stage : str
        Training step as a text.
    format : str
        Type of the elements if the type differs from the type of the array, else empty.
    images : tuple of str
        Input images of the network.
    mode : str
        Mode of the network, such as ``"inference"``.
    about : str
        Origin of the network.
    position : int
        Position in the list.
    listed_in : str
        File name of the list. Empty for a tensor in no list, whose metadata is from its name.
    """

    network: str
    layer: str
    is_part: bool = False
    kind: str = ""
    layout: str | None = None
    step: float | None = None
    stage: str = ""
    format: str = ""
    images: tuple[str, ...] = ()
    mode: str = ""
    about: str = ""
    position: int = 0
    listed_in: str = ""

    @property
    def is_pool(self) -> bool:
        """Whether the tensor is the output of a pooling layer."""
        return "pool" in (self.kind or self.layer).lower()


def read_folder(folder: Path) -> dict[tuple[str, str | None], Metadata]:
    """Metadata of the lists in a folder, by name of file and key. Empty without a list.

    Raises
    ------
    UserError
        When a list does not have the form above.
    """
    listed = {}
    for name in FILES:
        path = folder / name
        if path.is_file():
            listed |= _read(path)
    return listed


def find(listed: dict[tuple[str, str | None], Metadata], file: Path, key: str | None) -> Metadata:
    """Metadata of the array ``key`` of ``file``. For an array without an entry: from its name."""
    found = listed.get((file.name, key)) or listed.get((file.name, None))
    return found or Metadata(
        network=file.stem if key else file.resolve().parent.name, layer=key or file.stem
    )


def _read(path: Path) -> dict[tuple[str, str | None], Metadata]:
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
        return {
            (_name(entry["file"], path.parent), entry.get("key")): replace(
                _entry(entry, position, whole, path.parent.name), listed_in=path.name
            )
            for position, entry in enumerate(whole["tensors"])
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        problem = f"{type(error).__name__}: {error}"
        raise UserError(
            f"{path}: expected a list of tensors, each with a file ({problem})"
        ) from error


def _name(file: str, folder: Path) -> str:
    """Name in the folder of a list, which may give ``./a.npy`` or the whole path for ``a.npy``."""
    name = os.path.relpath(folder / file, folder)
    if Path(name).name != name:
        raise ValueError(f"{file} is no file of this folder")
    return name


def _entry(entry: dict, position: int, whole: dict, folder: str) -> Metadata:
    network = str(entry.get("network", whole.get("name", folder)))
    about = whole.get("weights_licences", {}).get(network, whole.get("network", ""))
    stage = str(entry.get("stage", ""))
    step = entry.get("step")
    number = re.search(r"\d+(\.\d+)?", stage)
    if step is None and number:
        step = number[0]
    given = str(entry.get("layer") or entry.get("key") or Path(entry["file"]).stem)
    layer = _REMARK.sub("", given) or given
    if step is not None and not math.isfinite(float(step)):
        raise ValueError(f"step of {entry['file']} must be a finite number, not {step}")
    return Metadata(
        network=network,
        layer=layer,
        is_part=layer != given,
        kind=str(entry.get("kind", "")),
        layout=None if entry.get("layout") is None else str(entry["layout"]),
        step=None if step is None else float(step),
        stage=stage or ("" if step is None else f"step {step}"),
        format=str(entry.get("format", "")),
        images=tuple(map(str, entry.get("images") or ())),
        mode=str(entry.get("mode", "")),
        about=str(about),
        position=position,
    )
