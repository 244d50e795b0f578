"""What makers of jobs of both rings have in common."""

from collections.abc import Callable
from random import Random

from cdma.engine_codes import Status
from cdma.engine_config import PART_BYTES, EngineConfig
from cdma.sim.engine.engine import DEVICE, HOST
from cdma.verify.fuzz.engine.jobs.heap import Heap, Part
from cdma.verify.fuzz.engine.jobs.plan import Plan
from cdma.verify.fuzz.engine.jobs.tensor import Tensor
from cdma.verify.fuzz.engine.jobs.words import Words
from cdma.verify.fuzz.engine.moods import Mood

_BUS = {
    (DEVICE, 2): Status.DEVICE_SLVERR,
    (DEVICE, 3): Status.DEVICE_DECERR,
    (HOST, 2): Status.HOST_SLVERR,
    (HOST, 3): Status.HOST_DECERR,
}
#: Bits of the fields of a descriptor.
FIELDS = {"device": 64, "host": 64, "index": 64, "row_bytes": 64, "limit": 64, "rows": 32}
FIELDS |= {"pitch": 63}


class Common:
    """What all makers draw from, and fields and faults of any job.

    Parameters
    ----------
    words : Words
    heap : Heap
    random : Random
        Draws all.
    mood : Mood
        Share of the jobs in which a memory answers with an error, and of those with FENCE.
    """

    def __init__(self, words: Words, heap: Heap, random: Random, mood: Mood):
        self.words, self.heap, self.random, self._mood = words, heap, random, mood
        self.config: EngineConfig = words.config

    def is_faulty(self) -> bool:
        """Whether a memory answers with an error in the next job."""
        return self.random.random() < self._mood.faults

    def flags(self) -> dict:
        """Fields that change nothing of a job's result."""
        random = self.random
        return {
            "interrupt": random.random() < 0.4,
            "fence": random.random() < self._mood.fences,
            "cookie": random.getrandbits(64),
        }

    def fault(self, space: int, address: int, on: str) -> tuple[dict, Status]:
        """A memory that answers with an error: arguments of ``fault``, and the status."""
        response = self.random.choice((2, 3))
        fields = {"space": space, "address": address, "response": response, "on": on}
        return fields, _BUS[space, response]

    def host(self, ring: int, size: int, *, offset: int = 0, **access: bool) -> Part:
        """A buffer in host memory."""
        return self.heap.place(HOST, size, ring, offset=offset, **access)

    def burst(self, address: int) -> int:
        """First address of the burst that writes a byte, unless a range begins behind it."""
        return address & -self.config.burst_bytes

    def expect(self, plan: Plan, tensor: Tensor, result: Callable, fault: tuple | None) -> None:
        """Expect the result of a job, and let :attr:`Plan.fail` change it.

        Parameters
        ----------
        plan : Plan
        tensor : Tensor
            Device memory of the job.
        result : callable
            Called with an error, or ``None``: fills completion, writes and opens of the plan.
        fault : (int, Status, int, int) or None
            Error of one access: stripe, status, where, channel.
        """
        stripe_bytes = self.config.stripe_bytes

        def fail(found):
            first = found.stripe * stripe_bytes
            if first >= tensor.size:
                return False
            start, size = tensor.at(first)[1], min(stripe_bytes, tensor.size - first)
            if not start <= found.where < start + size:
                return False
            plan.others = []
            plan.forget()
            result((found.stripe, Status(found.status), found.where, found.channel))
            return True

        plan.fail = fail
        result(fault)

    def later_bursts(self, burst: int, address: int) -> range:
        """First addresses of shorter bursts that may write the byte in place of a burst.

        Those of an offload end early when the port would run dry.
        """
        return range((burst | PART_BYTES - 1) + 1, address + 1, PART_BYTES)
