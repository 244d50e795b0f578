"""The object with which a user's training function records its forward passes."""

import math
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch

from cdma.errors import UserError
from cdma.files import replacing
from cdma.tensors.capture.outputs import Outputs
from cdma.tensors.torch import as_array

#: Most steps with recorded densities.
HISTORY_STEPS = 1000
#: Least number of steps whose tensors fit in the budget, enough for runs of 2**30 steps.
LEAST_STEPS = 32
LAYOUTS = {2: "NC", 4: "NCHW"}
#: Seconds between reports of progress.
_REPORT_SECONDS = 2.0


class Thinned:
    """Items of some steps of a run of unknown length. The distance of the steps increases.

    An item is kept if the binary number of its step has at most ``bits`` significant digits. With
    one digit: steps 0, 1, 2, 4, 8, ...; with two digits: 0, 1, 2, 3, 4, 6, 8, 12, ... At first all
    items are kept. When the sum of their costs exceeds ``limit``, ``bits`` is reduced by one.

    Attributes
    ----------
    items : dict of int to object
        By step, in order.
    """

    def __init__(self, limit: int):
        self.items = {}
        self._costs = {}
        self._cost = 0
        self._limit = limit
        self._bits = 64

    def is_due(self, step: int) -> bool:
        """Whether an item of this step would be kept."""
        return step % (1 << max(0, step.bit_length() - self._bits)) == 0

    def add(self, step: int, item, cost: int) -> list:
        """Add an item. Returns the items that are removed to observe the limit."""
        self.items[step] = item
        self._costs[step] = cost
        self._cost += cost
        dropped = []
        while self._cost > self._limit and self._bits:
            self._bits -= 1
            for each in [each for each in self.items if not self.is_due(each)]:
                dropped.append(self.items.pop(each))
                self._cost -= self._costs.pop(each)
        return dropped


class Recorder:
    """Records the outputs of ReLU and pooling in training steps, within a budget.

    The recorder encloses the forward pass of each step::

        with capture(model):
            scores = model(images)

    The density of whole batches is measured at up to ``HISTORY_STEPS`` steps. Tensors are saved at
    as many steps as the budget allows. :class:`Thinned` selects the steps of both. If the tensors
    of ``LEAST_STEPS`` steps exceed the budget, only the first images of each batch are saved.

    Parameters
    ----------
    folder : Path
        Folder of the tensors ``stepNNNNNN.LAYER.npy``.
    budget : int
        Most bytes of the tensors.
    """

    def __init__(self, folder: Path, budget: int):
        self._folder = folder
        self._budget = budget
        self._part = None  # saved part of a batch, known after the first step
        self._history = Thinned(HISTORY_STEPS)
        self._saved = Thinned(budget)
        self._notes = {}
        self.steps = 0
        self._reported = -_REPORT_SECONDS

    @contextmanager
    def __call__(self, model: torch.nn.Module) -> Iterator[None]:
        """Count a step, and record the outputs of ``model`` in the block if the step is due.

        Raises
        ------
        UserError
            When the budget is too small for single images.
        """
        step = self.steps
        self.steps += 1
        self._notes = {}
        densities, samples = {}, {}
        saves = self._saved.is_due(step)

        def take(layer: str, kind: str, output: torch.Tensor) -> None:
            output = output.detach()
            if not output.numel():
                return
            densities[layer] = torch.count_nonzero(output).item() / output.numel()
            if saves:
                samples[layer] = kind, as_array(self._cut(output).cpu(), layer).copy()

        if saves or self._history.is_due(step):
            with Outputs(model, take):
                yield
        else:
            yield
        if densities and self._history.is_due(step):
            self._history.add(step, {"density": densities, "notes": self._notes}, 1)
        if samples:
            self._save(step, samples)

    def note(self, **numbers: float) -> None:
        """Add numbers to the last recorded step, such as its ``loss``."""
        for name, number in numbers.items():
            value = float(number.detach() if isinstance(number, torch.Tensor) else number)
            self._notes[name] = value if math.isfinite(value) else None  # JSON has no NaN

    def listing(self) -> dict:
        """Entries of ``capture.json`` about the tensors and the history."""
        history = self._history.items
        layers = list(dict.fromkeys(each for item in history.values() for each in item["density"]))
        notes = list(dict.fromkeys(each for item in history.values() for each in item["notes"]))
        return {
            "steps": self.steps,
            "stages": [{**item["notes"], "step": step} for step, item in self._saved.items.items()],
            "tensors": [entry for item in self._saved.items.values() for entry in item["tensors"]],
            "history": {
                "steps": list(history),
                "density": {
                    layer: [item["density"].get(layer) for item in history.values()]
                    for layer in layers
                },
                "notes": {
                    name: [item["notes"].get(name) for item in history.values()] for name in notes
                },
            },
        }

    def _cut(self, array: np.ndarray | torch.Tensor) -> np.ndarray | torch.Tensor:
        """The first images of a batch, which are saved."""
        if self._part is None or not array.ndim:
            return array
        return array[: max(1, int(len(array) * self._part))]

    def _save(self, step: int, samples: dict) -> None:
        if self._part is None:
            self._part = min(1.0, self._budget / LEAST_STEPS / _size(samples))
            samples = {layer: (kind, self._cut(array)) for layer, (kind, array) in samples.items()}
            if LEAST_STEPS * _size(samples) > self._budget:
                raise UserError(
                    f"--budget {self._budget} is too small: it must hold {LEAST_STEPS} times an "
                    f"image of every layer, {LEAST_STEPS * _size(samples)} bytes"
                )
        entries = [_entry(step, layer, *sample) for layer, sample in samples.items()]
        dropped = self._saved.add(step, {"tensors": entries, "notes": self._notes}, _size(samples))
        for entry in (entry for item in dropped for entry in item["tensors"]):
            (self._folder / entry["file"]).unlink(missing_ok=True)
        if step in self._saved.items:
            for entry, (_, array) in zip(entries, samples.values(), strict=True):
                with replacing(self._folder / entry["file"]) as path, path.open("wb") as file:
                    np.lib.format.write_array(file, array, allow_pickle=False)
            self._report(step)

    def _report(self, step: int) -> None:
        if time.monotonic() - self._reported >= _REPORT_SECONDS:
            self._reported = time.monotonic()
            print(f"step {step}: {len(self._saved.items)} saved", file=sys.stderr)


def _size(samples: dict) -> int:
    return sum(array.nbytes for _, array in samples.values())


def _entry(step: int, layer: str, kind: str, array: np.ndarray) -> dict:
    safe = re.sub(r"[^-.\w]", "_", layer)
    return {
        "file": f"step{step:06d}.{safe}.npy",
        "layer": layer,
        "kind": kind,
        "step": step,
        "shape": list(array.shape),
        "layout": LAYOUTS.get(array.ndim),
        "dtype": array.dtype.name,
        "density": np.count_nonzero(array) / array.size,
    }
