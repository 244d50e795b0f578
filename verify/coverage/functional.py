"""Functional coverage: runs of the compiled model, and the kinds that were observed."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from cdma.errors import SimulationError
from cdma.hdl.zvc.config import Config
from cdma.sim.compiled import play
from cdma.sim.compiled.run import Played
from cdma.sim.compiled.unit import ModelUnit
from cdma.sim.result import Scenario
from cdma.sim.units import BENCHES
from cdma.verify.coverage.monitor import observe
from cdma.verify.coverage.points import Coverage, points


def measure(
    unit: str,
    config: Config,
    scenarios: Iterable[Scenario],
    *,
    verilog: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Coverage:
    """Play scenarios on the compiled model and observe its ports.

    The observer (:mod:`cdma.verify.coverage.monitor`) sees the pins of all ports in every cycle and
    nothing else: what it counts crossed the ports, whatever the stimulus was meant to be.

    Parameters
    ----------
    unit : str
        ``compressor`` or ``decompressor``.
    config : Config
        Its size.
    scenarios : iterable of Scenario
        See :mod:`cdma.verify.coverage.scenarios`.
    verilog : str or None
        Simulated in place of what the package generates.
    progress : callable or None
        Told what was played.

    Raises
    ------
    UserError
        When a tool is missing.
    SimulationError
        When the unit does not do what the golden model says.
    """
    coverage = Coverage(unit, config, {point.name: point for point in points(unit, config)})
    for played in play_each(unit, config, scenarios, verilog=verilog, progress=progress):
        observe(coverage, played.trace)
    return coverage


def play_each(
    unit: str,
    config: Config,
    scenarios: Iterable[Scenario],
    *,
    verilog: str | None,
    progress: Callable[[str], None] | None,
    counts: Path | None = None,
) -> Iterator[Played]:
    """Play scenarios as :func:`measure` does, and yield what was played.

    Parameters
    ----------
    counts : Path or None
        File that gets Verilator's counts of each; without it there is a trace.
    """
    bench = BENCHES[unit](config)
    is_traced = counts is None
    options = {"progress": progress, "has_coverage": not is_traced}
    model = ModelUnit(unit, config, verilog or bench.verilog(), **options)
    for number, scenario in enumerate(scenarios, 1):
        stimulus = bench.stimulus(scenario)
        arguments = play.arguments(stimulus)
        played = model.play(**arguments, is_traced=is_traced, coverage=counts)
        result = bench.result(scenario, play.report(stimulus, played))
        if result.problem:
            raise SimulationError(result.problem)
        if progress:
            progress(f"run {number}: {scenario.name}")
        yield played
