"""Co-simulation of a unit with the golden model: packets in, what the RTL emitted out, compared."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from cdma import golden
from cdma.errors import UserError
from cdma.golden.words import format_for, to_words
from cdma.hdl.config import Config
from cdma.sim import chain, model_job, throughput, tools
from cdma.sim.backpressure import per_port
from cdma.sim.compare import Expected, first_difference, wrong_count
from cdma.sim.job import Drain, Feed, Report, Stimulus
from cdma.sim.model_unit import ModelUnit

UNITS = ("compressor", "decompressor", "roundtrip")
#: The compiled model is ``fast``; the others run under cocotb.
SIMULATORS = (*tools.SIMULATORS, "fast")


@dataclass(frozen=True)
class Scenario:
    """Packets for a unit and how they are played, from reset.

    Parameters
    ----------
    packets : list
        Compressor and roundtrip: arrays of words. Decompressor: pairs of a stream (bytes) and the
        number of words to give.
    stall : str, iterable of str or mapping
        Back-pressure, see :func:`cdma.sim.backpressure.per_port`.
    seed : int
        Seeds back-pressure and junk.
    name : str
        Shown when the scenario fails.
    reset_at : int or None
        Reset in this cycle, then start again from the first packet.
    is_dirty : bool
        Drive junk where a unit must not look.
    """

    packets: Sequence
    stall: str | Iterable[str] | Mapping[str, str] = "never"
    seed: int = 0
    name: str = ""
    reset_at: int | None = None
    is_dirty: bool = False


@dataclass(frozen=True)
class PacketResult:
    """One packet as the RTL dealt with it; cycles count from reset.

    Attributes
    ----------
    output : bytes
        What the RTL emitted.
    status : tuple of int
        The status record: (words in, bytes out) or (bytes consumed, error code).
    link : bytes or None
        Of a roundtrip, the stream between the units.
    link_status : tuple of int or None
        Of a roundtrip, the compressor's status record.
    """

    output: bytes
    status: tuple[int, int]
    beats_in: int
    beats_out: int
    first_cycle: int
    last_cycle: int
    status_cycle: int
    link: bytes | None = None
    link_status: tuple[int, int] | None = None

    @property
    def cycles(self) -> int:
        """From the first input handshake to the last output handshake, both included."""
        return self.last_cycle - self.first_cycle + 1


@dataclass(frozen=True)
class Result:
    """A scenario as the RTL dealt with it.

    Attributes
    ----------
    packets : list of PacketResult
        As many as came out whole.
    stalls : dict of str to int
        Cycles with ``tvalid`` and without ``tready``, by port prefix.
    bound : int or None
        Most cycles by the throughput rule; ``None`` where the rule says nothing (back-pressure,
        malformed streams, roundtrip).
    failure : str
        Rule of the stream that was broken, or empty.
    difference : str
        First difference from the golden model, or empty.
    """

    unit: str
    config: Config
    scenario: Scenario
    packets: list[PacketResult]
    stalls: dict[str, int] = field(default_factory=dict)
    bound: int | None = None
    failure: str = ""
    difference: str = ""

    @property
    def cycles(self) -> int:
        """From the first input handshake to the last output handshake, both included."""
        if not self.packets:
            return 0
        return self.packets[-1].last_cycle - self.packets[0].first_cycle + 1

    @property
    def is_fast_enough(self) -> bool | None:
        """Verdict of the throughput rule, ``None`` where it says nothing."""
        return None if self.bound is None else self.cycles <= self.bound

    @property
    def problem(self) -> str:
        """What is wrong, in one line; empty when nothing is."""
        where = f"{self.unit} {self.config.name}"
        if self.scenario.name:
            where += f", {self.scenario.name} (seed {self.scenario.seed})"
        if self.failure or self.difference:
            return f"{where}: {self.failure or self.difference}"
        if self.is_fast_enough is False:
            return f"{where}: took {self.cycles} cycles, at most {self.bound} expected"
        return ""


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
        See :func:`cdma.sim.tools.build` and :func:`cdma.sim.tools.run`.
    seconds : float or None
        Wall time after which the simulation is ended; ``None`` allows ample time for its size.
    """
    if unit not in UNITS:
        raise UserError(f"Unit must be one of {', '.join(UNITS)}, not {unit!r}")
    if simulator not in SIMULATORS:
        raise UserError(f"Simulator must be one of {', '.join(SIMULATORS)}, not {simulator!r}")
    bench = _BENCHES[unit](config)
    verilog = verilog or bench.verilog()
    stimuli = [bench.stimulus(scenario) for scenario in scenarios]
    if seconds is None:
        seconds = 600 + sum(stimulus.size for stimulus in stimuli) / 10_000
    if simulator == "fast":
        model = ModelUnit(unit, config, verilog, cache, progress)
        reports = model_job.run(model, stimuli, seconds, progress)
    else:
        folder = tools.build(verilog, bench.top, simulator, cache, progress)
        reports = tools.run(folder, bench.top, stimuli, simulator, seconds, progress)
    return [
        bench.result(scenario, report) for scenario, report in zip(scenarios, reports, strict=True)
    ]


class _Bench:
    """How one unit is fed and what it owes; subclasses say it for each unit."""

    unit: str

    def __init__(self, config):
        self.config = config
        self.format = config.format
        self.top = f"cdma_{self.unit}"

    def verilog(self):
        return _emit().verilog(self.unit, self.config)

    def stimulus(self, scenario):
        profiles = {port: profile.text for port, profile in per_port(scenario.stall).items()}
        count = len(scenario.packets)
        inputs = {
            prefix: Feed(packets, profiles[port], port)
            for prefix, port, packets in self.feeds(scenario.packets)
        }
        outputs = {prefix: Drain(count, profiles[port], port) for prefix, port in self.drains}
        return Stimulus(
            inputs,
            outputs,
            dict.fromkeys(self.watched, count),
            scenario.seed,
            scenario.reset_at,
            scenario.is_dirty,
            self.keep_bytes,
        )

    drains = (("m_axis", "sink"), ("m_axis_sts", "status"))
    watched = ()
    keep_bytes = 1

    @property
    def owing(self):
        """Prefixes of the ports that owe one packet or record for each packet fed."""
        return (*(prefix for prefix, _ in self.drains), *self.watched)

    def result(self, scenario, report: Report):
        if not report.packets:
            return Result(self.unit, self.config, scenario, [], failure=report.failure)
        packets = self.packets(report)
        expected = [self.expected(packet) for packet in scenario.packets]
        counts = {name: len(report.packets[name]) for name in self.owing}
        difference = first_difference(packets, expected, self.config)
        difference = difference or wrong_count(counts, len(expected))
        return Result(
            self.unit,
            self.config,
            scenario,
            packets,
            report.stalls,
            self.bound(scenario, expected),
            report.failure,
            difference,
        )

    def packets(self, report):
        ports = report.packets
        found = zip(ports["s_axis"], ports["m_axis"], ports["m_axis_sts"], strict=False)
        return [
            PacketResult(
                output=after.data,
                status=_record(status.data),
                beats_in=before.beats,
                beats_out=after.beats,
                first_cycle=before.first_cycle,
                last_cycle=after.last_cycle,
                status_cycle=status.first_cycle,
            )
            for before, after, status in found
        ]

    def bound(self, scenario, expected):
        is_willing = all(profile.text == "never" for profile in per_port(scenario.stall).values())
        if not is_willing or not all(packet.is_well_formed for packet in expected):
            return None
        latency = _emit().latency(self.unit, self.config)
        return throughput.most_cycles([p.words for p in expected], self.config, latency)


class _Compressor(_Bench):
    unit = "compressor"

    def __init__(self, config):
        super().__init__(config)
        self.keep_bytes = config.format.word_bytes

    def feeds(self, packets):
        return [("s_axis", "source", [_words(p, self.format).tobytes() for p in packets])]

    def expected(self, packet):
        words = _words(packet, self.format)
        stream = golden.compress(words, self.format).tobytes()
        return Expected(words, stream, (words.size, len(stream)), unit_bytes=1)


class _Decompressor(_Bench):
    unit = "decompressor"

    def feeds(self, packets):
        return [
            ("s_axis", "source", [bytes(stream) for stream, _ in packets]),
            ("s_axis_cmd", "command", [_command(count) for _, count in packets]),
        ]

    def expected(self, packet):
        stream, count = packet
        data = np.frombuffer(bytes(stream), np.uint8)
        words, consumed, code = golden.salvage(data, count, self.format)
        return Expected(
            words, words.tobytes(), (consumed, int(code)), self.format.word_bytes, code == 0
        )


class _Roundtrip(_Compressor):
    unit = "roundtrip"
    drains = (*_Bench.drains, ("m_axis_csts", "status"))
    watched = ("link",)

    def verilog(self):
        units = [_emit().verilog(unit, self.config) for unit in ("compressor", "decompressor")]
        return chain.verilog(*units, self.config)

    def feeds(self, packets):
        commands = [_command(_words(packet, self.format).size) for packet in packets]
        return [*super().feeds(packets), ("s_axis_cmd", "command", commands)]

    def packets(self, report):
        found = super().packets(report)
        links = zip(report.packets["link"], report.packets["m_axis_csts"], strict=False)
        return [
            replace(packet, link=stream.data, link_status=_record(status.data))
            for packet, (stream, status) in zip(found, links, strict=False)
        ]

    def expected(self, packet):
        sent = super().expected(packet)
        size = len(sent.output)
        return Expected(
            sent.words,
            sent.words.tobytes(),
            (size, 0),
            self.format.word_bytes,
            link=sent.output,
            link_status=sent.status,
        )

    def bound(self, scenario, expected):
        return None


_BENCHES = {bench.unit: bench for bench in (_Compressor, _Decompressor, _Roundtrip)}


def unit_verilog(unit: str, config: Config) -> str:
    """What is simulated: a unit as generated, or of a roundtrip both and a top around them."""
    return _BENCHES[unit](config).verilog()


def _emit():
    """The module that generates Verilog; it imports Amaranth, which a running bench need not."""
    from cdma.hdl import emit

    return emit


def _words(packet, fmt):
    array = np.asarray(packet)
    format_for(array.dtype, fmt)
    return to_words(array)


def _command(count):
    return int(count).to_bytes(4, "little")


def _record(data):
    return int.from_bytes(data[:4], "little"), int.from_bytes(data[4:], "little")
