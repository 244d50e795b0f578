"""Networks and setups that Hypothesis draws."""

import math

from hypothesis import strategies as st

from cdma.engine_config import EngineConfig
from cdma.offload.compute import Times
from cdma.offload.moves import Codec, Link, raw_move
from cdma.offload.networks.graph import IMAGE, Builder, Network
from cdma.offload.profiles import Uniform
from cdma.offload.schemes.step import Job
from cdma.offload.setup import Setup
from cdma.offload.tensors import tensors_of

CONFIG = EngineConfig()


@st.composite
def networks(draw) -> Network:
    """Chains of convolutions and pools, some with a side branch that is added."""
    b = Builder((3, 32, 32))
    x = b.conv(IMAGE, "conv0", draw(st.integers(1, 8)))
    for k in range(1, draw(st.integers(2, 7))):
        kind = draw(st.sampled_from(("conv", "conv", "pool", "block", "bn", "join")))
        if kind == "conv":
            x = b.conv(x, f"conv{k}", draw(st.integers(1, 8)), relu=draw(st.booleans()))
        elif kind == "pool" and b.shape(x)[1] >= 4:
            x = b.pool(x, f"pool{k}", 2, 2)
        elif kind == "block":
            y = b.conv(x, f"conv{k}", b.shape(x)[0], relu=False)
            x = b.join([y, x], f"add{k}", "add", relu=True)
        elif kind == "join":
            parts = [b.conv(x, f"one{k}", 2, 1), b.conv(x, f"three{k}", 3)]
            x = b.join(parts, f"concat{k}", "concat")
        else:
            x = b.normed(x, f"conv{k}", draw(st.integers(1, 8)))
    return Network("drawn", "drawn", b.image, tuple(b.layers), "a test")


_SECONDS = st.integers(1, 1000).map(lambda us: us * 1e-6)


@st.composite
def setups(draw, ratio=None, codec=None, dram=math.inf) -> Setup:
    """Setups with times that have nothing to do with the tensors."""
    net = draw(networks())
    count = len(net.layers)
    forward, backward = (
        tuple(draw(st.lists(_SECONDS, min_size=count, max_size=count))) for _ in range(2)
    )
    own = (0.0,) * count
    rate = draw(st.floats(1e8, 1e12))
    return Setup(
        net,
        draw(st.integers(1, 8)),
        {"zv": Uniform(ratio or draw(st.floats(1.0, 30.0)), CONFIG, everything=True)},
        link=Link(draw(st.floats(1e7, 1e11))),
        codec=codec or Codec(rate, rate),
        dram=dram,
        times=Times(forward, backward, own, own),
    )


def job_of(setup: Setup, policy: str = "all") -> Job:
    """Raw moves of a setup."""
    moves = [
        raw_move(tensor, setup.link) for tensor in tensors_of(setup.features, setup.batch, policy)
    ]
    return setup.job(moves)
