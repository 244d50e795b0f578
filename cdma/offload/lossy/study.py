"""Bytes on disk of error-bounded codecs, by network and error bound."""

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from cdma.errors import UserError, reason_of, refusals_as_user_errors
from cdma.files import write_text
from cdma.golden.lossy.bound import Bound
from cdma.golden.zvc.words import to_words
from cdma.offload import records
from cdma.offload.lossy.codecs import CODECS, entropy_bytes
from cdma.offload.profiles import last_stage, misfit
from cdma.progress import Bar
from cdma.tables import format_table
from cdma.tensors.load import load_tensor

BOUNDS = ("rel=0.01", "rel=0.03", "rel=0.1")
_KEYS = ("bytes", "largest_error", "zeros_kept")


def measure(
    arguments: Sequence[str],
    bounds: Sequence[str] = BOUNDS,
    left_out: list[str] | None = None,
) -> list[dict]:
    """A row for each network and bound.

    Parameters
    ----------
    arguments : sequence of str
        Files and folders of tensors; of every network the float32 tensors of its last stage.
    bounds : sequence of str
        As :meth:`Bound.parse` takes them.
    left_out : list of str, optional
        Receives a line for each tensor that is not float32, and for each that has no such bound: it
        is empty, or has no two different values that a relative bound would be of.

    Returns
    -------
    list of dict
        ``network``, ``bound``, ``tensors``, ``raw_bytes``, ``entropy_bytes``, and for each codec
        that is installed a mapping of ``bytes`` on disk, ``largest_error`` over the bound, and
        ``zeros_kept``, the share of zeros that are read back as zeros.

    Raises
    ------
    UserError
        When there is no tensor, or a bound is refused or is one of no tensor.
    """
    left_out = [] if left_out is None else left_out
    with refusals_as_user_errors():
        parsed = [Bound.parse(text) for text in bounds]
    chosen = last_stage(arguments)
    if not chosen:
        raise UserError(f"{', '.join(map(str, arguments))}: no float32 tensor in it")
    found: dict[tuple[str, str], dict] = {}
    with closing(Bar(f"{len(chosen)} tensors", len(chosen))) as bar:
        for k, (name, data) in enumerate(chosen):
            array = load_tensor(name)
            reason = misfit(name, array)
            if reason:
                left_out.append(reason)
            for bound in () if reason else parsed:
                try:
                    error = _largest_error(array, bound)
                except ValueError as problem:
                    left_out.append(f"{name}, {bound}: {problem}")
                    continue
                _add(found.setdefault((data.network, str(bound)), {}), array, error)
            bar(k + 1)
    if not found:
        raise UserError(f"no float32 tensor with such a bound: {'; '.join(left_out)}")
    return [
        {"network": network, "bound": bound} | totals
        for (network, bound), totals in sorted(found.items())
    ]


def _largest_error(array: np.ndarray, bound: Bound) -> float:
    """Bound of the tensor's error; raises ValueError when the tensor has none."""
    if not array.size:
        raise ValueError("it is empty")
    return bound.of(to_words(array), "float32")


def _add(totals: dict, array: np.ndarray, error: float) -> None:
    """Add a tensor to the row of its network."""
    zeros = array == 0
    totals["tensors"] = totals.get("tensors", 0) + 1
    totals["raw_bytes"] = totals.get("raw_bytes", 0) + array.nbytes
    totals["entropy_bytes"] = totals.get("entropy_bytes", 0) + round(entropy_bytes(array, error))
    before = totals.get("zeros", 0)
    totals["zeros"] = before + int(zeros.sum())
    for key, codec in CODECS.items():
        if not codec.is_there:
            continue
        size, back = codec.run(array, error)
        worst = float(np.abs(array.astype(float) - back).max() / error)
        kept = float((back[zeros] == 0).sum())
        old = totals.setdefault(key, dict.fromkeys(_KEYS, 0.0))
        share = (old["zeros_kept"] * before + kept) / max(totals["zeros"], 1)
        worst = max(old["largest_error"], worst)
        totals[key] = dict(zip(_KEYS, (int(old["bytes"]) + size, worst, share), strict=True))


def table(rows: Sequence[Mapping], style: str = "text") -> str:
    """Ratios of raw bytes to bytes on disk."""
    columns = {"network": "network", "bound": "error bound"}
    columns |= {key: codec.title for key, codec in CODECS.items() if key in rows[0]}
    columns["entropy"] = "entropy of lossy ZVC"
    shown = [
        row
        | {key: row["raw_bytes"] / row[key]["bytes"] for key in CODECS if key in row}
        | {"entropy": row["raw_bytes"] / row["entropy_bytes"]}
        for row in rows
    ]
    return format_table(shown, columns, style)


def guarantees(rows: Sequence[Mapping], style: str = "text") -> str:
    """Largest error over the bound and fewest zeros kept, of all rows, by codec."""
    found = []
    for key, codec in CODECS.items():
        if key not in rows[0]:
            continue
        error = max(row[key]["largest_error"] for row in rows)
        kept = min(row[key]["zeros_kept"] for row in rows)
        found.append({"codec": codec.title, "error": error, "kept": f"{kept:.1%}"})
    columns = {"codec": "codec", "error": "largest error / bound", "kept": "zeros kept, at least"}
    return format_table(found, columns, style)


def save(rows: Sequence[Mapping], path: str | Path, left_out: Sequence[str] = ()) -> None:
    """Write as JSON, a row on a line, and what was left out."""
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    more = f',\n"left_out": {json.dumps(list(left_out))}' if left_out else ""
    write_text(path, f'{{"rows": [\n{lines}\n]{more}}}\n')


def read(path: str | Path = records.LOSSY) -> list[dict]:
    """Rows that :func:`save` wrote; raises UserError when the file is no such file."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))["rows"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: cannot read these measurements ({reason_of(error)})") from None
