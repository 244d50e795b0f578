"""Bytes, time and gradients of a training step, with and without compression."""

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import torch

from cdma.golden.lossy.bound import Bound
from cdma.torch.saved import SavedTensors


def compare(
    step: Callable[[], torch.Tensor],
    parameters: Iterable[torch.nn.Parameter],
    bounds: Sequence[str | Bound | None] = (None,),
    repeats: int = 3,
    clock: Callable[[], float] = time.perf_counter,
) -> list[dict]:
    """Run a training step of your model without hooks, and with each way to store.

    Gradients of the parameters are those of the last run afterwards. The seed of PyTorch is the
    same for each run, so that dropout is.

    Parameters
    ----------
    step : callable
        Runs the forward pass and returns the loss; called with no argument.
    parameters : iterable of Parameter
        Whose gradients are compared.
    bounds : sequence
        For each row the error bound as :class:`SavedTensors` takes it; ``None`` for lossless.
    repeats : int
        Runs of each, of which the median time is taken; one more comes before.
    clock : callable
        Gives seconds; ``time.process_time`` on the CPU of a machine that does other work, too.

    Returns
    -------
    list of dict
        For the plain step and each bound, fit for JSON and for ``cdma.tables``: ``storage``,
        ``raw_bytes``, ``stored_bytes``, ``ratio``, ``seconds`` of forward and backward pass,
        ``gradient_deviation``: the norm of the difference from the plain gradient, over its norm.
    """
    parameters = [each for each in parameters if each.requires_grad]
    seconds, expected = _timed(step, parameters, None, repeats, clock)[:2]
    rows = []
    for bound in bounds:
        hooks = partial(SavedTensors, bound)
        took, gradient, saved = _timed(step, parameters, hooks, repeats, clock)
        totals = saved.totals
        rows.append(
            {
                "storage": "lossless" if bound is None else str(bound),
                "raw_bytes": totals.raw_bytes,
                "stored_bytes": totals.stored_bytes,
                "ratio": totals.ratio,
                "seconds": took,
                "gradient_deviation": _deviation(gradient, expected),
            }
        )
    raw = max((row["raw_bytes"] for row in rows), default=0)
    plain = {"storage": "PyTorch", "raw_bytes": raw, "stored_bytes": raw, "ratio": 1.0}
    return [{**plain, "seconds": seconds, "gradient_deviation": 0.0}, *rows]


def _timed(step, parameters, hooks, repeats: int, clock: Callable[[], float]):
    """Median seconds, gradient, and the hooks of the last run."""
    times = []
    for _ in range(repeats + 1):
        for each in parameters:
            each.grad = None
        saved = hooks() if hooks else None
        with torch.random.fork_rng():
            torch.manual_seed(0)
            start = clock()
            if saved is None:
                loss = step()
            else:
                with saved:
                    loss = step()
            loss.backward()
            times.append(clock() - start)
    gradients = [each.grad for each in parameters if each.grad is not None]
    gradient = torch.cat([each.detach().double().reshape(-1).cpu() for each in gradients])
    return statistics.median(times[1:]), gradient, saved


def _deviation(gradient: torch.Tensor, expected: torch.Tensor) -> float:
    norm = expected.norm().item()
    return (gradient - expected).norm().item() / norm if norm else 0.0
