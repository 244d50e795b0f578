"""Measure units: plan the steps of the flow, run them in parallel, and collect the figures."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from cdma import designs
from cdma.engine_config import ENGINE, EngineConfig
from cdma.errors import UserError
from cdma.hdl.codecs import UnitConfig
from cdma.sweep import Packed, Task, sweep
from cdma.synth.flow import asic, ecp5, engine
from cdma.synth.flow.figures import asic_figures, ecp5_figures, fpga_figures, record
from cdma.synth.flow.fpga import gowin, xilinx
from cdma.synth.liberty.library import Liberty
from cdma.toolchain.steps import Steps

#: FPGAs by name: each module maps a unit, places it where it can, and names its tools.
TARGETS = {"ecp5": ecp5, "xilinx": xilinx, "gowin": gowin}


@dataclass(frozen=True)
class Design:
    """A unit to measure.

    Parameters
    ----------
    unit : str
        Name for reports.
    config : UnitConfig or EngineConfig
        Its size.
    top : str
        Name of its module, with clock ``aclk``.
    verilog : str
        Its text.
    latency : int, optional
        Its documented latency in cycles.
    cells : str, optional
        Its text for standard cells, where that is another.
    """

    unit: str
    config: UnitConfig | EngineConfig
    top: str
    verilog: str
    latency: int | None = None
    cells: str | None = None

    @property
    def for_cells(self) -> str:
        """Text to map onto standard cells."""
        return self.cells or self.verilog

    @property
    def label(self) -> str:
        """Unit and configuration."""
        return f"{self.unit} {self.config.name}"


def generated(unit: str, config: UnitConfig | EngineConfig) -> Design:
    """Compressor, decompressor or engine as ``cdma generate`` writes it: a unit for an FPGA, and
    with ``--target asic`` for standard cells."""
    from cdma.hdl import emit

    text = designs.of(unit, config)
    if unit == ENGINE:
        from cdma.hdl.emit.engine import TOP

        return Design(unit, config, TOP, text)
    cells = designs.of(unit, replace(config, target="asic")) if config.codec == "zvc" else None
    return Design(unit, config, f"cdma_{unit}", text, emit.latency(unit, config), cells)


@dataclass(frozen=True)
class Job:
    """A step in the measurement of a design. The argument of a task.

    Parameters
    ----------
    kind : str
        ``netlist``: map for an FPGA. ``clock``: place and route this netlist. ``cells``: map onto
        standard cells, and measure the critical path.
    number : int
        Number of the design.
    design : Packed
        The :class:`Design`.
    netlist : Packed, optional
        Only for ``clock``.
    seed : int
        Only for ``clock``.
    flow : str
        FPGA, a key of :data:`TARGETS`, or for ``cells`` the script of ABC.
    liberty : Packed, optional
        Only for ``cells``.
    with_timing : bool
        Only for ``cells``.
    """

    kind: str
    number: int
    design: Packed
    netlist: Packed | None = None
    seed: int = 0
    flow: str = ""
    liberty: Packed | None = None
    with_timing: bool = True


def measure(designs: Iterable[Design], steps: Steps, **options) -> list[dict]:
    """Figures of each design; see :func:`measure_each`."""
    return list(measure_each(designs, steps, **options))


def measure_each(
    designs: Iterable[Design],
    steps: Steps,
    *,
    seeds: int = 8,
    jobs: int = 1,
    scheduler: str | None = None,
    targets: Sequence[str] = ("ecp5",),
    liberty: Liberty | None = None,
    with_timing: bool = True,
    flows: Sequence[str] | None = None,
    on_failure: Callable[[str], None] | None = None,
) -> Iterator[dict]:
    """Figures of each design, in the order of the designs.

    Parameters
    ----------
    designs : iterable of Design
        Each design is read when its first step can begin.
    steps : Steps
        Runs the tools. On a cluster, each worker caches results in its own folder of this name.
    seeds : int
        Runs of place-and-route for each design, seeds 1 to ``seeds``.
    jobs : int
        Number of tools that run at the same time without a scheduler.
    scheduler : str, optional
        Address of a Dask scheduler: the tools run on its workers.
    targets : sequence of str
        FPGAs, keys of :data:`TARGETS`.
    liberty : Liberty, optional
        Library to map onto. Without a library, the figures in standard cells are omitted.
    with_timing : bool
        Measure the critical path with OpenSTA.
    flows : sequence of str, optional
        Scripts of ABC, keys of :data:`asic.FLOWS <cdma.synth.flow.asic.FLOWS>`; all by default.
        The engine is mapped with ABC's own script only.
    on_failure : callable, optional
        Called with the reason when figures are missing because a tool fails. By default, the first
        failure is raised.

    Yields
    ------
    dict
        A :func:`~cdma.synth.flow.figures.record` for each design.

    Raises
    ------
    UserError
        When a tool is missing, or fails without ``on_failure``.
    """
    flows = (flows or list(asic.FLOWS)) if liberty else []
    library = Packed(liberty)
    gathered: list[_Gathered] = []

    def tasks():
        for number, design in enumerate(designs):
            gathered.append(_Gathered(design, flows, left=len(targets) + len(flows)))
            packed = Packed(design)
            for target in targets:
                yield _task(design.label, Job("netlist", number, packed, flow=target))
            for flow in flows:
                cells = Job("cells", number, packed, flow=flow, liberty=library)
                yield _task(design.label, replace(cells, with_timing=with_timing))

    def clocks(outcome):
        job = outcome.task.argument
        if job.kind != "netlist" or outcome.value.harnessed is None:
            return
        clock = replace(job, kind="clock", netlist=Packed(outcome.value))
        gathered[job.number].left += seeds
        for seed in range(1, seeds + 1):
            yield _task(gathered[job.number].design.label, replace(clock, seed=seed))

    def finished(has_ended):
        """Complete records of the designs that follow the yielded ones."""
        nonlocal given
        while given < len(gathered) and (has_ended or not gathered[given].left):
            given += 1
            yield gathered[given - 1].record(liberty, on_failure)

    given = 0
    work = partial(_work, steps) if scheduler is None else partial(_work_there, steps.cache)
    options = {"jobs": jobs, "scheduler": scheduler, "threads": True, "then": clocks}
    with closing(sweep(work, tasks(), **options)) as outcomes:
        for outcome in outcomes:
            job, error = outcome.task.argument, outcome.error
            if error is not None and (on_failure is None or not isinstance(error, UserError)):
                raise error
            found = gathered[job.number]
            found.left -= 1
            where = found.values if error is None else found.errors
            where[job.kind, job.seed, job.flow] = outcome.value if error is None else str(error)
            yield from finished(has_ended=False)
    yield from finished(has_ended=True)


@dataclass
class _Gathered:
    """Results of a design: values and errors by kind, seed and flow."""

    design: Design
    flows: Sequence[str]
    left: int
    values: dict[tuple, Any] = field(default_factory=dict)
    errors: dict[tuple, str] = field(default_factory=dict)

    def record(self, liberty, on_failure) -> dict:
        order = ("netlist", "clock", "cells")
        for key in sorted(self.errors, key=lambda key: (order.index(key[0]), key)):
            on_failure(self.errors[key])
        config = self.design.config
        found = {name: self._fpga(name) for name in TARGETS}
        others = {name: found[name] for name in found if name != "ecp5" and found[name]}
        silicon = None
        if liberty:
            silicon = {flow: self.values.get(("cells", 0, flow)) for flow in self.flows}
            silicon = {"library": liberty.name, **silicon}
        size = (config.name, config.lanes, config.format.word_bits)
        latency = self.design.latency
        return record(self.design.unit, *size, found["ecp5"], silicon, latency, **others)

    def _fpga(self, target: str) -> dict | None:
        """Figures on an FPGA, or ``None``."""
        netlist = self.values.get(("netlist", 0, target))
        if netlist is None:
            return None
        clocks = sorted(key for key in self.values if key[0] == "clock" and key[2] == target)
        figures = ecp5_figures if target == "ecp5" else fpga_figures
        reached = [self.values[key] for key in clocks]
        return figures(self.design.config.beat_bytes, asdict(netlist.area), reached)


def _task(label: str, job: Job) -> Task:
    which = {"netlist": f"for {job.flow}", "clock": f"{job.flow} seed {job.seed}"}
    which = which.get(job.kind, job.flow)
    return Task(f"{job.number}: {label}, {which}", job)


def _work_there(cache: str | os.PathLike | None, job: Job):
    """Run a step on a worker of a cluster."""
    return _work(Steps(cache), job)


def _work(steps: Steps, job: Job):
    design = job.design.value
    if job.kind == "netlist":
        return TARGETS[job.flow].synthesise(steps, design.label, design.top, design.verilog)
    if job.kind == "clock":
        fmax = TARGETS[job.flow].fmax
        if (design.unit, job.flow) == (ENGINE, "ecp5"):
            fmax = partial(fmax, options=ecp5.FOR_ENGINE)
        return fmax(steps, design.label, job.netlist.value, job.seed)
    return _cells(steps, design, job.flow, job.liberty.value, job.with_timing)


def _cells(steps: Steps, design: Design, flow: str, liberty: Liberty, with_timing: bool) -> dict:
    unit = (steps, design.label, design.top)
    if design.unit == ENGINE:
        whole = (*unit, design.verilog, design.config, liberty)
        return engine.cells(*whole, flow=flow, with_timing=with_timing)
    mapped = asic.synthesise(*unit, design.for_cells, liberty, flow)
    timed = asic.critical_path(*unit, mapped, liberty, flow) if with_timing else None
    period = timed.period_ns if timed else None
    width = design.config.beat_bytes
    figures = asic_figures(width, mapped.area, mapped.storage, period, liberty.nand2_area)
    if timed:
        figures["critical_path"] = f"{timed.start} to {timed.end}, {timed.gates} cells"
    return figures
