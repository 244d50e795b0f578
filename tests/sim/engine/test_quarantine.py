"""Channels that do not answer: what is stuck, what goes on, and when memory is free again."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from cdma.engine_codes import Op, Status
from cdma.golden.engine.descriptor import Descriptor
from cdma.sim.engine.engine import DEVICE, HOST
from cdma.sim.engine.model import OFFLOAD, PREFETCH

CHANNELS = ("ar", "r", "aw", "w", "b")
SIZE = 8 * 1024
#: TIMEOUT, and cycles for which a channel is stuck, both from the doorbell on.
TIMEOUT, STUCK = 1000, 30_000


@pytest.fixture(scope="module")
def model_of(model_with, small_zvc):
    """Function that gives an engine of two channels: one is lost, the other works."""
    return partial(model_with, small_zvc)


@pytest.fixture
def words(tensor, small_zvc):
    return tensor(small_zvc, SIZE)


def descriptor(model, ring, job, words, channel=0):
    """A job on both channels, a prefetch from this one on, that uses a ring; and its buffers."""
    index = model.allocate(HOST, job.index.size)
    fields = {"row_bytes": words.nbytes, "with_index": True, "index": index.address}
    if ring == OFFLOAD:
        memory = model.place_tensor(words)
        host = model.allocate(HOST, model.config.bound(words.nbytes))
        fields["op"] = Op.OFFLOAD
    else:
        memory = model.allocate(DEVICE, words.nbytes, align=2048, offset=1024 * channel)
        host = model.allocate(HOST, job.stream.size)
        host.data[:], index.data[:] = job.stream, job.index
        fields["op"] = Op.PREFETCH
    fields |= {"device": memory.address, "host": host.address, "limit": host.data.size}
    return Descriptor(**fields), (memory, host, index)


def stuck(model_of, offload, words, channel, timeout=TIMEOUT, cycles=STUCK):
    """A model whose memory channel 0 has a port with a channel that stands still, the job of an
    offload before that, and the ring that uses the channel."""
    model = model_of()
    job = offload(model, words)
    model.write("ENGINE", "TIMEOUT", timeout)
    model.engine.hold(0, channel, cycles)
    return model, job, OFFLOAD if channel in ("ar", "r") else PREFETCH


def outstanding(model):
    return model.read("CHANNEL", "OUTSTANDING", 0) & 0xFFFF


def leave_quarantine(model):
    """Wait until nothing is outstanding. Channel 0 is in quarantine up to then."""
    assert model.read("CHANNEL", "QUARANTINE", 0) == 1
    model.engine.run(STUCK)
    for _ in range(50):
        model.write("CHANNEL", "QUARANTINE", 1, 0)
        if not model.read("CHANNEL", "QUARANTINE", 0):
            break
        assert outstanding(model)
        model.engine.run(200)
    assert model.read("CHANNEL", "QUARANTINE", 0) == 0
    assert outstanding(model) == 0


@pytest.mark.parametrize(
    "channel",
    ["r", "aw", *(pytest.param(each, marks=pytest.mark.slow) for each in ("ar", "w", "b"))],
)
def test_a_stuck_channel(model_of, words, offload, prefetch, channel):
    """A channel of the port that stands still: TIMEOUT; other channels go on; recovery."""
    model, job, ring = stuck(model_of, offload, words, channel)
    wrong, buffers = descriptor(model, ring, job, words)
    found = model.run(ring, wrong).completion
    assert (found.status, found.channel) == (Status.TIMEOUT, 0)
    assert buffers[0].address <= found.where < buffers[0].end
    one = words[: 1024 // 4]
    assert offload(model, one, channel=1).cycles < TIMEOUT
    again, late = descriptor(model, ring, job, words)
    assert model.run(ring, again).completion.status == Status.TIMEOUT
    model.free(*late)  # a channel in quarantine issues nothing
    leave_quarantine(model)
    model.free(*buffers)
    prefetch(model, job)
    offload(model, words)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_each_channel_that_is_lost_interrupts(model_of, words, offload, order):
    """Also one that follows while another one is in quarantine, and each one only once."""
    model, quarantine = model_of(), 16
    model.write("ENGINE", "TIMEOUT", TIMEOUT)
    model.write("ENGINE", "IRQ_ENABLE", quarantine)
    for channel in order:
        model.engine.hold(channel, "r", STUCK)
        memory = model.place_tensor(words[: 1024 // 4], channel=channel)
        model.run(OFFLOAD, Descriptor(Op.MEASURE, device=memory.address, row_bytes=1024))
        assert model.read("ENGINE", "IRQ_STATUS") & quarantine
        assert model.read("CHANNEL", "QUARANTINE", channel) == 1
        assert model.engine.irq
        model.write("ENGINE", "IRQ_STATUS", quarantine)
        model.engine.run(100)
        assert not model.engine.irq
    model.engine.run(STUCK)
    for channel in order:
        model.write("CHANNEL", "QUARANTINE", 1, channel)
    offload(model, words)
    assert not model.engine.irq


@pytest.mark.slow
@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("wait", [150, 300, 700, 1300, 2500])
def test_an_abort_does_not_wait_for_a_lost_channel(
    model_of, words, offload, prefetch, channel, wait
):
    """The jobs are over, but the engine owns their memory until nothing is outstanding."""
    model, job, ring = stuck(model_of, offload, words, channel)
    made = [descriptor(model, ring, job, words) for _ in range(3)]
    model.submit(ring, *(each for each, _ in made))
    model.engine.run(wait)
    model.abort(ring)
    started = 0
    while model.peek(ring) is not None:
        assert model.wait(ring).status in (Status.ABORTED, Status.TIMEOUT, Status.OK)
        started += 1
    assert 3 - started == model.resync(ring)
    for _, buffers in made[started:]:
        model.free(*buffers)  # they were not started
    model.write("RING", "CTRL", 1, ring)
    if model.read("CHANNEL", "QUARANTINE", 0):
        assert outstanding(model)
        leave_quarantine(model)
    assert outstanding(model) == 0
    for _, buffers in made[:started]:
        model.free(*buffers)
    model.engine.run(STUCK)
    prefetch(model, job)
    offload(model, words)


@pytest.mark.slow
@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("wait", [300, 1500])
def test_a_reset_by_software_leaves_a_lost_channel_in_quarantine(
    model_of, words, offload, prefetch, channel, wait
):
    model, job, ring = stuck(model_of, offload, words, channel)
    wrong, buffers = descriptor(model, ring, job, words)
    model.submit(ring, wrong)
    model.engine.run(wait)
    model.clear()
    assert model.engine.cycle < STUCK, "it does not wait for the channel"
    assert model.read("ENGINE", "TIMEOUT") == 1 << 20
    assert outstanding(model)
    model.open_rings()
    assert offload(model, words[: 1024 // 4], channel=1).status is Status.OK
    leave_quarantine(model)
    model.free(*buffers)
    prefetch(model, job)
    offload(model, words)


@pytest.mark.slow
@pytest.mark.parametrize("channel", CHANNELS)
def test_quarantine_that_is_cleared_all_the_time(model_of, words, offload, prefetch, channel):
    """It ends as soon as nothing is outstanding, and not before."""
    model, job, ring = stuck(model_of, offload, words, channel, 400, 3000)
    wrong, buffers = descriptor(model, ring, job, words)
    model.submit(ring, wrong)
    for _ in range(1200):
        model.write("CHANNEL", "QUARANTINE", 1, 0)
        if not model.read("CHANNEL", "QUARANTINE", 0) and model.peek(ring):
            break
    assert model.collect(ring, 1)[0].status == Status.TIMEOUT
    assert outstanding(model) == 0
    model.free(*buffers)
    prefetch(model, job)
    offload(model, words)


def test_what_the_engine_itself_holds_up_is_no_timeout(model_of, words, offload, prefetch):
    """RATE and ENABLE hold addresses for longer than TIMEOUT."""
    model = model_of()
    job = offload(model, words)
    model.write("ENGINE", "TIMEOUT", 300)
    for channel in range(2):
        model.write("CHANNEL", "RATE", 512, channel)  # a burst in 1,024 cycles
    prefetch(model, job)
    offload(model, words)
    for channel in range(2):
        model.write("CHANNEL", "RATE", 0, channel)
        model.write("CHANNEL", "ENABLE", 0, channel)
    for ring in (OFFLOAD, PREFETCH):
        model.submit(ring, descriptor(model, ring, job, words)[0])
    model.engine.run(5000)
    assert model.peek(OFFLOAD) is model.peek(PREFETCH) is None
    for channel in range(2):
        model.write("CHANNEL", "ENABLE", 1, channel)
    for ring in (OFFLOAD, PREFETCH):
        assert model.collect(ring, 1)[0].status == Status.OK
    assert model.read("ENGINE", "STATUS") >> 8 == 0


def test_a_stalled_channel_stalls_its_ring_only(model_of, words, offload, prefetch):
    """Until TIMEOUT: the other ring uses the same channel in the other direction."""
    model = model_of()
    job = offload(model, words)
    for ring, channel in ((OFFLOAD, "r"), (PREFETCH, "b")):
        end = model.engine.cycle + STUCK
        model.engine.hold(0, channel, STUCK)
        made, buffers = descriptor(model, ring, job, words)
        model.submit(ring, made)
        model.engine.run(500)
        if ring == OFFLOAD:
            prefetch(model, job)
        else:
            offload(model, words)
        assert model.peek(ring) is None
        assert model.engine.cycle < end
        assert model.collect(ring, 1)[0].status == Status.OK
        if ring == PREFETCH:
            assert np.array_equal(buffers[0].data, words.view(np.uint8))


@pytest.mark.slow
@pytest.mark.parametrize("ring", [OFFLOAD, PREFETCH])
def test_an_abort_of_a_job_that_waits_for_a_disabled_channel(
    model_of, words, offload, prefetch, ring
):
    model = model_of()
    job = offload(model, words)
    model.write("CHANNEL", "ENABLE", 0, 1)
    kind = "reads" if ring == OFFLOAD else "writes"
    before = model.engine.counts(1)[kind]
    made, buffers = descriptor(model, ring, job, words)
    model.submit(ring, made)
    model.engine.run(5000)
    assert model.peek(ring) is None
    model.abort(ring)
    assert model.wait(ring).status == Status.ABORTED
    assert model.engine.counts(1)[kind] == before
    model.free(*buffers)
    model.resync(ring)
    model.write("CHANNEL", "ENABLE", 1, 1)
    model.write("RING", "CTRL", 1, ring)
    prefetch(model, job)
    offload(model, words)


def prefetch_of(model, offload, words, channel=0, *, crc=False):
    """A prefetch whose first stripe is on a channel, and its buffers."""
    made = offload(model, words, crc=crc)
    wanted, buffers = descriptor(model, PREFETCH, made, words, channel)
    return replace(wanted, crc=crc), buffers


def ends(model, ring):
    """The next completion of a ring, which comes in 20,000 cycles."""
    for _ in range(100):
        if model.peek(ring) is not None:
            return model.collect(ring, 1)[0]
        model.engine.run(200)
    raise AssertionError("the job does not end")


@pytest.mark.parametrize("wait", [60, 100, 150, 200, 250, 300])
def test_a_stripe_whose_beats_come_behind_the_quarantine(model_of, words, offload, prefetch, wait):
    """Its place is there in the quarantine: it is a TIMEOUT, and is not waited for."""
    model = model_of()
    job = offload(model, words)
    few = words[:16]
    wanted, buffers = prefetch_of(model, offload, few)
    model.write("ENGINE", "TIMEOUT", TIMEOUT)
    model.engine.hold(0, "r", TIMEOUT + 500)
    wrong, _ = descriptor(model, OFFLOAD, job, words)
    model.submit(OFFLOAD, wrong)
    model.engine.run(TIMEOUT + 300)  # and the answers of the memory come later
    assert model.read("CHANNEL", "QUARANTINE", 0) == 1
    model.submit(PREFETCH, wanted)
    model.engine.run(wait)
    model.engine.hold(model.engine.link, "r", 900)
    for _ in range(200):
        model.write("CHANNEL", "QUARANTINE", 1, 0)
        if not model.read("CHANNEL", "QUARANTINE", 0):
            break
    found = ends(model, PREFETCH)
    is_there = np.array_equal(buffers[0].data, few.view(np.uint8))
    assert (found.status == Status.OK) == is_there
    if found.status:
        assert (found.status, found.channel) == (Status.TIMEOUT, 0)
    assert ends(model, OFFLOAD).status == Status.TIMEOUT
    prefetch(model, job)


def test_a_burst_that_is_held_when_the_quarantine_begins(model_of, words, offload, prefetch):
    """Nothing is outstanding of the prefetch: its burst is a TIMEOUT and is not written."""
    model = model_of()
    job = offload(model, words)
    few = words[:16]
    wanted, buffers = prefetch_of(model, offload, few)
    model.write("ENGINE", "TIMEOUT", TIMEOUT)
    model.engine.hold(0, "r", 3 * TIMEOUT)
    wrong, _ = descriptor(model, OFFLOAD, job, words)
    model.submit(OFFLOAD, wrong)
    model.engine.run(300)
    model.write("CHANNEL", "ENABLE", 0, 0)
    model.submit(PREFETCH, wanted)
    model.engine.run(5 * TIMEOUT)
    model.write("CHANNEL", "QUARANTINE", 1, 0)
    assert model.read("CHANNEL", "QUARANTINE", 0) == 0
    model.write("CHANNEL", "ENABLE", 1, 0)
    found = ends(model, PREFETCH)
    assert (found.status, found.channel) == (Status.TIMEOUT, 0)
    assert found.where == buffers[0].address
    assert not np.array_equal(buffers[0].data, few.view(np.uint8))
    assert ends(model, OFFLOAD).status == Status.TIMEOUT
    prefetch(model, job)


@pytest.mark.parametrize("crc", [False, True])
def test_stripes_before_one_in_quarantine(model_of, words, offload, prefetch, crc):
    """They are read, checked and written before that one is a TIMEOUT."""
    model, rows = model_of(), 24
    job = offload(model, words)
    wanted, buffers = prefetch_of(model, offload, words[: 2 * 1024 // 4], 1, crc=crc)
    model.write("ENGINE", "TIMEOUT", TIMEOUT)
    model.engine.hold(0, "r", STUCK)
    model.submit(OFFLOAD, descriptor(model, OFFLOAD, job, words)[0])
    assert ends(model, OFFLOAD).status == Status.TIMEOUT
    # A copy to the other channel, which is slow: it fills the buffer of the link, so the places of
    # the stripes are taken before their stream is read.
    source = model.allocate(HOST, 1024 * rows)
    target = model.allocate(DEVICE, 2048 * rows, align=2048, offset=1024)
    sizes = {"row_bytes": 1024, "rows": rows, "pitch": 2048, "limit": 1024 * rows}
    copy = Descriptor(Op.COPY_IN, device=target.address, host=source.address, **sizes)
    model.engine.hold(1, "w", TIMEOUT - 200)
    model.submit(PREFETCH, copy, wanted)
    assert ends(model, PREFETCH).status == Status.OK
    found = ends(model, PREFETCH)
    assert (found.status, found.channel, found.stripe) == (Status.TIMEOUT, 0, 1)
    assert found.where == buffers[0].address + 1024
    assert np.array_equal(buffers[0].data[:1024], words[: 1024 // 4].view(np.uint8))
    leave_quarantine(model)
    prefetch(model, job)


@pytest.mark.parametrize("wait", range(864, 888))
def test_quarantine_in_any_cycle_of_a_burst(model_of, words, offload, prefetch, wait):
    """One that begins in the cycle behind the burst's address ends the right job, too."""
    model = model_of()
    job = offload(model, words)
    wanted, buffers = prefetch_of(model, offload, words[:16])
    prefetch(model, job)  # other bursts were issued before
    model.write("ENGINE", "TIMEOUT", TIMEOUT)
    model.engine.hold(0, "r", STUCK)
    model.submit(OFFLOAD, descriptor(model, OFFLOAD, job, words)[0])
    model.engine.run(wait)
    model.engine.hold(0, "b", STUCK)
    model.submit(PREFETCH, wanted)
    found = ends(model, PREFETCH)
    assert (found.status, found.channel) == (Status.TIMEOUT, 0)
    assert buffers[0].address <= found.where < buffers[0].end


def prefetches(model, job_of, number, rows, channel):
    """Prefetches of so many rows, each a stripe of this channel: descriptors, targets, words."""
    stripe = model.config.stripe_bytes
    made = []
    for seed in range(number):
        job = job_of(rows * stripe, seed)
        target = model.allocate(
            DEVICE, 2 * rows * stripe, align=2 * stripe, offset=stripe * channel
        )
        host, index = model.allocate(HOST, job.stream.size), model.allocate(HOST, job.index.size)
        host.data[:], index.data[:] = job.stream, job.index
        fields = {"device": target.address, "host": host.address, "index": index.address}
        fields |= {"row_bytes": stripe, "rows": rows, "pitch": 2 * stripe, "limit": host.data.size}
        made.append((Descriptor(Op.PREFETCH, with_index=True, **fields), target, job.before[0]))
    return made


@pytest.mark.parametrize("response", [0, 2, 3])
@pytest.mark.parametrize("between", ["jobs", "abort", "reset"])
@pytest.mark.parametrize(
    ("number", "late"),
    [(1, 600), (3, 600), *(pytest.param(3, n, marks=pytest.mark.slow) for n in (1500, 2500))],
)
def test_a_late_error_is_of_no_later_job(
    model_of, tensor, offload, small_zvc, response, between, number, late
):
    """A write is answered when its job is over, with TIMEOUT, and others use another channel."""
    model = model_of()
    words = tensor(small_zvc, 512)
    lost = offload(model, words)

    def job_of(nbytes, seed):
        return offload(model, tensor(small_zvc, nbytes, seed=seed))

    made = prefetches(model, job_of, number, 20, channel=1)
    wrong, buffers = descriptor(model, PREFETCH, lost, words)
    model.write("ENGINE", "TIMEOUT", 300)
    model.engine.fault(DEVICE, buffers[0].address, 4, response=response, delay=late, on="write")
    found = model.run(PREFETCH, wrong).completion
    assert (found.status, found.channel) == (Status.TIMEOUT, 0)
    if between == "abort":
        model.abort(PREFETCH)
        model.resync(PREFETCH)
        model.write("RING", "CTRL", 1, PREFETCH)
    elif between == "reset":
        model.clear()
        model.open_rings()
    model.submit(PREFETCH, *(each for each, _, _ in made))
    found = model.collect(PREFETCH, number)
    assert [each.status for each in found] == [Status.OK] * number
    for descriptor_, target, before in made:
        rows = target.data.reshape(-1, 2 * descriptor_.row_bytes)[:, : descriptor_.row_bytes]
        assert (rows.reshape(-1) == before).all()
    leave_quarantine(model)


def test_an_address_that_waits_in_quarantine_keeps_its_attributes(
    model_of, tensor, offload, small_zvc
):
    """The ring is idle then, and software may choose others for the next job."""
    model = model_of()
    words = tensor(small_zvc, 512)
    job = offload(model, words)
    wrong, _ = descriptor(model, PREFETCH, job, words)
    right, (memory, *_) = descriptor(model, PREFETCH, job, words, channel=1)
    model.write("ENGINE", "TIMEOUT", 300)
    model.engine.hold(0, "aw", STUCK)
    assert model.run(PREFETCH, wrong).completion.status == Status.TIMEOUT
    model.write("RING", "CTRL", 0, PREFETCH)
    model.write("RING", "ATTR", 0xA55A & 0xF7FF, PREFETCH)
    model.write("RING", "CTRL", 1, PREFETCH)
    assert model.run(PREFETCH, right).completion.status == Status.OK
    assert (memory.data == job.before[0]).all()
    leave_quarantine(model)
