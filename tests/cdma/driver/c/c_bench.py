"""The driver in C, called through ctypes over any engine."""

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

from cdma.driver import Memory, RegisterError, SoftwareDevice
from cdma.engine_codes import Raw
from cdma.engine_config import EngineConfig

READ = CFUNCTYPE(c_int, c_void_p, c_uint32, POINTER(c_uint32))
WRITE = CFUNCTYPE(c_int, c_void_p, c_uint32, c_uint32)
BARRIER = CFUNCTYPE(None, c_void_p)
IDLE = CFUNCTYPE(c_int, c_void_p)
ACCESS, DEVICE, ARGUMENT, FULL, GAVE_UP, COOKIE, FATAL, RING = range(-1, -9, -1)
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
    ] + [
        (name, c_uint32)
        for name in ("block_words", "address_bits", "auto_distance", "codec", "type")
    ]


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
        ("attributes", c_uint32),
    ]


class Ring(Structure):
    _fields_ = [("setup", Setup)] + [
        (name, c_uint16) for name in ("tail", "head", "reported", "is_open")
    ]


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


class Bench:
    """An engine, in software unless one is given, under the driver in C."""

    def __init__(self, library, channels=4, log2=3, device=None, **config):
        if device is None:
            memories = Memory(1 << 20, 0x4000_0000), Memory(1 << 20, 0x1000)
            device = SoftwareDevice(EngineConfig(channels=channels, **config), *memories)
        self.device = device
        self.library, self.engine = library, Engine()
        self.barriers, self.patience = 0, 3
        self.io = Io(
            None, READ(self.read), WRITE(self.write), BARRIER(self.barrier), IDLE(self.idle)
        )
        self.setups, self.buffers = [], []
        for _ in range(2):
            host, memory = self.device.host, self.device.memory
            sq, cq = host.allocate(64 << log2), host.allocate(32 << log2)
            self.buffers += [sq, cq]
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
        self.device.wait(0)
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
