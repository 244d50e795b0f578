"""Scenarios of a co-simulation, and their results."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from cdma.hdl.codecs import UnitConfig


@dataclass(frozen=True)
class Scenario:
    """Packets for a unit, and their stalls and resets.

    Parameters
    ----------
    packets : list
        Compressor and roundtrip: arrays of words. Decompressor: pairs of a stream (bytes) and the
        number of words.
    stall : str, iterable of str or mapping
        Back-pressure, see :func:`cdma.sim.backpressure.per_port`.
    seed : int
        Seeds back-pressure and junk.
    name : str
        Shown when the scenario fails.
    reset_at : int or None
        Reset in this cycle, then start again from the first packet.
    reset_cycles : int
        Length of a reset in cycles.
    before : Scenario or None
        Scenario that is played until ``reset_at``. With ``None``, this scenario.
    is_dirty : bool
        Drive junk on signals that a unit must ignore.
    """

    packets: Sequence
    stall: str | Iterable[str] | Mapping[str, str] = "never"
    seed: int = 0
    name: str = ""
    reset_at: int | None = None
    reset_cycles: int = 4
    before: "Scenario | None" = None
    is_dirty: bool = False


@dataclass(frozen=True)
class PacketResult:
    """Output of the RTL for one packet. Cycles count from reset.

    Attributes
    ----------
    output : bytes
        Output packet.
    status : tuple of int
        The status record: (words in, bytes out) or (bytes consumed, error code), with a tail of
        ones (bytes consumed, error code, words out).
    link : bytes or None
        For a roundtrip: the stream between the units.
    link_status : tuple of int or None
        For a roundtrip: the compressor's status record.
    output_cycles, link_cycles : sequence of int
        Cycle of the transfer of each beat, if recorded.
    """

    output: bytes
    status: tuple[int, ...]
    beats_in: int
    beats_out: int
    first_cycle: int
    last_cycle: int
    status_cycle: int
    link: bytes | None = None
    link_status: tuple[int, int] | None = None
    output_cycles: Sequence[int] = field(default=(), compare=False)
    link_cycles: Sequence[int] = field(default=(), compare=False)

    @property
    def cycles(self) -> int:
        """From the first input handshake to the last output handshake, both included."""
        return self.last_cycle - self.first_cycle + 1


@dataclass(frozen=True)
class Result:
    """Results of a scenario.

    Attributes
    ----------
    packets : list of PacketResult
        Complete output packets.
    stalls : dict of str to int
        Cycles with ``tvalid`` and without ``tready``, by port prefix.
    bound : int or None
        Most cycles by the throughput rule. ``None`` if no rule applies (back-pressure, malformed
        streams, roundtrip).
    failure : str
        Violated rule of the stream, or empty.
    difference : str
        First difference from the golden model, or empty.
    """

    unit: str
    config: UnitConfig
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
        """Verdict of the throughput rule, ``None`` if no rule applies."""
        return None if self.bound is None else self.cycles <= self.bound

    @property
    def problem(self) -> str:
        """Failure, difference or missed throughput in one line, or an empty text."""
        where = f"{self.unit} {self.config.name}"
        if self.scenario.name:
            where += f", {self.scenario.name} (seed {self.scenario.seed})"
        if self.failure or self.difference:
            return f"{where}: {self.failure or self.difference}"
        if self.is_fast_enough is False:
            return f"{where}: took {self.cycles} cycles, at most {self.bound} expected"
        return ""
