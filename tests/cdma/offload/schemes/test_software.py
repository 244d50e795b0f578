"""Static compression, CSWAP, vDNN++, COMET's row and fewer bits."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from offload_drawn import setups

from cdma.offload.moves import Link
from cdma.offload.networks.graph import IMAGE, Builder, Network
from cdma.offload.schemes import software, synchronised
from cdma.offload.schemes.registry import SCHEMES, rows
from cdma.offload.schemes.software import CodecTime
from cdma.offload.setup import Setup

_FEW = settings(max_examples=10, deadline=None)


def _seconds(setup: Setup, moves) -> float:
    return synchronised.run(setup.job(moves)).seconds


def _chain(setup: Setup) -> Setup:
    """A chain of the same times, where each layer moves one tensor."""
    b, x = Builder((3, 32, 32)), IMAGE
    for k in range(len(setup.network.layers)):
        x = b.conv(x, f"conv{k}", 2)
    return replace(setup, network=Network("chain", "chain", b.image, tuple(b.layers), "a test"))


@_FEW
@given(setups(), st.floats(0, 1e-3), st.floats(0, 1e-8))
def test_cswap_is_no_slower_than_either(setup, base, per_byte):
    setup, codec = _chain(setup), CodecTime(base, per_byte)
    chosen = [move for move, _, _ in software.decisions(setup, codec)]
    static = _seconds(setup, software.static_moves(setup, codec))
    plain = _seconds(setup, setup.raw())
    assert _seconds(setup, chosen) <= min(static, plain) * (1 + 1e-12)


@_FEW
@given(setups(), st.floats(1.0, 10.0))
def test_at_fixed_decisions_a_faster_link_never_hurts(setup, factor):
    chosen = software.cswap_moves(setup)
    faster = [replace(move, down=move.down / factor, up=move.up / factor) for move in chosen]
    assert _seconds(setup, faster) <= _seconds(setup, chosen) * (1 + 1e-12)


@_FEW
@given(setups())
def test_a_codec_that_takes_no_time_is_always_chosen(setup):
    free = CodecTime(0.0, 0.0)
    for move, plain, coded in software.decisions(setup, free):
        assert coded <= plain or move.link == move.tensor.bytes


def test_exposed_seconds():
    (move, *_) = software.static_moves(_alexnet(), CodecTime(1.0, 0.0))
    long = replace(move, down=5.0, up=7.0)
    assert software.exposed(long, 2.0, 3.0) == pytest.approx(1 + 3 + 4)
    assert software.exposed(long, 9.0, 9.0) == 1.0


def _alexnet(**wishes) -> Setup:
    from cdma.offload.builder import Wishes, build

    return build(Wishes("alexnet", ratio=2.6, codec=200.0, **wishes))


def test_vdnn_plus_plus_saves_pinned_memory_and_no_link():
    found = {row["scheme"]: row for row in rows(_alexnet(cpu_codec=3.0))}
    assert found["vdnn++"]["link_mib"] == found["vdnn-all"]["link_mib"]
    assert found["vdnn++"]["pinned_mib"] < found["vdnn-all"]["pinned_mib"]
    assert found["vdnn++"]["step_ms"] > found["vdnn-all"]["step_ms"]


@_FEW
@given(setups())
def test_a_small_pool_waits(setup):
    one = replace(setup, cpu=1e9, link=Link(1e8), pool=1)
    wide = replace(one, pool=1 << 40)
    small, large = (software.vdnn_plus_plus(each)[0].seconds for each in (one, wide))
    assert small >= large
    infinite = replace(wide, cpu=math.inf, link=Link(math.inf))
    total = software.vdnn_plus_plus(infinite)[0].seconds
    assert total == pytest.approx(setup.times.total, rel=1e-9)


def test_rows_that_lose_bits_say_so():
    found = {row["scheme"]: row for row in rows(_alexnet(lossy_ratio=8.0))}
    lossy = {name for name, row in found.items() if not row["lossless"]}
    assert lossy == {"comet", "bf16-async", "fp8-async", "bits4"}
    assert found["fp8-async"]["link_mib"] == pytest.approx(found["async"]["link_mib"] / 4)
    assert found["comet"]["link_mib"] < found["cdma-zv"]["link_mib"]
    assert found["bits4"]["peak_mib"] < found["oracle"]["peak_mib"]
    assert found["bits4"]["link_mib"] == 0
    assert {SCHEMES[name].kind for name in lossy} == {"published", "today"}


def test_comet_takes_the_files_of_the_lossy_codec(tmp_path):
    from cdma.errors import UserError
    from cdma.golden.lossy.bound import Bound
    from cdma.golden.lossy.codec import quantise
    from cdma.offload.builder import Wishes, build

    random = np.random.default_rng(0)
    array = np.maximum(random.standard_normal((1, 8, 32, 32)), 0).astype(np.float32)
    np.save(tmp_path / "relu1.npy", array)
    setup = build(Wishes("alexnet", densities=(str(tmp_path),), lossy="rel=0.03"))
    stored = quantise(array, Bound("rel", 0.03)).stored_bytes / array.nbytes
    moves = {move.tensor.name: move for move in SCHEMES["comet"].run(setup)[1]}
    fraction = {name: move.link / move.tensor.bytes for name, move in moves.items()}
    assert fraction["conv3"] == pytest.approx(stored + 1 / 32)  # with the mask of its ReLU
    assert fraction["pool1"] == pytest.approx(stored)
    assert fraction["image"] == pytest.approx(1)
    plain = {move.tensor.name: move for move in setup.coded()}
    assert moves["conv1"].link == plain["conv1"].link  # only a pool reads it
    with pytest.raises(UserError, match="leave the given ratios out"):
        build(Wishes("alexnet", ratio=2.0, lossy="rel=0.03"))
