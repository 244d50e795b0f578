"""Analyze tensors and write the figures to files. The files are checked before the analysis."""

import os
from collections.abc import Sequence
from contextlib import ExitStack

from cdma.errors import UserError, require
from cdma.files import encoded, make_folder, replacing
from cdma.study import run
from cdma.study.report import tables
from cdma.sweep import Task


def analyze_into(
    tasks: Sequence[Task],
    failures: dict[str, str],
    *,
    csv: str | os.PathLike | None = None,
    figures: str | os.PathLike | None = None,
    jobs: int = 1,
    scheduler: str | None = None,
) -> list[dict]:
    """Analyze the tensors of all tasks, and write the CSV file.

    The caller draws the figures, when it has reported the records: a figure that fails then costs
    nothing else.

    Parameters
    ----------
    tasks : sequence of Task
        From :func:`cdma.study.analysis.plan`.
    failures : dict of str to str
        Receives the error of each tensor that could not be analyzed, by the name of the tensor.
    csv : path, optional
        File for all figures.
    figures : path, optional
        Folder for figures, created if missing.
    jobs, scheduler
        See :func:`cdma.sweep.sweep`.

    Returns
    -------
    list of dict
        Records in the order of the tasks, see :func:`cdma.study.analysis.analyze`.

    Raises
    ------
    UserError
        When a file cannot be written, matplotlib is missing, or no tensor could be analyzed.
    """
    with ExitStack() as outputs:
        if figures:
            require("matplotlib", extra="study", verb="--figures")
            make_folder(figures)
        if csv:
            file = outputs.enter_context(replacing(csv))
        records, failed = run.analyze_all(tasks, jobs, scheduler)
        failures |= failed
        if not records:
            raise UserError("; ".join(run.reasons(failures)))
        if csv:
            file.write_bytes(encoded(tables.as_csv(records)))
    return records
