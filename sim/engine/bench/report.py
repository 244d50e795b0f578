"""What ``make bench-engine`` saves and prints."""

from collections.abc import Callable, Sequence

from cdma.engine_config import EngineConfig
from cdma.sim.engine.bench import sweeps, targets
from cdma.sim.engine.bench.transfers import DEVICE_LATENCY, HOST_LATENCY
from cdma.tables import format_table


def measure(
    configs: Sequence[EngineConfig],
    progress: Callable[[str], None] | None = None,
) -> dict:
    """All targets, and the points of all plots.

    Parameters
    ----------
    configs : sequence of EngineConfig
        Engines whose targets are measured, and those of the plots.
    progress : callable or None
        Called with the name of each measurement.

    Returns
    -------
    dict
        ``device_latency``, ``host_latency``, ``records`` (:func:`targets.measure`) and ``sweeps``
        (:func:`sweeps.measure`), fit for JSON.

    Raises
    ------
    UserError, SimulationError
        See :func:`cdma.sim.engine.bench.transfers.trip`.
    """
    return {
        "device_latency": DEVICE_LATENCY,
        "host_latency": HOST_LATENCY,
        "records": list(targets.measure(configs, progress)),
        "sweeps": list(sweeps.measure(configs, progress)),
    }


def text(result: dict) -> str:
    """The table of targets, and how many are met."""
    rows = result["records"]
    met = sum(row["verdict"] == targets.MET for row in rows)
    table = format_table(rows, targets.COLUMNS)
    return f"{table}\n{met} of {len(rows)} met\n"
