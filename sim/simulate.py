"""Co-simulation of a unit with the golden model: packets in, what the RTL emitted out, compared."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from cdma.errors import UserError
from cdma.hdl.zvc.config import Config
from cdma.sim.compiled import play
from cdma.sim.compiled.unit import ModelUnit
from cdma.sim.result import Result, Scenario
from cdma.sim.units import BENCHES
from cdma.toolchain import simulators

#: Module that cocotb loads.
BENCH = "cdma.sim.cocotb.bench"
#: The compiled model is ``fast``; the others run under cocotb.
SIMULATORS = (*simulators.SIMULATORS, "fast")


def cosim(
    unit: str,
    packets: Sequence,
    config: Config,
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
        See :class:`Scenario`, as for ``stall`` and ``seed``.
    config : Config
        Size of the unit.
    simulator : str
        One of ``SIMULATORS``.
    **options
        Of :func:`cosim_all`.

    Raises
    ------
    UserError
        When an argument is wrong or a tool is missing.
    SimulationError
        When the simulator gives no result.
    """
    return cosim_all(unit, [Scenario(packets, stall, seed)], config, simulator, **options)[0]


def cosim_all(
    unit: str,
    scenarios: Sequence[Scenario],
    config: Config,
    simulator: str = "verilator",
    *,
    verilog: str | None = None,
    cache: str | os.PathLike | None = None,
    seconds: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[Result]:
    """Run many scenarios in one simulation; arguments as for :func:`cosim`.

    Parameters
    ----------
    verilog : str or None
        Simulated in place of what the package generates.
    cache, progress
        See :func:`cdma.toolchain.simulators.build` and :func:`cdma.toolchain.simulators.run`.
    seconds : float or None
        Wall time after which the simulation is ended; ``None`` allows ample time for its size.
    """
    if simulator not in SIMULATORS:
        raise UserError(f"Simulator must be one of {', '.join(SIMULATORS)}, not {simulator!r}")
    if simulator == "fast":
        return list(cosim_each(unit, scenarios, config, verilog, cache, seconds, progress))
    bench = _bench(unit, config)
    verilog = verilog or bench.verilog()
    stimuli = [bench.stimulus(scenario) for scenario in scenarios]
    seconds = seconds or sum(map(_ample_seconds, stimuli))
    folder = simulators.build(verilog, bench.top, simulator, cache, progress)
    reports = simulators.run(folder, bench.top, stimuli, BENCH, simulator, seconds, progress)
    return [
        bench.result(scenario, report) for scenario, report in zip(scenarios, reports, strict=True)
    ]


def cosim_each(
    unit: str,
    scenarios: Iterable[Scenario],
    config: Config,
    verilog: str | None = None,
    cache: str | os.PathLike | None = None,
    seconds: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> Iterator[Result]:
    """Run scenarios on the compiled model one by one, taking each when it is wanted.

    Arguments as for :func:`cosim_all`; ``seconds`` bounds each scenario.

    Yields
    ------
    Result
        For each scenario, before the next is taken.
    """
    bench = _bench(unit, config)
    model = ModelUnit(unit, config, verilog or bench.verilog(), cache, progress)
    for scenario in scenarios:
        stimulus = bench.stimulus(scenario)
        report = play.play(model, stimulus, seconds or _ample_seconds(stimulus), progress)
        yield bench.result(scenario, report)


def unit_verilog(unit: str, config: Config) -> str:
    """What is simulated: a unit as generated, or of a roundtrip both and a top around them."""
    return _bench(unit, config).verilog()


def _bench(unit, config):
    if unit not in BENCHES:
        raise UserError(f"Unit must be one of {', '.join(BENCHES)}, not {unit!r}")
    return BENCHES[unit](config)


def _ample_seconds(stimulus):
    return 600 + stimulus.size / 10_000
