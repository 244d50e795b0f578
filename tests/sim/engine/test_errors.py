"""Errors of memories and streams: what is reported, what is written, and the next job is right."""

import numpy as np
import pytest

from cdma.engine_codes import LINK, Op, State, Status, Wait
from cdma.golden import engine as golden
from cdma.golden.engine.descriptor import Descriptor
from cdma.sim.engine.compare import offload_difference, prefetch_difference
from cdma.sim.engine.engine import DEVICE, HOST
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import OFFLOAD, PREFETCH

CODES = {
    (DEVICE, 2): Status.DEVICE_SLVERR,
    (DEVICE, 3): Status.DEVICE_DECERR,
    (HOST, 2): Status.HOST_SLVERR,
    (HOST, 3): Status.HOST_DECERR,
}
#: A byte in the first, a middle and the last beat of stripe 3 of 8.
PLACES = {"first": 3 * 1024, "middle": 3 * 1024 + 500, "last": 4 * 1024 - 1}


def next_address(model, space):
    """Where the next buffer of a stripe's alignment will lie."""
    lap = model.config.stripe_bytes * model.config.channels
    align = lap if space == DEVICE else 64
    return -(-(model._next[space] + 4096) // align) * align


def sizes_of(index, config):
    """Bytes of each stripe in host memory, by its index."""
    return config.padded((index.view("<u4")[::2] & 0xFFFFFF).astype(int))


@pytest.mark.parametrize("response", [2, 3])
@pytest.mark.parametrize("place", PLACES)
def test_device_read(model_of, small, tensor, offload, place, response):
    model, words = model_of(), tensor(small, 8 * 1024)
    at = next_address(model, DEVICE) + PLACES[place]
    model.engine.fault(DEVICE, at, response=response)
    job = model.offload(words, counters=False)
    expected = golden.offload(words, small, "never", fault=(3, CODES[DEVICE, response]))
    assert offload_difference(job, expected, small) == ""
    assert job.completion.channel == small.channel(at)
    assert abs(job.completion.where - at) < small.burst_bytes
    model.engine.clear_faults()
    offload(model, words)


@pytest.mark.parametrize("response", [2, 3])
def test_errors_on_two_channels_at_once(model_of, small, tensor, offload, response):
    """The lowest stripe is reported, whichever answers first."""
    model, words = model_of(device=Memory(latency=30, jitter=200)), tensor(small, 8192)
    base = next_address(model, DEVICE)
    for stripe in (3, 2, 6):
        model.engine.fault(DEVICE, base + 1024 * stripe, response=response)
    job = model.offload(words, counters=False)
    expected = golden.offload(words, small, "never", fault=(2, CODES[DEVICE, response]))
    assert offload_difference(job, expected, small) == ""
    model.engine.clear_faults()
    offload(model, words)


@pytest.mark.slow
@pytest.mark.parametrize("response", [2, 3])
@pytest.mark.parametrize("at", [0, 700, 3000])
def test_host_write(model_of, small, tensor, offload, at, response):
    model, words = model_of(), tensor(small, 8 * 1024)
    base = next_address(model, HOST)
    model.engine.fault(HOST, base + at, response=response)
    job = model.offload(words, counters=False)
    found = job.completion
    assert found.status == CODES[HOST, response]
    assert found.channel == LINK
    made = golden.offload(words, small, "never")
    ends = np.cumsum(sizes_of(made.index, small))
    # A burst counts for the stripe of its first byte.
    first = max(0, at - at % 512)
    assert found.stripe in {int(np.searchsorted(ends, byte, "right")) for byte in (first, at)}
    done = int(ends[found.stripe - 1]) if found.stripe else 0
    assert found.stream_bytes == done
    assert (job.host.data[: min(done, first)] == made.stream[: min(done, first)]).all()
    model.engine.clear_faults()
    offload(model, words)


@pytest.mark.parametrize("response", [2, 3])
@pytest.mark.parametrize("at", [0, 700, 3000])
def test_host_read(model_of, small, tensor, offload, prefetch, at, response):
    model, words = model_of(), tensor(small, 8 * 1024)
    job = offload(model, words)
    base = next_address(model, HOST)
    model.engine.fault(HOST, base + at, response=response)
    back = model.prefetch(job, counters=False)
    ends = np.cumsum(sizes_of(job.index, small))
    beat = at - at % small.link_bytes
    last = beat + small.link_bytes - 1
    stripes = {int(np.searchsorted(ends, byte, "right")) for byte in (beat, last)}
    found = back.completion
    assert found.status == CODES[HOST, response]
    assert found.stripe in stripes
    expected = golden.salvage_stripes(
        job.stream, job.index, words.size, small, fault=(found.stripe, Status(found.status))
    )
    assert prefetch_difference(back, expected, small) == ""
    model.engine.clear_faults()
    prefetch(model, job)


@pytest.mark.parametrize("response", [2, 3])
@pytest.mark.parametrize("stripe", [0, 3, 7])
def test_device_write(model_of, small, tensor, offload, prefetch, stripe, response):
    model, words = model_of(), tensor(small, 8 * 1024)
    job = offload(model, words)
    at = next_address(model, DEVICE) + 1024 * stripe + 100
    model.engine.fault(DEVICE, at, response=response)
    back = model.prefetch(job, counters=False)
    found = back.completion
    assert (found.status, found.stripe) == (CODES[DEVICE, response], stripe)
    assert found.channel == small.channel(at)
    below = slice(0, 1024 * stripe)
    assert (back.tensor.data[below] == words.view(np.uint8)[below]).all()
    model.engine.clear_faults()
    prefetch(model, job)


@pytest.mark.slow
@pytest.mark.parametrize("response", [2, 3])
def test_index_read_and_write(model_of, small, tensor, offload, prefetch, response):
    model, words = model_of(), tensor(small, 8 * 1024)
    job = offload(model, words)
    stream = next_address(model, HOST)
    index = -(-(stream + job.stream.size + 4096) // 64) * 64
    model.engine.fault(HOST, index + 8 * 5, response=response)
    back = model.prefetch(job, counters=False)
    assert back.completion.status == CODES[HOST, response]
    assert back.completion.stripe <= 5
    fault = back.completion.stripe, Status(back.completion.status)
    expected = golden.salvage_stripes(job.stream, job.index, words.size, small, fault=fault)
    assert prefetch_difference(back, expected, small) == ""
    model.engine.clear_faults()
    prefetch(model, job)
    stream = next_address(model, HOST)
    index = -(-(stream + small.bound(words.nbytes) + 4096) // 64) * 64
    model.engine.fault(HOST, index + 8 * 5, response=response)
    out = model.offload(words, counters=False)
    assert out.completion.status == CODES[HOST, response]
    # The index is one burst, issued behind the whole stream. The memory does not write the beat
    # that it answers with an error; it writes all others, or none when it writes with its answer.
    expected, first = job.index.copy(), 8 * 5 // small.link_bytes * small.link_bytes
    expected[first : first + small.link_bytes] = out.before[2][first : first + small.link_bytes]
    assert out.index.tolist() in (expected.tolist(), out.before[2].tolist())
    assert (out.host.data[: job.stream.size] == job.stream).all()
    model.engine.clear_faults()
    offload(model, words)


@pytest.mark.parametrize("response", [2, 3])
def test_descriptor_and_completion(model_of, small, tensor, offload, response):
    model = model_of()
    ring = model.rings[OFFLOAD]
    model.engine.fault(HOST, ring.descriptors.address, 64, response=response)
    model.submit(OFFLOAD, Descriptor(Op.NOP))
    found = model.wait(OFFLOAD)
    assert (found.status, found.where) == (CODES[HOST, response], ring.descriptors.address)
    model.until_state(OFFLOAD, State.HALTED)
    model.engine.clear_faults()
    model.resync(OFFLOAD)
    model.write("RING", "CTRL", 1)
    offload(model, tensor(small, 3000))
    model.engine.fault(
        HOST, ring.completions.address, ring.completions.data.size, response=response
    )
    model.submit(OFFLOAD, Descriptor(Op.NOP))
    model.until_state(OFFLOAD, State.ERROR)
    model.engine.clear_faults()
    model.abort(OFFLOAD)
    model.resync(OFFLOAD)
    model.write("RING", "CTRL", 1)
    offload(model, tensor(small, 3000))


def frozen(model, channel):
    """Stripe, reason of waiting and validity that the first error froze."""
    wait = model.read("CHANNEL", "FROZEN_WAIT", channel)
    return model.read("CHANNEL", "FROZEN_STRIPE", channel), Wait(wait & 7), wait >> 8


def test_the_first_error_freezes_what_channels_do(model_of, small, tensor, offload):
    """Stripe 5 is not answered: channel 1 waits for its data, channel 0 for its turn."""
    if small.channels != 2:
        pytest.skip("looks at two channels")
    model, words = model_of(), tensor(small, 8 * 1024, 0.2)
    model.write("ENGINE", "TIMEOUT", 1000)
    offload(model, words)
    assert frozen(model, 0) == frozen(model, 1) == (0, Wait.IDLE, 0)
    at = next_address(model, DEVICE) + 5 * 1024
    model.engine.fault(DEVICE, at, delay=20_000, count=1)
    late = model.offload(words, index=False, counters=False)
    assert (late.status, late.completion.channel) == (Status.TIMEOUT, 1)
    held = frozen(model, 0), frozen(model, 1)
    (ahead, turn, _), (behind, data, _) = held
    assert (turn, data) == (Wait.TURN, Wait.DATA)
    assert (ahead, behind) == (6, 7), "the last that each has asked for"
    model.offload(words[:256], index=False, counters=False)
    assert (frozen(model, 0), frozen(model, 1)) == held, "later jobs change nothing"


def test_timeout_quarantine_and_recovery(model_of, small, tensor, offload, prefetch):
    """A read that is not answered: TIMEOUT, quarantine; the late R is dropped; then all is well."""
    model, words = model_of(), tensor(small, 16 * 1024)
    job = offload(model, words)
    model.write("ENGINE", "TIMEOUT", 1000)
    at = next_address(model, DEVICE) + 3 * 1024
    model.engine.fault(DEVICE, at, delay=20_000, count=1)
    late = model.offload(words, index=False, counters=False)
    lost = small.channels - 1
    assert (late.status, late.completion.channel) == (Status.TIMEOUT, lost)
    states = [model.read("CHANNEL", "QUARANTINE", channel) for channel in range(small.channels)]
    assert states == [0] * lost + [1]
    assert model.read("ENGINE", "IRQ_STATUS") & 16
    # The buffers are the engine's until nothing is outstanding.
    model.engine.add(late.tensor)
    again = model.offload(words, index=False, counters=False)
    assert again.status is Status.TIMEOUT
    other = model.offload(words[:256], index=False, counters=False)
    assert other.status is (Status.OK if lost else Status.TIMEOUT), "other channels still work"
    model.write("CHANNEL", "QUARANTINE", 1, lost)
    assert model.read("CHANNEL", "QUARANTINE", lost) == 1, "something is outstanding"
    model.engine.run(25_000)
    assert model.read("CHANNEL", "OUTSTANDING", lost) & 0xFFFF == 0
    model.write("CHANNEL", "QUARANTINE", 1, lost)
    assert model.read("CHANNEL", "QUARANTINE", lost) == 0
    offload(model, words)
    prefetch(model, job)


@pytest.mark.slow
def test_a_write_that_is_not_answered(model_of, small, tensor, offload, prefetch):
    """All but one B has come when the channel is lost: TIMEOUT, not OK; later all is well."""
    model, words = model_of(), tensor(small, 4 * 1024)
    job = offload(model, words)
    model.write("ENGINE", "TIMEOUT", 1000)
    at = next_address(model, DEVICE)
    model.engine.fault(DEVICE, at, delay=20_000, count=1, on="write")
    back = model.prefetch(job, counters=False)
    completion = back.completion
    assert (back.status, completion.channel, completion.where) == (Status.TIMEOUT, 0, at)
    model.engine.add(back.tensor)
    model.engine.run(25_000)
    model.write("CHANNEL", "QUARANTINE", 1, 0)
    assert model.read("CHANNEL", "QUARANTINE", 0) == 0
    prefetch(model, job)


@pytest.mark.slow
def test_timeout_with_a_stuck_address(model_of, small, tensor, offload, prefetch):
    """AW is not taken for long: the prefetch times out; offloads go on; later all is well."""
    model, words = model_of(), tensor(small, 8 * 1024)
    job = offload(model, words)
    model.write("ENGINE", "TIMEOUT", 1000)
    model.engine.hold(0, "aw", 30_000)
    back = model.prefetch(job, counters=False)
    assert (back.status, back.completion.channel) == (Status.TIMEOUT, 0)
    model.engine.add(back.tensor)
    model.engine.run(40_000)
    for _ in range(20):
        model.write("CHANNEL", "QUARANTINE", 1, 0)
        if not model.read("CHANNEL", "QUARANTINE", 0):
            break
        model.engine.run(500)
    assert model.read("CHANNEL", "QUARANTINE", 0) == 0
    prefetch(model, job)
    offload(model, words)


def test_link_timeout_is_fatal(model_of, small, tensor, offload):
    model, words = model_of(), tensor(small, 8 * 1024)
    model.write("ENGINE", "TIMEOUT", 500)
    model.engine.hold(model.engine.link, "b", 10**9)
    buffer, host = model.place_tensor(words), model.allocate(HOST, 9000)
    fields = {"device": buffer.address, "row_bytes": words.nbytes, "limit": 9000 & -4}
    model.submit(OFFLOAD, Descriptor(Op.OFFLOAD, host=host.address, **fields))
    model.until_state(OFFLOAD, State.ERROR)
    assert model.state(PREFETCH)[0] is State.ERROR
    assert model.read("ENGINE", "STATUS") & 4
    assert model.read("ENGINE", "IRQ_STATUS") & 32
    model.engine.hold(model.engine.link, "b", 0)
    model.engine.reset()
    model.open_rings()
    offload(model, words)


@pytest.mark.parametrize("wait", [0, 12_000])
def test_a_reset_of_a_failed_link_ends_when_late_responses_have_come(model_of, small, tensor, wait):
    """Whether it was written before or behind them. FATAL stays."""
    model, words = model_of(), tensor(small, 1024)
    model.write("ENGINE", "TIMEOUT", 300)
    host = model.allocate(HOST, 1024)
    model.engine.fault(HOST, host.address, 64, delay=6000, on="write")
    source = model.place_tensor(words)
    fields = {"host": host.address, "row_bytes": 1024, "limit": 1024}
    model.submit(OFFLOAD, Descriptor(Op.COPY_OUT, device=source.address, **fields))
    model.until_state(OFFLOAD, State.ERROR)
    if wait:
        model.engine.run(wait)
    model.write("ENGINE", "CTRL", 1)
    model.engine.run(1000)
    assert model.read("ENGINE", "CTRL") == (0 if wait else 1)
    model.engine.run(12_000)
    assert model.read("ENGINE", "CTRL") == 0
    assert model.read("ENGINE", "STATUS") >> 2 & 1


def corrupt(model, config, job, stream, index, crc=False):
    """Prefetch something damaged, compare, and prefetch the right thing."""
    count = job.descriptor.raw_bytes // config.word_bytes
    back = model.fetch(stream, index, job.descriptor.raw_bytes, crc=crc)
    expected = golden.salvage_stripes(stream, index, count, config, crc=crc)
    assert prefetch_difference(back, expected, config) == ""
    return back


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 1023, 1024, 1055, 1056, 1060, 4096, (1 << 24) - 1])
@pytest.mark.parametrize("flag", [0, 1])
def test_index_entries(model_of, small, tensor, offload, prefetch, size, flag):
    """Sizes of zero, too small, not whole words, too large; raw with a wrong size."""
    model = model_of()
    job = offload(model, tensor(small, 6 * 1024))
    index = job.index.copy()
    index[16:20] = list((size | flag << 24).to_bytes(4, "little"))
    corrupt(model, small, job, job.stream, index)
    prefetch(model, job)


@pytest.mark.slow
@pytest.mark.parametrize("change", [-8, -4, 4, 8])
def test_sum_of_the_index(model_of, small, tensor, offload, prefetch, change):
    """The stream is a word longer or shorter than its index says."""
    model = model_of()
    job = offload(model, tensor(small, 6 * 1024))
    stream = np.concatenate([job.stream, np.zeros(8, np.uint8)])[: job.stream.size + change]
    back = corrupt(model, small, job, stream, job.index)
    assert back.status is Status.INDEX
    prefetch(model, job)


def test_crc(model_of, small, tensor, offload, prefetch):
    model = model_of()
    job = offload(model, tensor(small, 6 * 1024), "always", crc=True)
    stream = job.stream.copy()
    stream[2048] ^= 16
    back = corrupt(model, small, job, stream, job.index, crc=True)
    assert (back.status, back.completion.stripe) == (Status.CRC, 2)
    prefetch(model, job, crc=True)


@pytest.mark.slow
def test_every_truncation_of_a_stripe(model_of, small, tensor, offload):
    """The entry says less than the stripe has: its neighbours are intact."""
    model = model_of()
    job = offload(model, tensor(small, 3 * 1024))
    first, size, _ = (job.index.view("<u4")[::2] & 0xFFFFFF).tolist()
    start = small.padded(first)
    step = 1 if small.has_padding else 4
    for left in range(size - step, 0, -step):
        index = job.index.copy()
        index[8:12] = list(left.to_bytes(4, "little"))
        gone = slice(start + small.padded(left), start + small.padded(size))
        corrupt(model, small, job, np.delete(job.stream, gone), index)


@pytest.mark.slow
def test_every_bit_flip_of_a_stripe(model_of, small, tensor, offload):
    model = model_of()
    job = offload(model, tensor(small, 3 * 1024, 0.2))
    first, size, _ = sizes_of(job.index, small).tolist()
    for bit in range(8 * first, 8 * (first + size)):
        stream = job.stream.copy()
        stream[bit // 8] ^= 1 << bit % 8
        corrupt(model, small, job, stream, job.index)


def test_a_stream_of_no_bytes_is_not_read(model_of, small_zvc):
    """A prefetch with a limit of 0, whose stream does not begin with a beat."""
    model = model_of()
    tensor = model.allocate(DEVICE, 64, align=2048)
    index = model.allocate(HOST, 8)
    index.data[:] = 0
    job = Descriptor(
        Op.PREFETCH,
        device=tensor.address,
        host=index.end + 4096 + small_zvc.word_bytes,
        index=index.address,
        row_bytes=64,
        with_index=True,
    )
    assert model.run(PREFETCH, job).status is Status.INDEX
