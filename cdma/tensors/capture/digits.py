"""``cdma capture``: activations of a small network while it learns the digits of scikit-learn."""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np

from cdma.errors import UserError, require
from cdma.files import make_folder, replacing, write_text
from cdma.tables import format_table
from cdma.tensors.capture.network import Network

DATASET = "scikit-learn digits, 8 x 8 pixels"
BATCH = 64
#: Images whose activations are saved. The network is not trained on these images.
IMAGES = 64
#: Layers whose outputs are saved, and their kinds.
KINDS = {
    "relu1": "conv+relu",
    "pool1": "pool",
    "relu2": "conv+relu",
    "pool2": "pool",
    "relu3": "fc+relu",
}
#: Copies of the last stage in other types, to have words of every width.
COPIES = {"relu1": ("float16", "int8"), "pool1": ("float64", "float16", "int8")}
#: Names that files of tensors have.
_NAME = re.compile(r"step\d{4,}\.\w+(\.\w+)?\.npy")


def run(folder: str | os.PathLike, steps: Sequence[int], seed: int) -> dict:
    """Train, and write the tensors and ``capture.json``. The same seed writes the same files.

    An earlier capture in the folder is replaced when the new one is complete.

    Parameters
    ----------
    folder : path
        Folder to write, created if missing.
    steps : sequence of int
        Training steps after which tensors are saved, in ascending order. 0 is before training.
    seed : int
        Seed of weights, batches, and the split into images for training and for the test.

    Returns
    -------
    dict
        Content of ``capture.json``.

    Raises
    ------
    UserError
        When scikit-learn is missing, the folder cannot be made, or it has the ``capture.json`` of
        something else.
    """
    datasets = require("sklearn.datasets", extra="capture", verb="cdma capture")
    threads = require("threadpoolctl", extra="capture", verb="cdma capture")
    target = make_folder(folder)
    earlier = _earlier(target / "capture.json")
    with ExitStack() as files:  # they appear at its end, so that a failure leaves what was there
        save = partial(_save, files, target)
        report = _report(datasets.load_digits(), threads, steps, seed, save)
        write_text(target / "capture.json", json.dumps(report, indent=2) + "\n")
    for name in earlier - {tensor["file"] for tensor in report["tensors"]}:
        (target / name).unlink(missing_ok=True)
    return report


def summary(folder: str | os.PathLike, report: dict) -> str:
    """Summary of a capture, with a table of the density of each layer at each stage."""
    rows = {}
    for tensor in report["tensors"]:
        key = tensor["layer"], tensor["dtype"]
        row = rows.setdefault(key, {"layer": tensor["layer"], "type": tensor["dtype"]})
        row["shape"] = "x".join(map(str, tensor["shape"]))
        row[tensor["step"]] = f"{tensor['density']:.1%}"
    columns = {"layer": "layer", "type": "type", "shape": "shape"}
    accuracies = {"layer": "test accuracy"}
    for stage in report["stages"]:
        columns[stage["step"]] = f"step {stage['step']}"
        accuracies[stage["step"]] = f"{stage['test_accuracy']:.1%}"
    table = format_table([*rows.values(), accuracies], columns)
    count = len(report["tensors"])
    return f"wrote {count} tensors and capture.json to {folder}; density by step:\n{table}"


def _earlier(path: Path) -> set[str]:
    """Names of the tensors of an earlier capture, to be replaced by a new one."""
    if not path.exists():
        return set()
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
        names = {entry["file"] for entry in whole["tensors"] if whole["dataset"] == DATASET}
        if names and all(_NAME.fullmatch(name) for name in names):
            return names
    except (ValueError, KeyError, TypeError):
        pass  # another file of this name
    # Such as a long run of --torch: neither its list nor its tensors can be replaced.
    raise UserError(f"{path}: is of another capture, expected a folder without it")


def _report(digits, threads, steps: Sequence[int], seed: int, save: Callable[..., dict]) -> dict:
    """Train, save, and give the content of ``capture.json``."""
    stages = []
    tensors = []
    # One thread: several threads are slower for small products, and their number changes the sums.
    with threads.threadpool_limits(1):
        for step, accuracy, outputs in _train(digits, seed, steps):
            stages.append({"step": step, "test_accuracy": accuracy})
            print(f"step {step}: test accuracy {accuracy:.1%}", file=sys.stderr)
            tensors += [save(step, layer, outputs[layer]) for layer in KINDS]
    for layer, dtypes in COPIES.items():
        tensors += [_save_copy(save, step, layer, outputs[layer], dtype) for dtype in dtypes]
    accuracies = {stage["step"]: stage["test_accuracy"] for stage in stages}
    return {
        "dataset": DATASET,
        "network": "conv 3x3x16, ReLU, pool, conv 3x3x32, ReLU, pool, dense 64, ReLU, dense 10",
        "seed": seed,
        "batch": BATCH,
        "stages": stages,
        "tensors": [{**each, "test_accuracy": accuracies[each["step"]]} for each in tensors],
    }


def _train(
    digits, seed: int, steps: Sequence[int]
) -> Iterator[tuple[int, float, dict[str, np.ndarray]]]:
    """Yield (step, accuracy, activations of every layer) at each of ``steps``."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(digits.target))
    images = (digits.images[order, np.newaxis] / 16).astype(np.float32)  # pixels are 0 to 16
    labels = digits.target[order]
    test = len(images) // 5
    network = Network(rng, classes=10)
    for step in range(steps[-1] + 1):
        if step in steps:
            accuracy = network.accuracy(images[:test], labels[:test])
            yield step, accuracy, network.activations(images[:IMAGES])
        batch = rng.integers(test, len(images), BATCH)
        network.train(images[batch], labels[batch])


def _save(
    files: ExitStack, folder: Path, step: int, layer: str, array: np.ndarray,
    suffix: str = "", **more: float,
) -> dict:  # fmt: skip
    """Write a tensor, which appears when ``files`` closes, and return its entry of the list."""
    name = f"step{step:04d}.{layer}{suffix}.npy"
    temporary = files.enter_context(replacing(folder / name))
    with temporary.open("wb") as file:
        np.lib.format.write_array(file, array, allow_pickle=False)
    return {
        "file": name,
        "layer": layer,
        "kind": KINDS[layer],
        "step": step,
        "shape": list(array.shape),
        "layout": "NCHW" if array.ndim == 4 else "NC",
        "dtype": array.dtype.name,
        "density": np.count_nonzero(array) / array.size,
        **more,
    }


def _save_copy(
    save: Callable[..., dict], step: int, layer: str, array: np.ndarray, dtype: str
) -> dict:
    """Save in another type. int8 is quantised symmetrically: the largest value becomes 127."""
    if dtype != "int8":
        return save(step, layer, array.astype(dtype), f".{dtype}")
    scale = float(array.max()) / 127 or 1.0
    return save(step, layer, np.rint(array / scale).astype(dtype), ".int8", scale=scale)
