"""Functional coverage: run the compiled model and count the bins observed at its ports."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from cdma.errors import SimulationError
from cdma.hdl.codecs import UnitConfig
from cdma.sim.compiled import play
from cdma.sim.compiled.run import Played
from cdma.sim.compiled.unit import ModelUnit
from cdma.sim.result import Scenario
from cdma.sim.units import bench_of
from cdma.verify.coverage import mixed
from cdma.verify.coverage.codecs import codec_of
from cdma.verify.coverage.monitor import observe
from cdma.verify.coverage.points import Coverage


def measure(
    unit: str,
    config: UnitConfig,
    scenarios: Iterable[Scenario],
    *,
    verilog: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Coverage:
    """Run scenarios on the compiled model and observe its ports.

    The monitor (:mod:`cdma.verify.coverage.monitor`) sees only the pins of the ports, in every
    cycle. So it counts what crossed the ports, not what the stimulus intended.

    Parameters
    ----------
    unit : str
        ``compressor`` or ``decompressor``.
    config : UnitConfig
        Size of the unit.
    scenarios : iterable of Scenario
        See :mod:`cdma.verify.coverage.scenarios`.
    verilog : str or None
        Verilog text to simulate in place of the generated design.
    progress : callable or None
        Called with a line of text for each scenario.

    Raises
    ------
    UserError
        When a tool is missing.
    SimulationError
        When the unit differs from the golden model.
    """
    points = (mixed if config.parts else codec_of(config)).points(unit, config)
    watch = mixed.observe if config.parts else observe
    coverage = Coverage(unit, config, {point.name: point for point in points})
    for played in play_each(unit, config, scenarios, verilog=verilog, progress=progress):
        watch(coverage, played.trace)
    return coverage


def play_each(
    unit: str,
    config: UnitConfig,
    scenarios: Iterable[Scenario],
    *,
    verilog: str | None,
    progress: Callable[[str], None] | None,
    counts: Path | None = None,
) -> Iterator[Played]:
    """Run scenarios as :func:`measure` does, and yield the results.

    Parameters
    ----------
    counts : Path or None
        File for Verilator's counts of each run. With ``None``, the results have a trace.
    """
    bench = bench_of(unit, config)
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
