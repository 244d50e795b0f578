"""Timing of a memory: latency, bandwidth, refresh, order, stalls."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

import numpy as np

from cdma.errors import UserError
from cdma.sim.backpressure import parse
from cdma.sim.engine import pins

_ORDERS = ("any", "address-first", "data-first")


@dataclass(frozen=True)
class Memory:
    """Timing of a memory, the same for each port of its side.

    Parameters
    ----------
    latency : int
        Cycles from an address to its first data, and from the last data to its B.
    jitter : int
        Most additional cycles, with uniform distribution.
    tail : float
        Share of the bursts with ``tail_latency`` additional cycles.
    tail_latency : int
    bandwidth : float
        Bytes a cycle of each port, reads and writes together. 0 for a beat of each in every cycle.
    refresh : tuple of int
        Period and gap: no data transfers for ``gap`` cycles of each ``period``.
    reorder : float
        Probability that the next beat belongs to another ID than the oldest burst that is ready.
        Then reads of different IDs are interleaved. Bursts of one ID keep their order.
    outstanding : int
        Bursts that a port accepts, reads and writes separately.
    order : str
        ``any``; ``address-first``: WREADY waits for AWVALID; ``data-first``: AWREADY waits for
        WVALID.
    stalls : mapping of str to str
        Back-pressure of ``ar``, ``r``, ``aw``, ``w`` and ``b``, see :mod:`cdma.sim.backpressure`.

    Raises
    ------
    UserError
        When a parameter is invalid.
    """

    latency: int = 100
    jitter: int = 0
    tail: float = 0.0
    tail_latency: int = 0
    bandwidth: float = 0.0
    refresh: tuple[int, int] = (0, 0)
    reorder: float = 0.0
    outstanding: int = 256
    order: str = "any"
    stalls: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self):
        for name in ("latency", "jitter", "tail_latency", "bandwidth"):
            if getattr(self, name) < 0:
                raise UserError(f"{name} must be zero or more, not {getattr(self, name)!r}")
        for name in ("tail", "reorder"):
            if not 0 <= getattr(self, name) <= 1:
                raise UserError(f"{name} must be from 0 to 1, not {getattr(self, name)!r}")
        period, gap = self.refresh
        if not 0 <= gap <= period or (period and gap == period):
            raise UserError(f"refresh must be a period and a shorter gap, not {self.refresh!r}")
        if self.outstanding < 1:
            raise UserError(f"outstanding must be at least 1, not {self.outstanding!r}")
        if self.order not in _ORDERS:
            raise UserError(f"order must be one of {', '.join(_ORDERS)}, not {self.order!r}")
        unknown = set(self.stalls) - set(pins.CHANNELS)
        if unknown:
            raise UserError(
                f"Channel to stall must be one of {', '.join(pins.CHANNELS)}, "
                f"not {', '.join(sorted(unknown))}"
            )
        for text in self.stalls.values():
            parse(text)

    def timing(self, seed: int, port: int) -> tuple[pins.Timing, list]:
        """Struct for the C++ model, and the objects that must exist as long as the struct."""
        timing, kept = pins.Timing(), []
        for name in ("latency", "jitter", "tail", "tail_latency", "bandwidth", "reorder"):
            setattr(timing, name, getattr(self, name))
        timing.refresh_period, timing.refresh_gap = self.refresh
        timing.outstanding = self.outstanding
        timing.order = _ORDERS.index(self.order)
        for number, channel in enumerate(pins.CHANNELS):
            profile = parse(self.stalls.get(channel, "never"))
            rng = np.random.default_rng([seed, port, number])
            stall = timing.stalls[number]
            stall.phase = int(rng.integers(profile.on + profile.off)) if profile.off else 0
            for name in ("on", "off", "pause", "at", "p"):
                setattr(stall, name, getattr(profile, name))
            interface = rng.bit_generator.ctypes
            stall.draw = pins.ctypes.cast(interface.next_double, pins.ctypes.c_void_p)
            stall.state = interface.state_address
            kept.append(rng)
        return timing, kept


#: Fields that no change of a memory names.
_FIXED = ("stalls", "refresh")
#: Memories by name, for the command line.
PROFILES = {
    "ideal": Memory(latency=0),
    "near": Memory(latency=20),
    "dram": Memory(latency=100, jitter=60, refresh=(1560, 70)),
    "far": Memory(latency=350),
    "host": Memory(latency=500, jitter=200, tail=0.01, tail_latency=1500),
    "rough": Memory(
        latency=40,
        jitter=300,
        tail=0.02,
        tail_latency=2000,
        reorder=0.5,
        refresh=(777, 50),
        stalls=dict.fromkeys(pins.CHANNELS, "bernoulli:0.3"),
    ),
}


def memory(text: str) -> Memory:
    """Parse a memory: a name of ``PROFILES``, and after a colon, changes of its numbers.

    ``far``, ``dram:latency=200,bandwidth=16`` and ``ideal:ar=bernoulli:0.5`` are examples.

    Raises
    ------
    UserError
        When the name or a change is unknown.
    """
    name, _, changes = text.partition(":")
    if name not in PROFILES:
        raise UserError(f"Memory must be one of {', '.join(PROFILES)}, not {name!r}")
    values, base = {}, PROFILES[name]
    stalls = dict(base.stalls)
    kinds = {each.name: each.type for each in fields(Memory)}
    for change in filter(None, re.split(r",(?=\w+=)", changes)):
        key, equals, value = change.partition("=")
        if key in pins.CHANNELS:
            stalls[key] = value
            continue
        if not equals or key not in kinds or key in _FIXED:
            allowed = ", ".join([*pins.CHANNELS, *(k for k in kinds if k not in _FIXED)])
            raise UserError(f"{text}: of a memory {allowed} can be changed, not {key!r}")
        try:
            values[key] = value if key == "order" else type(getattr(base, key))(value)
        except ValueError:
            raise UserError(f"{text}: {key} must be a number, not {value!r}") from None
    return replace(base, **values, stalls=stalls)
