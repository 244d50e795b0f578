"""Points of the engine's functional coverage: descriptor fields, results, and faults by phase.

Each point has bins that must be seen, and bins that cannot be, with the reason.
"""

from collections import Counter
from dataclasses import dataclass, field

from cdma.engine_codes import Op, Raw, Status

OFFLOADS = (Op.OFFLOAD, Op.COPY_OUT, Op.MEASURE)
PREFETCHES = (Op.PREFETCH, Op.COPY_IN, Op.VERIFY)
JOBS = (*OFFLOADS, *PREFETCHES)
#: Parts of a job, in the order of their accesses.
FIRST, MIDDLE, LAST = "first", "middle", "last"
DESCRIPTOR, INDEX, COMPLETION = "descriptor", "index", "completion"
STREAM, TENSOR = "stream", "tensor"
#: Accesses in which a fault can be.
PHASES = (
    DESCRIPTOR,
    INDEX,
    *(f"{part} of {what}" for what in (TENSOR, STREAM) for part in (FIRST, MIDDLE, LAST)),
    COMPLETION,
)
FAULTS = ("SLVERR", "DECERR", "no answer")
#: What an abort interrupts: nothing is read yet; data is read; data is written; all is written.
STAGES = ("nothing begun", "reading", "writing", "done")
#: Errors that the first codec, with which coverage is measured, does not have.
PLUS = (Status.RESERVED, Status.TOO_LONG)
LENGTHS = ("none", "words", "a stripe", "stripes", "stripes and words", "laps of channels")


@dataclass
class EnginePoint:
    """One cross.

    Parameters
    ----------
    name : str
    bins : tuple
        What must be seen.
    impossible : dict
        What cannot be, with the reason.
    seen : Counter
        How often each bin was seen.
    """

    name: str
    bins: tuple
    impossible: dict = field(default_factory=dict)
    seen: Counter = field(default_factory=Counter)

    @property
    def missing(self) -> list:
        """Bins that were not seen."""
        return [each for each in self.bins if not self.seen[each]]

    @property
    def unexpected(self) -> list:
        """What was seen although it is impossible, or is no bin."""
        return sorted(set(self.seen) - set(self.bins))


def _phases(op) -> dict[str, str]:
    """Phases that jobs of an operation do not have, with the reason."""
    none = {}
    if op in (Op.COPY_OUT, Op.COPY_IN):
        none[INDEX] = "a copy has no index"
    for part in (FIRST, MIDDLE, LAST):
        if op is Op.MEASURE:
            none[f"{part} of {STREAM}"] = "MEASURE writes no stream"
        if op is Op.VERIFY:
            none[f"{part} of {TENSOR}"] = "VERIFY writes no tensor"
    return none


def _statuses(op) -> dict[Status, str]:
    """Statuses that an operation does not have, with the reason."""
    none = {}
    decoder = (Status.TRUNCATED, Status.TRAILING, Status.MASK_PAST_END)
    none |= dict.fromkeys(PLUS, "an error of streams of ZVC+")
    if op not in (Op.PREFETCH, Op.VERIFY):
        none |= dict.fromkeys(decoder, "nothing is decompressed")
        none |= {Status.INDEX: "no index is read", Status.CRC: "no CRC is compared"}
    if op not in (Op.OFFLOAD, Op.COPY_OUT, Op.COPY_IN):
        none[Status.OVERFLOW] = "the operation has no capacity"
    if op is Op.VERIFY:
        device = (Status.DEVICE_SLVERR, Status.DEVICE_DECERR, Status.TIMEOUT)
        none |= dict.fromkeys(device, "VERIFY does not access the device")
    return none


def points() -> dict[str, EnginePoint]:
    """All points by name, with nothing seen."""
    made = [
        _cross("operation x status", JOBS, tuple(Status), _statuses),
        _cross("operation x raw policy", JOBS, tuple(Raw), _raws),
        _cross("operation x index, CRC", JOBS, ((0, 0), (1, 0), (1, 1), (0, 1)), _indices),
        _cross("operation x length", JOBS, LENGTHS, _none),
        _cross("operation x interrupt, FENCE", JOBS, ((0, 0), (0, 1), (1, 0), (1, 1)), _none),
        _cross("operation x rows", JOBS, ("one", "several"), _none),
        _cross("APPEND x status", ("APPEND",), (Status.OK, Status.OVERFLOW), _none),
    ]
    for op in JOBS:
        made.append(
            _cross(f"{op.name}: fault x phase", FAULTS, PHASES, lambda _, op=op: _phases(op))
        )
    made.append(_cross("abort x stage", (Op.OFFLOAD, Op.PREFETCH), STAGES, _none))
    return {point.name: point for point in made}


def _none(op):
    return {}


def _raws(op):
    if op in (Op.OFFLOAD, Op.MEASURE):
        return {}
    reason = "the policy must be NEVER, else BAD_DESCRIPTOR"
    return {Raw.AUTO: reason, Raw.ALWAYS: reason}


def _indices(op):
    if op in (Op.COPY_OUT, Op.COPY_IN):
        return dict.fromkeys(((1, 0), (1, 1), (0, 1)), "a copy has no index")
    if op in (Op.PREFETCH, Op.VERIFY):
        return dict.fromkeys(((0, 0), (0, 1)), "INDEX is required")
    return {}


def _cross(name, rows, columns, impossible) -> EnginePoint:
    bins, none = [], {}
    for row in rows:
        reasons = impossible(row)
        for column in columns:
            if column in reasons:
                none[row, column] = reasons[column]
            else:
                bins.append((row, column))
    return EnginePoint(name, tuple(_named(each) for each in bins), none)


def _named(pair) -> str:
    return " x ".join(str(getattr(each, "name", each)) for each in pair)


def bin_of(*values) -> str:
    """Name of a bin."""
    return _named(values)
