"""Named back-pressure profiles: endless iterators of the cycles in which a port stalls.

A **stalled** source offers no new beat, a **stalled** sink holds ``ready`` low. Every port of a
bench has its own profile and its own random numbers.

| Profile | Stalls |
|---|---|
| ``never`` | not at all |
| ``always-but-one[:k]`` | always, but for one cycle in every ``k`` (default 4) |
| ``alternating`` | every second cycle |
| ``bernoulli:p`` | each cycle with probability ``p``, 0 <= p < 1 |
| ``bursts:on,off`` | for ``off`` cycles after each ``on`` cycles |
| ``paused:cycles[,at]`` | for ``cycles`` cycles, from cycle ``at`` after reset (default 0) |
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, cycle, islice, repeat

import numpy as np

from cdma.errors import UserError

#: Ports of a bench that can stall, in the order of their seeds.
PORTS = ("source", "sink", "status", "command")
#: Ports of each unit.
UNIT_PORTS = {
    "compressor": ("source", "sink", "status"),
    "decompressor": PORTS,
    "roundtrip": PORTS,
}


@dataclass(frozen=True)
class Profile:
    """A back-pressure profile. At most one of its three kinds of stall is used.

    Parameters
    ----------
    text : str
        Name as written on a command line, ``bernoulli:0.3``.
    on, off : int
        Repeatedly no stall for ``on`` cycles, then a stall of ``off`` cycles. The phase is random,
        so that ports do not stall in the same cycles.
    pause, at : int
        Stall for ``pause`` cycles from cycle ``at``.
    p : float
        Stall with this probability in each cycle.
    """

    text: str
    on: int = 1
    off: int = 0
    pause: int = 0
    at: int = 0
    p: float = 0.0

    @property
    def longest(self) -> int:
        """Longest stall in cycles (for ``bernoulli``: except one stall in a billion)."""
        return max(self.off, self.pause, int(np.log(1e-9) / np.log(self.p)) + 1 if self.p else 0)

    def start(self, seed: int, port: str) -> tuple[np.random.Generator, int]:
        """Random numbers of ``port``, and a random phase."""
        rng = np.random.default_rng([seed, PORTS.index(port)])
        return rng, int(rng.integers(self.on + self.off)) if self.off else 0

    def willing(self, seed: int, port: str = "source") -> Iterator[bool]:
        """Endless iterator, ``True`` in the cycles in which ``port`` does not stall."""
        rng, phase = self.start(seed, port)
        if self.p:
            return chain.from_iterable((rng.random(1024) >= self.p).tolist() for _ in repeat(0))
        if self.pause:
            return chain(repeat(True, self.at), repeat(False, self.pause), repeat(True))
        return islice(cycle([True] * self.on + [False] * self.off), phase, None)


def parse(text: str) -> Profile:
    """Profile of a name such as ``bursts:3,5``.

    Raises
    ------
    UserError
        When the name is unknown or its numbers are wrong.
    """
    name, _, tail = text.partition(":")
    if name not in _MAKERS:
        raise UserError(f"Stall profile must be one of {', '.join(USAGE)}, not {text!r}")
    usage, make = _MAKERS[name]
    try:
        return Profile(text, **make(*(tail.split(",") if tail else ())))
    except (TypeError, ValueError):
        raise UserError(f"Stall profile {name} must be written {usage}, not {text!r}") from None


def per_port(
    stall: str | Iterable[str] | Mapping[str, str],
    unit: str | None = None,
    *,
    has_command: bool = False,
) -> dict[str, Profile]:
    """Profile of each port of ``PORTS``.

    Parameters
    ----------
    stall : str, iterable of str or mapping
        One profile for all ports; or items ``PROFILE`` (all ports) and ``PORT=PROFILE``, where
        later items override earlier ones; or a mapping from port to profile (default ``never``).
    unit : str or None
        Key of ``UNIT_PORTS``. Other ports are refused.
    has_command : bool
        The unit has a port for commands, also if others of its name have none.

    Raises
    ------
    UserError
        When a port or a profile is unknown, or the unit has no such port.
    """
    if isinstance(stall, Mapping):
        stall = [f"{port}={text}" for port, text in stall.items()]
    elif isinstance(stall, str):
        stall = [stall]
    allowed = PORTS if unit is None or has_command else UNIT_PORTS[unit]
    profiles = dict.fromkeys(PORTS, parse("never"))
    for item in stall:
        port, equals, text = item.rpartition("=")
        if equals and port not in allowed:
            of = "" if unit is None else f" of the {unit}"
            raise UserError(f"Port{of} to stall must be one of {', '.join(allowed)}, not {port!r}")
        profile = parse(text)
        profiles.update(dict.fromkeys((port,) if equals else PORTS, profile))
    return profiles


def _never():
    return {}


def _always_but_one(k="4"):
    return {"on": 1, "off": _at_least(2, k) - 1}


def _alternating():
    return {"on": 1, "off": 1}


def _bernoulli(p):
    p = float(p)
    if not 0 <= p < 1:
        raise ValueError
    return {"p": p}


def _bursts(on, off):
    return {"on": _at_least(1, on), "off": _at_least(1, off)}


def _paused(cycles, at="0"):
    return {"pause": _at_least(1, cycles), "at": _at_least(0, at)}


def _at_least(least, text):
    value = int(text)
    if value < least:
        raise ValueError
    return value


_MAKERS = {
    "never": ("never", _never),
    "always-but-one": ("always-but-one[:K] with K >= 2", _always_but_one),
    "alternating": ("alternating", _alternating),
    "bernoulli": ("bernoulli:P with 0 <= P < 1", _bernoulli),
    "bursts": ("bursts:ON,OFF with ON, OFF >= 1", _bursts),
    "paused": ("paused:CYCLES[,AT] with CYCLES >= 1, AT >= 0", _paused),
}

#: Syntax of each profile, for help texts.
USAGE = tuple(usage.split(" with ")[0] for usage, _ in _MAKERS.values())
