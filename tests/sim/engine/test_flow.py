"""Flow control: what was read always finds room, reads never wait for writes, all beats count."""

import numpy as np
import pytest

from cdma.engine_codes import Op, Status
from cdma.golden import engine as golden
from cdma.golden.engine.descriptor import Descriptor
from cdma.sim.engine.engine import DEVICE, HOST
from cdma.sim.engine.limits import port_limits
from cdma.sim.engine.model import OFFLOAD, PREFETCH

#: Cycles in which all comes to a standstill, and cycles for which a port is held.
SETTLED, HELD = 6000, 60_000


def hold(model, ports):
    """Ports take no write for some time."""
    for port in ports:
        for channel in ("aw", "w"):
            model.engine.hold(port, channel, HELD)


def channels(model):
    """Numbers of the channels' ports."""
    return range(model.config.channels)


def submit_offload(model, array):
    """Submit an offload. Gives the buffer of its stream."""
    config = model.config
    tensor = model.place_tensor(array)
    host = model.allocate(HOST, config.padded(config.bound(array.nbytes)))
    descriptor = Descriptor(
        Op.OFFLOAD,
        tensor.address,
        host.address,
        row_bytes=array.nbytes,
        limit=host.data.size,
        word_bytes=config.word_bytes,
    )
    model.submit(OFFLOAD, descriptor)
    return host


def place_prefetch(model, array):
    """Place a prefetch in its ring. Gives the buffers of its tensor, stream and index."""
    config = model.config
    sent = golden.offload(array, config)
    host = model.allocate(HOST, sent.stream.size, writable=False)
    index = model.allocate(HOST, sent.index.size, writable=False)
    host.data[:], index.data[:] = sent.stream, sent.index
    lap = config.stripe_bytes * config.channels
    tensor = model.allocate(DEVICE, array.nbytes, align=lap)
    descriptor = Descriptor(
        Op.PREFETCH,
        tensor.address,
        host.address,
        index.address,
        row_bytes=array.nbytes,
        limit=sent.stream.size,
        word_bytes=config.word_bytes,
        with_index=True,
    )
    model.place(PREFETCH, descriptor)
    return tensor, host, index


def submit_prefetch(model, array):
    """Submit a prefetch. Gives the buffer of its tensor."""
    tensor, *_ = place_prefetch(model, array)
    model.doorbell(PREFETCH)
    return tensor


def is_there(buffer, array):
    """The array is at the start of a buffer."""
    data = array.view(np.uint8)
    return np.array_equal(buffer.data[: data.size], data)


def ends(model, ring):
    """The status of the next completion."""
    return model.collect(ring, 1, HELD + 40_000)[0].status


def an_offload_passes(model, array, buffer):
    """An offload ends before the prefetch of a buffer, which then ends, too."""
    host = submit_offload(model, array)
    assert model.collect(OFFLOAD, 1, HELD // 2)[0].status == Status.OK
    assert is_there(host, golden.offload(array, model.config, "never").stream)
    assert model.peek(PREFETCH) is None
    assert ends(model, PREFETCH) == Status.OK
    assert is_there(buffer, array)


def beats_at_a_standstill(model, array):
    """Beats that a channel has read when the host takes nothing; no read is without answer."""
    hold(model, [model.engine.link])
    host = submit_offload(model, array)
    model.engine.run(SETTLED)
    counts = [model.engine.counts(port) for port in channels(model)]
    model.engine.run(1000)
    assert counts == [model.engine.counts(port) for port in channels(model)], "still at work"
    assert all(each["reading"] == 0 for each in counts)
    assert all(each["read_beats"] > 0 for each in counts)
    assert ends(model, OFFLOAD) == Status.OK
    assert is_there(host, golden.offload(array, model.config, "never").stream)
    return [each["read_beats"] for each in counts]


def test_device_reads_are_answered_while_the_host_takes_nothing(model_of, small, tensor):
    """RREADY of a channel does not wait for the host, and sparse data earns more reads."""
    size = 100 * small.channels * small.stripe_bytes
    most = port_limits(small, 0).read_beats[0] + 2 * small.stripe_beats  # STAGE, and what is behind
    dense = beats_at_a_standstill(model_of(), tensor(small, size, 1.0))
    assert all(small.stripe_beats < each <= most for each in dense)
    if small.counts_early:
        sparse = beats_at_a_standstill(model_of(), tensor(small, size, 0.0))
        assert min(sparse) > 2 * max(dense)


@pytest.mark.parametrize("density", [0.0, 0.5, 1.0])
def test_host_reads_are_answered_while_the_device_takes_nothing(model_of, small, tensor, density):
    """RREADY of the link does not wait for the channels."""
    model, array = model_of(), tensor(small, 200 * small.stripe_bytes, density)
    hold(model, channels(model))
    buffer = submit_prefetch(model, array)
    model.engine.run(SETTLED)
    counts = model.engine.counts(model.engine.link)
    model.engine.run(1000)
    assert counts == model.engine.counts(model.engine.link), "still at work"
    assert counts["reading"] == 0
    assert counts["read_beats"] > 0
    assert ends(model, PREFETCH) == Status.OK
    assert is_there(buffer, array)


def test_an_offload_ends_while_a_prefetch_cannot_write(model_of, small, tensor):
    """Reads of a channel do not wait for its writes."""
    model, array = model_of(), tensor(small, 40 * small.stripe_bytes)
    hold(model, channels(model))
    buffer = submit_prefetch(model, array)
    model.engine.run(SETTLED)
    an_offload_passes(model, array, buffer)


def test_a_prefetch_writes_while_an_offload_cannot(model_of, small, tensor):
    """Reads of the link do not wait for its writes: only the completion does."""
    model, array = model_of(), tensor(small, 40 * small.stripe_bytes)
    hold(model, [model.engine.link])
    submit_offload(model, array)
    model.engine.run(SETTLED)
    buffer = submit_prefetch(model, array)
    model.engine.run(HELD // 2)
    assert is_there(buffer, array)
    assert model.peek(PREFETCH) is None
    assert (ends(model, PREFETCH), ends(model, OFFLOAD)) == (Status.OK, Status.OK)


@pytest.mark.parametrize("what", ["stream", "index"])
def test_descriptors_do_not_wait_for_data(model_of, small, tensor, what):
    """Stream, index and descriptors have IDs of their own: one that is slow delays no other."""
    model, array = model_of(), tensor(small, 40 * small.stripe_bytes)
    buffer, stream, index = place_prefetch(model, array)
    late = stream if what == "stream" else index
    model.engine.fault(HOST, late.address, late.data.size, delay=HELD, count=1, on="read")
    model.doorbell(PREFETCH)
    model.engine.run(SETTLED)
    an_offload_passes(model, array, buffer)


def test_beats_of_both_directions_count(model_of, small, tensor):
    """A channel's beats are those of its offload and its prefetch, also in the same cycle."""
    model = model_of()
    words = tensor(small, 16 * 1024, 0.3)
    before = model.counters()
    place_prefetch(model, words)
    submit_offload(model, words)
    model.doorbell(PREFETCH)
    for ring in (OFFLOAD, PREFETCH):
        assert model.collect(ring, 1)[0].status == Status.OK
    after = model.counters()
    sent = golden.offload(words, small)
    sizes = (sent.index.view("<u4")[::2] & 0xFFFFFF).tolist()
    each = sum(-(-size // small.beat_bytes) for size in sizes)
    for name, beats in (("raw_beats", words.nbytes // small.beat_bytes), ("stream_beats", each)):
        names = [f"{name}[{c}]" for c in range(small.channels)]
        assert sum(after[k] - before[k] for k in names) == 2 * beats
