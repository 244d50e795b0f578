"""Co-simulation of a unit: run packets, and compare the RTL's output with the golden model."""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from cdma.errors import UserError
from cdma.files import read_verilog, replacing
from cdma.hdl.codecs import UnitConfig
from cdma.sim.compiled import play
from cdma.sim.compiled.unit import ModelUnit
from cdma.sim.result import Result, Scenario
from cdma.sim.units import bench_of
from cdma.toolchain import simulators
from cdma.toolchain.waves import convert, wave_format

#: Module for cocotb.
BENCH = "cdma.sim.cocotb.bench"
#: ``fast`` is the compiled model. The others run under cocotb.
SIMULATORS = (*simulators.SIMULATORS, "fast")


def cosim(
    unit: str,
    packets: Sequence,
    config: UnitConfig,
    simulator: str = "verilator",
    stall: str | Iterable[str] | Mapping[str, str] = "never",
    seed: int = 0,
    **options,
) -> Result:
    """Run packets through a unit, back to back, and compare with the golden model.

    Parameters
    ----------
    unit : str
        ``compressor``, ``decompressor`` or ``roundtrip``.
    packets : sequence
        See :class:`Scenario`, also for ``stall`` and ``seed``. A single array is one packet.
    config : UnitConfig
        Size of the unit.
    simulator : str
        One of ``SIMULATORS``.
    **options
        Options of :func:`cosim_all`.

    Raises
    ------
    UserError
        When an argument is wrong, packets belong to another unit, or a tool is missing.
    SimulationError
        When the simulator has no result.
    """
    return cosim_all(unit, [Scenario(packets, stall, seed)], config, simulator, **options)[0]


def cosim_all(
    unit: str,
    scenarios: Sequence[Scenario],
    config: UnitConfig,
    simulator: str = "verilator",
    *,
    verilog: str | os.PathLike | None = None,
    cache: str | os.PathLike | None = None,
    seconds: float | None = None,
    progress: Callable[[str], None] | None = None,
    waves: str | os.PathLike | None = None,
) -> list[Result]:
    """Run many scenarios in one simulation. For the other arguments see :func:`cosim`.

    Parameters
    ----------
    verilog : str, path or None
        Design to simulate in place of the generated Verilog: its text or its file. The design has
        the module ``cdma_<unit>``, or for a roundtrip the modules of both units.
    cache, progress
        See :func:`cdma.toolchain.simulators.build` and :func:`cdma.toolchain.simulators.run`.
    seconds : float or None
        Wall time after which the simulation is stopped. The default depends on the size.
    waves : path or None
        File for the waveforms of all signals, ``.fst`` or ``.vcd``. The file is also written when a
        run fails. ``fast`` writes waveforms only of one scenario.
    """
    if simulator not in SIMULATORS:
        raise UserError(f"Simulator must be one of {', '.join(SIMULATORS)}, not {simulator!r}")
    if waves is not None:
        wave_format(waves, simulator)
    if simulator == "fast":
        if waves is not None and len(scenarios) > 1:
            raise UserError(f"{waves}: the fast model writes the waveforms of one scenario")
        options = (verilog, cache, seconds, progress, waves)
        return list(cosim_each(unit, scenarios, config, *options))
    bench = bench_of(unit, config)
    scenarios = [_checked(bench, scenario) for scenario in scenarios]
    text = design_text(unit, config, verilog, cache)
    stimuli = [bench.stimulus(scenario) for scenario in scenarios]
    seconds = seconds or sum(map(_ample_seconds, stimuli))
    folder = simulators.build(text, bench.top, simulator, cache, progress, waves is not None)
    waves = None if waves is None else Path(waves)
    arguments = (folder, bench.top, stimuli, BENCH, simulator, seconds, progress, waves)
    reports = simulators.run(*arguments)
    return [
        bench.result(scenario, report) for scenario, report in zip(scenarios, reports, strict=True)
    ]


def cosim_each(
    unit: str,
    scenarios: Iterable[Scenario],
    config: UnitConfig,
    verilog: str | os.PathLike | None = None,
    cache: str | os.PathLike | None = None,
    seconds: float | None = None,
    progress: Callable[[str], None] | None = None,
    waves: str | os.PathLike | None = None,
) -> Iterator[Result]:
    """Run scenarios on the compiled model one by one. Each is read when the previous one is done.

    For the arguments see :func:`cosim_all`. ``seconds`` is the limit of each scenario. Each
    scenario overwrites the waveforms of the previous one.

    Yields
    ------
    Result
        For each scenario, before the next one is read.
    """
    bench = bench_of(unit, config)
    kind = None if waves is None else wave_format(waves, "fast")
    text = design_text(unit, config, verilog, cache)
    model = ModelUnit(unit, config, text, cache, progress, has_waves=waves is not None)
    for scenario in scenarios:
        scenario = _checked(bench, scenario)
        stimulus = bench.stimulus(scenario)
        seconds_ = seconds or _ample_seconds(stimulus)
        with ExitStack() as files:
            file = vcd = None
            if waves is not None:
                file = files.enter_context(replacing(waves))
                folder = Path(files.enter_context(tempfile.TemporaryDirectory(dir=file.parent)))
                vcd = file if kind == "vcd" else folder / "dump.vcd"
            report = play.play(model, stimulus, seconds_, progress, waves=vcd)
            if kind == "fst":
                convert(vcd, file)
        result = bench.result(scenario, report)
        if result.difference:  # run again with a trace, for the cycle of the difference
            report = play.play(model, stimulus, seconds_, is_traced=True)
            result = bench.result(scenario, report)
        yield result


def design_text(
    unit: str,
    config: UnitConfig,
    verilog: str | os.PathLike | None,
    cache: str | os.PathLike | None = None,
) -> str:
    """The simulated design.

    Parameters
    ----------
    unit, config, verilog, cache
        See :func:`cosim_all`.

    Raises
    ------
    UserError
        When the unit is unknown, the file cannot be read, or a module is missing.
    """
    bench = bench_of(unit, config)
    if verilog is None:
        return bench.verilog(cache)
    if isinstance(verilog, str):
        return bench.complete(verilog)
    return bench.complete(read_verilog(verilog, bench.modules))


def _checked(bench, scenario):
    return replace(scenario, packets=bench.checked(scenario.packets))


def _ample_seconds(stimulus):
    return 600 + stimulus.size / 10_000
