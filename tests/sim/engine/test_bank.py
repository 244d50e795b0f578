"""The memory model: data, timing, order, faults, and the rules that it checks in every cycle."""

from collections import deque

import numpy as np
import pytest

from cdma.errors import UserError
from cdma.sim.cocotb.ports import Violation
from cdma.sim.engine import pins
from cdma.sim.engine.bank import Ask, Bank
from cdma.sim.engine.memory import PROFILES, Memory, memory

BASE, SIZE, BEAT = 0x1000_0000, 1 << 16, 16


class Manager:
    """Issues bursts and gathers what comes back; drives the pins of one port."""

    def __init__(self, timing, seed=0, **limits):
        self.bank = Bank(timing, seed)
        values = {"beat_bytes": BEAT, "burst_bytes": 512, "ids": 4}
        values |= {"reads": (64,) * 4, "read_beats": (2048,) * 4, "writes": (64,) * 4}
        values |= {"bubble": 8, "channels": 1, "channel": 0, "stripe_bytes": 0, **limits}
        self.port = self.bank.add_port("m_axi", pins.Limits(**values))
        self.data = np.random.default_rng(seed).integers(256, size=SIZE, dtype=np.uint8)
        self.bank.add_buffer(BASE, self.data)
        self.ask, self.cycle = Ask(rready=1, bready=1), 0
        self.read_queue, self.write_queue, self.beats = deque(), deque(), deque()
        self.reads, self.current, self.answers = [], {}, []
        self.started, self.times = {}, {}
        self.bank.tick(self.port, self.ask, 0, reset=2)

    def read(self, address, beats, id_=0):
        self.read_queue.append((address, beats, id_))

    def write(self, address, content, id_=0):
        """Write bytes; strobes are clear before the first and behind the last."""
        first, end = address & -BEAT, address + len(content)
        beats = -(-(end - first) // BEAT)
        self.write_queue.append((address, beats, id_))
        padded = bytes(address - first) + content
        for beat in range(beats):
            part = padded[beat * BEAT : (beat + 1) * BEAT]
            low = address - first if beat == 0 else 0
            strobes = (1 << len(part)) - (1 << low)
            self.beats.append((part.ljust(BEAT, b"\xee"), strobes, beat == beats - 1))

    def step(self):
        """Pass one edge."""
        ask, answer = self.ask, self.bank.answer(self.port)
        arready, awready, wready = answer.arready, answer.awready, answer.wready
        if answer.rvalid and ask.rready:
            self._take_read(answer)
        if answer.bvalid and ask.bready:
            self.answers.append((answer.bid, answer.bresp))
            self.times["b", len(self.answers)] = self.cycle
        taken = (ask.ar.valid and arready, ask.aw.valid and awready, ask.wvalid and wready)
        self.bank.tick(self.port, ask, self.cycle)
        self.cycle += 1
        if taken[0]:
            self.started.setdefault(ask.ar.id, deque()).append(self.cycle - 1)
        self._offer(ask.ar, self.read_queue, taken[0])
        self._offer(ask.aw, self.write_queue, taken[1])
        if taken[2] or not ask.wvalid:
            ask.wvalid = bool(self.beats)
            if self.beats:
                data, strobes, last = self.beats.popleft()
                ask.wdata[:BEAT] = list(data)
                ask.wstrb[:2] = [strobes & 255, strobes >> 8]
                ask.wlast = last

    @staticmethod
    def _offer(channel, queue, taken):
        if not taken and channel.valid:
            return
        channel.valid = bool(queue)
        if queue:
            channel.addr, beats, channel.id = queue.popleft()
            channel.len, channel.burst, channel.size = beats - 1, 1, BEAT.bit_length() - 1

    def _take_read(self, answer):
        beats = self.current.setdefault(answer.rid, [])
        beats.append((bytes(answer.rdata[:BEAT]), answer.rresp))
        if answer.rlast:
            data = b"".join(part for part, _ in beats)
            self.reads.append((answer.rid, data, [resp for _, resp in beats]))
            self.times["r", len(self.reads)] = self.cycle - self.started[answer.rid].popleft()
            self.current[answer.rid] = []

    def run(self, reads=0, writes=0, cycles=20_000):
        """Run until so many reads and writes were answered."""
        for _ in range(cycles):
            if len(self.reads) >= reads and len(self.answers) >= writes:
                return
            self.step()
        raise AssertionError(f"{len(self.reads)} of {reads}, {len(self.answers)} of {writes}")


@pytest.mark.parametrize("name", PROFILES)
def test_reads_and_writes_keep_their_data(name):
    rng = np.random.default_rng(5)
    manager = Manager(PROFILES[name], 3)
    expected = manager.data.copy()
    wanted = {}
    for number in range(40):
        beats = int(rng.integers(1, 33))
        address = BASE + int(rng.integers(0, SIZE // 512 // 2)) * 512
        id_ = int(rng.integers(3))
        manager.read(address, beats, id_)
        at = address - BASE
        wanted.setdefault(id_, []).append(expected[at : at + beats * BEAT].tobytes())
        size = int(rng.integers(1, 300))
        to = SIZE // 2 + 512 * number + int(rng.integers(0, 200))
        content = rng.bytes(size)
        manager.write(BASE + to, content, id_)
        expected[to : to + size] = np.frombuffer(content, np.uint8)
    manager.run(40, 40)
    for id_, contents in wanted.items():
        assert [data for each, data, _ in manager.reads if each == id_] == contents
    assert (manager.data == expected).all()
    counts = manager.bank.counts(manager.port)
    assert (counts["reads"], counts["writes"]) == (40, 40)
    assert counts["reading"] == counts["writing"] == 0


@pytest.mark.parametrize("latency", [0, 1, 7, 350])
def test_latency(latency):
    manager = Manager(Memory(latency=latency))
    manager.read(BASE, 4)
    manager.run(1)
    # One cycle from a handshake to the first data of a memory without latency, then a beat a cycle.
    assert manager.times["r", 1] == latency + 4


def test_bandwidth():
    manager = Manager(Memory(latency=0, bandwidth=4.0))
    for burst in range(16):
        manager.read(BASE + 512 * burst, 32)
    manager.run(16)
    assert manager.cycle == pytest.approx(16 * 512 / 4, rel=0.02)


def test_refresh():
    manager = Manager(Memory(latency=0, refresh=(100, 50)))
    for burst in range(16):
        manager.read(BASE + 512 * burst, 32)
    manager.run(16)
    assert manager.cycle == pytest.approx(16 * 32 * 2, rel=0.1)


def test_reordering_between_ids_only():
    manager = Manager(Memory(latency=5, jitter=100, reorder=0.8), 1)
    for number in range(24):
        manager.read(BASE + 512 * number, 8, number % 3)
    manager.run(24)
    order = [id_ for id_, _, _ in manager.reads]
    assert order != [number % 3 for number in range(24)]
    for id_ in range(3):
        firsts = [data[:16] for each, data, _ in manager.reads if each == id_]
        wanted = [manager.data[512 * k : 512 * k + 16].tobytes() for k in range(id_, 24, 3)]
        assert firsts == wanted


@pytest.mark.parametrize("order", ["address-first", "data-first"])
def test_order_of_address_and_data(order):
    manager = Manager(Memory(latency=0, order=order))
    for number in range(6):
        manager.write(BASE + 512 * number, bytes(64))
    manager.run(0, 6)
    assert not manager.data[:64].any()


def test_faults():
    manager = Manager(Memory(latency=3))
    manager.bank.add_fault(first=BASE + 32, last=BASE + 32, count=-1, on_read=1, response=2)
    manager.bank.add_fault(first=BASE + 600, last=BASE + 600, count=1, on_write=1, response=3)
    manager.bank.add_fault(first=BASE + 1024, last=BASE + 1030, count=-1, on_read=1, delay=500)
    before = manager.data.copy()
    manager.read(BASE, 4)
    manager.write(BASE + 512, bytes(128))
    manager.run(1, 1)
    assert manager.reads[0][2] == [0, 0, 2, 0]
    assert manager.answers == [(0, 3)]
    assert (manager.data[592:608] == before[592:608]).all(), "a beat with an error is not written"
    manager.write(BASE + 512, bytes(128))
    manager.run(1, 2)
    assert manager.answers[1] == (0, 0), "the fault is used up"
    start = manager.cycle
    manager.read(BASE + 1024, 1)
    manager.run(2)
    assert manager.cycle - start > 500


#: What is done to a good manager, and what the checker says of it.
BROKEN = {
    "crosses": (lambda m: m.read(BASE + 4096 - 16, 2), "crosses a 4 KB page"),
    "too long": (lambda m: m.read(BASE, 33), "528 bytes .* over 512"),
    "unknown ID": (lambda m: m.read(BASE, 1, 7), "ID 7 .* is not in use"),
    "read outside": (lambda m: m.read(BASE - 16, 1), "reads .* outside all buffers"),
    "write outside": (lambda m: m.write(BASE + SIZE, bytes(9)), "writes .* outside all"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_bursts_that_break_a_rule(name):
    spoil, message = BROKEN[name]
    manager = Manager(Memory(latency=0))
    spoil(manager)
    with pytest.raises(Violation, match=f"^m_axi: .*{message}"):
        manager.run(1, 1, cycles=60)


def _stalled(change):
    """A manager whose AR, AW and W wait, then changes something."""
    stalls = dict.fromkeys(("ar", "aw", "w"), "paused:1000")
    manager = Manager(Memory(latency=0, stalls=stalls))
    manager.read(BASE, 1)
    manager.write(BASE, bytes(32))
    for _ in range(5):
        manager.step()
    change(manager.ask)
    with pytest.raises(Violation) as found:
        manager.step()
    return str(found.value)


def test_stability():
    assert "AR: changed or fell" in _stalled(lambda ask: setattr(ask.ar, "valid", 0))
    assert "AR: changed or fell" in _stalled(lambda ask: setattr(ask.ar, "addr", BASE + 16))
    assert "AW: changed or fell" in _stalled(lambda ask: setattr(ask.aw, "cache", 3))
    assert "W: WVALID fell" in _stalled(lambda ask: setattr(ask, "wvalid", 0))
    assert "W: WLAST or WSTRB changed" in _stalled(lambda ask: setattr(ask, "wlast", 1))
    assert "W: WDATA changed" in _stalled(lambda ask: ask.wdata.__setitem__(3, 9))


def test_stability_of_bytes_that_are_not_enabled():
    manager = Manager(Memory(latency=0, stalls={"w": "paused:1000"}))
    manager.write(BASE, bytes(3))
    for _ in range(5):
        manager.step()
    manager.ask.wdata[9] = 1
    with pytest.raises(Violation, match="W: WDATA changed"):
        manager.step()


def test_a_beat_without_an_address():
    manager = Manager(Memory(latency=0))
    manager.beats.append((bytes(BEAT), 0xFFFF, True))
    with pytest.raises(Violation, match="W: a beat without an address for 65 cycles"):
        manager.run(0, 1, cycles=100)


@pytest.mark.parametrize(
    ("beats", "message"),
    [
        ([(0xFFFF, 0), (0x0000, 1)], "beat 1 enables no byte"),
        ([(0xFFFF, 0), (0x00F7, 1)], "hole in WSTRB"),
        ([(0xFFFF, 0), (0xFFF0, 1)], "first byte of beat 1"),
        ([(0x0FFF, 0), (0xFFFF, 1)], "last byte of beat 0"),
        ([(0xFFFF, 1)], "WLAST is 1 at beat 0 of 2"),
        ([(0xFFFF, 0), (0xFFFF, 0)], "WLAST is 0 at beat 1 of 2"),
        ([(0xFFFF, 0)], "no WVALID for 9 cycles"),
    ],
)
def test_write_data_that_breaks_a_rule(beats, message):
    manager = Manager(Memory(latency=0))
    manager.write_queue.append((BASE, 2, 0))
    manager.beats.extend((bytes(BEAT), strobes, last) for strobes, last in beats)
    with pytest.raises(Violation, match=message):
        manager.run(0, 1, cycles=60)


def test_a_channel_serves_its_stripes_only():
    manager = Manager(Memory(latency=0), channels=2, channel=1, stripe_bytes=4096)
    manager.read(BASE + 4096, 4)
    manager.run(1)
    manager.read(BASE, 4)
    with pytest.raises(Violation, match="belongs to another channel"):
        manager.run(2, cycles=20)


def test_silence_in_reset():
    manager = Manager(Memory(latency=0))
    manager.read(BASE, 1)
    manager.step()
    manager.bank.tick(manager.port, manager.ask, 9, reset=2)  # the first cycle may be anything
    with pytest.raises(Violation, match="VALID is 1 in reset"):
        manager.bank.tick(manager.port, manager.ask, 10, reset=1)


def test_memories_by_name():
    found = memory("dram:latency=7,bandwidth=2.5,r=bernoulli:0.5,w=bursts:3,5")
    assert (found.latency, found.bandwidth, found.jitter) == (7, 2.5, 60)
    assert found.stalls == {"r": "bernoulli:0.5", "w": "bursts:3,5"}
    assert memory("far") == PROFILES["far"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fast", "^Memory must be one of ideal, near, .*, not 'fast'$"),
        ("far:latency=x", "^far:latency=x: latency must be a number, not 'x'$"),
        ("far:depth=3", "^far:depth=3: of a memory ar, .* can be changed, not 'depth'$"),
        ("far:latency=-1", "^latency must be zero or more, not -1$"),
        ("far:reorder=2", "^reorder must be from 0 to 1, not 2.0$"),
        ("far:r=sometimes", "^Stall profile must be one of"),
    ],
)
def test_wrong_memories(text, message):
    with pytest.raises(UserError, match=message):
        memory(text)
