"""Jobs that overlap: each result is that of a job that runs alone, whatever its neighbours meet."""

import numpy as np
import pytest

from cdma.engine_codes import Op, State, Status
from cdma.golden import engine as golden
from cdma.golden.engine.offload import copy_out
from cdma.sim.engine.compare import offload_difference, prefetch_difference
from cdma.sim.engine.engine import DEVICE
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import OFFLOAD, PREFETCH, Job

NEAR = {"device": Memory(latency=30), "host": Memory(latency=50)}
FAR = {"device": Memory(latency=350), "host": Memory(latency=500)}
ROUGH = {
    "device": Memory(latency=40, jitter=200, reorder=0.5),
    "host": Memory(latency=60, jitter=300, reorder=0.5),
}
DEVICE_ERROR, HOST_ERROR = Status.DEVICE_SLVERR, Status.HOST_DECERR


class Chain:
    """Descriptors that wait in both rings until the doorbells ring.

    Parameters
    ----------
    model : EngineModel
    tensor
        The fixture of that name.
    seed : int
        Of sizes and contents.
    """

    def __init__(self, model, tensor, seed):
        self.model, self.config = model, model.config
        self.rng = np.random.default_rng(seed)
        self.tensor, self.seed = tensor, seed
        self.jobs = {OFFLOAD: [], PREFETCH: []}
        # Descriptors are placed only; their buffers stay.
        model.run, model.free = self._place, lambda *buffers: None

    def _place(self, ring, descriptor, *, counters=False, **buffers):
        names = ("tensor", "host", "index_buffer")
        copies = tuple(buffers[name].data.copy() for name in names)
        self.model.place(ring, descriptor)
        return Job(descriptor, None, 0, before=copies, **buffers)

    def _words(self):
        size = 4 * int(self.rng.integers(1, 1200))
        self.seed += 1
        return self.tensor(self.config, size, self.rng.choice([0.1, 0.5, 1.0]), seed=self.seed)

    def add(self, ring, kind):
        """A descriptor of a kind: the name of a method below."""
        made = getattr(self, kind)(self._words(), {"cookie": len(self.jobs[ring])})
        self.jobs[ring].append((kind, *made))

    def _fault(self, buffer, byte, response):
        self.model.engine.fault(buffer.space, buffer.address + byte, response=response)

    # Offloads

    def out(self, words, fields):
        raw, crc = str(self.rng.choice(["never", "auto", "always"])), bool(self.rng.integers(2))
        job = self.model.offload(words, raw, crc=crc, **fields)
        return job, golden.offload(words, self.config, raw, crc=crc)

    def overflow(self, words, fields):
        limit = 4 * int(self.rng.integers(0, words.size // 16 + 1))
        job = self.model.offload(words, limit=limit, **fields)
        return job, golden.offload(words, self.config, "never", limit)

    def bad_read(self, words, fields):
        job = self.model.offload(words, **fields)
        byte = int(self.rng.integers(words.nbytes))
        self._fault(job.tensor, byte, 2)
        fault = (byte // self.config.stripe_bytes, DEVICE_ERROR)
        return job, golden.offload(words, self.config, "never", fault=fault)

    def bad_stream(self, words, fields):
        job = self.model.offload(words, **fields)
        self._fault(job.host, 0, 3)
        return job, golden.offload(words, self.config, "never", fault=(0, HOST_ERROR))

    def copy(self, words, fields):
        fits = bool(self.rng.integers(2))
        limit = words.nbytes - 4 * (not fits)
        job = self.model.offload(words, limit=limit, index=False, op=Op.COPY_OUT, **fields)
        return job, copy_out(words, self.config, limit)

    # Prefetches

    def _sent(self, words):
        raw, crc = str(self.rng.choice(["never", "auto"])), bool(self.rng.integers(2))
        return golden.offload(words, self.config, raw, crc=crc), crc

    def _fetch(self, words, stream, index, crc, fields):
        job = self.model.fetch(stream, index, words.nbytes, crc=crc, **fields)
        return job, golden.salvage_stripes(stream, index, words.size, self.config, crc=crc)

    def back(self, words, fields):
        sent, crc = self._sent(words)
        return self._fetch(words, sent.stream, sent.index, crc, fields)

    def verify(self, words, fields):
        return self.back(words, {**fields, "op": Op.VERIFY})

    def corrupt(self, words, fields):
        sent, _ = self._sent(words)
        stream = sent.stream.copy()
        stream[self.rng.integers(stream.size)] ^= 1 << int(self.rng.integers(8))
        return self._fetch(words, stream, sent.index, True, fields)

    def bad_index(self, words, fields):
        sent, crc = self._sent(words)
        index = sent.index.copy()
        entries = index.view("<u4")[::2]
        entries[self.rng.integers(entries.size)] += 4
        return self._fetch(words, sent.stream, index, crc, fields)

    def bad_write(self, words, fields):
        sent, crc = self._sent(words)
        job, _ = self._fetch(words, sent.stream, sent.index, crc, fields)
        byte = int(self.rng.integers(words.nbytes))
        self._fault(job.tensor, byte, 2)
        fault = (byte // self.config.stripe_bytes, DEVICE_ERROR)
        return job, self._salvage(words, sent, crc, fault)

    def unreadable(self, words, fields):
        sent, crc = self._sent(words)
        job, _ = self._fetch(words, sent.stream, sent.index, crc, fields)
        self._fault(job.host, 0, 3)
        return job, self._salvage(words, sent, crc, (0, HOST_ERROR))

    def _salvage(self, words, sent, crc, fault):
        return golden.salvage_stripes(
            sent.stream, sent.index, words.size, self.config, crc=crc, fault=fault
        )

    def check(self, ring):
        """Every completion, in order, and all of the memory that its job may write."""
        completions = self.model.collect(ring, len(self.jobs[ring]))
        for k, ((kind, job, expected), found) in enumerate(
            zip(self.jobs[ring], completions, strict=True)
        ):
            job.completion = found
            if ring == OFFLOAD:
                difference = offload_difference(job, expected, self.config)
            else:
                is_verify = kind == "verify"
                difference = prefetch_difference(job, expected, self.config, is_verify=is_verify)
            assert difference == "", f"job {k} of ring {ring}, {kind}: {difference}"


GOOD = {OFFLOAD: ("out", "out", "copy"), PREFETCH: ("back", "back", "back", "verify")}
BAD = {
    OFFLOAD: ("overflow", "bad_read", "bad_stream"),
    PREFETCH: ("corrupt", "bad_index", "bad_write", "unreadable"),
}


def play(model_of, tensor, memories, seed, number, faulty):
    model = model_of(seed=seed, **memories)
    chain = Chain(model, tensor, 1000 * seed)
    for ring in (OFFLOAD, PREFETCH):
        for _ in range(number):
            kinds = BAD if chain.rng.random() < faulty else GOOD
            chain.add(ring, str(chain.rng.choice(kinds[ring])))
    for ring in (OFFLOAD, PREFETCH):
        model.doorbell(ring)
    for ring in (OFFLOAD, PREFETCH):
        chain.check(ring)


@pytest.mark.parametrize(
    ("memories", "seed", "faulty"),
    [
        pytest.param(NEAR, 1, 0.0, id="near"),
        pytest.param(FAR, 2, 0.3, id="far"),
        pytest.param(ROUGH, 3, 0.3, id="rough"),
    ],
)
def test_neighbours_do_not_matter(model_of, tensor, memories, seed, faulty):
    play(model_of, tensor, memories, seed, 40, faulty)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 40))
@pytest.mark.parametrize("faulty", [0.05, 0.4])
def test_many_chains(model_of, tensor, seed, faulty):
    play(model_of, tensor, (NEAR, FAR, ROUGH)[seed % 3], seed, 60, faulty)


@pytest.mark.parametrize(
    "wait", [900, *(pytest.param(w, marks=pytest.mark.slow) for w in range(50, 2500, 70))]
)
@pytest.mark.parametrize("ring", [OFFLOAD, PREFETCH])
def test_abort_of_jobs_that_overlap(model_of, tensor, offload, prefetch, small, ring, wait):
    """Jobs that were started are ABORTED from one on, the rest stays; then nothing is touched."""
    model = model_of(**FAR)
    free = model.free
    chain = Chain(model, tensor, wait)
    for _ in range(30):
        chain.add(ring, "out" if ring == OFFLOAD else "back")
    model.doorbell(ring)
    model.engine.run(wait)
    model.abort(ring)
    found = []
    while model.peek(ring) is not None:
        found.append(model.wait(ring).status)
    ended = found.count(Status.OK)
    assert found == [Status.OK] * ended + [Status.ABORTED] * (len(found) - ended)
    assert len(found) < 30
    for _, job, _ in chain.jobs[ring]:
        free(job.tensor, job.host, job.index_buffer)
    model.resync(ring)
    model.write("RING", "CTRL", 1, ring)
    model.until_state(ring, State.RUNNING)
    del model.run, model.free
    prefetch(model, offload(model, tensor(small, 3000)))


def test_a_channel_is_lost_while_jobs_overlap(model_of, tensor, small):
    """A read of one job is never answered: those before it are OK, those behind it TIMEOUT."""
    model = model_of(**FAR)
    model.write("ENGINE", "TIMEOUT", 3000)
    chain = Chain(model, tensor, 5)
    for _ in range(12):
        chain.add(OFFLOAD, "out")
    _, late, _ = chain.jobs[OFFLOAD][6]
    model.engine.fault(DEVICE, late.tensor.address, delay=50_000, count=1)
    model.doorbell(OFFLOAD)
    found = [model.wait(OFFLOAD) for _ in range(12)]
    assert [each.cookie for each in found] == list(range(12))
    assert [each.status for each in found[:6]] == [Status.OK] * 6
    assert [each.status for each in found[6:]] == [Status.TIMEOUT] * 6
    assert model.read("CHANNEL", "QUARANTINE", small.channel(late.tensor.address)) == 1
