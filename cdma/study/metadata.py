"""What is known of tensors beside their values: network, layer, layout, stage of training.

It stands in a ``manifest.json`` or ``capture.json`` (what ``cdma capture`` writes) in the folder of
the tensors' files::

    {"name": "digits",
     "tensors": [{"file": "step0020.npz", "key": "relu1", "network": "digits", "layer": "relu1",
                  "kind": "conv+relu", "layout": "NCHW", "step": 20, "format": "fp32",
                  "images": ["test 0-63"], "mode": "inference"}, ...],
     "weights_licences": {"digits": "trained here"}}

All but ``file`` may be missing, and other fields may be there. ``key`` names the array in a file of
several. ``network`` is the list's ``name`` unless given, and else the folder's name. A remark in
parentheses at the end of ``layer``, such as ``relu1 (first 8 channels)``, is not part of its name
and says that the tensor is a part of the layer's output.
``stage``, a text with a number in it such as ``"train_040%"``, may stand in place of ``step``.
Layers are listed in the order of the network, and tensors of one network and stage with the same
``images`` are of the same images in the same order, as far as each goes. ``weights_licences`` tells
where networks come from.
"""

import json
import re
from dataclasses import dataclass
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
        Whether it is only a part of the layer's output.
    kind : str
        How the layer computes, such as ``"conv+relu"``, ``"pool"`` or ``"fc+relu"``.
    layout : str or None
        Axes in the order in which they are stored, such as ``"NCHW"``.
    step : float or None
        How far training had come, in the unit of the list; ``None`` when it is not given.
    stage : str
        The same for a reader.
    format : str
        Type of the elements, where it is not that of the array; else empty.
    images : tuple of str
        What the network was given.
    mode : str
        How it ran, such as ``"inference"``.
    about : str
        Where the network comes from.
    position : int
        Place in the list.
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

    @property
    def is_pool(self) -> bool:
        """Whether it is the output of a pooling layer."""
        return "pool" in (self.kind or self.layer).lower()


def read_folder(folder: Path) -> dict[tuple[str, str | None], Metadata]:
    """Metadata of the lists in a folder, by name of file and key; empty where there is no list.

    Raises
    ------
    UserError
        When a list is not as described above.
    """
    listed = {}
    for name in FILES:
        path = folder / name
        if path.is_file():
            listed |= _read(path)
    return listed


def find(listed: dict[tuple[str, str | None], Metadata], file: Path, key: str | None) -> Metadata:
    """Metadata of the array ``key`` of ``file``; of one that is not listed, from its name."""
    found = listed.get((file.name, key)) or listed.get((file.name, None))
    return found or Metadata(
        network=file.stem if key else file.resolve().parent.name, layer=key or file.stem
    )


def _read(path: Path) -> dict[tuple[str, str | None], Metadata]:
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
        return {
            (entry["file"], entry.get("key")): _entry(entry, position, whole, path.parent.name)
            for position, entry in enumerate(whole["tensors"])
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        problem = f"{type(error).__name__}: {error}"
        raise UserError(
            f"{path}: expected a list of tensors, each with a file ({problem})"
        ) from error


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
