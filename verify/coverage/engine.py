"""Functional coverage of the engine: jobs of the fuzzer, and a fault in each phase of each job.

What is counted comes from the engine, not from what the stimulus intended: the completion (status,
place of the error), the state of the rings, and the logs of the ports (which burst has no answer).
A job's fields count when the engine has fetched them as they were submitted and the completion has
the job's cookie. Without a fault, the results must be those of the golden engine with these fields.
"""

from collections.abc import Callable

import numpy as np

from cdma.engine_codes import LINK, Op, Raw, State, Status
from cdma.engine_config import EngineConfig
from cdma.errors import SimulationError
from cdma.golden import engine as golden
from cdma.golden.engine.descriptor import Descriptor
from cdma.sim.engine.engine import DEVICE
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import HOST, OFFLOAD, PREFETCH, EngineModel
from cdma.verify.coverage import engine_logs
from cdma.verify.coverage import engine_points as names
from cdma.verify.coverage.engine_compare import difference
from cdma.verify.coverage.engine_points import EnginePoint, bin_of, points
from cdma.verify.fuzz.engine import Batch

#: Cycles until a timeout, and a delay that is longer than any run.
TIMEOUT, NEVER = 400, 1 << 40
_BUS = {
    Status.DEVICE_SLVERR: "SLVERR",
    Status.HOST_SLVERR: "SLVERR",
    Status.DEVICE_DECERR: "DECERR",
    Status.HOST_DECERR: "DECERR",
    Status.TIMEOUT: "no answer",
}


def measure(
    config: EngineConfig,
    seed: int = 0,
    batches: int = 8,
    *,
    verilog: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> dict[str, EnginePoint]:
    """Run the stimulus on the compiled model and count what is seen.

    Parameters
    ----------
    config : EngineConfig
    seed : int
    batches : int
        Batches of the fuzzer (:mod:`cdma.verify.fuzz.engine`).
    verilog : str or None
        Design in place of the generated one.
    progress : callable or None
        Called with a line of text.

    Raises
    ------
    UserError
        When a tool is missing.
    SimulationError, Violation
        When the engine differs from the golden engine or breaks a rule.
    """
    run = _Run(config, seed, verilog, progress or (lambda text: None))
    for number in range(batches):
        run.fuzz(number)
    run.fields()
    for op in names.JOBS:
        for fault in names.FAULTS:
            for phase in names.PHASES:
                run.fault(op, fault, phase)
    for op in (Op.OFFLOAD, Op.PREFETCH):
        run.aborts(op, range(1, 1400, 29))
    for op in names.JOBS:
        run.aborts(op, (200,))
    return run.points


def _length(config, nbytes):
    stripes, rest = divmod(nbytes, config.stripe_bytes)
    if stripes == 0:
        return "words" if rest else "none"
    if stripes > config.channels:
        return "laps of channels"
    if rest:
        return "stripes and words"
    return "a stripe" if stripes == 1 else "stripes"


class _Run:
    def __init__(self, config, seed, verilog, progress):
        self.config, self.seed, self.verilog, self.progress = config, seed, verilog, progress
        self.points = points()
        rng = np.random.default_rng([seed, 23])
        count = 6 * config.stripe_words
        words = rng.integers(1, 100, count).astype(config.format.dtype)
        self.words = words * (rng.random(count) < 0.6).astype(words.dtype)
        self.made = golden.offload(self.words, config, crc=True)

    def see(self, point, *values):
        self.points[point].seen[bin_of(*values)] += 1

    def job(self, descriptor, completion):
        """Count a job by its descriptor and its completion."""
        if descriptor.op not in names.JOBS:
            return
        op, status = Op(descriptor.op), Status(completion.status)
        self.see("operation x status", op, status)
        if status is Status.BAD_DESCRIPTOR:
            return
        self.see("operation x raw policy", op, Raw(descriptor.raw))
        index = int(descriptor.with_index), int(descriptor.crc)
        self.see("operation x index, CRC", op, index)
        self.see("operation x length", op, _length(self.config, descriptor.raw_bytes))
        flags = int(descriptor.interrupt), int(descriptor.fence)
        self.see("operation x interrupt, FENCE", op, flags)
        self.see("operation x rows", op, "several" if descriptor.rows > 1 else "one")
        if descriptor.append:
            self.see("APPEND x status", "APPEND", status)

    def model(self, number=0):
        self.progress(f"{sum(point.seen.total() for point in self.points.values()):,} seen")
        options = {"log2": 1, "verilog": self.verilog}
        model = EngineModel(self.config, Memory(5), Memory(9), self.seed + number, **options)
        engine_logs.start(model)
        return model

    def fuzz(self, number):
        batch = Batch(self.config, self.seed, number, self.verilog, observe=self.job)
        problem = batch.play()
        batch.close()
        if problem:
            raise SimulationError(f"batch {number}: {problem}")

    def compared(self, model, job):
        """Count a job that has ended, when it is that of the golden engine."""
        self.fetched(model, job.descriptor, job.completion, engine_logs.logs(model)[-1])
        problem = difference(job, self.config)
        if problem:
            raise SimulationError(f"{Op(job.descriptor.op).name}: {problem}")
        self.job(job.descriptor, job.completion)

    def fetched(self, model, descriptor, completion, link):
        """Check that the engine has read these fields, and answers them."""
        ring = OFFLOAD if descriptor.op in names.OFFLOADS else PREFETCH
        found = engine_logs.fetched(model, ring, link)
        if found != [descriptor]:
            raise SimulationError(f"the engine has fetched {found}, not {descriptor}")
        # A descriptor that could not be read has no cookie.
        at = model.rings[ring].descriptors
        is_bus = Status(completion.status) in _BUS
        is_read = not (is_bus and at.address <= completion.where < at.end)
        if completion.cookie != (descriptor.cookie if is_read else 0):
            raise SimulationError(f"cookie {completion.cookie:#x} of {descriptor}")

    def run_one(self, model, op, *, host=None, **fields):
        """Run a job with these fields and count it."""
        descriptor, buffers, _ = self.descriptor(model, op, **fields)
        memory = {"tensor": buffers["tensor"], "index_buffer": buffers["index"]}
        memory["host"] = host or buffers["stream"]
        ring = OFFLOAD if op in names.OFFLOADS else PREFETCH
        self.compared(model, model.run(ring, descriptor, **memory))

    def descriptor(self, model, op, **fields):
        """A job that is right, and its buffers by name."""
        config, made = self.config, self.made
        is_offload, is_copy = op in names.OFFLOADS, op in (Op.COPY_OUT, Op.COPY_IN)
        nbytes = self.words.nbytes
        stream = self.words.view(np.uint8) if is_copy else made.stream
        lap = config.stripe_bytes * config.channels
        buffers = {
            "tensor": model.allocate(DEVICE, nbytes, align=lap),
            "stream": model.allocate(HOST, nbytes if is_copy else config.bound(nbytes)),
            "index": model.allocate(HOST, made.index.size),
        }
        if is_offload:
            buffers["tensor"].data[:] = self.words.view(np.uint8)
        else:
            buffers["stream"].data[: stream.size] = stream
            buffers["index"].data[:] = made.index
        limit = buffers["stream"].data.size if is_offload else stream.size
        given = {
            "op": op,
            "device": buffers["tensor"].address,
            "host": buffers["stream"].address,
            "index": 0 if is_copy else buffers["index"].address,
            "row_bytes": nbytes,
            "limit": limit,
            "word_bytes": config.word_bytes,
            "with_index": not is_copy,
            "crc": not is_copy,
            "cookie": int(model.rng.integers(1, 1 << 62)),
        }
        sizes = {"tensor": nbytes, "stream": stream.size, "index": made.index.size}
        return Descriptor(**{**given, **fields}), buffers, sizes

    def fields(self):
        """Fields that the fuzzer does not set: all flags, rows, APPEND, limits, wrong bits."""
        config = self.config
        for op in names.JOBS:
            is_coded = op not in (Op.COPY_OUT, Op.COPY_IN)
            stripe = config.stripe_bytes
            variants = [{"interrupt": bool(k & 1), "fence": bool(k & 2)} for k in range(4)]
            variants += [{"rows": 2, "row_bytes": 3 * stripe, "pitch": 3 * stripe}]
            variants += [{"reserved": 1}, {"row_bytes": 0, "limit": 0}]
            if op in (Op.OFFLOAD, Op.MEASURE):
                variants += [{"raw": raw} for raw in Raw]
                variants += [{"with_index": False, "crc": crc, "index": 0} for crc in (0, 1)]
            if op in (Op.OFFLOAD, Op.COPY_OUT, Op.COPY_IN):
                variants.append({"limit": config.word_bytes})
            if is_coded:
                variants.append({"crc": False})
            if op in names.OFFLOADS:
                sizes = (config.word_bytes, stripe, 2 * stripe, stripe + config.word_bytes)
                variants += [{"row_bytes": size} for size in sizes]
            for number, variant in enumerate(variants):
                self.run_one(self.model(number), op, **variant)
            if op not in names.OFFLOADS:
                self._short(op)
        self._append()
        self._damaged()

    def _short(self, op):
        """Prefetches of other lengths, each of a stream of its own."""
        config = self.config
        stripe = config.stripe_words
        for count in (1, stripe, 2 * stripe, stripe + 1):
            words, model = self.words[:count], self.model(count)
            made = golden.offload(words, config)
            is_copy = op is Op.COPY_IN
            stream = words.view(np.uint8) if is_copy else made.stream
            index = made.index[:0] if is_copy else made.index
            fields = {"op": op, "with_index": not is_copy, "cookie": count}
            self.compared(model, model.fetch(stream, index, words.nbytes, **fields))

    def _append(self):
        for size in (2 * self.words.nbytes, 64):
            model = self.model(size)
            model.write("RING", "CTRL", 0)  # the registers of a running ring cannot be written
            model.until_state(OFFLOAD, State.STOPPED)
            arena = model.allocate(HOST, size)
            values = (arena.address, arena.address, arena.end)
            for name, value in zip(("BASE", "POINTER", "LIMIT"), values, strict=True):
                model.write("RING", f"ARENA_{name}_LO", value & 0xFFFF_FFFF)
                model.write("RING", f"ARENA_{name}_HI", value >> 32)
            model.write("RING", "CTRL", 1)
            model.until_state(OFFLOAD, State.RUNNING)
            self.run_one(model, Op.OFFLOAD, host=arena, append=True)

    def _damaged(self):
        """A stream, an index or a CRC that is wrong, for both operations that decompress."""
        for op in (Op.PREFETCH, Op.VERIFY):
            for status in (Status.TRUNCATED, Status.TRAILING, Status.MASK_PAST_END):
                self._wrong_stream(op, status)
            for name in ("stream", "index"):
                model = self.model()
                descriptor, buffers, _ = self.descriptor(model, op)
                # Bits of a word of the stream that stay non-zero; bits that must be zero.
                buffers[name].data[-8 if name == "stream" else 3] ^= 0x80
                if name == "stream":
                    buffers[name].data[self.made.stream.size - 1] ^= 0x40
                memory = {"tensor": buffers["tensor"], "index_buffer": buffers["index"]}
                memory["host"] = buffers["stream"]
                self.compared(model, model.run(PREFETCH, descriptor, **memory))

    def _wrong_stream(self, op, status):
        """One stripe whose stream the decompressor rejects, with an index that is possible."""
        config, model = self.config, self.model()
        count = config.lanes if status is Status.MASK_PAST_END else config.stripe_words
        words = np.ones(count, config.format.dtype)
        words[: count // 2] = 0
        made = golden.offload(words, config)
        stream = made.stream.copy()
        if status is Status.MASK_PAST_END:
            stream[config.format.mask_bytes - 1] |= 0x80
        elif status is Status.TRUNCATED:
            stream = stream[: -config.word_bytes]
        else:
            stream = np.concatenate([stream, stream[-config.word_bytes :]])
        index = made.index.copy()
        index[:3] = list(stream.size.to_bytes(3, "little"))
        self.compared(model, model.fetch(stream, index, words.nbytes, op=op, cookie=int(status)))

    def fault(self, op, fault, phase):
        """A fault at one access of a job: what the engine reports is counted."""
        model = self.model()
        model.write("ENGINE", "TIMEOUT", TIMEOUT)
        ring = OFFLOAD if op in names.OFFLOADS else PREFETCH
        descriptor, buffers, sizes = self.descriptor(model, op)
        memory = model.rings[ring]
        spaces = {
            name: (buffer.space, buffer.address, sizes[name]) for name, buffer in buffers.items()
        }
        spaces["descriptor"] = (HOST, memory.descriptors.address, 1)
        spaces["completion"] = (HOST, memory.completions.address, 1)
        part, _, name = phase.rpartition(" of ")
        space, address, size = spaces[name]
        beat = self.config.beat_bytes if space == DEVICE else self.config.link_bytes
        at = {"first": 0, "middle": size // 2, "last": size - 1}.get(part, 0)
        options = (
            {"delay": NEVER} if fault == "no answer" else {"response": 2 + (fault == "DECERR")}
        )
        model.engine.fault(space, address + at // beat * beat, 1, **options)
        model.submit(ring, descriptor)
        model.engine.run(6000 + TIMEOUT)
        completion = model.peek(ring)
        state, reason = model.state(ring)
        found = engine_logs.logs(model)
        point = f"{op.name}: fault x phase"
        if state is State.ERROR:
            where = model.read("RING", "ERROR_LO", ring)
            if reason in _BUS and reason is not Status.TIMEOUT:
                is_there = memory.completions.address <= where < memory.completions.end
                self.see(point, _BUS[reason], names.COMPLETION if is_there else "?")
            elif model.read("ENGINE", "STATUS"):
                # A dead link is for good: the pins tell what was not answered.
                self.see(point, "no answer", self._open_phase(found, spaces))
            return
        if completion is None:
            return
        status = Status(completion.status)
        if status is Status.OK:
            return  # the operation has no such access
        self.fetched(model, descriptor, completion, found[-1])
        self.job(descriptor, completion)
        if status is Status.TIMEOUT:
            self.see(point, "no answer", self._open_phase(found, spaces))
            return
        space = HOST if completion.channel == LINK else DEVICE
        named = self._phase(space, completion.where, spaces)
        self.see(point, _BUS.get(status, status.name), named)

    def _open_phase(self, found, spaces):
        """Phase of the oldest burst without an answer."""
        burst = engine_logs.open_burst(found)
        return "?" if burst is None else self._phase(*burst, spaces)

    def _phase(self, where_space, where, spaces):
        """Phase of an access, from its address."""
        for name, (space, address, size) in spaces.items():
            if space != where_space or not address <= where < address + max(size, 64):
                continue
            if name in (names.DESCRIPTOR, names.COMPLETION, names.INDEX):
                return name
            # Bursts and stripes are reported by their first byte.
            third = 3 * (where - address) // size
            return f"{(names.FIRST, names.MIDDLE, names.LAST)[min(third, 2)]} of {name}"
        return "?"

    def aborts(self, op, moments):
        """Aborts of one job in some cycles: the stage is what the ports have done by then."""
        ring = OFFLOAD if op in names.OFFLOADS else PREFETCH
        link = self.config.channels
        for cycles in moments:
            model = self.model(cycles)
            descriptor, *_ = self.descriptor(model, op)
            before = self._moved(model, ring, link)
            model.submit(ring, descriptor)
            model.engine.run(cycles)
            read, written = (
                b - a for a, b in zip(before, self._moved(model, ring, link), strict=True)
            )
            is_done = model.peek(ring) is not None
            stage = "done" if is_done else "writing" if written else "reading" if read else ""
            model.abort(ring)
            if op in (Op.OFFLOAD, Op.PREFETCH):
                self.see("abort x stage", op, stage or "nothing begun")
            completion = model.peek(ring)
            if completion is not None:
                self.fetched(model, descriptor, completion, engine_logs.logs(model)[-1])
                self.job(descriptor, completion)

    def _moved(self, model, ring, link):
        """Beats of data that were read and written, without those of descriptors."""
        ports = [model.engine.counts(port) for port in range(link)]
        host = model.engine.counts(link)
        if ring == OFFLOAD:
            return sum(port["read_beats"] for port in ports), host["write_beats"]
        beats = max(1, 64 // self.config.link_bytes)
        read = max(0, host["read_beats"] - beats)
        return read, sum(port["write_beats"] for port in ports)
