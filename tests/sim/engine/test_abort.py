"""Abort and reset: in every cycle of a short job, during errors, and again."""

import pytest

from cdma.engine_codes import Op, State, Status
from cdma.golden.engine.descriptor import Descriptor
from cdma.sim.engine.engine import DEVICE, HOST
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import OFFLOAD, PREFETCH

pytestmark = pytest.mark.slow


def start(model, small, tensor, size=2100, **fields):
    """Submit an offload and do not wait."""
    words = tensor(small, size)
    source = model.place_tensor(words)
    host = model.allocate(HOST, small.bound(words.nbytes))
    index = model.allocate(HOST, 8 * small.stripes(size))
    descriptor = Descriptor(
        Op.OFFLOAD,
        device=source.address,
        host=host.address,
        index=index.address,
        with_index=True,
        row_bytes=words.nbytes,
        limit=host.data.size,
        **fields,
    )
    model.submit(OFFLOAD, descriptor)
    return source, host, index


def finish(model, ring):
    """Take the completions of an aborted ring, and let it run again."""
    while model.peek(ring) is not None:
        assert model.wait(ring).status in (Status.OK, Status.ABORTED)
    model.resync(ring)
    model.write("RING", "CTRL", 1, ring)
    model.until_state(ring, State.RUNNING)


def aborts(model, small, tensor, offload, prefetch, waits):
    job = offload(model, tensor(small, 2100))
    for wait in waits:
        buffers = start(model, small, tensor)
        model.engine.run(wait)
        model.abort(OFFLOAD)
        finish(model, OFFLOAD)
        model.free(*buffers)  # nothing touches them any more
        if wait % 16 == 3:
            offload(model, tensor(small, 2100))
            prefetch(model, job)


def test_abort(model_of, small, tensor, offload, prefetch):
    aborts(model_of(), small, tensor, offload, prefetch, range(3, 500, 16))


def test_abort_in_every_cycle(model_of, small, tensor, offload, prefetch):
    aborts(model_of(), small, tensor, offload, prefetch, range(1, 600))


def fetches(model, small, tensor, offload, waits):
    job = offload(model, tensor(small, 2100))
    host, index = model.allocate(HOST, job.stream.size), model.allocate(HOST, job.index.size)
    host.data[:], index.data[:] = job.stream, job.index
    for wait in waits:
        target = model.allocate(DEVICE, 2100, align=2048)
        fields = {"device": target.address, "host": host.address, "index": index.address}
        fields |= {"row_bytes": 2100, "limit": job.stream.size, "with_index": True}
        model.submit(PREFETCH, Descriptor(Op.PREFETCH, **fields))
        model.engine.run(wait)
        model.abort(PREFETCH)
        finish(model, PREFETCH)
        again = model.run(PREFETCH, Descriptor(Op.PREFETCH, **fields))
        assert again.status is Status.OK
        assert (target.data == job.before[0]).all()
        model.free(target)


def test_abort_of_a_prefetch(model_of, small, tensor, offload):
    fetches(model_of(), small, tensor, offload, range(3, 500, 16))


def test_abort_of_a_prefetch_in_every_cycle(model_of, small, tensor, offload):
    fetches(model_of(), small, tensor, offload, range(1, 600))


def resets(model, small, tensor, offload, prefetch, waits):
    for wait in waits:
        buffers = start(model, small, tensor)
        model.engine.run(wait)
        model.engine.reset()
        model.free(*buffers)
        model.open_rings()
        prefetch(model, offload(model, tensor(small, 2100)))


def test_reset(model_of, small, tensor, offload, prefetch):
    resets(model_of(), small, tensor, offload, prefetch, range(5, 500, 60))


def test_reset_in_every_cycle(model_of, small, tensor, offload, prefetch):
    resets(model_of(), small, tensor, offload, prefetch, range(1, 500))


def test_reset_of_a_prefetch_in_every_cycle(model_of, small, tensor, offload, prefetch):
    model = model_of()
    job = offload(model, tensor(small, 2100))
    for wait in range(1, 500):
        target = model.allocate(DEVICE, 2100, align=2048)
        host, index = model.allocate(HOST, job.stream.size), model.allocate(HOST, job.index.size)
        host.data[:], index.data[:] = job.stream, job.index
        fields = {"device": target.address, "host": host.address, "index": index.address}
        fields |= {"row_bytes": 2100, "limit": job.stream.size, "with_index": True}
        model.submit(PREFETCH, Descriptor(Op.PREFETCH, **fields))
        model.engine.run(wait)
        model.engine.reset()
        model.free(target, host, index)
        model.open_rings()
        prefetch(model, job)


@pytest.mark.parametrize("op", [Op.MEASURE, Op.VERIFY, Op.COPY_OUT, Op.COPY_IN])
def test_abort_of_other_operations(model_of, small, tensor, offload, prefetch, op):
    model, size = model_of(), 2100
    job = offload(model, tensor(small, size))
    ring = PREFETCH if op in (Op.VERIFY, Op.COPY_IN) else OFFLOAD
    memory = model.place_tensor(tensor(small, size))
    host, index = model.allocate(HOST, job.stream.size), model.allocate(HOST, job.index.size)
    host.data[:], index.data[:] = job.stream, job.index
    room = model.allocate(HOST, size)
    fields = {"device": memory.address, "host": room.address, "limit": size, "row_bytes": size}
    if op == Op.VERIFY:
        fields |= {"host": host.address, "limit": host.data.size}
    if op in (Op.VERIFY, Op.MEASURE):
        fields |= {"index": index.address, "with_index": True}
    seen = set()
    for wait in range(3, 900, 9):
        model.submit(ring, Descriptor(op, **fields))
        model.engine.run(wait)
        model.abort(ring)
        while model.peek(ring) is not None:
            seen.add(model.wait(ring).status)
        model.resync(ring)
        model.write("RING", "CTRL", 1, ring)
        model.until_state(ring, State.RUNNING)
        assert model.run(ring, Descriptor(op, **fields)).status is Status.OK
    assert seen == {Status.OK, Status.ABORTED}
    prefetch(model, job)


def test_an_abort_leaves_the_arena(model_of, small, tensor):
    """The pointer advances with a completion of OK, and only then."""
    model, words = model_of(), tensor(small, 2100)
    source = model.place_tensor(words)
    model.write("RING", "CTRL", 0)
    arena = model.allocate(HOST, 1 << 19)
    values = {"ARENA_BASE": arena.address, "ARENA_LIMIT": arena.end, "ARENA_POINTER": arena.address}
    model.program(OFFLOAD, **values)
    model.write("RING", "CTRL", 1)
    pointer, seen = arena.address, set()
    fields = {"device": source.address, "row_bytes": 2100, "limit": 4096, "append": True}
    for wait in range(3, 600, 9):
        model.submit(OFFLOAD, *(2 * [Descriptor(Op.OFFLOAD, **fields)]))
        model.engine.run(wait)
        model.abort(OFFLOAD)
        while model.peek(OFFLOAD) is not None:
            found = model.wait(OFFLOAD)
            seen.add(found.status)
            if found.status == Status.OK:
                assert found.where == pointer
                pointer = pointer + found.stream_bytes + 63 & -64
        assert model.read("RING", "ARENA_POINTER_LO") == pointer
        model.resync(OFFLOAD)
        model.write("RING", "CTRL", 1)
        model.until_state(OFFLOAD, State.RUNNING)
    assert seen == {Status.OK, Status.ABORTED}


def test_reset_of_the_engine_by_software(model_of, small, tensor, offload, prefetch):
    """CTRL.RESET with both rings busy: counts, registers and counters start over."""
    model = model_of()
    for wait in (5, 60, 150, 260, 400):
        buffers = start(model, small, tensor)
        model.engine.run(wait)
        model.clear()
        model.free(*buffers)
        for ring in (OFFLOAD, PREFETCH):
            assert model.read("RING", "SQ_TAIL", ring) == model.read("RING", "SQ_HEAD", ring) == 0
        model.open_rings()
        prefetch(model, offload(model, tensor(small, 2100)))


def test_an_error_during_an_abort(model_of, small, tensor, offload):
    model = model_of(device=Memory(latency=100))
    for wait in range(100, 260, 20):
        model.engine.fault(DEVICE, 0x1000_0000, 0x6000_0000, response=2)
        buffers = start(model, small, tensor)
        model.engine.run(wait)
        model.write("RING", "CTRL", 2)
        model.until_state(OFFLOAD, State.STOPPED)
        while (completion := model.peek(OFFLOAD)) is not None:
            model.wait(OFFLOAD)
            assert completion.status in (Status.ABORTED, Status.DEVICE_SLVERR)
        model.engine.clear_faults()
        model.resync(OFFLOAD)
        model.write("RING", "CTRL", 1)
        model.free(*buffers)
        offload(model, tensor(small, 2100))


def test_an_abort_with_the_timeout_off(model_of, small, tensor, offload):
    """Memory does not answer and TIMEOUT is 0: the abort ends all the same."""
    model = model_of()
    model.write("ENGINE", "TIMEOUT", 0)
    buffers = start(model, small, tensor)
    model.engine.hold(0, "r", 1 << 22)
    model.engine.run(300)
    model.write("RING", "CTRL", 2)
    model.engine.run(1 << 19)
    assert model.state(OFFLOAD)[0] is State.ABORTING
    model.engine.run(1 << 20)
    model.until_state(OFFLOAD, State.STOPPED)
    assert model.read("CHANNEL", "QUARANTINE", 0) == 1
    del buffers


def test_the_other_ring_goes_on(model_of, small, tensor, offload, prefetch):
    """An abort of one ring leaves the jobs of the other one alone."""
    model = model_of()
    job = offload(model, tensor(small, 9000))
    for wait in (20, 120, 240):
        start(model, small, tensor, 9000)
        model.engine.run(wait)
        model.write("RING", "CTRL", 2, OFFLOAD)
        prefetch(model, job)
        model.until_state(OFFLOAD, State.STOPPED)
        finish(model, OFFLOAD)


@pytest.mark.parametrize("op", [Op.COPY_IN, Op.PREFETCH])
def test_an_abort_fills_up_a_beat_a_cycle(model_of, small, op):
    """Of 32 stripes of a channel at most, what was not read, and little more."""
    model = model_of()
    size = 128 * small.stripe_bytes
    source = model.allocate(HOST, size, writable=False)
    target = model.allocate(DEVICE, size, align=small.stripe_bytes * small.channels)
    index = model.allocate(HOST, 8 * 128, writable=False)
    index.data.view("<u4")[::2] = small.stripe_bytes | 1 << 24
    fields = {"device": target.address, "host": source.address, "index": index.address}
    fields |= {"row_bytes": size, "limit": size, "with_index": op is Op.PREFETCH}
    model.submit(PREFETCH, Descriptor(op, **fields))
    model.engine.run(1000)
    begin = model.engine.cycle
    model.abort(PREFETCH)
    model.until_state(PREFETCH, State.STOPPED)
    beats = 32 * small.channels * small.stripe_bytes // small.link_bytes
    assert model.engine.cycle - begin < 1.2 * beats + 1000


@pytest.mark.parametrize("resets", [False, True])
@pytest.mark.parametrize("op", [Op.MEASURE, Op.OFFLOAD])
def test_an_abort_while_the_index_waits(model_of, small, op, resets):
    """Responses of the link come late, until no entry of the index has room. Then the abort comes,
    and then the responses."""
    model = model_of()
    size = 1024 * small.stripe_bytes
    tensor = model.allocate(DEVICE, size, align=small.stripe_bytes * small.channels)
    index = model.allocate(HOST, 8 * 1024)
    host = model.allocate(HOST, small.padded(small.bound(size)))
    fields = {"device": tensor.address, "host": host.address, "index": index.address}
    fields |= {"row_bytes": size, "limit": host.data.size, "with_index": True}
    model.submit(OFFLOAD, Descriptor(op, **fields))
    model.engine.run(1000)
    model.engine.hold(model.engine.link, "b", 80_000)
    model.engine.run(60_000)
    if resets:
        model.write("ENGINE", "CTRL", 1)
    else:
        model.write("RING", "CTRL", 2)
    model.engine.run(50_000)
    assert model.read("ENGINE", "CTRL") == 0
    assert model.state(OFFLOAD)[0] is State.STOPPED
    if not resets:
        finish(model, OFFLOAD)
        assert model.run(OFFLOAD, Descriptor(op, **fields)).status is Status.OK
