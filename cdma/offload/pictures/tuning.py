"""The tuner's posterior over its space."""

from collections.abc import Sequence

import numpy as np

from cdma.offload.pictures.canvas import GREY
from cdma.offload.tuning.tuner import Trial, coordinates, posterior


def draw_posterior(
    figure, space: Sequence[tuple[int, int]], trials: Sequence[Trial],
    measured: Sequence[float] | None = None,
) -> None:  # fmt: skip
    """Mean and two deviations of the Gaussian process after all trials, a panel per threads.

    Parameters
    ----------
    figure : Figure
    space : sequence of (int, int)
        Words of a chunk, and threads.
    trials : sequence of Trial
        Seconds at points of the space.
    measured : sequence of float or None
        Seconds at every point, where they are known.
    """
    chosen = [list(space).index(trial.point) for trial in trials]
    values = np.log([trial.value for trial in trials])
    mean, deviation = posterior(coordinates(space), chosen, values)
    threads = sorted({point[1] for point in space})
    figure.set_size_inches(1 + 3 * len(threads), 3.2)
    panels = figure.subplots(1, len(threads), sharey=True, squeeze=False)[0]
    for axes, thread in zip(panels, threads, strict=True):
        mine = [k for k, point in enumerate(space) if point[1] == thread]
        words = [space[k][0] for k in mine]
        low, middle, high = (1e3 * np.exp(mean[mine] + z * deviation[mine]) for z in (-2, 0, 2))
        axes.fill_between(words, low, high, alpha=0.2, lw=0)
        axes.plot(words, middle, label="posterior, 2 deviations")
        if measured is not None:
            y = [1e3 * measured[k] for k in mine]
            axes.plot(words, y, ".", ms=2, color=GREY, label="measured", zorder=1)
        tried = [(t.point[0], 1e3 * t.value) for t in trials if t.point[1] == thread]
        if tried:
            axes.plot(*zip(*tried, strict=True), "o", ms=4, color="#d95f0e", label="trials")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xlabel("words of a chunk")
        axes.set_title(f"{thread} thread" + "s" * (thread > 1), loc="left", fontsize=9)
    panels[0].set_ylabel("compress and decompress, ms")
    panels[0].legend(fontsize=7)
