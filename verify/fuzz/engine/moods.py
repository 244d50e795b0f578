"""Moods of batches: which jobs are many, how long they are, and how many fail.

Most batches have jobs of all kinds. In the others some kind is so frequent that queues fill up
which otherwise hold little.
"""

from dataclasses import dataclass, field
from random import Random

from cdma.sim.engine.model import OFFLOAD, PREFETCH

_ALL = {
    OFFLOAD: {"offload": 60, "append": 8, "copy_out": 10, "measure": 12, "nop": 4, "bad": 6},
    PREFETCH: {"prefetch": 56, "damaged": 20, "copy_in": 10, "verify": 6, "nop": 4, "bad": 4},
}


@dataclass(frozen=True)
class Mood:
    """What the jobs of a batch are like.

    Parameters
    ----------
    kinds : dict of int to dict of str to int
        Kinds of jobs of each ring, with their weights.
    faults : float
        Share of the jobs in which a memory answers with an error.
    lengths : str
        Of tensors: ``usual``, ``tiny`` (less than a beat of each lane, or nothing), ``stripes``
        (whole ones, and one word more or less), ``long``.
    fences : float
        Share of the jobs with FENCE.
    """

    kinds: dict[int, dict[str, int]] = field(default_factory=lambda: _ALL)
    faults: float = 0.06
    lengths: str = "usual"
    fences: float = 0.08


def _only(faults=0.06, lengths="usual", fences=0.0, **kinds):
    """A mood with some kinds only."""
    chosen = {ring: {kind: kinds[kind] for kind in _ALL[ring] if kind in kinds} for ring in _ALL}
    return Mood(chosen, faults, lengths, fences)


#: Moods and their weights.
MOODS: dict[str, tuple[int, Mood]] = {
    "usual": (60, Mood()),
    "tiny": (6, Mood(lengths="tiny", fences=0.02)),
    "stripes": (6, Mood(lengths="stripes", fences=0.02)),
    "long": (3, Mood(lengths="long")),
    "nothing": (4, _only(nop=8, bad=1)),
    "fences": (3, Mood(lengths="tiny", fences=0.6)),
    "faults": (6, Mood(faults=0.5)),
    "few faults": (4, _only(0.1, "stripes", offload=1, prefetch=1)),
    "copies": (4, _only(0.1, copy_out=6, copy_in=6, measure=2, verify=2)),
    "damage": (4, _only(0.05, "tiny", append=2, measure=1, damaged=3, verify=1)),
}


def draw(random: Random) -> str:
    """Name of a mood."""
    weights = [weight for weight, _ in MOODS.values()]
    (name,) = random.choices(tuple(MOODS), weights)
    return name
