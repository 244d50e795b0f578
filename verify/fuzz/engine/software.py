"""The software of a random run: rings at any address, many jobs at once, and their completions."""

import numpy as np

from cdma.engine_codes import State
from cdma.engine_config import COMPLETION_BYTES, DESCRIPTOR_BYTES
from cdma.golden.engine.descriptor import COMPLETION, Completion, phase
from cdma.sim.cocotb.ports import Violation
from cdma.sim.engine.engine import DEVICE, HOST, Buffer
from cdma.sim.engine.model import OFFLOAD, PREFETCH, EngineModel
from cdma.verify.fuzz.engine.jobs.heap import Heap
from cdma.verify.fuzz.engine.jobs.plan import Plan

#: Cycles without a completion after which a ring hangs.
PATIENCE = 400_000
#: Cycles after which software looks whether a ring has halted.
_LOOK = 400
_RUN, _HALT = 1, 4


class Software(EngineModel):
    """An engine whose rings lie anywhere.

    Parameters
    ----------
    config, device, host, seed, **options
        See :class:`cdma.sim.engine.model.EngineModel`.
    heap : Heap
        Gives the addresses of the rings.
    """

    def __init__(self, config, device, host, seed, heap: Heap, **options):
        self._heap = heap
        self.attributes = [0x2000, 0x2000]
        self.rates, self.qos = [0] * config.channels, [0] * config.channels
        self._written: dict[int, np.ndarray] = {}  # what must be in each ring of completions
        super().__init__(config, device, host, seed, **options)

    def allocate(self, space, size, *, align=64, offset=0, fill=None, **access) -> Buffer:
        """A buffer at any address."""
        address = self._heap.address(space, size, align, offset)
        data = np.full(max(size, 1), fill or 0, np.uint8)[:size]
        buffer = Buffer(space, address, data)
        self.engine.add(buffer, **access)
        return buffer

    def program(self, ring: int, **windows: int) -> None:
        """Write addresses, sizes, windows and attributes of a stopped ring."""
        self._written[ring] = self.rings[ring].completions.data.copy()
        super().program(ring, **windows)
        self.write("RING", "ATTR", self.attributes[ring], ring)

    def set_channels(self, rates: list[int], qos: list[int]) -> None:
        """Write RATE and QOS of each channel."""
        self.rates, self.qos = rates, qos
        for channel, (rate, each) in enumerate(zip(rates, qos, strict=True)):
            self.write("CHANNEL", "RATE", rate, channel)
            self.write("CHANNEL", "QOS", each, channel)

    def stop(self, ring: int) -> None:
        """Stop a ring. What was started is completed."""
        self.write("RING", "CTRL", 0, ring)
        self.until_state(ring, State.STOPPED)

    def start(self, ring: int, *, halts: bool = False) -> None:
        """Let a ring run."""
        self.write("RING", "CTRL", _RUN | _HALT * halts, ring)

    def enter(self, ring: int, plans: list[Plan], flips: dict[int, int]) -> list[int]:
        """Put jobs into a ring, without the doorbell. Returns the address of each descriptor.

        ``flips`` has jobs, by their place, whose phase is wrong.
        """
        memory, addresses = self.rings[ring], []
        for number, plan in enumerate(plans):
            place = memory.tail % (1 << memory.log2)
            addresses.append(memory.descriptors.address + DESCRIPTOR_BYTES * place)
            self.place(ring, plan.descriptor, flip=flips.get(number, 0))
        return addresses

    def take_interrupts(self) -> tuple[int, int]:
        """IRQ_STATUS and the line, when all events so far are in them. Clears all."""
        self.engine.run(8)
        status, line = self.read("ENGINE", "IRQ_STATUS"), self.engine.irq
        self.write("ENGINE", "IRQ_STATUS", 0x3F)
        return status, line

    def gather(self, ring: int, number: int, *, halts: bool = False) -> list[Completion]:
        """Wait for a number of completions and acknowledge them. ``halts``: the ring may halt, and
        is started again."""
        memory, found = self.rings[ring], []
        size = 1 << memory.completion_log2
        while len(found) < number:
            more = min(number - len(found), size)
            entries = memory.completions.data.view(COMPLETION)
            for count in range(memory.head, memory.head + more):
                self._await(ring, count & 0xFFFF, halts)
                place = count % size
                self._written[ring].view(COMPLETION)[place] = entries[place]
                *numbers, last = entries[place].item()
                cookie, stream_bytes, where, stripe, head, status = numbers
                found.append(
                    Completion(status, cookie, stream_bytes, where, stripe, head, last & 0x7F)
                )
            memory.head = (memory.head + more) & 0xFFFF
            self.acknowledge(ring)
        return found

    def _await(self, ring, count, halts):
        """Run until a completion is there. Entries may become visible in any order."""
        memory = self.rings[ring]
        log2 = memory.completion_log2
        place = COMPLETION_BYTES * (count % (1 << log2)) + COMPLETION_BYTES - 1
        value = phase(count, log2) << 7
        data, cycles = memory.completions.data, 0
        while data[place] & 0x80 != value:
            step = _LOOK if halts else PATIENCE
            if not self.engine.run(step, byte=(data, place), mask=0x80, value=value):
                cycles += step
                if halts and self.state(ring)[0] is State.HALTED:
                    self.start(ring, halts=True)
            if cycles >= PATIENCE:
                raise Violation(
                    f"hangs: no completion {count} of ring {ring} in {cycles:,} cycles, "
                    f"state {self.state(ring)}"
                )

    def turn(self, ring: int) -> None:
        """Mark all entries of a completion ring as old: some were never written."""
        memory = self.rings[ring]
        size = 1 << memory.completion_log2
        for count in range(memory.head, memory.head + size):
            last = COMPLETION_BYTES * (count % size) + COMPLETION_BYTES - 1
            value = phase(count & 0xFFFF, memory.completion_log2) ^ 1
            memory.completions.data[last] = value << 7
        self._written[ring] = memory.completions.data.copy()

    def entries_differ(self) -> str:
        """An entry of a completion ring that is not the one that software has read there last."""
        for ring, memory in enumerate(self.rings):
            found = memory.completions.data.reshape(-1, COMPLETION_BYTES)
            wrong = (found != self._written[ring].reshape(found.shape)).any(axis=1)
            if wrong.any():
                return f"entry {int(np.argmax(wrong))} of completion ring {ring} has changed"
        return ""

    def started(self, ring: int) -> int:
        """Completions of a stopped ring that software has not read."""
        head = self.read("RING", "SQ_HEAD", ring)
        return (head - self.rings[ring].head) & 0xFFFF

    def recover(self) -> None:
        """Program both rings after a reset."""
        for ring in (OFFLOAD, PREFETCH):
            memory = self.rings[ring]
            memory.tail = memory.head = memory.acknowledged = 0
            self.set_ring(ring, memory.log2, memory.completion_log2)

    def attributes_differ(self, parts) -> str:
        """A burst in the logs of the ports whose attributes are not those of its ring or channel.

        ``parts`` are the buffers of the round, each with its ring.
        """
        for port in range(self.config.channels + 1):
            log = self.engine.log(port)
            log = log[(log["channel"] == 0) | (log["channel"] == 2)]
            space = HOST if port == self.engine.link else DEVICE
            places = [(part.address, part.ring) for part in parts if part.space == space]
            if space == HOST:
                for ring, memory in enumerate(self.rings):
                    both = (memory.descriptors, memory.completions)
                    places += [(each.address, ring) for each in both]
            problem = self._wrong(log, sorted(places), space, port)
            if problem:
                return problem
        return ""

    def _wrong(self, log, places, space, port):
        """The first wrong burst of a port."""
        if not len(log):
            return ""
        starts = np.array([address for address, _ in places], np.uint64)
        # A read may begin in front of its buffer, by less than a beat.
        ends = log["address"] + np.uint64(127 if space == DEVICE else self.config.link_bytes - 1)
        rings = np.array([ring for _, ring in places])[np.searchsorted(starts, ends, "right") - 1]
        attributes = np.array(self.attributes)[rings]
        wrong = log["user"] != attributes & 0xFF
        wrong |= log["prot"] != attributes >> 8 & 7
        wrong |= log["cache"] != attributes >> 12 & 15
        if space == DEVICE:
            wrong |= log["qos"] != self.qos[port]
        if not wrong.any():
            return ""
        event = log[int(np.argmax(wrong))]
        return f"attributes of a burst of port {port}: {event}"
