"""Rings: wrap, order, FENCE, interrupts, windows, registers while running."""

import itertools

import numpy as np
import pytest

from cdma.engine_codes import Op, State, Status
from cdma.engine_config import EngineConfig
from cdma.golden import engine as golden
from cdma.golden.engine.descriptor import Descriptor
from cdma.sim.engine.engine import DEVICE, HOST, Buffer
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import OFFLOAD, PREFETCH


@pytest.mark.parametrize(
    "log2", [0, 1, 2, 5, *(pytest.param(n, marks=pytest.mark.slow) for n in (9, 12, 15))]
)
def test_wrap(model_of, log2):
    """More than two laps of rings of every size."""
    model = model_of(device=Memory(latency=0), host=Memory(latency=3), log2=log2)
    size = 1 << log2
    total, done = 2 * size + 3, 0
    while done < total:
        number = min(size, total - done)
        model.submit(OFFLOAD, *(Descriptor(Op.NOP, cookie=done + k) for k in range(number)))
        found = model.collect(OFFLOAD, number)
        assert [each.cookie for each in found] == list(range(done, done + number))
        assert [each.head for each in found] == [(done + k + 1) & 0xFFFF for k in range(number)]
        done += number


@pytest.mark.slow
def test_counts_wrap_at_sixteen_bits(model_of):
    model = model_of(device=Memory(latency=0), host=Memory(latency=0), log2=10)
    done = 0
    while done < (1 << 16) + 2000:
        model.submit(PREFETCH, *(Descriptor(Op.NOP, cookie=done + k) for k in range(1000)))
        found = model.collect(PREFETCH, 1000)
        assert found[-1].cookie == done + 999
        done += 1000
    assert model.read("RING", "SQ_HEAD", PREFETCH) == done & 0xFFFF


def many(model, small, tensor, number, **fields):
    """Offloads of different sizes: descriptors, buffers and what must be there."""
    made = []
    for k in range(number):
        words = tensor(small, 1024 * (k % 4) + 16 * k + 16, seed=k)
        buffer = model.place_tensor(words, k % small.channels)
        host = model.allocate(HOST, small.bound(words.nbytes))
        descriptor = Descriptor(
            Op.OFFLOAD,
            device=buffer.address,
            host=host.address,
            row_bytes=words.nbytes,
            limit=host.data.size,
            cookie=k,
            **fields,
        )
        made.append((descriptor, host, golden.offload(words, small, "never")))
    return made


def check(made, found):
    assert [each.status for each in found] == [Status.OK] * len(made)
    assert [each.cookie for each in found] == [each.cookie for each, _, _ in made]
    for (_, host, expected), completion in zip(made, found, strict=True):
        assert completion.stream_bytes == expected.bytes
        assert (host.data[: expected.bytes] == expected.stream).all()


@pytest.mark.parametrize("latency", [0, 20, 500])
def test_descriptors_back_to_back(model_of, small, tensor, latency):
    memory = Memory(latency=latency, jitter=latency // 2)
    model = model_of(device=memory, host=memory)
    made = many(model, small, tensor, 40)
    model.submit(OFFLOAD, *(each for each, _, _ in made))
    check(made, model.collect(OFFLOAD, 40))


def many_back(model, small, tensor, offload, number, **fields):
    """Prefetches of different sizes: descriptors, targets and the jobs that made their streams."""
    made = []
    for k in range(number):
        job = offload(model, tensor(small, 3000 + 4 * k, seed=k))
        host = model.allocate(HOST, job.stream.size)
        host.data[:] = job.stream
        index = model.allocate(HOST, job.index.size)
        index.data[:] = job.index
        target = model.allocate(DEVICE, job.descriptor.raw_bytes, align=2048)
        descriptor = Descriptor(
            Op.PREFETCH,
            device=target.address,
            host=host.address,
            index=index.address,
            with_index=True,
            row_bytes=target.data.size,
            limit=host.data.size,
            cookie=k,
            **fields,
        )
        made.append((descriptor, target, job))
    return made


def check_back(made, found):
    assert [each.status for each in found] == [Status.OK] * len(made)
    assert [each.cookie for each in found] == [each.cookie for each, _, _ in made]
    for _, target, job in made:
        assert (target.data == job.before[0]).all()


def test_both_rings_at_once(model_of, small, tensor, offload):
    model = model_of()
    back = many_back(model, small, tensor, offload, 8)
    made = many(model, small, tensor, 20)
    model.submit(OFFLOAD, *(each for each, _, _ in made))
    model.submit(PREFETCH, *(each for each, _, _ in back))
    check(made, model.collect(OFFLOAD, 20))
    check_back(back, model.collect(PREFETCH, 8))


@pytest.mark.slow
def test_a_fence_sees_what_was_written_before(model_of, small, tensor):
    """A prefetch behind an offload of the other ring, ordered by FENCE alone."""
    model = model_of(device=Memory(latency=30, jitter=300), host=Memory(latency=400, jitter=300))
    for turn in range(6):
        words = tensor(small, 6000, seed=turn)
        source = model.place_tensor(words)
        host, index = model.allocate(HOST, 8000), model.allocate(HOST, 48)
        target = model.allocate(0, 6000, align=2048)
        size = golden.offload(words, small, "never").bytes
        fields = {"host": host.address, "index": index.address, "with_index": True}
        fields |= {"row_bytes": 6000}
        model.submit(OFFLOAD, Descriptor(Op.OFFLOAD, device=source.address, limit=8000, **fields))
        # FENCE waits for what was started, not for what is queued.
        model.engine.start_log(0)
        for _ in range(2000):
            model.engine.run(1)
            if len(model.engine.log(0)):
                break
        fence = Descriptor(Op.PREFETCH, device=target.address, limit=size, fence=True, **fields)
        model.submit(PREFETCH, fence)
        assert model.collect(PREFETCH, 1)[0].status == Status.OK
        assert (target.data == source.data).all()
        assert model.collect(OFFLOAD, 1)[0].status == Status.OK


def spans(logs, descriptors):
    """First and last cycle in which each job had an address or a response at a port."""
    found = []
    for each in descriptors:
        cycles = []
        for port, log in enumerate(logs):
            is_link = port == len(logs) - 1
            start, size = (each.host, each.limit) if is_link else (each.device, each.row_bytes)
            # An address may be that of the beat.
            is_of_job = (log["address"] + 64 > start) & (log["address"] < start + size)
            cycles += log["cycle"][is_of_job].tolist()
        found.append((min(cycles), max(cycles)))
    return found


@pytest.mark.parametrize("fence", [True, False])
def test_chains_of_fence_on_both_rings(model_of, small, tensor, offload, fence):
    """A job behind a FENCE begins after the last response of the job before it, on both rings.

    Without FENCE the same jobs overlap.
    """
    model = model_of()
    back = many_back(model, small, tensor, offload, 12, fence=fence)
    made = many(model, small, tensor, 12, fence=fence)
    ports = range(small.channels + 1)
    for port in ports:
        model.engine.start_log(port)
    for ring, jobs in ((PREFETCH, back), (OFFLOAD, made)):
        model.submit(ring, *(each for each, _, _ in jobs))
    check(made, model.collect(OFFLOAD, 12))
    check_back(back, model.collect(PREFETCH, 12))
    logs = [model.engine.log(port) for port in ports]
    for jobs in (back, made):
        found = spans(logs, [each for each, _, _ in jobs])
        pairs = list(itertools.pairwise(found))
        is_in_order = [before[1] < after[0] for before, after in pairs]
        assert all(is_in_order) if fence else not any(is_in_order), pairs


def wait_for_data(model, ring):
    """Run until a job of a ring asks for the data that it reads."""
    port = 0 if ring == OFFLOAD else model.engine.link
    for _ in range(4000):
        model.engine.run(1)
        log = model.engine.log(port)
        # The link reads descriptors, too: they have ID 2.
        if ((log["channel"] == 0) & (log["id"] < 2)).any():
            return
    raise AssertionError("the job does not begin")


@pytest.mark.parametrize("fence", [True, False])
def test_a_chain_of_jobs_that_read_what_the_one_before_wrote(model_of, small, tensor, fence):
    """COPY_OUT and COPY_IN in turn, each submitted when the one before has begun.

    The FENCE alone orders them. Without it a job reads what was there before.
    """
    model = model_of(device=Memory(latency=100), host=Memory(latency=200))
    size, ring = 4 * small.stripe_bytes, OFFLOAD
    words = tensor(small, size, 1).view(np.uint8)
    places = [model.place_tensor(words)]
    for port in (0, model.engine.link):
        model.engine.start_log(port)
    for _ in range(6):
        is_out = ring == OFFLOAD
        places.append(model.allocate(HOST if is_out else DEVICE, size, align=4096))
        device, host = places[-2:] if is_out else places[:-3:-1]
        fields = {"device": device.address, "host": host.address, "fence": fence}
        fields |= {"row_bytes": size, "limit": size, "word_bytes": small.word_bytes}
        for port in (0, model.engine.link):
            model.engine.log(port)
        model.submit(ring, Descriptor(Op.COPY_OUT if is_out else Op.COPY_IN, **fields))
        wait_for_data(model, ring)
        ring = PREFETCH if is_out else OFFLOAD
    for each in (OFFLOAD, PREFETCH):
        assert [found.status for found in model.collect(each, 3)] == [Status.OK] * 3
    is_right = [(place.data == words).all() for place in places]
    assert all(is_right) if fence else not all(is_right)


@pytest.mark.parametrize("flip", [0, 1])
def test_stale_phase(model_of, flip):
    """An entry of an earlier lap is not taken for a new one."""
    model = model_of(log2=2)
    model.submit(OFFLOAD, Descriptor(Op.NOP), Descriptor(Op.NOP))
    model.collect(OFFLOAD, 2)
    model.place(OFFLOAD, Descriptor(Op.NOP, cookie=7), flip=flip)
    model.doorbell(OFFLOAD)
    (found,) = model.collect(OFFLOAD, 1)
    if not flip:
        assert (found.status, found.cookie) == (Status.OK, 7)
        return
    assert (found.status, found.cookie) == (Status.BAD_DESCRIPTOR, 0)
    model.until_state(OFFLOAD, State.HALTED)


@pytest.mark.slow
@pytest.mark.parametrize("bit", range(12, 31))
def test_reserved_bits(model_of, small, tensor, offload, bit):
    model = model_of()
    if bit == 20:
        descriptor = Descriptor(Op.NOP, append=True)
    elif bit < 20:
        descriptor = Descriptor(Op.NOP, codec=1 << (bit - 12))
    else:
        descriptor = Descriptor(Op.NOP, reserved=1 << (bit - 21))
    model.submit(OFFLOAD, descriptor)
    assert model.collect(OFFLOAD, 1)[0].status == Status.BAD_DESCRIPTOR
    offload(model, tensor(small, 100))


@pytest.mark.slow
def test_completion_is_never_seen_half(model_of, small, tensor):
    """At each cycle, an entry whose phase has turned is complete."""
    model = model_of(host=Memory(latency=40, jitter=100))
    made = many(model, small, tensor, 6)
    model.submit(OFFLOAD, *(each for each, _, _ in made))
    found = []
    for _ in range(60_000):
        model.engine.run(1)
        completion = model.peek(OFFLOAD)
        if completion is not None:
            assert completion.cookie == len(found)
            assert completion.stream_bytes == made[len(found)][2].bytes
            found.append(model.wait(OFFLOAD))
            if len(found) == 6:
                return
    raise AssertionError("too few completions")


@pytest.mark.slow
def test_completion_ring_full(model_of, small, tensor):
    model = model_of(log2=4)
    model.write("RING", "CTRL", 0)
    model.set_ring(OFFLOAD, 4, 1)
    made = many(model, small, tensor, 9)
    model.submit(OFFLOAD, *(each for each, _, _ in made))
    model.engine.run(20_000)
    assert model.read("RING", "SQ_HEAD") == 2
    check(made, model.collect(OFFLOAD, 9))


def test_windows_one_byte_short(model_of, small, tensor, offload):
    """Each of tensor, stream and index may reach the last byte of its window, and no further."""
    model, words = model_of(), tensor(small, 5000)
    source, host, index = model.place_tensor(words), model.allocate(HOST, 6000), None
    index = model.allocate(HOST, 40)
    fields = {"device": source.address, "host": host.address, "index": index.address}
    fields |= {"row_bytes": 5000, "limit": 6000, "with_index": True}
    good = {"DEV_BASE": source.address, "DEV_LIMIT": source.end, "HOST_LIMIT": index.end}
    wrong = [{}, {"DEV_LIMIT": source.end - 1}, {"DEV_BASE": source.address + 1}]
    wrong += [{"HOST_LIMIT": index.end - 1}]
    for changes in wrong:
        model.write("RING", "CTRL", 0)
        model.program(OFFLOAD, **{**good, **changes})
        model.write("RING", "CTRL", 1)
        reads = model.engine.counts(0)["reads"]
        job = model.run(OFFLOAD, Descriptor(Op.OFFLOAD, **fields))
        assert job.status is (Status.BAD_DESCRIPTOR if changes else Status.OK)
        assert not changes or model.engine.counts(0)["reads"] == reads


def test_attributes(model_of, small, tensor, offload):
    """AxUSER, AxPROT and AxCACHE of every burst of a ring."""
    model = model_of()
    model.write("RING", "CTRL", 0)
    model.write("RING", "ATTR", 0x5 << 12 | 0x3 << 8 | 0xA7)
    model.write("RING", "CTRL", 1)
    ports = range(small.channels + 1)
    for port in ports:
        model.engine.start_log(port)
    offload(model, tensor(small, 5000))
    for port in ports:
        log = model.engine.log(port)
        log = log[(log["channel"] == 0) | (log["channel"] == 2)]
        assert len(log)
        fields = [log[name].tolist() for name in ("user", "prot", "cache")]
        assert set(zip(*fields, strict=True)) == {(0xA7, 3, 5)}


@pytest.mark.slow
def test_registers_while_running(model_of, small, tensor, offload):
    """Reads and refused writes of all registers change nothing of a running job."""
    model = model_of()
    made = many(model, small, tensor, 20)
    model.submit(OFFLOAD, *(each for each, _, _ in made))
    rng = np.random.default_rng(1)
    for block, instance, register in list(model.map.addresses().values()):
        access = model.engine.access(block.address(register.name, instance))
        assert access.response == 0, register.name
        if register.guard.value != "none" and instance == OFFLOAD:
            answer = model.write(block.name, register.name, int(rng.integers(1 << 32)), instance)
            assert answer == 2, register.name
    check(made, model.collect(OFFLOAD, 20))


def test_stop_in_every_cycle_of_a_start(model_of):
    """A ring that is told to stop while it looks whether it may run does not run."""
    model = model_of()
    for ring in (OFFLOAD, PREFETCH):
        model.write("RING", "CTRL", 0, ring)
        model.until_state(ring, State.STOPPED)
        for wait in range(40):
            model.write("RING", "CTRL", 1, ring)
            if wait:
                model.engine.run(wait)
            model.write("RING", "CTRL", 0, ring)
            model.engine.run(40)
            assert model.state(ring) == (State.STOPPED, Status.OK), wait
        model.write("RING", "CTRL", 1, ring)
        model.submit(ring, Descriptor(Op.NOP, cookie=7))
        assert model.collect(ring, 1)[0].cookie == 7


@pytest.mark.parametrize(
    ("address", "strobe"), [(0x10, 7), (0x11, 15), (0x12, 15), (0xFFC, 15), (0x2C, 15)]
)
def test_refused_accesses(model_of, address, strobe):
    model = model_of()
    assert model.engine.access(address, 1, strobe=strobe).response == 2
    assert model.read("ENGINE", "CTRL") == 0
    if address != 0x10 and address != 0x2C:
        assert model.engine.access(address).response == 2


@pytest.mark.slow
def test_host_addresses_of_64_bits(model_with):
    """An offload to the upper half of all addresses."""
    config = EngineConfig(
        channels=1, lanes=2, address_bits=64, stripe_bytes=1024, latency=20, link_fifo_bytes=2048
    )
    model = model_with(config)
    tensor = model.place_tensor(np.ones(8, config.format.dtype))
    address = (1 << 63) + 4096
    job = Descriptor(Op.OFFLOAD, device=tensor.address, host=address, row_bytes=32, limit=64)
    model.engine.add(Buffer(HOST, address, np.zeros(64, np.uint8)))
    assert model.run(OFFLOAD, job).status is Status.OK


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SQ_TAIL", "CQ_HEAD"])
@pytest.mark.parametrize("ring", [OFFLOAD, PREFETCH])
def test_an_impossible_count_while_jobs_run(model_of, tensor, small, offload, prefetch, name, ring):
    """The ring enters ERROR, the other one goes on, and an abort ends what was started."""
    model, words = model_of(log2=4), tensor(small, 4096)
    job = offload(model, words)
    play = prefetch if ring == OFFLOAD else offload
    given = job if ring == OFFLOAD else words
    seen = set()
    for wait in (1, 20, 60, 150, 300, 700, 1500):
        made = Descriptor(Op.MEASURE, device=model.place_tensor(words).address, row_bytes=4096)
        if ring == PREFETCH:
            index = model.allocate(HOST, job.index.size)
            host = model.allocate(HOST, job.stream.size)
            host.data[:], index.data[:] = job.stream, job.index
            fields = {"device": made.device, "host": host.address, "index": index.address}
            fields |= {"row_bytes": 4096, "limit": host.data.size, "with_index": True}
            made = Descriptor(Op.PREFETCH, **fields)
        model.submit(ring, *(10 * [made]))
        model.engine.run(wait)
        count = model.read("RING", name, ring)
        assert model.write("RING", name, count + 5000 & 0xFFFF, ring) == 0
        assert model.state(ring)[0] is State.ERROR
        assert model.read("RING", name, ring) == count, "the write was ignored"
        assert model.read("ENGINE", "IRQ_STATUS") & 4 << ring
        model.write("ENGINE", "IRQ_STATUS", 0x3F)
        play(model, given)
        model.abort(ring)
        while model.peek(ring) is not None:
            seen.add(model.wait(ring).status)
        assert model.read("RING", "SQ_HEAD", ring) == model.rings[ring].head
        model.resync(ring)
        model.write("RING", "CTRL", 1, ring)
    assert Status.OK in seen <= {Status.OK, Status.ABORTED}
    prefetch(model, job)
    offload(model, words)


@pytest.mark.parametrize("ring", [OFFLOAD, PREFETCH])
def test_completions_that_were_read_stay_read(model_of, ring):
    """An old CQ_HEAD, written late, must not take back an entry that a descriptor was promised."""
    model = model_of(log2=2, host=Memory(latency=200))
    model.submit(ring, *(4 * [Descriptor(Op.NOP)]))
    assert [model.wait(ring).cookie for _ in range(4)] == 4 * [0]
    model.engine.run(400)
    model.submit(ring, *(4 * [Descriptor(Op.NOP, cookie=9)]))
    model.write("RING", "CQ_HEAD", 1, ring)
    model.write("RING", "CQ_HEAD", 0, ring)
    assert model.read("RING", "CQ_HEAD", ring) == 1
    assert model.state(ring)[0] is State.ERROR
    model.engine.run(4000)
    assert model.read("RING", "CQ_TAIL", ring) <= 5, "no more than the ring has entries"
    model.abort(ring)
    while model.peek(ring) is not None:
        model.wait(ring)
    model.resync(ring)
    model.write("RING", "CTRL", 1, ring)
    assert model.run(ring, Descriptor(Op.NOP, cookie=7)).status is Status.OK


def test_windows_of_a_prefetch_one_byte_short(model_of, small, tensor, offload):
    """Of tensor and index; and the stream of an offload at the end of its window."""
    model, words = model_of(), tensor(small, 5000)
    job = offload(model, words)
    index, host = model.allocate(HOST, job.index.size), model.allocate(HOST, job.stream.size)
    target = model.allocate(DEVICE, 5000, align=2048)
    host.data[:], index.data[:] = job.stream, job.index
    fields = {"device": target.address, "host": host.address, "index": index.address}
    fields |= {"row_bytes": 5000, "limit": job.stream.size, "with_index": True}
    good = {"DEV_BASE": target.address, "DEV_LIMIT": target.end, "HOST_LIMIT": host.end}
    wrong = [{}, {"DEV_LIMIT": target.end - 1}, {"DEV_BASE": target.address + 1}]
    wrong += [{"HOST_LIMIT": host.end - 1}]
    for ring, op in ((PREFETCH, Op.PREFETCH), (PREFETCH, Op.VERIFY), (OFFLOAD, Op.OFFLOAD)):
        for changes in wrong:
            model.write("RING", "CTRL", 0, ring)
            model.program(ring, **{**good, **changes})
            model.write("RING", "CTRL", 1, ring)
            ports = range(small.channels)
            before = [model.engine.counts(port) for port in ports]
            done = model.run(ring, Descriptor(op, **fields))
            assert done.status is (Status.BAD_DESCRIPTOR if changes else Status.OK), (op, changes)
            assert not changes or [model.engine.counts(port) for port in ports] == before
