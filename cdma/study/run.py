"""Analyze many tensors on processes or a cluster. A tensor that fails does not stop the others."""

import traceback
from collections.abc import Sequence
from contextlib import closing

from cdma.errors import UserError
from cdma.progress import Bar
from cdma.study.analysis import analyze
from cdma.sweep import Task, sweep


def analyze_all(
    tasks: Sequence[Task], jobs: int, scheduler: str | None = None
) -> tuple[list[dict], dict[str, str]]:
    """Analyze the tensors of all tasks, with a progress bar on stderr.

    Parameters
    ----------
    tasks : sequence of Task
        From :func:`cdma.study.analysis.plan`.
    jobs, scheduler
        See :func:`cdma.sweep.sweep`.

    Returns
    -------
    records : list of dict
        In the order of the tasks, see :func:`cdma.study.analysis.analyze`.
    failures : dict of str to str
        Errors by the names of the tensors.
    """
    if not tasks:
        return [], {}
    total = sum(task.weight for task in tasks)
    label = f"analyzing {len(tasks)} tensor{'s' if len(tasks) > 1 else ''}"
    with closing(Bar(label, total)) as bar:
        jobs = min(jobs, len(tasks))
        sweeping = sweep(analyze, tasks, jobs=jobs, scheduler=scheduler, progress=bar)
        found = {outcome.task.name: outcome for outcome in sweeping}
    records, failures = [], {}
    for task in tasks:
        outcome = found[task.name]
        if outcome.error is None:
            records += outcome.value
            continue
        if not isinstance(outcome.error, UserError | MemoryError | OSError):
            # A fault of this program: show its place.
            traceback.print_exception(outcome.error)
        failures[task.name] = str(outcome.error) or type(outcome.error).__name__
    return records, failures


def reasons(failures: dict[str, str]) -> list[str]:
    """A line for each reason, with the names of the tensors."""
    names: dict[str, list[str]] = {}
    for name, message in failures.items():
        names.setdefault(" ".join(message.splitlines()), []).append(name)
    lines = []
    for message, group in names.items():
        others = f" and {len(group) - 1} more" if len(group) > 1 else ""
        lines.append(message if group[0] in message else f"{group[0]}{others}: {message}")
    return lines
