"""The driver in C, compiled without a warning and run against the engine in software."""

import subprocess
from contextlib import suppress
from ctypes import byref, c_uint32, c_uint64

import numpy as np
import pytest

from cdma.driver import RegisterError, c
from cdma.engine_codes import Op, Raw, State, Status
from cdma.engine_config import EngineConfig
from cdma.golden import engine
from cdma.toolchain import cc


@pytest.fixture
def bench(library, c_bench):
    return c_bench.Bench(library).open()


@pytest.fixture
def tensor():
    array = np.random.default_rng(5).standard_normal(40_000).astype("f4")
    array[array < 0] = 0
    return array


def test_the_header_is_that_of_the_register_table():
    from cdma.hdl.emit.registers import c_header
    from cdma.hdl.engine.registers import register_map

    assert c.HEADERS[1].read_text() == c_header(register_map(EngineConfig()))


@pytest.mark.usefixtures("library")  # skips without a compiler
def test_the_header_compiles_by_itself(tmp_path):
    source = tmp_path / "main.c"
    source.write_text(
        f'#include "{c.HEADERS[1]}"\n'
        "uint32_t at(int i);\nuint32_t at(int i) { return CDMA_RING_SQ_TAIL(i); }\n"
    )
    cc.compile_c([source], tmp_path / "libmain.so", shared=True)


def test_the_size_of_the_engine(library, c_bench):
    bench = c_bench.Bench(library, channels=8).open()
    config, found = bench.device.config, bench.engine.config
    for name in ("channels", "lanes", "word_bytes", "stripe_bytes", "link_bytes", "block_words"):
        assert getattr(found, name) == getattr(config, name)
    assert (found.address_bits, found.auto_distance) == (48, config.auto_distance)
    for size in (0, 4, 128, 132, 4096, 1_000_000):
        assert library.cdma_bound(byref(found), c_uint64(size)) == config.bound(size)
        assert library.cdma_stripes(byref(found), c_uint64(size)) == config.stripes(size)


@pytest.mark.parametrize("type_", ["fp32", "fp16"])
def test_the_size_of_an_engine_of_zvcplus(library, c_bench, type_):
    bench = c_bench.Bench(library, channels=1, codec="zvcplus", type=type_).open()
    config, found = bench.device.config, bench.engine.config
    assert (found.codec, found.type) == (2, ("fp32", "fp16").index(type_))
    for size in (0, 4, 128, 132, 4096, 4100, 1_000_000):
        assert library.cdma_bound(byref(found), c_uint64(size)) == config.bound(size)


def test_out_and_back_with_zvcplus(library, c_bench, tensor):
    bench = c_bench.Bench(library, channels=1, codec="zvcplus").open()
    status, done, stream, index, place = bench.offload(tensor, raw=Raw.AUTO)
    wanted = engine.offload(tensor, bench.device.config, raw=Raw.AUTO, crc=True)
    assert (status, done.stream_bytes) == (0, wanted.bytes)
    assert np.array_equal(stream.data[: wanted.bytes], wanted.stream)
    place.data[:] = 0xEE
    assert bench.prefetch(place, stream, wanted.bytes, index)[0] == 0
    assert place.data.tobytes() == tensor.tobytes()


@pytest.mark.parametrize("raw", list(Raw))
def test_out_and_back(bench, tensor, raw):
    status, done, stream, index, place = bench.offload(tensor, raw=raw)
    wanted = engine.offload(tensor, bench.device.config, raw=raw, crc=True)
    assert (status, done.stream_bytes, done.stripe) == (0, wanted.bytes, wanted.stripe)
    assert np.array_equal(stream.data[: wanted.bytes], wanted.stream)
    assert np.array_equal(index.data, wanted.index)
    place.data[:] = 0xEE
    status, done = bench.prefetch(place, stream, wanted.bytes, index)
    assert status == 0
    assert place.data.tobytes() == tensor.tobytes()
    assert bench.barriers > 0


@pytest.mark.parametrize("log2", [0, 1, 4])
@pytest.mark.parametrize("lag", [0, 3])
def test_rings_wrap(library, log2, lag, c_bench):
    bench = c_bench.Bench(library, log2=log2).open()
    bench.device.lag = lag
    bench.patience = 10_000
    for number in range(40):
        small = np.full(50 + number, number, np.float32)
        status, done, stream, index, place = bench.offload(small)
        assert (status, done.cookie) == (0, 2 * number + 1)
        place.data[:] = 0
        assert bench.prefetch(place, stream, done.stream_bytes, index)[0] == 0
        assert place.data.tobytes() == small.tobytes()
        for buffer in (stream, index, place):
            buffer.memory.release(buffer)


def test_jobs_of_all_kinds(bench, tensor):
    status, done, stream, index, place = bench.offload(tensor, raw=Raw.NEVER)
    size, needed = place.size, done.stream_bytes
    common = {"device": place.address, "row_bytes": size}
    status, done = bench.run(0, op=Op.MEASURE, **common)
    assert (status, done.stream_bytes) == (0, needed)
    source = {"host": stream.address, "index": index.address, "limit": needed}
    assert bench.run(1, op=Op.VERIFY, flags=1 << 6, **common, **source)[0] == 0
    assert bench.run(0, op=Op.NOP)[0] == 0
    copy = bench.device.host.allocate(size)
    out = {"host": copy.address, "limit": size}
    assert bench.run(0, op=Op.COPY_OUT, **common, **out)[0] == 0
    assert copy.data.tobytes() == tensor.tobytes()
    rows = {"rows": 3, "pitch": -8192, "row_bytes": 4096, "device": place.address + 16384}
    assert bench.run(0, op=Op.MEASURE, **rows)[1].stripe == 3


def test_errors_of_the_engine(bench, tensor):
    status, done, *_ = bench.offload(tensor, capacity=4096)
    assert (status, done.status) == (Status.OVERFLOW, Status.OVERFLOW)
    assert done.stream_bytes == engine.offload(tensor, bench.device.config).bytes
    assert bench.run(0, op=Op.PREFETCH)[0] == Status.BAD_DESCRIPTOR
    status, done, stream, index, place = bench.offload(tensor)
    stream.data[100] ^= 1
    assert bench.prefetch(place, stream, done.stream_bytes, index)[0] == Status.CRC


def test_submit_and_poll(bench, c_bench):
    cookie, done = c_uint64(), c_bench.Completion()
    job = c_bench.Job(op=Op.NOP)
    for number in range(8):
        assert bench.call("submit", c_uint32(0), byref(job), byref(cookie)) == 0
        assert cookie.value == number + 1
    assert bench.call("submit", c_uint32(0), byref(job), None) == c_bench.FULL
    assert bench.run(0, op=Op.NOP)[0] == c_bench.FULL
    for number in range(8):
        assert bench.call("poll", c_uint32(0), byref(done)) == 1
        assert (done.cookie, done.status) == (number + 1, 0)
    assert bench.call("poll", c_uint32(0), byref(done)) == 0


def test_giving_up_and_recovering(bench, tensor, c_bench):
    bench.device.automatic = False
    assert bench.offload(tensor)[0] == c_bench.GAVE_UP
    withdrawn = c_uint32()
    assert bench.call("recover", c_uint32(0), byref(withdrawn)) == 0
    assert withdrawn.value == 1
    bench.device.automatic = True
    assert bench.offload(tensor)[0] == 0


def test_a_started_job_is_aborted(bench, tensor, c_bench):
    bench.device.automatic = False
    assert bench.offload(tensor)[0] == c_bench.GAVE_UP
    bench.device.start(0)
    withdrawn = c_uint32(9)
    assert bench.call("recover", c_uint32(0), byref(withdrawn)) == 0
    assert withdrawn.value == 0
    bench.device.automatic = True
    assert bench.offload(tensor)[0] == 0


def test_a_lost_completion(library, tensor, c_bench):
    bench = c_bench.Bench(library, log2=1).open()
    bench.device.host.fail(bench.setups[0].cq_address, 32)
    bench.io.idle = c_bench.IDLE()  # no limit in time: the state of the ring ends the wait
    bench.call("open", byref(bench.io))
    for ring, setup in enumerate(bench.setups):
        bench.call("ring_open", c_uint32(ring), byref(setup))
    assert bench.run(0, op=Op.NOP)[0] == c_bench.RING
    assert bench.device.rings[0].state is State.ERROR
    bench.device.host.heal()
    assert bench.call("recover", c_uint32(0), None) == 0
    for _ in range(5):
        assert bench.offload(tensor[:2000])[0] == 0


def test_quarantine(bench, tensor, c_bench):
    status, done, stream, index, place = bench.offload(tensor)
    bench.device.memory.fail(place.address, 4, "HANG")
    status, done = bench.prefetch(place, stream, done.stream_bytes, index)
    assert (status, done.channel) == (Status.TIMEOUT, bench.device.config.channel(place.address))
    assert bench.call("clear_quarantine", c_uint32(done.channel)) == 0
    bench.device.memory.heal()
    assert bench.call("clear_quarantine", c_uint32(done.channel)) == 1
    assert bench.call("clear_quarantine", c_uint32(4)) == c_bench.ARGUMENT


def test_a_completion_is_given_before_the_engine_counts_it(library, tensor, c_bench):
    bench = c_bench.Bench(library, log2=0).open()
    bench.device.lag = 1000
    status, done, *_ = bench.offload(tensor[:2000])
    assert (status, done.cookie) == (0, 1)
    # The completion's entry is not free yet: nothing is submitted, and nothing is lost.
    assert bench.run(0, op=Op.NOP)[0] == c_bench.FULL
    bench.device.lag = 0
    bench.patience = 2000
    status, done = bench.run(0, op=Op.NOP)
    assert (status, done.cookie) == (0, 2)


def test_a_report_that_was_too_early_is_made_later(library, c_bench):
    bench = c_bench.Bench(library, log2=1).open()
    bench.device.lag = 3
    job, done = c_bench.Job(op=Op.NOP), c_bench.Completion()
    for _ in range(2):
        assert bench.call("submit", c_uint32(0), byref(job), None) == 0
    while not bench.call("poll", c_uint32(0), byref(done)):
        bench.device.wait(0)
    assert bench.engine.ring[0].reported == 0
    for _ in range(10):
        bench.call("poll", c_uint32(0), byref(done))
    assert bench.engine.ring[0].reported > 0


def test_a_ring_outside_its_window(library, c_bench):
    bench = c_bench.Bench(library)
    assert bench.call("open", byref(bench.io)) == 0
    limit, bench.setups[0].host_limit = bench.setups[0].host_limit, bench.setups[0].sq_address
    for _ in range(2):
        assert bench.call("ring_open", c_uint32(0), byref(bench.setups[0])) == c_bench.RING
    # A right setup ends the error.
    bench.setups[0].host_limit = limit
    assert bench.call("ring_open", c_uint32(0), byref(bench.setups[0])) == 0
    assert bench.run(0, op=Op.NOP)[0] == 0


def test_no_ring_is_opened_before_a_reset_has_ended(library, c_bench):
    bench = c_bench.Bench(library)
    assert bench.call("open", byref(bench.io)) == 0
    read = bench.device.read
    bench.device.read = lambda address: 1 if address == 0x10 else read(address)  # CTRL.RESET
    assert bench.call("reset") == c_bench.GAVE_UP
    assert bench.call("ring_open", c_uint32(0), byref(bench.setups[0])) == c_bench.ACCESS
    bench.device.read, bench.patience = read, 3
    assert bench.call("ring_open", c_uint32(0), byref(bench.setups[0])) == 0


def test_a_doorbell_that_is_refused_submits_nothing(bench, c_bench):
    write = bench.device.write
    tail = 0x100 + 0x0C

    def refuse(address, value):
        if address == tail:
            raise RegisterError
        write(address, value)

    bench.device.write = refuse
    assert bench.run(0, op=Op.NOP)[0] == c_bench.ACCESS
    bench.device.write = write
    assert bench.run(0, op=Op.NOP)[0] == 0
    assert bench.device.rings[0].head == 1


def test_no_division_of_64_bits(tmp_path):
    """Kernels of 32-bit processors have no function for it."""
    made = tmp_path / "cdma.o"
    flags = ["-m32", "-O2", "-ffreestanding", "-c", "-o", str(made)]
    try:
        run = subprocess.run(["cc", *flags, str(c.SOURCES[0])], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("no C compiler on this machine")
    if run.returncode:
        pytest.skip("the C compiler has no 32-bit target")
    needed = subprocess.run(["nm", "-u", made], capture_output=True, text=True, check=True).stdout
    assert "div" not in needed
    assert "mod" not in needed


def test_a_failed_link_is_fatal(bench, tensor, c_bench):
    _, done, stream, index, place = bench.offload(tensor)
    bench.device.host.fail(stream.address, 4, "HANG")
    # No call waits for what does not come.
    bench.patience = 1000
    assert bench.prefetch(place, stream, done.stream_bytes, index)[0] == c_bench.FATAL
    assert bench.call("recover", c_uint32(1), None) == c_bench.FATAL
    patience = bench.patience
    assert bench.call("reset") == c_bench.FATAL
    assert bench.call("open", byref(bench.io)) == c_bench.FATAL
    bench.device.host.heal()
    assert bench.call("open", byref(bench.io)) == c_bench.FATAL
    # With late responses the reset of the hardware ends.
    read = bench.device.read
    bench.device.read = lambda address: 0 if address == 0x10 else read(address)
    assert bench.call("reset") == c_bench.FATAL
    assert bench.patience == patience


def fail_link(device):
    for ring in device.rings:
        ring.link_failed = True
        ring.enter_error(Status.TIMEOUT, 0)


def test_a_link_that_fails_during_an_abort(bench, c_bench):
    write = bench.device.write

    def fails(address, value):
        write(address, value)
        if (address, value) == (0x100 + 0x28, 2):
            fail_link(bench.device)

    bench.device.write, bench.patience = fails, 1000
    assert bench.call("recover", c_uint32(0), None) == c_bench.FATAL
    assert bench.patience == 1000


def test_a_link_that_fails_before_a_completion_counts(library, c_bench):
    bench = c_bench.Bench(library, log2=0).open()
    bench.device.lag = 1000
    assert bench.run(0, op=Op.NOP)[0] == 0
    fail_link(bench.device)
    bench.patience = 1000
    assert bench.run(0, op=Op.NOP)[0] == c_bench.FATAL
    assert bench.patience == 1000


def test_a_ring_that_does_not_run_is_told(bench, c_bench):
    bench.device.write(0x100 + 0x28, 0)  # RUN of ring 0
    bench.patience = 1000
    assert bench.run(0, op=Op.NOP)[0] == c_bench.RING
    assert bench.patience >= 1000 - 8, "an idle that sleeps would sleep for long"
    assert bench.call("recover", c_uint32(0), None) == 0
    assert bench.run(0, op=Op.NOP)[0] == 0


def test_no_ring_is_open_after_a_reset(bench, c_bench):
    """A doorbell before the ring is open again would start an old descriptor."""
    assert bench.run(0, op=Op.NOP)[0] == 0
    assert bench.call("reset") == 0
    done = c_bench.Completion()
    assert bench.run(0, op=Op.NOP)[0] == c_bench.ARGUMENT
    assert bench.call("submit", c_uint32(0), byref(c_bench.Job()), None) == c_bench.ARGUMENT
    assert bench.call("poll", c_uint32(0), byref(done)) == c_bench.ARGUMENT
    assert bench.call("recover", c_uint32(0), None) == c_bench.ARGUMENT
    assert bench.device.rings[0].tail == 0
    assert bench.call("ring_open", c_uint32(0), byref(bench.engine.ring[0].setup)) == 0
    assert bench.run(0, op=Op.NOP)[0] == 0


def test_a_ring_that_runs_is_not_opened_again(bench, c_bench):
    """Also on a bus that ignores refused writes."""
    write = bench.device.write

    def ignores(address, value):
        with suppress(RegisterError):
            write(address, value)

    bench.device.write = ignores
    job, done = c_bench.Job(op=Op.NOP), c_bench.Completion()
    assert bench.call("submit", c_uint32(0), byref(job), None) == 0
    for change in (0, 3):
        bench.setups[0].log2 ^= change
        assert bench.call("ring_open", c_uint32(0), byref(bench.setups[0])) == c_bench.ACCESS
    assert bench.call("poll", c_uint32(0), byref(done)) == 1
    assert bench.run(0, op=Op.NOP)[0] == 0


def test_a_ring_that_has_had_jobs_is_not_opened_again(bench, c_bench):
    """The counts of the engine begin at 0 after a reset only."""
    for _ in range(3):
        assert bench.run(0, op=Op.NOP)[0] == 0
    bench.device.write(0x100 + 0x28, 0)  # RUN of ring 0
    assert bench.call("ring_open", c_uint32(0), byref(bench.setups[0])) == c_bench.ACCESS
    withdrawn = c_uint32(9)
    assert bench.call("recover", c_uint32(0), byref(withdrawn)) == 0
    assert withdrawn.value == 0
    assert bench.run(0, op=Op.NOP)[0] == 0
    assert bench.call("reset") == 0
    assert bench.call("ring_open", c_uint32(0), byref(bench.setups[0])) == 0


@pytest.mark.parametrize("name", ["SQ_TAIL", "SQ_HEAD", "CQ_HEAD"])
def test_one_count_that_is_not_zero_refuses_a_ring(bench, c_bench, name):
    """After 65,536 jobs the others are zero again."""
    bench.device.write(0x100 + 0x28, 0)  # RUN of ring 0
    place, read = bench.device.map.block("RING").address(name), bench.device.read
    bench.device.read = lambda address: read(address) + (address == place)
    assert bench.call("ring_open", c_uint32(0), byref(bench.setups[0])) == c_bench.ACCESS
    bench.device.read = read
    assert bench.call("ring_open", c_uint32(0), byref(bench.setups[0])) == 0


def test_attributes_of_bursts(bench):
    """Those of a ring that names none stay as the reset made them."""
    bench.setups[1].attributes = 0xF2A5
    for _ in range(2):
        assert bench.call("reset") == 0
        for ring, setup in enumerate(bench.setups):
            assert bench.call("ring_open", c_uint32(ring), byref(setup)) == 0
        assert [bench.device.read(0x170 + 0x80 * ring) for ring in (0, 1)] == [0x2000, 0xF2A5]


@pytest.mark.parametrize("halt", [0, 4])
def test_recovery_leaves_halt_as_it_is(bench, halt):
    bench.device.write(0x100 + 0x28, 1 | halt)
    assert bench.call("recover", c_uint32(0), None) == 0
    assert bench.device.read(0x100 + 0x28) == 1 | halt


def test_locked_windows_stay(bench, tensor, c_bench):
    """The trusted part of the software has set and locked them."""
    for ring, setup in enumerate(bench.setups):
        setup.attributes = 0x3105
        assert bench.call("reset") == 0
        assert bench.call("ring_open", c_uint32(ring), byref(setup)) == 0
        bench.device.write(0x100 + 0x80 * ring + 0x28, 9)
    assert bench.call("reset") == 0
    limit = bench.setups[0].host_limit
    for ring, setup in enumerate(bench.setups):
        setup.host_limit = setup.device_limit = 0
        setup.attributes = 0xF2A5
        assert bench.call("ring_open", c_uint32(ring), byref(setup)) == 0
        assert bench.device.rings[ring].settings.host_limit == limit
        assert bench.device.read(0x170 + 0x80 * ring) == 0x3105
    status, done, stream, index, place = bench.offload(tensor)
    assert status == 0
    assert bench.prefetch(place, stream, done.stream_bytes, index)[0] == 0
    bench.setups[0].sq_address = bench.setups[0].cq_address = limit
    assert bench.call("reset") == 0
    assert bench.call("ring_open", c_uint32(0), byref(bench.setups[0])) == c_bench.RING


def test_barriers(library, c_bench):
    """A barrier before each register that gives memory to the engine, and after each that says
    what is in memory."""
    bench = c_bench.Bench(library, log2=0).open()
    events = []
    names = {address: r.name for address, (_, _, r) in bench.device.map.addresses().items()}
    write, read = bench.device.write, bench.device.read

    def writes(address, value):
        events.append(names[address])
        write(address, value)

    def reads(address):
        events.append(names[address])
        return read(address)

    bench.device.write, bench.device.read = writes, reads
    bench.barrier = lambda context: events.append("barrier")
    bench.io.barrier = hold = c_bench.BARRIER(bench.barrier)
    bench.engine.io.barrier = hold
    assert bench.run(0, op=Op.NOP)[0] == 0
    assert events == ["barrier", "SQ_TAIL", "barrier", "SQ_HEAD", "barrier", "CQ_HEAD"]
    events.clear()
    bench.device.automatic = False
    bench.device.rings[0].state = State.HALTED
    bench.patience = 1000
    assert bench.run(0, op=Op.NOP)[0] == c_bench.RING
    assert events == ["barrier", "SQ_TAIL", "STATE", "STATUS", "barrier"]
    events.clear()
    assert bench.call("recover", c_uint32(0), None) == 0
    assert events == [
        *("STATUS", "CTRL", "CTRL", "STATE", "barrier", "SQ_HEAD"),
        *("barrier", "SQ_TAIL", "CQ_HEAD", "CTRL", "STATE", "STATE"),
    ]


def test_what_is_no_engine(library, c_bench):
    bench = c_bench.Bench(library)
    bench.device.map.block("ENGINE")  # a device that answers, with another ID
    inner = bench.device.read
    bench.device.read = lambda address: 7 if address == 0 else inner(address)
    assert bench.call("open", byref(bench.io)) == c_bench.DEVICE
    bench.device.read = lambda address: 2 << 16 if address == 4 else inner(address)
    assert bench.call("open", byref(bench.io)) == c_bench.DEVICE

    def refuse(address):
        raise RegisterError

    bench.device.read = refuse
    assert bench.call("open", byref(bench.io)) == c_bench.ACCESS


def test_arguments_are_checked(bench, c_bench):
    done = c_bench.Completion()
    assert bench.call("submit", c_uint32(2), byref(c_bench.Job()), None) == c_bench.ARGUMENT
    assert bench.call("submit", c_uint32(0), byref(c_bench.Job(op=16)), None) == c_bench.ARGUMENT
    assert bench.call("poll", c_uint32(2), byref(done)) == c_bench.ARGUMENT
    wrong = c_bench.Job(op=Op.NOP, flags=1 << 31)
    assert bench.call("submit", c_uint32(0), byref(wrong), None) == c_bench.ARGUMENT
    assert bench.call("open", None) == c_bench.ARGUMENT
    assert bench.call("open", byref(bench.io)) == 0  # no ring is open now
    assert bench.run(0, op=Op.NOP)[0] == c_bench.ARGUMENT
    assert bench.call("ring_open", c_uint32(0), byref(bench.setups[0])) == 0
    bench.patience = 1000
    far = 1 << bench.device.config.address_bits
    for change in (
        {"log2": 16},
        {"sq_address": 32},
        {"cq_address": 32},
        *({name: far} for name in ("sq_address", "cq_address", "device_base", "host_base")),
        *({name: far + 1} for name in ("device_limit", "host_limit")),
    ):
        setup = c_bench.Setup()
        for name, _ in c_bench.Setup._fields_:
            setattr(setup, name, getattr(bench.setups[0], name))
        for name, value in change.items():
            setattr(setup, name, value)
        assert bench.call("ring_open", c_uint32(0), byref(setup)) == c_bench.ARGUMENT
        assert bench.run(0, op=Op.NOP)[0] == 0
    # A ring that runs cannot be moved.
    assert bench.call("ring_open", c_uint32(0), byref(bench.setups[0])) == c_bench.ACCESS
    assert bench.call("reset") == 0
    bench.setups[0].device_limit = bench.setups[0].host_limit = far
    assert bench.call("ring_open", c_uint32(0), byref(bench.setups[0])) == 0
