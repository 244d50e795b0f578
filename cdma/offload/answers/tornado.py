"""Which assumption flips the advice: one value at a time, lower and higher."""

from collections.abc import Callable
from dataclasses import replace

from cdma.offload.answers.advise import MARGIN, answer
from cdma.offload.profiles import Profile
from cdma.offload.setup import Setup

#: Every value is divided and multiplied by this.
FACTOR = 1.5
#: Speed over the best baseline from which an engine pays.
THRESHOLD = 1 / (1 - MARGIN)


class _Scaled:
    """Profiles with another ratio; data that does not compress stays as it is."""

    def __init__(self, profiles, factor: float):
        self._profiles, self._factor = profiles, factor

    def of(self, tensor) -> Profile:
        profile = self._profiles.of(tensor)
        fractions = profile.fractions
        if profile.fraction < 1:
            fractions = (fractions / self._factor).clip(max=1.0)
        return replace(profile, fractions=fractions)


def _ratio(setup: Setup, factor: float) -> Setup:
    return replace(setup, profiles=setup.profiles | {"zv": _Scaled(setup.profiles["zv"], factor)})


def _codec(setup: Setup, factor: float) -> Setup:
    codec = setup.codec
    return replace(setup, codec=replace(codec, down=codec.down * factor, up=codec.up * factor))


CHANGES: dict[str, Callable[[Setup, float], Setup]] = {
    "compute speed": lambda s, f: replace(s, times=s.times.scaled(1 / f)),
    "link": lambda s, f: replace(s, link=replace(s.link, bandwidth=s.link.bandwidth * f)),
    "compression ratio": _ratio,
    "engine's rate": _codec,
    "device memory": lambda s, f: replace(s, dram=s.dram * f),
}


def rows(setup: Setup, factor: float = FACTOR) -> list[dict]:
    """A row for each assumption, the one that matters most first.

    ``low`` and ``high`` are the speed over the best baseline of no more peak memory, with the value
    divided and multiplied by ``factor``; ``flips`` says whether the advice changes.
    """
    base = answer(setup).pays
    found = []
    for name, change in CHANGES.items():
        answers = [answer(change(setup, f)) for f in (1 / factor, factor)]
        low, high = (each.over_best for each in answers)
        flips = any(each.pays != base for each in answers)
        found.append({"assumption": name, "low": low, "high": high, "flips": flips})
    return sorted(found, key=lambda row: -abs(row["high"] - row["low"]))
