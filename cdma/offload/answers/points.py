"""The model at many points: link, ratio, channels, batch, compute."""

import itertools
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from cdma.errors import UserError
from cdma.offload.builder import Wishes, build
from cdma.offload.schemes.registry import rows
from cdma.offload.times import batch_of
from cdma.progress import Bar
from cdma.sweep import Task, sweep

#: Fields of ``Wishes`` that a sweep varies.
AXES = ("link", "ratio", "channels", "batch", "compute")


@dataclass(frozen=True)
class Point:
    """Wishes and the systems to run."""

    wishes: Wishes
    schemes: tuple[str, ...] | None


def evaluate(point: Point) -> list[dict]:
    """Rows of a point, each with the values of the axes."""
    setup = build(point.wishes)
    about = {"network": point.wishes.network} | {axis: getattr(point.wishes, axis) for axis in AXES}
    about |= {"link": setup.link.effective / 1e9, "batch": setup.batch}
    return [about | row for row in rows(setup, list(point.schemes or ()) or None)]


def over(
    wishes: Wishes, axes: dict[str, Sequence], schemes: Sequence[str] | None, jobs: int = 1,
    scheduler: str | None = None,
) -> list[dict]:  # fmt: skip
    """Rows at every combination of the axes' values, in their order.

    Parameters
    ----------
    wishes : Wishes
        What does not vary.
    axes : dict
        Values by field of ``Wishes``.
    schemes : sequence of str or None
    jobs, scheduler
        See :func:`cdma.sweep.sweep`.

    Raises
    ------
    UserError
        When a point is refused, or times without a batch are swept over batches.
    """
    if wishes.times and len(axes.get("batch", ())) > 1 and batch_of(wishes.times) is None:
        raise UserError(
            f"{wishes.times}: has no column batch, so its times are of one batch only: "
            "add the column with the batch that was measured, or give one batch"
        )
    tasks = []
    for values in itertools.product(*axes.values()):
        given = dict(zip(axes, values, strict=True))
        name = ", ".join(f"{axis} {value:g}" for axis, value in given.items())
        tasks.append(Task(name, Point(replace(wishes, **given), tuple(schemes or ()) or None)))
    found = {}
    with closing(Bar(f"{len(tasks)} points", len(tasks))) as bar:
        jobs = min(jobs, len(tasks))
        for done in sweep(evaluate, tasks, jobs=jobs, scheduler=scheduler, progress=bar):
            if done.error is not None:
                raise done.error
            found[done.task.name] = done.value
    return [row for task in tasks for row in found[task.name]]
