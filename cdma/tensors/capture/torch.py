"""``cdma capture --torch``: record activations of a user's PyTorch model during training."""

import importlib
import importlib.util
import json
import sys
import sysconfig
import traceback
from bisect import bisect
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import cdma
from cdma.errors import UserError, require
from cdma.files import make_folder, write_text

#: Default budget in bytes.
BUDGET = 64 << 20


def run(spec: str, folder: str, budget: int, seed: int, figures: bool) -> dict:
    """Call the user's function and write the tensors, ``capture.json`` and the figures.

    If the function is interrupted, ``capture.json`` lists the tensors recorded before.

    Parameters
    ----------
    spec : str
        ``MODULE:FUNCTION``, or ``FILE.py:FUNCTION``.
    folder : str
        Folder to write. It must have no ``.npy`` files, so that two runs never mix.
    budget : int
        Most bytes of tensors.
    seed : int
        Seed of PyTorch's random numbers.
    figures : bool
        Plot density over training.

    Returns
    -------
    dict
        Content of ``capture.json``.

    Raises
    ------
    UserError
        When the function cannot be found, raises, or records nothing.
    """
    torch = require("torch", extra="torch", verb="cdma capture --torch")
    if figures:
        require("matplotlib", extra="study", verb="cdma capture --figures")
    from cdma.tensors.capture.recorder import Recorder

    function = _load(spec)
    target = make_folder(folder)
    if any(target.glob("*.npy")):
        raise UserError(f"{target}: holds .npy files already, expected a new or empty folder")
    torch.manual_seed(seed % 2**64)
    recorder = Recorder(target, budget)
    try:
        with redirect_stdout(sys.stderr):  # stdout is for the report
            function(recorder)
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"{spec} raised {_described(error)}") from error
    finally:
        report = {"name": _name(spec), "function": spec, "seed": seed, "budget": budget}
        report |= recorder.listing()
        if report["tensors"]:
            write_text(target / "capture.json", json.dumps(report, indent=2) + "\n")
    if not report["tensors"]:
        raise UserError(
            f"{spec} recorded nothing: the forward pass of each step must be inside "
            "'with capture(model):', and the model have ReLU or pooling"
        )
    if figures:
        from cdma.tensors.capture.figure import draw

        draw(report, target)
    return report


def summary(folder: str, report: dict) -> str:
    """Summary of a capture in a few lines, with a table of densities at some steps."""
    from cdma.tables import format_table

    history, tensors = report["history"], report["tensors"]
    steps = history["steps"]
    wanted = (0, *(steps[-1] ** (part / 5) for part in range(6)))
    shown = sorted({max(0, bisect(steps, step) - 1) for step in wanted})
    kinds = {tensor["layer"]: tensor["kind"] for tensor in tensors}
    rows = [
        {"layer": layer, "kind": kinds.get(layer)}
        | {at: None if values[at] is None else f"{values[at]:.1%}" for at in shown}
        for layer, values in history["density"].items()
    ]
    rows += [
        {"layer": name, "kind": "noted"} | {at: values[at] for at in shown}
        for name, values in history["notes"].items()
    ]
    columns = {"layer": "layer", "kind": "kind"}
    columns |= {at: f"step {steps[at]}" for at in shown}
    return (
        f"wrote {len(tensors)} tensors, of {len(report['stages'])} of {report['steps']} steps, and "
        f"capture.json to {folder}; density by step:\n{format_table(rows, columns)}"
    )


def _load(spec: str) -> Callable:
    where, found, name = spec.rpartition(":")
    if not found or not where or not name:
        raise UserError(f"--torch must be MODULE:FUNCTION or FILE.py:FUNCTION, not {spec!r}")
    try:
        module = _import(where)
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"{where} cannot be imported: {_described(error)}") from error
    function = getattr(module, name, None)
    if not callable(function):
        raise UserError(f"{where} has no function {name!r}")
    return function


def _import(where: str):
    if not where.endswith(".py"):
        sys.path.insert(0, str(Path.cwd()))  # as python -m does
        return importlib.import_module(where)
    path = Path(where)
    if not path.is_file():
        raise UserError(f"{where}: no such file")
    sys.path.insert(0, str(path.parent.resolve()))  # as python FILE.py does
    spec = importlib.util.spec_from_file_location(f"cdma_capture_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def _name(spec: str) -> str:
    return Path(spec.rpartition(":")[0].removesuffix(".py")).name.rpartition(".")[2]


def _described(error: Exception) -> str:
    """Exception and its place in the user's code, in a line."""
    text = f"{type(error).__name__}: {error}".strip().partition("\n")[0]
    paths = sysconfig.get_paths()
    others = (
        str(Path(cdma.__file__).parent),
        "<",
        paths["stdlib"],
        paths["purelib"],
        paths["platlib"],
    )
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(others)
    ]
    return f"{text} ({frames[-1].filename}:{frames[-1].lineno})" if frames else text
