"""Measures units: plans the steps of the flow, runs them side by side, and gathers the figures."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass

from cdma.errors import UserError
from cdma.hdl.zvc.config import Config
from cdma.synth.flow import asic, ecp5
from cdma.synth.flow.figures import asic_figures, ecp5_figures, record
from cdma.synth.liberty.library import Liberty
from cdma.toolchain.steps import Steps


@dataclass(frozen=True)
class Design:
    """A unit to measure.

    Parameters
    ----------
    unit : str
        Name for reports.
    config : Config
        Its size.
    top : str
        Name of its module, with clock ``aclk``.
    verilog : str
        Its text.
    latency : int, optional
        Its documented latency in cycles.
    """

    unit: str
    config: Config
    top: str
    verilog: str
    latency: int | None = None

    @property
    def label(self) -> str:
        """Unit and configuration."""
        return f"{self.unit} {self.config.name}"


def generated(unit: str, config: Config) -> Design:
    """Compressor or decompressor as ``cdma generate`` writes it."""
    from cdma.hdl import emit

    text = emit.verilog(unit, config)
    return Design(unit, config, f"cdma_{unit}", text, emit.latency(unit, config))


def measure(
    designs: Sequence[Design],
    steps: Steps,
    *,
    seeds: int = 8,
    jobs: int = 1,
    with_ecp5: bool = True,
    liberty: Liberty | None = None,
    with_timing: bool = True,
    flows: Sequence[str] | None = None,
    on_failure: Callable[[str], None] | None = None,
) -> list[dict]:
    """Figures of each design.

    Parameters
    ----------
    designs : sequence of Design
    steps : Steps
        Runs the tools.
    seeds : int
        Runs of place-and-route for each design, seeds 1 to ``seeds``.
    jobs : int
        Tools at work at a time.
    with_ecp5 : bool
        Whether to map for ECP5.
    liberty : Liberty, optional
        Library to map onto; none leaves the figures in standard cells out.
    with_timing : bool
        Whether to time them with OpenSTA.
    flows : sequence of str, optional
        Scripts of ABC, keys of :data:`asic.FLOWS <cdma.synth.flow.asic.FLOWS>`; all by default.
    on_failure : callable, optional
        Told why figures are missing when a tool fails; without it the first failure ends all.

    Returns
    -------
    list of dict
        A :func:`~cdma.synth.flow.figures.record` for each design.

    Raises
    ------
    UserError
        When a tool is missing, or fails without ``on_failure``.
    """
    flows = (flows or list(asic.FLOWS)) if liberty else []

    def result(future: Future):
        try:
            return future.result()
        except UserError as error:
            if on_failure is None:
                raise
            on_failure(str(error))
            return None

    def cells(design: Design, flow: str) -> dict:
        unit = (steps, design.label, design.top)
        mapped = asic.synthesise(*unit, design.verilog, liberty, flow)
        timed = asic.critical_path(*unit, mapped, liberty, flow) if with_timing else None
        width = design.config.beat_bytes
        figures = asic_figures(
            width,
            mapped.area,
            mapped.storage,
            timed.period_ns if timed else None,
            liberty.nand2_area,
        )
        if timed:
            figures["critical_path"] = f"{timed.start} to {timed.end}, {timed.gates} cells"
        return figures

    def netlist(design: Design) -> ecp5.Netlist:
        return ecp5.synthesise(steps, design.label, design.top, design.verilog)

    def clock(design: Design, seed: int) -> float:
        return ecp5.fmax(steps, design.label, netlists[design].result(), seed)

    with _Pool(jobs) as pool:
        # All that a clock waits for stands before it in the queue, so that none waits for ever.
        netlists = {design: pool.start(netlist, design) for design in designs if with_ecp5}
        mapped = {(d, flow): pool.start(cells, d, flow) for d in designs for flow in flows}
        clocks = {
            design: [pool.start(clock, design, seed + 1) for seed in range(seeds)]
            for design in netlists
        }
        records = []
        for design in designs:
            lattice = silicon = None
            if with_ecp5 and (found := result(netlists[design])) is not None:
                reached = [result(future) for future in clocks[design]]
                reached = [mhz for mhz in reached if mhz is not None]
                lattice = ecp5_figures(design.config.beat_bytes, asdict(found.area), reached)
            if liberty:
                silicon = {flow: result(mapped[design, flow]) for flow in flows}
                silicon = {"library": liberty.name, **silicon}
            records.append(
                record(
                    design.unit,
                    design.config.name,
                    design.config.lanes,
                    design.config.format.word_bits,
                    lattice,
                    silicon,
                    design.latency,
                )
            )
        return records


class _Pool:
    """Threads that wait for tools; what has not begun is dropped when one of them fails."""

    def __init__(self, jobs: int):
        self._executor = ThreadPoolExecutor(jobs)
        self._futures = []

    def start(self, function: Callable, *arguments):
        self._futures.append(self._executor.submit(function, *arguments))
        return self._futures[-1]

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._executor.shutdown(cancel_futures=True)
