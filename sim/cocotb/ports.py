"""AXI4-Stream ports of a bench: sources, sinks and monitors that check the rules in every cycle.

All are state machines with ``tick(cycle)``, which is called once for each rising edge of the clock.
They read the values before the edge, and their outputs change after the edge. The payload of a beat
is one integer or one binary string, and packets are converted as a whole, to be fast in Python.
"""

import random
from collections.abc import Iterator

import numpy as np

from cdma.sim.job import Packet


class Violation(Exception):  # noqa: N818 - the name of the thing
    """A design violates a rule of the stream: port, rule and cycle."""


class Source:
    """Offers packets on ``<prefix>_t...``, in order.

    Parameters
    ----------
    dut : cocotb handle
        Top level.
    prefix : str
        Prefix of the port's signals. Without ``tkeep`` and ``tlast``, every packet is one record of
        one beat.
    packets : list of bytes
        Packets to send. An empty packet is one beat without kept bytes.
    willing : iterator of bool
        For each cycle: a new beat may be offered.
    junk : random.Random or None
        Random values for signals that a design must ignore. With ``None``, these signals are zeros
        and all-ones.
    word_bytes : int
        Bytes of a word. A design must only use ``tkeep`` of the lowest byte of each word.
    """

    def __init__(self, dut, prefix, packets, willing, junk=None, word_bytes=1):
        self.name = prefix
        self.packets: list[Packet] = []
        self.stalls = self.beats = 0
        self._valid, self._ready = _pin(dut, prefix, "tvalid"), _pin(dut, prefix, "tready")
        self._pins = _payload_pins(dut, prefix)
        self._beat_bytes = len(self._pins[0]) // 8
        self._willing = willing
        self._junk, self._word_bytes = junk, word_bytes
        self._count = len(packets)
        self.total_beats = sum(max(1, -(-len(p) // self._beat_bytes)) for p in packets)
        self._beats = self._all_beats(packets)
        self._offered = None
        self._driven = [0] * len(self._pins)
        self._first, self._moved = None, 0
        self.rest()

    def disturb(self, junk: random.Random) -> None:
        """Drive random values: in reset a design must ignore all inputs, also ``tvalid``."""
        self._valid.value = junk.getrandbits(1)
        for pin in self._pins:
            pin.value = junk.getrandbits(len(pin))

    def rest(self) -> None:
        """Offer nothing, with all pins low."""
        self._valid.value = 0
        for pin in self._pins:
            pin.value = 0

    @property
    def is_done(self) -> bool:
        """Whether every packet was taken."""
        return len(self.packets) == self._count

    def tick(self, cycle: int) -> bool:
        """Process one clock edge. Returns whether a beat was transferred.

        Raises
        ------
        Violation
            When ``tready`` is neither 0 nor 1.
        """
        ready = str(self._ready.value)
        if ready not in "01":
            raise Violation(f"{self.name}: tready is {ready} in cycle {cycle}, expected 0 or 1")
        willing = next(self._willing)
        moved = False
        if self._offered is not None:
            if ready == "0":
                self.stalls += 1
                return False
            moved = True
            self._count_beat(cycle)
        had, self._offered = self._offered, next(self._beats, None) if willing else None
        if self._offered is not None:
            self._drive(self._offered)
            if had is None:
                self._valid.value = 1
        elif had is not None:
            self._valid.value = 0
            if self._junk:
                self._drive([self._junk.getrandbits(len(pin)) for pin in self._pins])
        return moved

    def _drive(self, values):
        # A write takes microseconds, and tkeep and tlast rarely change.
        for index, value in enumerate(values):
            if value != self._driven[index]:
                self._pins[index].value = self._driven[index] = value

    def _count_beat(self, cycle):
        if self._first is None:
            self._first = cycle
        self._moved += 1
        self.beats += 1
        if self._offered[-1] or len(self._pins) == 1:
            self.packets.append(Packet(b"", self._moved, self._first, cycle))
            self._first, self._moved = None, 0

    def _all_beats(self, packets) -> Iterator[tuple]:
        for packet in packets:
            if len(self._pins) == 1:
                yield (int.from_bytes(packet, "little"),)
            else:
                yield from self._packet_beats(packet)

    def _packet_beats(self, packet):
        size = self._beat_bytes
        full = (1 << size) - 1
        for start in range(0, len(packet) - size, size):
            keep = self._junk.getrandbits(size) if self._junk else full
            yield int.from_bytes(packet[start : start + size], "little"), keep, 0
        rest = packet[(len(packet) - 1) // size * size :] if packet else b""
        data, keep = int.from_bytes(rest, "little"), (1 << len(rest)) - 1
        if self._junk:
            data |= self._junk.getrandbits(8 * size) >> (8 * len(rest)) << (8 * len(rest))
            lowest = sum(1 << byte for byte in range(0, size, self._word_bytes))
            keep = keep & lowest | self._junk.getrandbits(size) & ~lowest & full
        yield data, keep, 1


class Monitor:
    """Observes ``<prefix>_t...``, collects its packets and checks every cycle.

    Raises :class:`Violation` from ``tick`` when ``tvalid`` or ``tready`` is not 0 or 1, ``tvalid``
    falls or the payload changes while the beat is stalled, a bit of the payload is X or Z,
    ``tkeep`` has a hole or is not all ones before the last beat, or a byte that is not kept is
    not zero.
    """

    def __init__(self, dut, prefix):
        self.name = prefix
        self.packets: list[Packet] = []
        self.stalls = 0
        self._valid, self._ready = _pin(dut, prefix, "tvalid"), _pin(dut, prefix, "tready")
        self._pins = _payload_pins(dut, prefix)
        self._bytes = len(self._pins[0]) // 8
        # Key: binary string of tkeep; value: number of kept bytes.
        self._keeps = {
            "0" * (self._bytes - kept) + "1" * kept: kept for kept in range(self._bytes + 1)
        }
        self._stalled = None
        self._data = []
        self._cycles = []

    def disturb(self, junk: random.Random) -> None:
        """Drives nothing."""

    def rest(self) -> None:
        """Drives nothing."""

    def check_silence(self) -> None:
        """Raise :class:`Violation` when ``tvalid`` is not 0, as it must be in reset."""
        if (valid := str(self._valid.value)) != "0":
            raise Violation(f"{self.name}: tvalid is {valid} in reset, expected 0")

    def tick(self, cycle: int) -> bool:
        """Pass one clock edge; give whether a beat was taken at it."""
        valid = str(self._valid.value)
        if valid not in "01":
            self._fail(f"tvalid is {valid}, expected 0 or 1", cycle)
        is_ready = self._is_ready(cycle)
        if valid == "0":
            if self._stalled is not None:
                self._fail("tvalid fell without a handshake", cycle)
            return False
        beat = tuple([str(pin.value) for pin in self._pins])
        if self._stalled is not None and beat != self._stalled:
            self._fail(f"{self._changed(beat)} changed while the beat was stalled", cycle)
        if not is_ready:
            self.stalls += 1
            self._stalled = beat
            return False
        self._stalled = None
        self._take(beat, cycle)
        return True

    def _is_ready(self, cycle):
        ready = str(self._ready.value)
        if ready not in "01":
            self._fail(f"tready is {ready}, expected 0 or 1", cycle)
        return ready == "1"

    def _take(self, beat, cycle):
        self._data.append(beat[0])
        self._cycles.append(cycle)
        if len(self._pins) == 1:
            self._end_packet(self._bytes, cycle)
            return
        _, keep, last = beat
        kept = self._keeps.get(keep)
        if kept is None:
            self._fail(f"tkeep {keep} is not contiguous from byte 0", cycle)
        if last == "1":
            if "1" in beat[0][: 8 * (self._bytes - kept)]:
                self._fail("a byte that is not kept is not zero", cycle)
            self._end_packet(kept, cycle)
        elif last != "0":
            self._fail(f"tlast is {last}, expected 0 or 1", cycle)
        elif kept != self._bytes:
            self._fail(f"tkeep {keep} is not all ones before the last beat", cycle)

    def _end_packet(self, kept, cycle):
        text = "".join(self._data)
        beats = len(self._data)
        if text.strip("01"):
            self._fail("tdata of the packet that ended has X or Z bits", cycle)
        bits = np.frombuffer(text.encode(), np.uint8).reshape(beats, -1) & 1
        data = np.packbits(bits, axis=1)[:, ::-1].tobytes()
        size = (beats - 1) * self._bytes + kept
        self.packets.append(Packet(data[:size], beats, self._cycles[0], cycle, self._cycles))
        self._data, self._cycles = [], []

    def _changed(self, beat):
        names = ("tdata", "tkeep", "tlast")
        pairs = zip(names, beat, self._stalled, strict=False)
        return ", ".join(name for name, now, then in pairs if now != then)

    def _fail(self, rule, cycle):
        raise Violation(f"{self.name}: {rule} in cycle {cycle}")


class Sink(Monitor):
    """A :class:`Monitor` that also drives ``tready`` from ``willing``, one item a cycle."""

    def __init__(self, dut, prefix, willing):
        super().__init__(dut, prefix)
        self._willing = willing
        self._drives = False
        self.rest()

    def disturb(self, junk: random.Random) -> None:
        """Drive random values, in reset."""
        self._ready.value = junk.getrandbits(1)

    def rest(self) -> None:
        """Accept no beat."""
        self._ready.value = 0

    def tick(self, cycle: int) -> bool:
        """Pass one clock edge; give whether a beat was taken at it."""
        moved = super().tick(cycle)
        willing = next(self._willing)
        if willing != self._drives:
            self._drives = willing
            self._ready.value = int(willing)
        return moved

    def _is_ready(self, cycle):
        return self._drives


def junk(seed: int) -> random.Random:
    """Random numbers for signals that a design must ignore."""
    return random.Random(seed)


def _pin(dut, prefix, name):
    return getattr(dut, f"{prefix}_{name}")


def _payload_pins(dut, prefix):
    """``tdata``, and for a port with packets also ``tkeep`` and ``tlast``."""
    names = ("tdata", "tkeep", "tlast") if hasattr(dut, f"{prefix}_tlast") else ("tdata",)
    return [_pin(dut, prefix, name) for name in names]
