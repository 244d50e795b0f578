"""CSWAP's regression and tuner on the measured CPU codec: the method is the paper's, not the codec.

The measurements are those of ``cdma offload measure``. Decisions are at the link where compression
pays for half of the unseen tensors and nothing hides a copy: the hardest link for a regression.
"""

from pathlib import Path

import numpy as np

from cdma.offload import constants, records
from cdma.offload.tuning.measured import Measured, read
from cdma.offload.tuning.regression import Regression, relative_absolute_error
from cdma.offload.tuning.tuner import TRIALS
from cdma.offload.validate.rows import NOT_GIVEN, Row, judged

_CODEC = "measured on the CPU codec: the method is the paper's, the codec is not"
_NOISE = f"{_CODEC}, and the speed of this shared machine varied between samples"
_ERROR = "CSWAP: error of the regression of codec time, 3 bands of sparsity"
_RIGHT = "CSWAP: decisions that the regression gets right"
_TUNER = "CSWAP: tuner of chunk size and threads"
#: Most that the tuner's median may be above the best of the grid.
_NEAR = 1.2


def rows(path: Path = records.CPU) -> list[Row]:
    """Rows of the regression and of the tuner; not given without measurements."""
    error, right = constants.CSWAP_REGRESSION_ERROR, constants.CSWAP_DECISIONS
    rules = (
        f"at most {error.value:g} % on unseen samples", f"at least {right.value:g} %",
        f"median within {100 * (_NEAR - 1):.0f} % of the grid, below random",
    )  # fmt: skip
    if not path.is_file():
        reason = f"make docs/measurements/{path.name} with cdma offload measure"
        claims = (_ERROR, _RIGHT, _TUNER)
        return [
            Row(claim, "-", "-", "-", rule, NOT_GIVEN, reason)
            for claim, rule in zip(claims, rules, strict=True)
        ]
    measured = read(path)
    found = figures(measured)
    best = min(measured.seconds)
    tuned, random = np.median(measured.tuned), np.median(measured.random)
    near = tuned <= _NEAR * best and tuned < random
    shown = [
        (_ERROR, f"{error.value:g} %", f"{found['error']:.1f} %",
         f"bytes over one rate: {found['null error']:.1f} %", found["error"] <= error.value),
        (_RIGHT, f"{right.value:g} %", f"{found['right']:.1f} %",
         f"always compress: {found['always']:.1f} %", found["right"] >= right.value),
        (_TUNER, f"{TRIALS} trials", f"{100 * (tuned / best - 1):.1f} % above the grid's best",
         f"random: {100 * (random / best - 1):.1f} % above", near),
    ]  # fmt: skip
    return [
        Row(*texts, rule, judged(bool(met)), _CODEC if met else _NOISE)
        for (*texts, met), rule in zip(shown, rules, strict=True)
    ]


def figures(measured: Measured) -> dict[str, float]:
    """Errors and right decisions on the unseen samples, in percent, and those of null models."""
    sizes, sparsities, *parts = np.array(measured.samples, float).T
    seconds = np.sum(parts, axis=0)
    seen, new = slice(measured.fitted), slice(measured.fitted, None)
    predicted = Regression.fit(sizes[seen], sparsities[seen], seconds[seen])(
        sizes[new], sparsities[new]
    )
    flat = sizes[new] * seconds[seen].sum() / sizes[seen].sum()
    truth, saved = seconds[new], sizes[new] * sparsities[new]
    link = np.median(saved / truth)
    pays = saved / link > truth
    return {
        "error": 100 * relative_absolute_error(predicted, truth),
        "null error": 100 * relative_absolute_error(flat, truth),
        "right": 100 * float(np.mean((saved / link > predicted) == pays)),
        "always": 100 * float(np.mean(pays)),
    }
