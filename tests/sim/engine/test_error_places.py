"""Errors of one beat: the first, one in the middle, the last, of each thing that memories hold."""

from functools import partial

import numpy as np
import pytest

from cdma import designs
from cdma.engine_codes import Op, Status
from cdma.golden import engine as golden
from cdma.golden.engine.descriptor import Descriptor
from cdma.sim.cocotb.ports import Violation
from cdma.sim.engine.compare import prefetch_difference
from cdma.sim.engine.engine import DEVICE, HOST
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import PREFETCH

pytestmark = pytest.mark.slow

CODES = {
    (DEVICE, 2): Status.DEVICE_SLVERR,
    (DEVICE, 3): Status.DEVICE_DECERR,
    (HOST, 2): Status.HOST_SLVERR,
    (HOST, 3): Status.HOST_DECERR,
}
STRIPES = 40


@pytest.fixture(scope="module")
def model_of(model_with, small_zvc):
    return partial(model_with, small_zvc)


@pytest.fixture
def words(tensor, small_zvc):
    """Words of 40 stripes: their index has three bursts, and their stream has many."""
    return tensor(small_zvc, STRIPES * small_zvc.stripe_bytes)


def next_buffers(model, stream_bytes):
    """Addresses of the next tensor, stream and index."""
    host = -(-(model._next[HOST] + 4096) // 64) * 64
    return model.tensor_address(), host, -(-(host + stream_bytes + 4096) // 64) * 64


def place(share, size, unit=1):
    """A byte of so many: in the first unit, in the last, or between."""
    return {"first": 0, "middle": size // 2 // unit * unit, "last": size - 1}[share]


def failed(model, job, words, stripe, status):
    """Prefetch, and compare with a tensor that ends with an error of a stripe. Then once more."""
    back = model.prefetch(job, counters=False)
    count, config = words.size, model.config
    fault = stripe, status
    expected = golden.salvage_stripes(job.stream, job.index, count, config, fault=fault)
    assert prefetch_difference(back, expected, config) == ""
    model.engine.clear_faults()
    again = model.prefetch(job, counters=False)
    good = golden.salvage_stripes(job.stream, job.index, count, config)
    assert prefetch_difference(again, good, config) == ""
    return back.completion


@pytest.mark.parametrize("response", [2, 3])
@pytest.mark.parametrize("share", ["first", "middle", "last"])
def test_index_that_is_read(model_of, words, offload, share, response):
    model = model_of()
    job = offload(model, words)
    _, _, index = next_buffers(model, job.stream.size)
    entry = place(share, STRIPES)
    model.engine.fault(HOST, index + 8 * entry, 8, response=response, on="read")
    found = failed(model, job, words, entry, CODES[HOST, response])
    assert found.where == index + 8 * entry


@pytest.mark.parametrize("response", [2, 3])
@pytest.mark.parametrize("share", ["first", "middle", "last"])
def test_index_that_is_written(model_of, words, offload, share, response):
    """Its burst counts for the stripe of its first entry."""
    model = model_of()
    _, _, index = next_buffers(model, model.config.bound(words.nbytes))
    entry = place(share, STRIPES)
    model.engine.fault(HOST, index + 8 * entry, response=response, on="write")
    out = model.offload(words, counters=False)
    assert out.descriptor.index == index
    assert out.completion.status == CODES[HOST, response]
    burst = max(index, index + 8 * entry & -128)
    assert out.completion.where == burst
    assert out.completion.stripe == (burst - index) // 8
    model.engine.clear_faults()
    offload(model, words)


@pytest.mark.parametrize("share", ["first", "middle", "last"])
def test_stream_that_is_read(model_of, words, offload, share):
    model = model_of()
    job = offload(model, words)
    _, host, _ = next_buffers(model, job.stream.size)
    at = place(share, job.stream.size, 8)
    model.engine.fault(HOST, host + at, response=2, on="read")
    ends = np.cumsum(job.index.view("<u4")[::2] & 0xFFFFFF)
    stripe = int(np.searchsorted(ends, at & -8, "right"))
    found = failed(model, job, words, stripe, Status.HOST_SLVERR)
    assert found.where == host + (at & -8)


@pytest.mark.parametrize("share", ["first", "middle", "last"])
def test_stream_that_is_written(model_of, words, offload, share):
    model = model_of()
    made = golden.offload(words, model.config, "never")
    _, host, _ = next_buffers(model, model.config.bound(words.nbytes))
    at = place(share, made.bytes)
    model.engine.fault(HOST, host + at, response=3, on="write")
    out = model.offload(words, counters=False)
    found = out.completion
    assert found.status == Status.HOST_DECERR
    assert max(host, host + at & -512) <= found.where <= host + at
    ends = np.cumsum(made.index.view("<u4")[::2] & 0xFFFFFF)
    assert found.stripe == np.searchsorted(ends, found.where - host, "right")
    model.engine.clear_faults()
    offload(model, words)


@pytest.mark.parametrize("share", ["first", "middle", "last"])
@pytest.mark.parametrize("stripe", [0, 17, STRIPES - 1])
def test_tensor_that_is_written(model_of, words, offload, share, stripe):
    model = model_of()
    job = offload(model, words)
    base, _, _ = next_buffers(model, 0)
    at = base + 1024 * stripe + place(share, 1024)
    model.engine.fault(DEVICE, at, response=2, on="write")
    found = failed(model, job, words, stripe, Status.DEVICE_SLVERR)
    assert (found.where, found.channel) == (at & -512, stripe % 2)


@pytest.mark.parametrize("response", [2, 3])
def test_writes_of_two_channels_at_once(model_of, words, offload, response):
    """The lowest stripe is reported, whichever answers first."""
    model = model_of(device=Memory(latency=30, jitter=200))
    job = offload(model, words)
    base, _, _ = next_buffers(model, 0)
    for stripe in (3, 2, 6):
        model.engine.fault(DEVICE, base + 1024 * stripe, response=response, on="write")
    found = failed(model, job, words, 2, CODES[DEVICE, response])
    assert (found.where, found.channel) == (base + 2048, 0)


def test_errors_during_the_abort_of_a_prefetch(model_of, tensor, small_zvc, offload, prefetch):
    """Of stream and tensor, at each stage: either of the two statuses, and a right job behind."""
    model = model_of(device=Memory(latency=100))
    job = offload(model, tensor(small_zvc, 4100))
    host, index = model.allocate(HOST, job.stream.size), model.allocate(HOST, job.index.size)
    host.data[:], index.data[:] = job.stream, job.index
    fields = {"host": host.address, "index": index.address, "limit": host.data.size}
    fields |= {"row_bytes": 4100, "with_index": True}
    seen = set()
    for space in (DEVICE, HOST):
        for wait in range(40, 600, 20):
            target = model.allocate(DEVICE, 4100, align=2048)
            where = target if space == DEVICE else host
            model.engine.fault(space, where.address, 4100, response=2)
            model.submit(PREFETCH, Descriptor(Op.PREFETCH, device=target.address, **fields))
            model.engine.run(wait)
            model.abort(PREFETCH)
            while model.peek(PREFETCH) is not None:
                status = model.wait(PREFETCH).status
                assert status in (Status.ABORTED, CODES[space, 2])
                seen.add(status)
            model.engine.clear_faults()
            model.free(target)
            model.resync(PREFETCH)
            model.write("RING", "CTRL", 1, PREFETCH)
            prefetch(model, job)
    assert seen == {Status.ABORTED, Status.DEVICE_SLVERR, Status.HOST_SLVERR}


def statuses(model, unit, words):
    """Jobs whose tensor, stream or index is not to be read or written: those statuses."""
    found, job = [], model.offload(words, counters=False)
    for what in ("tensor", "stream", "index"):
        size = model.config.bound(words.nbytes) if unit == "offload" else job.stream.size
        places = dict(zip(("tensor", "stream", "index"), next_buffers(model, size), strict=True))
        space = DEVICE if what == "tensor" else HOST
        model.engine.fault(space, places[what] + 40, 8, response=2)
        play = partial(model.offload, words) if unit == "offload" else partial(model.prefetch, job)
        found.append(play(counters=False).status)
        model.engine.clear_faults()
    return found


@pytest.mark.parametrize("unit", ["offload", "prefetch"])
def test_a_unit_that_does_not_report_its_errors_is_found(model_with, words, small_zvc, unit):
    """Completions of its offloads would say OK, and those of its prefetches never come."""
    text = designs.engine(small_zvc)
    at = text.index(f"\nmodule cdma_engine_data_{unit}(")
    end = text.index("\nendmodule", at)
    port, blind = ".failing(port__failing)", ".failing(1'h0)"
    assert text[at:end].count(port) == 1
    text = text[:at] + text[at:end].replace(port, blind) + text[end:]
    right = [Status.DEVICE_SLVERR, Status.HOST_SLVERR, Status.HOST_SLVERR]
    assert statuses(model_with(small_zvc), unit, words) == right
    blind_model = model_with(small_zvc, verilog=text)
    if unit == "offload":
        assert statuses(blind_model, unit, words) == 3 * [Status.OK]
        return
    with pytest.raises(Violation, match="hangs: no completion"):
        statuses(blind_model, unit, words)
