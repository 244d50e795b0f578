"""``cdma capture``: real activations, of a small built-in network or of your PyTorch model."""

import argparse
import json
import sys

from cdma.errors import UserError, require
from cdma.files import make_folder, replacing, write_text

STEPS = (0, 20, 100, 500)
BATCH = 64
#: Images whose activations are saved, none of them trained on.
IMAGES = 64
LAYERS = ("relu1", "pool1", "relu2", "pool2", "relu3")
#: Copies of the last stage in other types, so that there are words of every width.
COPIES = {"relu1": ("float16", "int8"), "pool1": ("float64", "float16", "int8")}
_UNITS = {"K": 10, "M": 20, "G": 30}
KINDS = {"relu3": "fc+relu", "pool1": "pool", "pool2": "pool"}

EPILOG = """\
Trains a network of two convolutions and two dense layers on the digits of scikit-learn (8 x 8
pixels, four fifths for training). It saves the outputs of ReLU and pooling for 64 test images:
layout NCHW, float32, 2.5 MB in all. The same seed on the same machine gives the same files.
capture.json lists them with shape, density and the accuracy on the other fifth.

With --torch it calls your function, which trains your PyTorch model, and records every output of
ReLU and pooling, as modules or as functions. The function gets an object to put around the forward
pass of each training step, and may note numbers of that step:

  def train(capture):
      ...
      for images, labels in batches:
          with capture(model):
              scores = model(images)
          loss = ...
          capture.note(loss=loss)
          ...

Density is measured on whole batches, at up to 1000 steps. Tensors are saved at as many steps as
--budget allows, of large batches only the first images. Steps are close together at first and then
further apart, because density changes most at first. Code that torch.compile or TorchScript has
compiled is not recorded.

example:
  cdma capture -o activations
  cdma compress activations/step0500.relu2.npy -o relu2.zvc
  cdma capture --torch examples/digits_torch.py:train -o digits --budget 16M --figures
"""


def add_parser(subparsers) -> None:
    """Add the verb ``capture``."""
    parser = subparsers.add_parser(
        "capture",
        help="train a small network and save its activations",
        description="Train a small ReLU network for a few seconds and save its activations at "
        "several stages of training.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "-o", "--output", required=True, metavar="DIR", help="folder to write to, made if missing"
    )
    parser.add_argument(
        "--steps",
        type=_steps,
        metavar="N,N",
        help="steps of training after which to save, rising; 0 is before training "
        f"(default: {','.join(map(str, STEPS))})",
    )
    parser.add_argument(
        "--seed",
        type=_natural,
        default=0,
        metavar="N",
        help="seed of weights, batches and split (default: 0)",
    )
    torch = parser.add_argument_group("your own models")
    torch.add_argument(
        "--torch",
        metavar="MODULE:FUNCTION",
        help="function that trains a PyTorch model; also FILE.py:FUNCTION",
    )
    torch.add_argument(
        "--budget",
        type=_bytes,
        metavar="BYTES",
        help="bytes of tensors to save, such as 500M (default: 64M)",
    )
    torch.add_argument(
        "--figures",
        action="store_true",
        help="also write density.svg and density.png: density over training",
    )
    parser.add_argument("--json", action="store_true", help="print capture.json")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Train, save, report."""
    if args.torch is not None:
        return _run_torch(args)
    if args.budget is not None or args.figures:
        raise UserError("--budget and --figures need --torch")
    steps = args.steps or STEPS
    datasets = require("sklearn.datasets", extra="capture", verb="cdma capture")
    threads = require("threadpoolctl", extra="capture", verb="cdma capture")
    folder = make_folder(args.output)
    stages = []
    tensors = []
    # One thread: products this small lose time to more, and their sums would vary with the number.
    with threads.threadpool_limits(1):
        for step, accuracy, outputs in _train(datasets.load_digits(), args.seed, steps):
            stages.append({"step": step, "test_accuracy": accuracy})
            print(f"step {step}: test accuracy {accuracy:.1%}", file=sys.stderr)
            tensors += [_save(folder, step, layer, outputs[layer]) for layer in LAYERS]
    for layer, dtypes in COPIES.items():
        for dtype in dtypes:
            tensors.append(_save_copy(folder, step, layer, outputs[layer], dtype))
    accuracies = {stage["step"]: stage["test_accuracy"] for stage in stages}
    for tensor in tensors:
        tensor["test_accuracy"] = accuracies[tensor["step"]]
    report = {
        "dataset": "scikit-learn digits, 8 x 8 pixels",
        "network": "conv 3x3x16, ReLU, pool, conv 3x3x32, ReLU, pool, dense 64, ReLU, dense 10",
        "seed": args.seed,
        "batch": BATCH,
        "stages": stages,
        "tensors": tensors,
    }
    text = json.dumps(report, indent=2) + "\n"
    write_text(folder / "capture.json", text)
    print(text if args.json else _summary(folder, report), end="")
    return 0


def _run_torch(args: argparse.Namespace) -> int:
    from cdma.tensors.capture import torch

    if args.steps is not None:
        raise UserError("--steps cannot be used with --torch: the function defines the steps")
    budget = torch.BUDGET if args.budget is None else args.budget
    report = torch.run(args.torch, args.output, budget, args.seed, args.figures)
    print(json.dumps(report, indent=2) if args.json else torch.summary(args.output, report))
    return 0


def _train(digits, seed: int, steps: tuple[int, ...]):
    """Yield (step, accuracy, activations of every layer) at each of ``steps``."""
    import numpy as np

    from cdma.tensors.capture.network import Network

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


def _save(folder, step: int, layer: str, array, suffix: str = "", **more) -> dict:
    """Write a tensor; give what ``capture.json`` says about it."""
    import numpy as np

    name = f"step{step:04d}.{layer}{suffix}.npy"
    with replacing(folder / name) as temporary, temporary.open("wb") as file:
        np.lib.format.write_array(file, array, allow_pickle=False)
    return {
        "file": name,
        "layer": layer,
        "kind": KINDS.get(layer, "conv+relu"),
        "step": step,
        "shape": list(array.shape),
        "layout": "NCHW" if array.ndim == 4 else "NC",
        "dtype": array.dtype.name,
        "density": np.count_nonzero(array) / array.size,
        **more,
    }


def _save_copy(folder, step: int, layer: str, array, dtype: str) -> dict:
    """``_save`` in another type; int8 is quantised symmetrically, the largest value being 127."""
    import numpy as np

    if dtype != "int8":
        return _save(folder, step, layer, array.astype(dtype), f".{dtype}")
    scale = float(array.max()) / 127 or 1.0
    return _save(folder, step, layer, np.rint(array / scale).astype(dtype), ".int8", scale=scale)


def _summary(folder, report: dict) -> str:
    from cdma.tables import format_table

    rows = {}
    for tensor in report["tensors"]:
        shape = "x".join(map(str, tensor["shape"]))
        key = tensor["layer"], tensor["dtype"]
        row = rows.setdefault(key, {"layer": tensor["layer"], "type": tensor["dtype"]})
        row["shape"] = shape
        row[tensor["step"]] = f"{tensor['density']:.1%}"
    columns = {"layer": "layer", "type": "type", "shape": "shape"}
    accuracies = {"layer": "test accuracy"}
    for stage in report["stages"]:
        columns[stage["step"]] = f"step {stage['step']}"
        accuracies[stage["step"]] = f"{stage['test_accuracy']:.1%}"
    table = format_table([*rows.values(), accuracies], columns)
    count = len(report["tensors"])
    return f"wrote {count} tensors and capture.json to {folder}; density by step:\n{table}\n"


def _natural(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"must be an integer, zero or more, not {text!r}")
    return int(text)


def _bytes(text: str) -> int:
    number, unit = (text[:-1], text[-1]) if text[-1:] in _UNITS else (text, "")
    size = _natural(number) << _UNITS.get(unit, 0)
    if not size:
        raise argparse.ArgumentTypeError("must be a byte or more")
    return size


def _steps(text: str) -> tuple[int, ...]:
    steps = tuple(map(_natural, text.split(",")))
    if list(steps) != sorted(set(steps)):
        raise argparse.ArgumentTypeError(f"must rise, not {text!r}")
    return steps
