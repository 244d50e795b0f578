"""The driver in C, compiled without a warning and run against the engine in software."""

import ctypes
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    byref,
    c_int,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)

import numpy as np
import pytest

from cdma.driver import Memory, RegisterError, SoftwareDevice, c
from cdma.engine_codes import Op, Raw, State, Status
from cdma.engine_config import EngineConfig
from cdma.errors import UserError
from cdma.golden import engine
from cdma.toolchain import cc

READ = CFUNCTYPE(c_int, c_void_p, c_uint32, POINTER(c_uint32))
WRITE = CFUNCTYPE(c_int, c_void_p, c_uint32, c_uint32)
BARRIER = CFUNCTYPE(None, c_void_p)
IDLE = CFUNCTYPE(c_int, c_void_p)
ACCESS, DEVICE, ARGUMENT, FULL, GAVE_UP, COOKIE, FATAL = range(-1, -8, -1)
F_CRC, F_APPEND = 1 << 7, 1 << 20


class Io(Structure):
    _fields_ = [
        ("context", c_void_p),
        ("read", READ),
        ("write", WRITE),
        ("barrier", BARRIER),
        ("idle", IDLE),
    ]


class Config(Structure):
    _fields_ = [
        (name, c_uint32)
        for name in ("channels", "lanes", "word_bytes", "stripe_bytes", "link_bytes")
    ] + [(name, c_uint32) for name in ("block_words", "address_bits", "auto_distance")]


class Setup(Structure):
    _fields_ = [
        ("sq", POINTER(c_uint8)),
        ("cq", POINTER(c_uint8)),
        ("sq_address", c_uint64),
        ("cq_address", c_uint64),
        ("log2", c_uint32),
        ("device_base", c_uint64),
        ("device_limit", c_uint64),
        ("host_base", c_uint64),
        ("host_limit", c_uint64),
    ]


class Ring(Structure):
    _fields_ = [("setup", Setup), ("tail", c_uint16), ("head", c_uint16), ("told", c_uint16)]


class Engine(Structure):
    _fields_ = [("io", Io), ("config", Config), ("ring", Ring * 2), ("cookie", c_uint64)]


class Job(Structure):
    _fields_ = [(name, c_uint32) for name in ("op", "flags", "raw", "rows")] + [
        ("device", c_uint64),
        ("host", c_uint64),
        ("index", c_uint64),
        ("row_bytes", c_uint64),
        ("limit", c_uint64),
        ("pitch", c_int64),
    ]


class Completion(Structure):
    _fields_ = [
        ("cookie", c_uint64),
        ("stream_bytes", c_uint64),
        ("where", c_uint64),
        ("stripe", c_uint32),
        ("head", c_uint16),
        ("status", c_uint8),
        ("channel", c_uint8),
    ]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    try:
        cc.c_compiler()
    except UserError:
        pytest.skip("no C compiler on this machine")
    path = tmp_path_factory.mktemp("c") / "libcdma.so"
    cc.compile_c(c.SOURCES, path, shared=True)
    loaded = ctypes.CDLL(str(path))
    loaded.cdma_bound.restype = loaded.cdma_stripes.restype = c_uint64
    return loaded


class Bench:
    """An engine in software under the C driver."""

    def __init__(self, library, channels=4, log2=3):
        config = EngineConfig(channels=channels)
        self.device = SoftwareDevice(config, Memory(1 << 20, 0x4000_0000), Memory(1 << 20, 0x1000))
        self.library, self.engine = library, Engine()
        self.barriers, self.patience = 0, 3
        self.io = Io(
            None, READ(self.read), WRITE(self.write), BARRIER(self.barrier), IDLE(self.idle)
        )
        self.setups = []
        for _ in range(2):
            host, memory = self.device.host, self.device.memory
            sq, cq = host.allocate(64 << log2), host.allocate(32 << log2)
            pointers = [each.data.ctypes.data_as(POINTER(c_uint8)) for each in (sq, cq)]
            windows = (memory.base, memory.limit, host.base, host.limit)
            self.setups.append(Setup(*pointers, sq.address, cq.address, log2, *windows))

    def read(self, _, address, value):
        try:
            value[0] = self.device.read(address)
        except RegisterError:
            return 1
        return 0

    def write(self, _, address, value):
        try:
            self.device.write(address, value)
        except RegisterError:
            return 1
        return 0

    def barrier(self, _):
        self.barriers += 1

    def idle(self, _):
        self.patience -= 1
        return self.patience < 0

    def call(self, name, *arguments):
        return getattr(self.library, f"cdma_{name}")(byref(self.engine), *arguments)

    def open(self):
        assert self.call("open", byref(self.io)) == 0
        for ring, setup in enumerate(self.setups):
            assert self.call("ring_open", c_uint32(ring), byref(setup)) == 0
        return self

    def offload(self, tensor, capacity=None, raw=Raw.AUTO, flags=F_CRC):
        """Status, completion, stream and index of a tensor."""
        data = tensor.reshape(-1).view(np.uint8)
        place = self.device.memory.allocate(len(data), 4096)
        place.data[:] = data
        capacity = self.device.config.bound(len(data)) if capacity is None else capacity
        stream = self.device.host.allocate(capacity)
        index = self.device.host.allocate(8 * self.device.config.stripes(len(data)))
        done = Completion()
        status = self.call(
            "offload",
            c_uint64(place.address),
            c_uint64(len(data)),
            c_uint64(stream.address),
            c_uint64(capacity),
            c_uint64(index.address),
            c_uint32(raw),
            c_uint32(flags),
            byref(done),
        )
        return status, done, stream, index, place

    def prefetch(self, place, stream, nbytes, index, flags=F_CRC):
        done = Completion()
        status = self.call(
            "prefetch",
            c_uint64(place.address),
            c_uint64(place.size),
            c_uint64(stream.address),
            c_uint64(nbytes),
            c_uint64(index.address),
            c_uint32(flags),
            byref(done),
        )
        return status, done

    def run(self, ring, **fields):
        done = Completion()
        return self.call("run", c_uint32(ring), byref(Job(**fields)), byref(done)), done


@pytest.fixture
def bench(library):
    return Bench(library).open()


@pytest.fixture
def tensor():
    array = np.random.default_rng(5).standard_normal(40_000).astype("f4")
    array[array < 0] = 0
    return array


def test_the_header_is_that_of_the_register_table():
    from cdma.hdl.emit.registers import c_header
    from cdma.hdl.engine.registers import register_map

    assert c.HEADERS[1].read_text() == c_header(register_map(EngineConfig()))


def test_the_size_of_the_engine(library):
    bench = Bench(library, channels=8).open()
    config, found = bench.device.config, bench.engine.config
    for name in ("channels", "lanes", "word_bytes", "stripe_bytes", "link_bytes", "block_words"):
        assert getattr(found, name) == getattr(config, name)
    assert (found.address_bits, found.auto_distance) == (48, config.auto_distance)
    for size in (0, 4, 128, 132, 4096, 1_000_000):
        assert library.cdma_bound(byref(found), c_uint64(size)) == config.bound(size)
        assert library.cdma_stripes(byref(found), c_uint64(size)) == config.stripes(size)


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
def test_rings_wrap(library, log2, lag):
    bench = Bench(library, log2=log2).open()
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


def test_submit_and_poll(bench):
    cookie, done = c_uint64(), Completion()
    job = Job(op=Op.NOP)
    for number in range(8):
        assert bench.call("submit", c_uint32(0), byref(job), byref(cookie)) == 0
        assert cookie.value == number + 1
    assert bench.call("submit", c_uint32(0), byref(job), None) == FULL
    assert bench.run(0, op=Op.NOP)[0] == FULL
    for number in range(8):
        assert bench.call("poll", c_uint32(0), byref(done)) == 1
        assert (done.cookie, done.status) == (number + 1, 0)
    assert bench.call("poll", c_uint32(0), byref(done)) == 0


def test_giving_up_and_recovering(bench, tensor):
    bench.device.automatic = False
    assert bench.offload(tensor)[0] == GAVE_UP
    withdrawn = c_uint32()
    assert bench.call("recover", c_uint32(0), byref(withdrawn)) == 0
    assert withdrawn.value == 1
    bench.device.automatic = True
    assert bench.offload(tensor)[0] == 0


def test_a_started_job_is_aborted(bench, tensor):
    bench.device.automatic = False
    assert bench.offload(tensor)[0] == GAVE_UP
    bench.device.start(0)
    withdrawn = c_uint32(9)
    assert bench.call("recover", c_uint32(0), byref(withdrawn)) == 0
    assert withdrawn.value == 0
    bench.device.automatic = True
    assert bench.offload(tensor)[0] == 0


def test_a_lost_completion(library, tensor):
    bench = Bench(library, log2=1).open()
    bench.device.host.fail(bench.setups[0].cq_address, 32)
    assert bench.run(0, op=Op.NOP)[0] == GAVE_UP
    assert bench.device.rings[0].state is State.ERROR
    bench.device.host.heal()
    assert bench.call("recover", c_uint32(0), None) == 0
    for _ in range(5):
        assert bench.offload(tensor[:2000])[0] == 0


def test_quarantine(bench, tensor):
    status, done, stream, index, place = bench.offload(tensor)
    bench.device.memory.fail(place.address, 4, "HANG")
    status, done = bench.prefetch(place, stream, done.stream_bytes, index)
    assert (status, done.channel) == (Status.TIMEOUT, bench.device.config.channel(place.address))
    assert bench.call("clear_quarantine", c_uint32(done.channel)) == 0
    bench.device.memory.heal()
    assert bench.call("clear_quarantine", c_uint32(done.channel)) == 1
    assert bench.call("clear_quarantine", c_uint32(4)) == ARGUMENT


def test_a_failed_link_is_fatal(bench, tensor):
    _, done, stream, index, place = bench.offload(tensor)
    bench.device.host.fail(stream.address, 4, "HANG")
    assert bench.prefetch(place, stream, done.stream_bytes, index)[0] == Status.TIMEOUT
    assert bench.call("recover", c_uint32(1), None) == FATAL


def test_what_is_no_engine(library):
    bench = Bench(library)
    bench.device.map.block("ENGINE")  # a device that answers, with another ID
    inner = bench.device.read
    bench.device.read = lambda address: 7 if address == 0 else inner(address)
    assert bench.call("open", byref(bench.io)) == DEVICE
    bench.device.read = lambda address: 2 << 16 if address == 4 else inner(address)
    assert bench.call("open", byref(bench.io)) == DEVICE

    def refuse(address):
        raise RegisterError

    bench.device.read = refuse
    assert bench.call("open", byref(bench.io)) == ACCESS


def test_arguments_are_checked(bench):
    done = Completion()
    assert bench.call("submit", c_uint32(2), byref(Job()), None) == ARGUMENT
    assert bench.call("submit", c_uint32(0), byref(Job(op=16)), None) == ARGUMENT
    assert bench.call("poll", c_uint32(2), byref(done)) == ARGUMENT
    assert bench.call("open", None) == ARGUMENT
    for change in ({"log2": 16}, {"sq_address": 32}, {"cq_address": 32}):
        setup = Setup()
        for name, _ in Setup._fields_:
            setattr(setup, name, getattr(bench.setups[0], name))
        for name, value in change.items():
            setattr(setup, name, value)
        assert bench.call("ring_open", c_uint32(0), byref(setup)) == ARGUMENT
    # A ring that runs cannot be moved.
    assert bench.call("ring_open", c_uint32(0), byref(bench.setups[0])) == ACCESS
    assert bench.call("reset") == 0
    assert bench.call("ring_open", c_uint32(0), byref(bench.setups[0])) == 0
