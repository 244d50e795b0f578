"""The software device: registers, rings, interrupts, faults."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdma.driver import Memory, RegisterError, Registers, SoftwareDevice
from cdma.engine_codes import LINK, Op, Raw, State, Status
from cdma.engine_config import EngineConfig
from cdma.golden import engine
from cdma.golden.engine.descriptor import Completion, Descriptor, phase
from cdma.hdl.engine.registers import Access, Guard

HOST, DEVICE = 0x4000_0000, 0x10_0000
CONFIG = EngineConfig(stripe_bytes=1024)
SQ, CQ, STREAM, INDEX = HOST, HOST + 0x8000, HOST + 0x10000, HOST + 0x40000


class Bench:
    """A device with both rings set up by hand."""

    def __init__(self, log2=2, automatic=True, config=CONFIG):
        self.config = config
        self.device = SoftwareDevice(
            config, Memory(1 << 19, HOST), Memory(1 << 19, DEVICE), automatic
        )
        self.registers = Registers(self.device)
        self.log2, self.tails = log2, [0, 0]
        for ring in range(2):
            self.setup(ring)

    def setup(self, ring):
        for name, value in {
            "SQ_BASE": SQ + 0x4000 * ring,
            "CQ_BASE": CQ + 0x4000 * ring,
            "DEV_BASE": DEVICE,
            "DEV_LIMIT": DEVICE + (1 << 19),
            "HOST_BASE": HOST,
            "HOST_LIMIT": HOST + (1 << 19),
        }.items():
            self.registers.write_pair("RING", name, value, ring)
        self.registers.write("RING", "SQ_SIZE", self.log2, ring)
        self.registers.write("RING", "CQ_SIZE", self.log2, ring)
        self.registers.write("RING", "CTRL", 1, ring)

    def put(self, ring, *descriptors, flip=False, doorbell=True):
        for descriptor in descriptors:
            count = self.tails[ring]
            bit = phase(count, self.log2) ^ flip
            at = SQ + 0x4000 * ring + 64 * (count % (1 << self.log2))
            self.device.host.view(at, 64)[:] = descriptor.pack(bit)
            self.tails[ring] = count + 1 & 0xFFFF
        if doorbell:
            self.registers.write("RING", "SQ_TAIL", self.tails[ring], ring)

    def completion(self, ring, count):
        at = CQ + 0x4000 * ring + 32 * (count % (1 << self.log2))
        completion, bit = Completion.unpack(self.device.host.read(at, 32))
        return completion if bit == phase(count, self.log2) else None

    def consume(self, ring, count):
        self.registers.write("RING", "CQ_HEAD", count & 0xFFFF, ring)

    def state(self, ring):
        value = self.registers.read("RING", "STATE", ring)
        return State(value & 7), value >> 16

    def offload(self, words, **fields):
        """Descriptor that offloads words, which are put into device memory."""
        data = words.view(np.uint8)
        self.device.memory.write(DEVICE, data)
        defaults = {
            "device": DEVICE,
            "host": STREAM,
            "index": INDEX,
            "row_bytes": len(data),
            "limit": self.config.bound(len(data)),
            "with_index": True,
        }
        return Descriptor(Op.OFFLOAD, **(defaults | fields))


NOP = Descriptor(Op.NOP)


def words(count, seed=0, density=0.5):
    rng = np.random.default_rng(seed)
    found = rng.integers(1, 1 << 32, count, dtype=np.uint32)
    found[rng.random(count) >= density] = 0
    return found


def test_every_register_reads_its_reset():
    device = SoftwareDevice(CONFIG)
    for address, (_, _, register) in device.map.addresses().items():
        assert device.read(address) == register.reset, register.name


def test_reads_have_no_side_effect():
    bench = Bench()
    bench.put(0, NOP, Descriptor(7))
    first = [bench.device.read(address) for address in bench.device.map.addresses()]
    assert [bench.device.read(address) for address in bench.device.map.addresses()] == first


def test_plain_fields_keep_what_is_written():
    device = SoftwareDevice(CONFIG)
    for address, (block, _, register) in device.map.addresses().items():
        kept = [field for field in register.fields if field.access is Access.RW]
        counted = register.name in ("SQ_TAIL", "CQ_HEAD", "CTRL")
        if not kept or counted or block.name == "ENGINE":
            continue
        mask = sum(field.mask for field in kept)
        device.write(address, 0xFFFFFFFF)
        assert device.read(address) & mask == mask, register.name
        device.write(address, 0)
        assert device.read(address) & mask == 0, register.name


def test_wrong_accesses_are_refused():
    device = SoftwareDevice(CONFIG)
    for address in (0x30, 0x01, 0x600 + 0x7C, 0x1000):
        with pytest.raises(RegisterError, match="no register at"):
            device.read(address)
        with pytest.raises(RegisterError, match="no register at"):
            device.write(address, 0)
    with pytest.raises(RegisterError, match="ID at 0x0 is read-only"):
        device.write(0, 1)
    with pytest.raises(RegisterError, match="SQ_HEAD at 0x110 is read-only"):
        device.write(0x110, 1)


def test_guarded_registers_cannot_change_while_the_ring_runs():
    bench = Bench()
    block = bench.device.map.block("RING")
    for register in block.registers:
        if register.guard is Guard.NONE:
            continue
        with pytest.raises(RegisterError, match=f"{register.name} of ring 0 cannot change"):
            bench.registers.write("RING", register.name, 0, 0)
        bench.registers.write("RING", "CTRL", 0, 0)
        bench.registers.write("RING", register.name, bench.registers.read("RING", register.name))
        bench.registers.write("RING", "CTRL", 1, 0)


def test_a_started_descriptor_guards_them_too():
    bench = Bench(automatic=False)
    bench.put(0, NOP)
    assert bench.device.start(0)
    bench.registers.write("RING", "CTRL", 0, 0)
    with pytest.raises(RegisterError, match="cannot change while it runs"):
        bench.registers.write("RING", "SQ_SIZE", 3, 0)
    assert bench.device.finish(0)
    bench.registers.write("RING", "SQ_SIZE", 3, 0)


def test_locked_windows_stay_over_a_reset():
    bench = Bench()
    bench.registers.write("RING", "CTRL", 8, 1)
    with pytest.raises(RegisterError, match="DEV_LIMIT_LO of ring 1 is locked"):
        bench.registers.write("RING", "DEV_LIMIT_LO", 0, 1)
    bench.registers.write("ENGINE", "CTRL", 1)
    assert bench.registers.read_pair("RING", "DEV_LIMIT", 1) == DEVICE + (1 << 19)
    assert bench.registers.read_pair("RING", "DEV_LIMIT", 0) == 0
    assert bench.registers.read_pair("RING", "SQ_BASE", 1) == 0
    assert bench.registers.read("RING", "CTRL", 1) == 8
    with pytest.raises(RegisterError, match="is locked"):
        bench.registers.write("RING", "HOST_BASE_HI", 0, 1)


@pytest.mark.parametrize("log2", [0, 1, 3])
def test_rings_wrap_with_alternating_phase(log2):
    bench = Bench(log2)
    for count in range(5 << log2):
        assert bench.completion(0, count) is None or count < 1 << log2
        bench.put(0, Descriptor(Op.NOP, cookie=count + 100))
        found = bench.completion(0, count)
        assert (found.cookie, found.head, found.status) == (count + 100, count + 1, 0)
        bench.consume(0, count + 1)


def test_a_full_completion_ring_stops_the_ring():
    bench = Bench(log2=1)
    bench.put(0, NOP, NOP)
    bench.put(0, NOP, NOP)
    assert bench.registers.read("RING", "SQ_HEAD", 0) == 2
    bench.consume(0, 1)
    assert bench.registers.read("RING", "SQ_HEAD", 0) == 3
    bench.consume(0, 3)
    assert bench.registers.read("RING", "SQ_HEAD", 0) == 4
    assert bench.registers.read("RING", "CQ_TAIL", 0) == 4


@pytest.mark.parametrize("register", ["SQ_TAIL", "CQ_HEAD"])
def test_impossible_counts_are_errors(register):
    bench = Bench(log2=2)
    bench.put(0, NOP)
    before = bench.registers.read("RING", register, 0)
    bench.registers.write("RING", register, 1 + 5 if register == "SQ_TAIL" else 2, 0)
    assert bench.state(0)[0] is State.ERROR
    assert bench.registers.read("RING", register, 0) == before
    assert bench.registers.read("ENGINE", "IRQ_STATUS") & 4
    bench.registers.write("RING", "CTRL", 1, 0)  # RUN does not leave ERROR
    assert bench.state(0)[0] is State.ERROR
    bench.registers.write("RING", "CTRL", 2, 0)
    assert bench.state(0)[0] is State.STOPPED
    bench.registers.write("RING", "CTRL", 1, 0)
    bench.put(0, NOP)
    assert bench.completion(0, 1).status == Status.OK


def test_completions_that_were_read_stay_read():
    bench = Bench(log2=2)
    bench.put(0, NOP, NOP)
    bench.consume(0, 2)
    bench.registers.write("RING", "CQ_HEAD", 1, 0)
    assert bench.state(0)[0] is State.ERROR
    assert bench.registers.read("RING", "CQ_HEAD", 0) == 2


def test_a_ring_outside_its_window_does_not_run():
    bench = Bench()
    bench.registers.write("RING", "CTRL", 0, 0)
    bench.registers.write_pair("RING", "HOST_LIMIT", CQ + 4 * 32 - 1, 0)
    bench.registers.write("RING", "CTRL", 1, 0)
    assert bench.state(0) == (State.ERROR, Status.HOST_DECERR)
    assert bench.registers.read_pair("RING", "ERROR", 0) == CQ


def test_a_stale_phase_halts_the_ring():
    bench = Bench()
    bench.put(0, Descriptor(Op.NOP, cookie=9), doorbell=False)
    bench.put(0, Descriptor(Op.NOP, cookie=10), flip=True)
    found = bench.completion(0, 1)
    assert (found.status, found.cookie, found.where) == (Status.BAD_DESCRIPTOR, 0, SQ + 64)
    assert bench.state(0) == (State.HALTED, Status.BAD_DESCRIPTOR)
    assert bench.registers.read("ENGINE", "IRQ_STATUS") & 4
    bench.put(0, Descriptor(Op.NOP, cookie=11))
    assert bench.completion(0, 2) is None
    bench.registers.write("RING", "CTRL", 1, 0)
    assert bench.completion(0, 2).cookie == 11


@pytest.mark.parametrize(("kind", "status"), [("SLVERR", 34), ("DECERR", 35)])
def test_a_failed_fetch_halts_the_ring(kind, status):
    bench = Bench()
    bench.device.host.fail(SQ + 60, 1, kind)
    bench.put(0, NOP)
    assert (bench.completion(0, 0).status, bench.completion(0, 0).cookie) == (status, 0)
    assert bench.state(0) == (State.HALTED, status)


def test_a_failed_completion_is_an_error_of_the_ring():
    bench = Bench()
    bench.device.host.fail(CQ + 32, 32, "DECERR")
    bench.put(0, NOP, NOP)
    assert bench.state(0) == (State.ERROR, Status.HOST_DECERR)
    assert bench.registers.read_pair("RING", "ERROR", 0) == CQ + 32
    assert bench.registers.read("RING", "SQ_HEAD", 0) == 2
    # It counts as one with an error.
    assert bench.registers.counters()["ERRORS"] == 1
    assert bench.registers.read("ENGINE", "IRQ_STATUS") == 0b101


def test_a_failed_link_stays_failed():
    """Until the hardware is reset, whatever software does."""
    bench = Bench()
    bench.device.host.fail(STREAM, 4, "HANG")
    bench.put(0, bench.offload(words(64)))
    registers, failed = bench.registers, (State.ERROR, Status.TIMEOUT)
    assert registers.read("RING", "SQ_HEAD", 0) == 0  # no completion
    assert registers.fields("RING", "STATE", 0)["BUSY"]
    assert registers.read("ENGINE", "IRQ_STATUS") & 0b101100 == 0b101100
    registers.write("ENGINE", "IRQ_STATUS", 0b111111)
    for ring in range(2):
        registers.write("RING", "CTRL", 2, ring)
        registers.write("RING", "CTRL", 1, ring)
        assert bench.state(ring) == failed
    assert registers.read("ENGINE", "IRQ_STATUS") & 0b100000 == 0
    registers.write("ENGINE", "CTRL", 1)
    assert registers.read("ENGINE", "CTRL") == 1  # waits for the link
    bench.device.host.heal()
    assert registers.read("ENGINE", "CTRL") == 1  # and does not end when it responds late
    assert registers.field("ENGINE", "STATUS", "FATAL") == 1
    assert [bench.state(ring) for ring in range(2)] == [failed, failed]


@pytest.mark.parametrize(("place", "size"), [(SQ, 64), (CQ, 32)], ids=["fetch", "completion"])
def test_rings_behind_a_dead_link(place, size):
    bench = Bench()
    bench.device.host.fail(place, size, "HANG")
    bench.put(0, NOP)
    assert [bench.state(ring) for ring in range(2)] == [(State.ERROR, Status.TIMEOUT)] * 2
    assert bench.registers.field("ENGINE", "STATUS", "FATAL") == 1
    assert bench.registers.read("RING", "SQ_HEAD", 0) == 0


@pytest.mark.parametrize("abort", [("RING", 2), ("ENGINE", 1)], ids=["ring", "engine"])
def test_a_link_that_fails_in_an_abort(abort):
    bench = Bench(automatic=False)
    bench.put(0, NOP, NOP)
    assert bench.device.start(0)
    bench.device.host.fail(CQ, 32, "HANG")
    bench.registers.write(abort[0], "CTRL", abort[1], 0)
    assert [bench.state(ring) for ring in range(2)] == [(State.ERROR, Status.TIMEOUT)] * 2
    assert bench.registers.read("RING", "SQ_HEAD", 0) == 0
    assert bench.registers.read("ENGINE", "CTRL") == (abort[0] == "ENGINE")


def test_halt_on_error():
    bench = Bench()
    bench.put(0, Descriptor(7, cookie=1), Descriptor(Op.NOP, cookie=2))
    assert [bench.completion(0, count).status for count in range(2)] == [48, 0]
    bench.registers.write("RING", "CTRL", 5, 0)
    bench.put(0, Descriptor(7, cookie=3), NOP)
    assert bench.state(0) == (State.HALTED, Status.BAD_DESCRIPTOR)
    assert bench.registers.read("RING", "CTRL", 0) == 4
    assert bench.registers.read("RING", "SQ_HEAD", 0) == 3
    bench.consume(0, 3)
    bench.registers.write("RING", "CTRL", 1, 0)
    assert bench.registers.read("RING", "SQ_HEAD", 0) == 4


def test_a_fence_waits_for_what_the_other_ring_has_started():
    bench = Bench(automatic=False)
    bench.put(1, NOP, NOP)
    assert bench.device.start(1)
    bench.put(0, NOP, Descriptor(Op.NOP, fence=True))
    assert bench.device.start(0)
    assert not bench.device.start(0)  # ring 1 has one started, ring 0 an earlier one
    assert bench.device.finish(0)
    assert not bench.device.start(0)
    assert bench.device.start(1)  # queued work that starts later is not waited for
    assert bench.device.finish(1)
    assert bench.device.start(0)
    assert bench.device.finish(0)
    assert bench.device.rings[1].is_busy


def test_a_fence_waits_for_a_ring_in_error():
    """What the other ring has started still moves data."""
    bench = Bench(automatic=False)
    bench.put(1, NOP)
    assert bench.device.start(1)
    bench.put(0, Descriptor(Op.NOP, fence=True))
    assert not bench.device.start(0)
    bench.registers.write("RING", "SQ_TAIL", 99, 1)
    assert bench.state(1)[0] is State.ERROR
    assert not bench.device.start(0)
    assert bench.device.finish(1)
    assert bench.device.start(0)


def test_both_rings_fenced_do_not_lock():
    bench = Bench()
    for ring in range(2):
        bench.put(ring, *[Descriptor(Op.NOP, fence=True)] * 4)
    for ring in range(2):
        assert bench.registers.read("RING", "SQ_HEAD", ring) == 4


def test_abort_ends_what_was_started_and_keeps_the_rest():
    bench = Bench(automatic=False)
    job = bench.offload(words(1000), cookie=5)
    bench.put(0, job, Descriptor(7, cookie=6), Descriptor(Op.NOP, cookie=7))
    assert bench.device.start(0)
    assert bench.device.start(0)
    bench.registers.write("RING", "CTRL", 2, 0)
    assert [bench.completion(0, count).status for count in range(2)] == [49, 48]
    assert bench.completion(0, 2) is None
    assert bench.state(0)[0] is State.STOPPED
    bench.registers.write("RING", "CTRL", 1, 0)
    bench.device.work()
    assert bench.completion(0, 2).cookie == 7


def test_software_can_withdraw_what_was_not_started():
    bench = Bench(automatic=False)
    bench.put(0, NOP, NOP)
    bench.registers.write("RING", "SQ_TAIL", 0, 0)
    bench.device.work()
    assert bench.registers.read("RING", "SQ_HEAD", 0) == 0


def test_reset_clears_all_but_locks():
    bench = Bench()
    bench.put(0, NOP, Descriptor(7))
    bench.registers.write("ENGINE", "CTRL", 1)
    for address, (_, _, register) in bench.device.map.addresses().items():
        assert bench.device.read(address) == register.reset, register.name


def test_interrupts_without_coalescing():
    bench = Bench()
    bench.registers.write("ENGINE", "IRQ_ENABLE", 2)
    bench.put(1, NOP)
    assert not bench.device.irq  # not asked for
    bench.put(1, Descriptor(Op.NOP, interrupt=True))
    assert bench.device.irq
    bench.registers.write("ENGINE", "IRQ_STATUS", 1)
    assert bench.device.irq
    bench.registers.write("ENGINE", "IRQ_STATUS", 2)
    assert not bench.device.irq
    bench.put(1, Descriptor(7))  # any error does
    assert bench.device.irq
    bench.registers.write("ENGINE", "IRQ_ENABLE", 0)
    assert not bench.device.irq


def test_interrupts_are_coalesced():
    bench = Bench(log2=4)
    bench.registers.write("ENGINE", "IRQ_ENABLE", 1)
    bench.registers.write("ENGINE", "IRQ_COALESCE", 3 | 1000 << 8)
    job = Descriptor(Op.NOP, interrupt=True)
    bench.put(0, job, job)
    assert not bench.device.irq
    bench.put(0, job)
    assert bench.device.irq
    bench.registers.write("ENGINE", "IRQ_STATUS", 1)
    bench.put(0, job)
    assert not bench.device.irq
    assert bench.device.wait(0)  # the timer runs out
    bench.registers.write("ENGINE", "IRQ_STATUS", 1)
    bench.consume(0, 3)  # one is left: armed again
    assert not bench.device.irq
    assert bench.device.wait(0)
    bench.registers.write("ENGINE", "IRQ_STATUS", 1)
    bench.consume(0, 4)
    assert not bench.device.wait(0)


def test_a_disabled_channel_makes_its_jobs_wait():
    bench = Bench()
    bench.registers.write("CHANNEL", "ENABLE", 0, bench.config.channel(DEVICE + 1024))
    bench.put(0, bench.offload(words(256)))
    assert bench.completion(0, 0).is_ok
    bench.put(0, bench.offload(words(1000)), NOP)
    assert bench.completion(0, 1) is None
    bench.registers.write("CHANNEL", "ENABLE", 1, bench.config.channel(DEVICE + 1024))
    assert bench.completion(0, 2).is_ok


def test_counters_come_with_a_snapshot():
    bench = Bench()
    bench.put(0, bench.offload(words(128 * 256)), Descriptor(7))
    assert bench.registers.read("COUNTERS", "ERRORS_LO") == 0
    counters = bench.registers.counters()
    assert counters["ERRORS"] == 1
    assert counters["RAW_BEATS_0"] == 128 * 1024 // (4 * 32)
    assert counters["CYCLES"] == 0


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_faults_leave_what_lies_before_them(data):
    """Any byte of any buffer fails: the completion is that of the golden engine."""
    count = data.draw(st.integers(1, 2500), label="words")
    tensor = words(count, data.draw(st.integers(0, 9)))
    bench = Bench()
    raw = data.draw(st.sampled_from(list(Raw)))
    job = bench.offload(tensor, raw=raw, crc=data.draw(st.booleans()))
    whole = engine.offload(tensor, CONFIG, raw=raw, crc=job.crc)
    side = data.draw(st.sampled_from(["tensor", "stream", "index"]))
    base, size, memory = {
        "tensor": (DEVICE, 4 * count, bench.device.memory),
        "stream": (STREAM, whole.bytes, bench.device.host),
        "index": (INDEX, len(whole.index), bench.device.host),
    }[side]
    place = data.draw(st.integers(0, size - 1), label="byte")
    sizes = whole.index.view("<u4")[::2] & 0xFFFFFF
    ends = np.cumsum(sizes)
    stripe = {
        "tensor": place // CONFIG.stripe_bytes,
        "stream": int(np.argmax(ends > place)),
        "index": place // 8,
    }[side]
    memory.fail(base + place, 1)
    bench.put(0, job)
    found = bench.completion(0, 0)
    assert (found.status, found.stripe, found.where) == (
        Status.DEVICE_SLVERR if side == "tensor" else Status.HOST_SLVERR,
        stripe,
        base + place,
    )
    good = int(ends[stripe - 1]) if stripe else 0
    assert found.stream_bytes == good
    assert found.channel == (CONFIG.channel(base + place) if side == "tensor" else LINK)
    assert np.array_equal(bench.device.host.view(STREAM, good), whole.stream[:good])
    assert np.array_equal(bench.device.host.view(INDEX, 8 * stripe), whole.index[: 8 * stripe])
    memory.heal()
    bench.put(0, job)
    assert bench.completion(0, 1).is_ok

    # And the way back, into other memory, with the same byte at fault.
    back = DEVICE + 0x40000
    memory.fail(base + place + (0x40000 if side == "tensor" else 0), 1, "DECERR")
    prefetch = Descriptor(
        Op.PREFETCH,
        device=back,
        host=STREAM,
        index=INDEX,
        row_bytes=4 * count,
        limit=whole.bytes,
        with_index=True,
        crc=job.crc,
    )
    bench.put(1, prefetch)
    found = bench.completion(1, 0)
    assert (found.status, found.stripe, found.stream_bytes) == (
        Status.DEVICE_DECERR if side == "tensor" else Status.HOST_DECERR,
        stripe,
        good,
    )
    done = min(stripe * CONFIG.stripe_words, count)
    bench.device.memory.heal()
    assert np.array_equal(bench.device.memory.view(back, 4 * done).view("<u4"), tensor[:done])
    bench.device.host.heal()
    bench.put(1, prefetch)
    assert bench.completion(1, 1).is_ok
    assert np.array_equal(bench.device.memory.view(back, 4 * count).view("<u4"), tensor)


def test_no_byte_outside_the_buffers_changes():
    bench = Bench()
    tensor = words(1003)
    job = bench.offload(tensor, with_index=True)
    host, memory = bench.device.host, bench.device.memory
    host.view(STREAM, 0x50000)[:] = 0xA5
    bench.put(0, job)
    whole = engine.offload(tensor, CONFIG, raw="never")
    assert (host.view(STREAM + whole.bytes, INDEX - STREAM - whole.bytes) == 0xA5).all()
    assert (host.view(INDEX + len(whole.index), 64) == 0xA5).all()
    before = memory.data.copy()
    back = DEVICE + 0x40000
    fields = {"host": STREAM, "index": INDEX, "row_bytes": 4012, "limit": whole.bytes}
    bench.put(1, Descriptor(Op.PREFETCH, device=back, with_index=True, **fields))
    assert bench.completion(1, 0).is_ok
    before[0x40000 : 0x40000 + 4012] = tensor.view(np.uint8)
    assert np.array_equal(memory.data, before)


def test_a_sum_below_the_limit_is_an_index_error_and_reads_no_more():
    bench = Bench()
    tensor = words(700)
    bench.put(0, bench.offload(tensor))
    needed = bench.completion(0, 0).stream_bytes
    limit = 1 << 18  # beyond what memory there is, were it read
    bench.device.host.fail(STREAM + needed + 64, 1 << 16)
    fields = {"host": STREAM, "index": INDEX, "row_bytes": 2800, "limit": limit}
    job = Descriptor(Op.PREFETCH, device=DEVICE + 0x40000, with_index=True, **fields)
    bench.put(1, job)
    found = bench.completion(1, 0)
    assert (found.status, found.stripe, found.where) == (Status.INDEX, 3, needed)
    assert np.array_equal(bench.device.memory.view(DEVICE + 0x40000, 2800).view("<u4"), tensor)


@pytest.mark.parametrize("op", [Op.COPY_OUT, Op.COPY_IN])
def test_copies_that_fail(op):
    bench = Bench()
    ring = 0 if op == Op.COPY_OUT else 1
    tensor = words(1000)
    bench.device.memory.write(DEVICE, tensor.view(np.uint8))
    fields = {"device": DEVICE, "host": STREAM, "row_bytes": 4000}
    bench.put(ring, Descriptor(op, limit=3996, **fields))
    found = bench.completion(ring, 0)
    assert (found.status, found.stripe, found.stream_bytes) == (Status.OVERFLOW, 0, 4000)
    bench.device.host.fail(STREAM + 2050, 1)
    bench.put(ring, Descriptor(op, limit=4000, **fields))
    found = bench.completion(ring, 1)
    assert (found.status, found.stripe, found.stream_bytes) == (Status.HOST_SLVERR, 2, 2048)
    bench.device.host.heal()
    bench.put(ring, Descriptor(op, limit=4000, **fields))
    assert bench.completion(ring, 2).is_ok
