"""The job of a bench and its report, as passed between processes."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from cdma.sim.backpressure import parse


@dataclass(frozen=True)
class Feed:
    """Packets for an input port.

    Parameters
    ----------
    packets : list of bytes
        An element for each packet. For a port without ``tlast``: an element for each record.
    stall : str
        Back-pressure profile.
    port : str
        Name in ``backpressure.PORTS`` that selects the random numbers.
    """

    packets: list
    stall: str = "never"
    port: str = "source"


@dataclass(frozen=True)
class Drain:
    """Number of packets (records) expected at an output port, and the profile of its stalls."""

    count: int
    stall: str = "never"
    port: str = "sink"


@dataclass(frozen=True)
class Stimulus:
    """One run from reset to the last packet.

    Parameters
    ----------
    inputs : dict of str to Feed
        By port prefix, ``s_axis``.
    outputs : dict of str to Drain
        By port prefix, ``m_axis``.
    watched : dict of str to int
        Prefixes of streams inside the design that are only observed, and their packets.
    seed : int
        Seeds back-pressure and junk.
    reset_at : int or None
        Reset again in this cycle, drop everything, and start from the first packet.
    reset_cycles : int
        Length of a reset in cycles.
    before : Stimulus or None
        Stimulus that is played until ``reset_at``. With ``None``, this stimulus.
    is_dirty : bool
        Drive junk on signals that a unit must ignore: ``tkeep`` of beats that are not last, bytes
        that are not kept, payload while ``tvalid`` is low, ``tkeep`` of a word's upper bytes, and
        all inputs in reset.
    word_bytes : int
        Bytes of a word. ``tkeep`` keeps whole words.
    constants : dict of str to int
        Inputs with one value for the whole run.
    """

    inputs: dict
    outputs: dict
    watched: dict = field(default_factory=dict)
    seed: int = 0
    reset_at: int | None = None
    reset_cycles: int = 4
    before: "Stimulus | None" = None
    is_dirty: bool = False
    word_bytes: int = 1
    constants: dict = field(default_factory=dict)

    @property
    def patience(self) -> int:
        """Cycles without any handshake after which the run fails with a hang."""
        return 1000 + 4 * sum(self._stalls())

    @property
    def most_cycles(self) -> int:
        """Limit on the length of the run, much longer than any correct design needs."""
        expected = sum(drain.count for drain in self.outputs.values())
        cycles = 32 * (self.size + expected) + 10_000
        return (self.reset_at or 0) + cycles * (1 + sum(self._stalls()))

    @property
    def size(self) -> int:
        """Bytes of input."""
        return sum(len(packet) for feed in self.inputs.values() for packet in feed.packets)

    def _stalls(self):
        ports = (*self.inputs.values(), *self.outputs.values())
        return [parse(port.stall).longest for port in ports]


@dataclass(frozen=True)
class Packet:
    """One packet at a port: its bytes, its beats, its first and last handshake, and if recorded,
    the cycle of every beat."""

    data: bytes
    beats: int
    first_cycle: int
    last_cycle: int
    cycles: Sequence[int] = ()


@dataclass
class Report:
    """Results of one run. Cycles count from the end of reset.

    Attributes
    ----------
    packets : dict of str to list of Packet
        By port prefix, inputs (without data) and outputs.
    stalls : dict of str to int
        Cycles with ``tvalid`` and without ``tready``, by port prefix.
    cycles : int
        Length of the run.
    failure : str
        Violated rule with port and cycle, or empty.
    """

    packets: dict = field(default_factory=dict)
    stalls: dict = field(default_factory=dict)
    cycles: int = 0
    failure: str = ""
