"""Functional coverage: what must have been seen of a unit at least once, and what was."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cdma.hdl.config import Config
from cdma.sim import model_job
from cdma.sim.model_run import Played
from cdma.sim.model_unit import ModelUnit
from cdma.sim.result import Scenario
from cdma.sim.tools import SimulationError
from cdma.sim.units import BENCHES


@dataclass
class Point:
    """Something that is observed, and each of its kinds.

    Parameters
    ----------
    name : str
        What is observed.
    bins : iterable
        Its kinds, text, numbers or tuples of them. All must be seen, and nothing else may be.

    Attributes
    ----------
    hits : Counter
        How often each kind was seen.
    """

    name: str
    bins: list[Hashable]
    hits: Counter = field(default_factory=Counter)

    @property
    def missing(self) -> list[Hashable]:
        """Kinds that were not seen."""
        return [each for each in self.bins if not self.hits[each]]

    @property
    def unexpected(self) -> list[Hashable]:
        """Kinds that were seen and are held to be impossible."""
        return sorted(set(self.hits) - set(self.bins), key=str)


@dataclass
class Coverage:
    """What was seen of a unit.

    Attributes
    ----------
    unit : str
    config : Config
    points : dict of str to Point
        By their names.
    packets, cycles : int
        Packets and cycles of the clock that were looked at.
    """

    unit: str
    config: Config
    points: dict[str, Point]
    packets: int = 0
    cycles: int = 0

    def hit(self, name: str, kinds: Iterable[Hashable]) -> None:
        """Count what was seen at a point."""
        self.points[name].hits.update(kinds)

    @property
    def is_complete(self) -> bool:
        """Whether every kind was seen and nothing else."""
        return not any(point.missing or point.unexpected for point in self.points.values())

    @property
    def share(self) -> float:
        """Kinds that were seen, 0 to 1."""
        bins = sum(len(point.bins) for point in self.points.values())
        return 1 - sum(len(point.missing) for point in self.points.values()) / bins


def measure(
    unit: str,
    config: Config,
    scenarios: Iterable[Scenario],
    *,
    verilog: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Coverage:
    """Play scenarios on the compiled model and observe its ports.

    The observer (:mod:`cdma.sim.coverage_monitor`) sees the pins of all ports in every cycle and
    nothing else: what it counts crossed the ports, whatever the stimulus was meant to be.

    Parameters
    ----------
    unit : str
        ``compressor`` or ``decompressor``.
    config : Config
        Its size.
    scenarios : iterable of Scenario
        See :mod:`cdma.sim.coverage_scenarios`.
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
    from cdma.sim.coverage_monitor import observe
    from cdma.sim.coverage_points import points

    coverage = Coverage(unit, config, {point.name: point for point in points(unit, config)})
    for played in play_each(unit, config, scenarios, verilog=verilog, progress=progress):
        observe(coverage, played.trace)
        coverage.packets += len(played.ports["m_axis_sts"].packets)
        coverage.cycles += len(played.trace)
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
        arguments = model_job.arguments(stimulus)
        played = model.play(**arguments, is_traced=is_traced, coverage=counts)
        result = bench.result(scenario, model_job.report(stimulus, played))
        if result.problem:
            raise SimulationError(result.problem)
        if progress:
            progress(f"run {number}: {scenario.name}")
        yield played
