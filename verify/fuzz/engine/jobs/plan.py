"""One random job: its descriptor, its memory, and its result as the golden engine says."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from cdma.engine_codes import LINK, Status
from cdma.golden.engine.descriptor import Completion, Descriptor
from cdma.verify.fuzz.engine.jobs.heap import Part

#: Status codes whose ``where`` is a bus address, and after which more bytes may have been written.
BUS = range(Status.DEVICE_SLVERR, Status.TIMEOUT + 1)


@dataclass
class Plan:
    """A job and its result.

    Attributes
    ----------
    kind : str
        What the job is, for reports.
    ring : int
    descriptor : Descriptor
    completion : Completion
        Expected completion. ``where`` of a job that ends with OK has its raw stripes only.
    others : list of Completion
        Completions that are right too, when their ``where`` is found: of other bursts.
    parts : list of Part
        Its buffers.
    writes : list of (Part, int, np.ndarray)
        Bytes that are written: buffer, offset, data.
    opens : list of (Part, int, int)
        Bytes that may have any value: buffer, first offset, end.
    faults : list of dict
        Arguments of :meth:`cdma.sim.engine.engine.Engine.fault`.
    channels : set of int
        Channels that the job accesses.
    fail : callable
        Called with a completion with the error of a channel: expect that the job ended so, with the
        results of all stripes before. Returns whether stripe and address belong together.
    is_partial : bool
        The job was broken off: bytes that it writes may also be as they were before.
    """

    kind: str
    ring: int
    descriptor: Descriptor
    completion: Completion = field(default_factory=lambda: Completion(Status.OK))
    others: list[Completion] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    writes: list[tuple[Part, int, np.ndarray]] = field(default_factory=list)
    opens: list[tuple[Part, int, int]] = field(default_factory=list)
    faults: list[dict] = field(default_factory=list)
    channels: set[int] = field(default_factory=set)
    fail: Callable[[Completion], bool] = lambda completion: False
    is_partial: bool = False

    def write(self, part: Part, data: np.ndarray, at: int = 0) -> None:
        """Expect bytes."""
        if data.size:
            self.writes.append((part, at, data))

    def leave_open(self, part: Part | None, first: int = 0) -> None:
        """Expect anything from an offset on."""
        if part is not None and first < part.data.size:
            self.opens.append((part, first, part.data.size))

    def leave_all_open(self) -> None:
        """Expect anything in what the job may write."""
        self.writes = []
        self.opens = [(part, 0, part.data.size) for part in self.parts if part.writable]

    def forget(self) -> None:
        """Expect nothing to be written."""
        self.writes, self.opens = [], []

    def refuse(self) -> None:
        """Expect BAD_DESCRIPTOR, and no access to any buffer."""
        self.completion = Completion(Status.BAD_DESCRIPTOR)
        self.parts, self.faults = [], []
        self.forget()

    def difference(
        self, found: Completion, head: int, address: int, cycles: tuple[int, int]
    ) -> str:
        """First difference between a completion and the expected one. Empty without a difference.

        Parameters
        ----------
        found : Completion
        head : int
            Expected count of completed descriptors.
        address : int
            Address of the descriptor.
        cycles : (int, int)
            Least and most cycles that the job may have taken.
        """
        matches = [each for each in self.others if each.where == found.where]
        expected = matches[0] if matches else self.completion
        for name in ("status", "cookie", "stream_bytes", "stripe", "channel"):
            a, b = getattr(found, name), getattr(expected, name)
            if name == "cookie":
                b = self.descriptor.cookie
            if a != b:
                return f"{found}, expected {name} {b:#x}"
        if found.head != head:
            return f"{found}, expected head {head}"
        where = expected.where
        if found.status == Status.OK and not self.descriptor.append:
            if found.raw_stripes != where:
                return f"{found}, expected {where} raw stripes"
            if not cycles[0] <= found.cycles <= cycles[1]:
                return f"{found}, expected {cycles[0]} to {cycles[1]} cycles"
            return ""
        if found.status == Status.BAD_DESCRIPTOR:
            where = address
        return "" if found.where == where else f"{found}, expected where {where:#x}"


def failed(status: Status, stripe: int, nbytes: int, where: int, channel: int = LINK) -> Completion:
    """The completion of a job that ended with an error of a bus."""
    return Completion(status, stream_bytes=nbytes, where=where, stripe=stripe, channel=channel)
