"""Software for the compiled engine: rings, buffers and jobs."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from cdma.engine_codes import Op, State, Status
from cdma.engine_config import COMPLETION_BYTES, DESCRIPTOR_BYTES, INDEX_BYTES, EngineConfig
from cdma.errors import SimulationError, UserError
from cdma.golden.codecs import codec_of
from cdma.golden.engine.descriptor import Completion, Descriptor, phase
from cdma.golden.engine.stripes import raw_policy
from cdma.hdl.engine.registers import register_map
from cdma.sim.cocotb.ports import Violation
from cdma.sim.engine import build
from cdma.sim.engine.engine import DEVICE, HOST, Buffer, Engine
from cdma.sim.engine.memory import Memory

#: Addresses of the first buffers, with gigabytes between them and before the end of 32 bits.
BASES = {DEVICE: 0x1000_0000, HOST: 0x8000_0000}
#: Cycles without a completion after which a ring hangs, in addition to the time for a job's bytes.
PATIENCE = 200_000
OFFLOAD, PREFETCH = 0, 1


@dataclass
class RingMemory:
    """A ring in host memory, with the counts of software."""

    log2: int
    completion_log2: int
    descriptors: Buffer
    completions: Buffer
    tail: int = 0
    head: int = 0  # completions read
    acknowledged: int = 0  # last count of completions that was written to the engine


@dataclass
class Job:
    """One descriptor and its results.

    Attributes
    ----------
    descriptor, completion
        Entries of the rings.
    cycles : int
        From the doorbell to the cycle in which software could see the completion.
    counters : dict of str to int
        Changes of the engine's counters during the job: totals and ``<name>[channel]``.
    output : np.ndarray
        Tensor in device memory.
    tensor, host, index_buffer : Buffer
        Memory of the job, after the job.
    before : tuple of np.ndarray
        Copies of these three buffers before the job.
    """

    descriptor: Descriptor
    completion: Completion
    cycles: int
    counters: dict[str, int] = field(default_factory=dict)
    tensor: Buffer | None = None
    host: Buffer | None = None
    index_buffer: Buffer | None = None
    before: tuple[np.ndarray, ...] = ()
    dtype: np.dtype | None = None
    shape: tuple[int, ...] = ()

    @property
    def status(self) -> Status:
        """Status of the completion."""
        return Status(self.completion.status)

    @property
    def stream(self) -> np.ndarray:
        """The stream in host memory, uint8, up to the end of the buffer."""
        return self.host.data[: min(self.completion.stream_bytes, self.host.data.size)]

    @property
    def index(self) -> np.ndarray:
        """The index in host memory, uint8."""
        return self.index_buffer.data

    @property
    def output(self) -> np.ndarray:
        """The tensor in device memory, in the type and shape of the offloaded tensor.

        Little-endian, in the order of the memory, whatever the order of the offloaded tensor.
        """
        return self.tensor.data.view(np.dtype(self.dtype).newbyteorder("<")).reshape(self.shape)


class EngineModel:
    """The generated engine, compiled, with a device and a host memory.

    Results are not compared with the golden engine. Every port is checked in every cycle, see
    :class:`cdma.sim.engine.engine.Engine`. Rings, windows and interrupts are programmed through the
    registers, as in a driver.

    Parameters
    ----------
    config : EngineConfig
    device, host : Memory or None
        Timing of the two sides, by default latencies of 350 and 500 cycles. ``device`` may be a
        sequence with an element for each channel.
    seed : int
        Seeds memories, buffers and registers without reset.
    log2 : int
        Size of the rings.
    verilog : str or None
        Verilog to simulate in place of the generated Verilog.
    cache, progress
        See :func:`cdma.sim.engine.build.build`.
    waves : path or None
        File for the waveforms (VCD).
    engine : Engine or None
        An engine of this size with memories and with the functions of
        :class:`cdma.sim.engine.engine.Engine`, in place of a compiled one. Then only ``seed`` and
        ``log2`` of the other arguments are used.

    Raises
    ------
    UserError, SimulationError
        See :func:`cdma.sim.engine.build.build`.
    """

    def __init__(
        self,
        config: EngineConfig,
        device: Memory | Sequence[Memory] | None = None,
        host: Memory | None = None,
        seed: int = 0,
        *,
        log2: int = 6,
        verilog: str | None = None,
        cache: str | os.PathLike | None = None,
        progress: Callable[[str], None] | None = None,
        waves: str | os.PathLike | None = None,
        engine: Engine | None = None,
    ):
        self.config, self.map = config, register_map(config)
        if engine is None:
            text = build.design(config, cache, progress) if verilog is None else verilog
            device, host = device or Memory(latency=350), host or Memory(latency=500)
            engine = Engine(config, text, device, host, seed, cache, progress, waves=waves)
        self.engine = engine
        self.rng = np.random.default_rng([seed, 17])
        self.rings: list[RingMemory] = []
        self._next = dict(BASES)
        self._log2 = log2
        self._set_up()

    # Memory

    def allocate(
        self,
        space: int,
        size: int,
        *,
        align: int = 64,
        offset: int = 0,
        fill: int | None = None,
        **access: bool,
    ) -> Buffer:
        """A buffer that the engine may access, after all earlier buffers and a gap.

        Parameters
        ----------
        space : int
            ``DEVICE`` or ``HOST``.
        size : int
            Bytes.
        align, offset : int
            The address is a multiple of ``align``, plus ``offset``.
        fill : int or None
            Value of all bytes. With ``None``, random values.
        **access
            ``readable``, ``writable``.
        """
        address = -(-(self._next[space] + 4096) // align) * align + offset
        self._next[space] = address + size
        if self._next[space] > (HOST_END if space == HOST else BASES[HOST]):
            raise UserError(f"no room for {size:,} bytes in the simulated memory")
        noise = self.rng.integers(256, size=max(size, 1), dtype=np.uint8)
        data = noise if fill is None else np.full(max(size, 1), fill, np.uint8)
        buffer = Buffer(space, address, data[:size])
        if size:
            self.engine.add(buffer, **access)
        return buffer

    def free(self, *buffers: Buffer) -> None:
        """Forbid access to buffers. Their addresses are not used again."""
        for buffer in buffers:
            if buffer is not None and buffer.data.size:
                self.engine.remove(buffer)

    # Registers

    def read(self, block: str, name: str, instance: int = 0) -> int:
        """Read a register. Violation when the engine responds with an error."""
        address = self.map.block(block).address(name, instance)
        access = self.engine.access(address)
        if access.response:
            raise Violation(f"s_axil: {block}.{name} cannot be read: {access.response}")
        return access.data

    def write(self, block: str, name: str, value: int, instance: int = 0) -> int:
        """Write a register. Returns the response."""
        address = self.map.block(block).address(name, instance)
        order = int(self.rng.integers(3))
        return self.engine.access(address, value, order=order).response

    def state(self, ring: int) -> tuple[State, Status]:
        """State of a ring, and the reason of a halt."""
        value = self.read("RING", "STATE", ring)
        return State(value & 7), Status(value >> 16)

    def counters(self) -> dict[str, int]:
        """A snapshot of all counters: totals by name, counters of channels by ``name[channel]``."""
        self.write("ENGINE", "SNAPSHOT", 1)
        for _ in range(1000):
            if not self.read("ENGINE", "SNAPSHOT"):
                break
        else:
            raise Violation("SNAPSHOT stays busy")
        found = {}
        for block in ("COUNTERS", "CHANNEL_COUNTERS"):
            names = [each.name for each in self.map.block(block).registers]
            for instance in range(self.map.block(block).count):
                for name in (each.removesuffix("_LO") for each in names if each.endswith("_LO")):
                    low = self.read(block, f"{name}_LO", instance)
                    high = self.read(block, f"{name}_HI", instance)
                    label = name.lower()
                    label += f"[{instance}]" if block == "CHANNEL_COUNTERS" else ""
                    found[label] = high << 32 | low
        return found

    # Rings

    def _set_up(self):
        """Program rings and windows, and start both rings."""
        for ring in (OFFLOAD, PREFETCH):
            self.rings.append(None)
            self.set_ring(ring, self._log2)

    def set_ring(self, ring: int, log2: int, completion_log2: int | None = None) -> None:
        """Give a stopped ring new memory, and start the ring at its current counts."""
        completion_log2 = log2 if completion_log2 is None else completion_log2
        old = self.rings[ring]
        if old is not None:
            self.free(old.descriptors, old.completions)
        memory = RingMemory(
            log2,
            completion_log2,
            self.allocate(HOST, DESCRIPTOR_BYTES << log2, fill=0, writable=False),
            self.allocate(HOST, COMPLETION_BYTES << completion_log2, fill=0),
        )
        if old is not None:
            memory.tail, memory.head, memory.acknowledged = old.head, old.head, old.acknowledged
        self.rings[ring] = memory
        # Entries of an empty ring must not have the phase of the next lap.
        for count in range(memory.head, memory.head + (1 << completion_log2)):
            at = COMPLETION_BYTES * (count % (1 << completion_log2))
            memory.completions.data[at + 31] = (phase(count, completion_log2) ^ 1) << 7
        self.program(ring)
        self.write("RING", "CTRL", 1, ring)

    def open_rings(self) -> None:
        """Behind a reset, when all counts are 0: give both rings new memory, and start them."""
        for ring, memory in enumerate(self.rings):
            memory.tail = memory.head = memory.acknowledged = 0
            self.set_ring(ring, self._log2)

    @property
    def end(self) -> int:
        """Limit of the largest window. With 64 bits of address, no window has the last byte."""
        return min(1 << self.config.address_bits, (1 << 64) - 1)

    def program(self, ring: int, **windows: int) -> None:
        """Write addresses, sizes and windows of a stopped ring."""
        memory = self.rings[ring]
        values = {
            "SQ_BASE": memory.descriptors.address,
            "CQ_BASE": memory.completions.address,
            "DEV_BASE": 0,
            "DEV_LIMIT": self.end,
            "HOST_BASE": 0,
            "HOST_LIMIT": self.end,
            **windows,
        }
        for name, value in values.items():
            self.write("RING", f"{name}_LO", value & 0xFFFFFFFF, ring)
            self.write("RING", f"{name}_HI", value >> 32, ring)
        self.write("RING", "SQ_SIZE", memory.log2, ring)
        self.write("RING", "CQ_SIZE", memory.completion_log2, ring)

    def place(self, ring: int, descriptor: Descriptor, *, flip: int = 0) -> None:
        """Put a descriptor into the ring's memory. ``flip`` inverts its phase."""
        memory = self.rings[ring]
        at = DESCRIPTOR_BYTES * (memory.tail % (1 << memory.log2))
        packed = descriptor.pack(phase(memory.tail, memory.log2) ^ flip)
        memory.descriptors.data[at : at + DESCRIPTOR_BYTES] = packed
        memory.tail = (memory.tail + 1) & 0xFFFF

    def doorbell(self, ring: int) -> int:
        """Write the count of placed descriptors. Returns the cycle of the write's handshake."""
        address = self.map.block("RING").address("SQ_TAIL", ring)
        return self.engine.access(address, self.rings[ring].tail).taken

    def submit(self, ring: int, *descriptors: Descriptor) -> None:
        """Place descriptors and ring the doorbell."""
        for descriptor in descriptors:
            self.place(ring, descriptor)
        self.doorbell(ring)

    def peek(self, ring: int) -> Completion | None:
        """The next completion that is visible to software, or ``None``."""
        memory = self.rings[ring]
        at = COMPLETION_BYTES * (memory.head % (1 << memory.completion_log2))
        entry = memory.completions.data[at : at + COMPLETION_BYTES].tobytes()
        completion, bit = Completion.unpack(entry)
        return completion if bit == phase(memory.head, memory.completion_log2) else None

    def wait(self, ring: int, cycles: int = PATIENCE) -> Completion:
        """Wait for the next completion. Violation when there is none within ``cycles``."""
        memory = self.rings[ring]
        at = COMPLETION_BYTES * (memory.head % (1 << memory.completion_log2))
        value = phase(memory.head, memory.completion_log2) << 7
        byte = (memory.completions.data, at + COMPLETION_BYTES - 1)
        if self.peek(ring) is None and not self.engine.run(
            cycles, byte=byte, mask=0x80, value=value
        ):
            raise Violation(
                f"hangs: no completion {memory.head} of ring {ring} in {cycles:,} cycles, "
                f"state {self.state(ring)}"
            )
        completion = self.peek(ring)
        memory.head = (memory.head + 1) & 0xFFFF
        return completion

    def collect(self, ring: int, number: int, cycles: int = PATIENCE) -> list[Completion]:
        """Wait for a number of completions, and acknowledge them."""
        found = []
        for _ in range(number):
            found.append(self.wait(ring, cycles))
            memory = self.rings[ring]
            if (memory.head - memory.acknowledged) & 0xFFFF >= self._batch(ring):
                self.acknowledge(ring)
        self.acknowledge(ring)
        return found

    def _batch(self, ring):
        """Number of completions after which software acknowledges, to keep space in the ring."""
        return max(1, (1 << self.rings[ring].completion_log2) // 2)

    def acknowledge(self, ring: int, cycles: int = PATIENCE) -> None:
        """Write CQ HEAD, after CQ TAIL includes all completions that software has seen."""
        memory = self.rings[ring]
        for _ in range(cycles // 20):
            tail = self.read("RING", "CQ_TAIL", ring)
            if (tail - memory.head) & 0x8000 == 0:
                break
            self.engine.run(20)
        else:
            raise Violation(f"hangs: CQ TAIL of ring {ring} stays behind the completions")
        self.write("RING", "CQ_HEAD", memory.head, ring)
        memory.acknowledged = memory.head

    def abort(self, ring: int, cycles: int = PATIENCE) -> None:
        """Abort a ring and wait until it has stopped."""
        self.write("RING", "CTRL", 2, ring)
        self.until_state(ring, State.STOPPED, cycles)

    def clear(self, cycles: int = PATIENCE) -> None:
        """Write CTRL.RESET, and wait until it has ended. Violation when this takes too long."""
        self.write("ENGINE", "CTRL", 1)
        for _ in range(cycles // 20):
            if not self.read("ENGINE", "CTRL"):
                return
            self.engine.run(20)
        raise Violation(f"hangs: CTRL.RESET stays 1 for {cycles:,} cycles")

    def until_state(self, ring: int, state: State, cycles: int = PATIENCE) -> None:
        """Run until a ring is in a state. Violation when this takes too long."""
        for _ in range(cycles // 20):
            if self.state(ring)[0] is state:
                return
            self.engine.run(20)
        raise Violation(f"hangs: ring {ring} is {self.state(ring)}, not {state.name}")

    def resync(self, ring: int) -> int:
        """Read the counts of a stopped ring, and drop its descriptors that were not started.

        Returns
        -------
        int
            Number of dropped descriptors.
        """
        memory = self.rings[ring]
        head = self.read("RING", "SQ_HEAD", ring)
        left = (memory.tail - head) & 0xFFFF
        memory.tail = memory.head = head
        self.write("RING", "CQ_HEAD", head, ring)
        self.write("RING", "SQ_TAIL", head, ring)
        memory.acknowledged = head
        return left

    # Jobs

    def run(self, ring: int, descriptor: Descriptor, *, counters: bool = False, **buffers) -> Job:
        """Submit one descriptor and wait for it."""
        first = self.counters() if counters else {}
        memory = [buffers.get(name) for name in ("tensor", "host", "index_buffer")]
        copies = tuple(None if each is None else each.data.copy() for each in memory)
        self.place(ring, descriptor)
        start = self.doorbell(ring)
        # A wrong descriptor may have more bytes than any memory.
        nbytes = min(descriptor.raw_bytes, 1 << 40)
        patience = PATIENCE + 40 * (nbytes // self.config.link_bytes)
        completion = self.wait(ring, patience)
        cycles = self.engine.cycle - start
        self.acknowledge(ring)
        last = self.counters() if counters else {}
        change = {name: last[name] - first[name] for name in last}
        return Job(descriptor, completion, cycles, change, before=copies, **buffers)

    def tensor_address(self) -> int:
        """Address of the next tensor whose first stripe belongs to channel 0."""
        lap = self.config.stripe_bytes * self.config.channels
        return _up(self._next[DEVICE] + 4096, lap)

    def place_tensor(self, array: np.ndarray, channel: int = 0) -> Buffer:
        """Put an array into device memory, with its first stripe on a channel."""
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        lap = self.config.stripe_bytes * self.config.channels
        offset = self.config.stripe_bytes * channel
        buffer = self.allocate(DEVICE, data.size, align=lap, offset=offset)
        buffer.data[:] = data
        return buffer

    def offload(
        self,
        array: np.ndarray,
        raw: str = "never",
        limit: int | None = None,
        crc: bool = False,
        *,
        index: bool = True,
        channel: int = 0,
        counters: bool = True,
        **fields,
    ) -> Job:
        """Compress an array from device memory into host memory.

        Parameters
        ----------
        array : np.ndarray
            Array of any shape, with elements as wide as a word.
        raw : str
            ``never``, ``auto`` or ``always``.
        limit : int or None
            Bytes of the host buffer. With ``None``, the largest possible size of the stream.
        crc, index : bool
            Write the CRC-32 of each stripe to the index. Write an index.
        channel : int
            Channel of the first stripe.
        counters : bool
            Take snapshots of the counters before and after.
        **fields
            Fields of the descriptor, such as ``interrupt``, ``op``, ``cookie``.

        Returns
        -------
        Job

        Raises
        ------
        TypeError, ValueError
            When an element is not a word of the engine, or the policy is unknown.
        """
        config = self.config
        words = codec_of(config.format).words_of(np.asarray(array), config.format)
        size = words.nbytes
        limit = _up(config.bound(size), config.word_bytes) if limit is None else limit
        tensor = self.place_tensor(words, channel)
        host = self.allocate(HOST, limit)
        entries = self.allocate(HOST, INDEX_BYTES * config.stripes(size) if index else 0)
        descriptor = Descriptor(
            **{
                "op": Op.OFFLOAD,
                "device": tensor.address,
                "host": host.address,
                "index": entries.address if index else 0,
                "row_bytes": size,
                "limit": limit,
                "word_bytes": config.word_bytes,
                "raw": raw_policy(raw),
                "with_index": index,
                "crc": crc,
                **fields,
            }
        )
        job = self.run(
            OFFLOAD,
            descriptor,
            counters=counters,
            tensor=tensor,
            host=host,
            index_buffer=entries,
            dtype=np.asarray(array).dtype,
            shape=np.asarray(array).shape,
        )
        self.free(tensor, host, entries)
        return job

    def prefetch(self, job: Job, *, channel: int = 0, counters: bool = True, **fields) -> Job:
        """Prefetch an offloaded tensor to other device memory, see ``Job.output``."""
        return self.fetch(
            job.stream,
            job.index,
            job.descriptor.raw_bytes,
            channel=channel,
            counters=counters,
            dtype=job.dtype,
            shape=job.shape,
            **fields,
        )

    def fetch(
        self,
        stream: np.ndarray,
        index: np.ndarray,
        size: int,
        *,
        channel: int = 0,
        counters: bool = False,
        dtype: np.dtype | None = None,
        shape: tuple[int, ...] = (-1,),
        **fields,
    ) -> Job:
        """Prefetch any stream and index, valid or invalid, into ``size`` bytes."""
        config = self.config
        lap = config.stripe_bytes * config.channels
        offset = config.stripe_bytes * channel
        tensor = self.allocate(DEVICE, size, align=lap, offset=offset)
        host = self.allocate(HOST, stream.size, writable=False)
        host.data[:] = stream
        entries = self.allocate(HOST, index.size, writable=False)
        entries.data[:] = index
        descriptor = Descriptor(
            **{
                "op": Op.PREFETCH,
                "device": tensor.address,
                "host": host.address,
                "index": entries.address,
                "row_bytes": size,
                "limit": stream.size,
                "word_bytes": config.word_bytes,
                "with_index": True,
                **fields,
            }
        )
        buffers = {"tensor": tensor, "host": host, "index_buffer": entries}
        buffers |= {"dtype": dtype or config.format.dtype, "shape": shape}
        job = self.run(PREFETCH, descriptor, counters=counters, **buffers)
        self.free(tensor, host, entries)
        return job


#: Address past all host buffers.
HOST_END = 0x1_0000_0000


def _up(size: int, unit: int) -> int:
    return -(-size // unit) * unit


__all__ = ["DEVICE", "HOST", "EngineModel", "Job", "SimulationError"]
