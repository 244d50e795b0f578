"""What a port may have outstanding: the engine comes to each limit, and one more is a violation."""

import numpy as np
import pytest

from cdma.engine_codes import Op
from cdma.engine_config import EngineConfig
from cdma.engine_limits import DATA, INDEX, RINGS
from cdma.golden.engine.descriptor import Descriptor
from cdma.sim.cocotb.ports import Violation
from cdma.sim.engine import engine as simulated
from cdma.sim.engine.engine import DEVICE, HOST
from cdma.sim.engine.limits import port_limits
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import OFFLOAD, PREFETCH

#: Cycles until a response: more than the engine takes to come to a limit.
DELAY = 30_000


def delay(model, space, kind):
    """Delay all responses of a side from now on."""
    model.engine.fault(space, 0, 1 << model.config.address_bits, delay=DELAY, on=kind)


def offload(space, kind, stripes, *, dense=True, **fields):
    """An offload of some stripes, dense or zero, with one side slow."""

    def play(model):
        delay(model, space, kind)
        words = np.full(stripes * model.config.stripe_words, dense, model.config.format.dtype)
        model.offload(words, "always" if dense else "never", counters=False, **fields)

    return play


def prefetch(space, kind, stripes, *, dense=True):
    """A prefetch of some stripes, dense or zero, with one side slow."""

    def play(model):
        words = np.full(stripes * model.config.stripe_words, dense, model.config.format.dtype)
        job = model.offload(words, "always" if dense else "never", counters=False)
        delay(model, space, kind)
        model.prefetch(job, counters=False)

    return play


def descriptors(kind):
    """Descriptors of both rings, with a slow host."""

    def play(model):
        delay(model, HOST, kind)
        for ring in (OFFLOAD, PREFETCH):
            model.submit(ring, *(Descriptor(Op.NOP) for _ in range(40)))
        for ring in (OFFLOAD, PREFETCH):
            model.collect(ring, 40)

    return play


#: Whether the port is the link, what is limited, the ID, and a run that comes to the limit.
LIMITS = {
    "beats that a channel reads": (False, "read_beats", 0, offload(DEVICE, "read", 30)),
    "writes of a channel": (False, "writes", 0, prefetch(DEVICE, "write", 40)),
    "writes of data": (True, "writes", DATA, offload(HOST, "write", 40)),
    "writes of the index": (True, "writes", INDEX, offload(HOST, "write", 500, op=Op.MEASURE)),
    "completions": (True, "writes", RINGS, descriptors("write")),
    "beats of data that are read": (True, "read_beats", DATA, prefetch(HOST, "read", 40)),
    "entries that are read": (True, "read_beats", INDEX, prefetch(HOST, "read", 300, dense=False)),
    "descriptors": (True, "reads", RINGS, descriptors("read")),
    "beats of descriptors": (True, "read_beats", RINGS, descriptors("read")),
}


def lowered(monkeypatch, is_link, name, number, by):
    """Let the checker allow less."""

    def limits(config, port):
        found = port_limits(config, port)
        if is_link == (port == config.channels):
            getattr(found, name)[number] -= by
        return found

    monkeypatch.setattr(simulated, "port_limits", limits)


@pytest.mark.parametrize("name", LIMITS)
def test_the_engine_comes_to_its_limits(model_of, monkeypatch, small, name):
    """No run breaks a limit, and with a limit of one burst less the same run does."""
    is_link, what, number, play = LIMITS[name]
    play(model_of())
    width = small.link_bytes if is_link else small.beat_bytes
    by = small.burst_bytes // width if what == "read_beats" and number != RINGS else 1
    lowered(monkeypatch, is_link, what, number, by)
    with pytest.raises(Violation, match=f"more than .* of ID {number} outstanding"):
        play(model_of())


@pytest.mark.slow
def test_reads_of_a_channel(model_with, monkeypatch):
    """With a large STAGE and tensors that begin anywhere, bursts are short and bound the reads."""
    config = EngineConfig(
        channels=1, lanes=4, stripe_bytes=1024, link_bytes=8, latency=60, stage_bytes=32768
    )

    def play():
        model = model_with(config)
        delay(model, DEVICE, "read")
        tensor = model.allocate(DEVICE, 30_000, align=512, offset=512 - config.beat_bytes)
        host = model.allocate(HOST, config.bound(30_000))
        fields = {"device": tensor.address, "host": host.address, "limit": host.data.size}
        model.run(OFFLOAD, Descriptor(Op.OFFLOAD, row_bytes=30_000, **fields))

    play()
    lowered(monkeypatch, False, "reads", 0, 1)
    with pytest.raises(Violation, match="AR: more than 16 reads of ID 0 outstanding"):
        play()


def test_write_data_follows_its_address(model_of, monkeypatch, small, tensor):
    """The gap that the link is allowed comes about: without it the same run is a violation."""

    def play():
        model = model_of(device=Memory(latency=3), host=Memory(latency=3))
        for size in (16, 1000, 6000):
            model.prefetch(model.offload(tensor(small, size)))

    play()

    def limits(config, port):
        found = port_limits(config, port)
        found.bubble = 0
        return found

    monkeypatch.setattr(simulated, "port_limits", limits)
    with pytest.raises(Violation, match="m_axi_link: W: no WVALID for 1 cycles"):
        play()
