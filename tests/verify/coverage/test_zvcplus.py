"""Coverage of ZVC+: what a stream shows, and that the stimulus shows everything."""

from itertools import pairwise, product

import numpy as np
import pytest

from cdma.golden import zvcplus as golden
from cdma.golden.codecs import codec_of as golden_of
from cdma.hdl.axi.stream import UNITS
from cdma.hdl.zvcplus.config import NAMED, Config
from cdma.verify.coverage import zvcplus
from cdma.verify.coverage.functional import measure
from cdma.verify.coverage.points import Coverage
from cdma.verify.coverage.scenarios import scenarios
from cdma.zvcplus import ErrorCode

CONFIG = Config("fp32")
EVERY = pytest.mark.parametrize("config", NAMED.values(), ids=lambda config: config.name)


def empty(config, unit="compressor"):
    return Coverage(unit, config, {each.name: each for each in zvcplus.points(unit, config)})


def shown(config, words):
    """Bins that the stream of one packet shows, by point."""
    coverage = empty(config)
    words = np.asarray(words, config.format.dtype)
    zvcplus.observe_packet(coverage, golden.compress(words, config.format), words.size)
    return {name: dict(point.hits) for name, point in coverage.points.items() if point.hits}


def test_what_a_stream_shows():
    # Two bits of zeros; then a control of 16 flags and fields, and a nibble for words 32 + (4..6).
    words = np.zeros(64, "<u4")
    words[36:39] = [1 << 23, 1 << 23, 3 << 23]
    found = shown(CONFIG, words)
    assert found["words of a beat's mask"] == {0: 7, 3: 1}
    assert found["block x next block"] == {("all zero", "mask as differences"): 1}
    assert found["block x wide"] == {("mask as differences", False): 1}
    assert found["mask x its nibbles"] == {("mask as differences", 1): 1}
    # The mode, then d and k of three bits, 8 flags, the base as it is 3 above 0, and a nibble.
    assert found["base"] == {3: 1}
    assert found["bits of an exponent"] == {2: 1}
    assert found["bit of a row where a control begins"] == {0: 1, 2: 1}
    assert found["bit of a row where a payload begins"] == {2 + 2 + 6 + 8 + 4: 1}
    # 22 bits of controls and three words of 25 bits.
    assert found["bytes of a stream's last beat"] == {-(-(22 + 75) // 8): 1}


def test_fields_of_groups_and_repeats():
    words = np.zeros(128, np.uint8)
    words[[3, 40, 127]] = [1, 4, 255]
    found = shown(Config("int8"), words)
    assert found["group x wide x bits"] == {
        ((32, 0), (True, 1)): 1,
        ((32, 1), (True, 2)): 1,
        ((32, 2), (True, 1)): 1,
        ((32, 3), (True, 8)): 1,
    }
    for config in (Config("fp32", "left"), Config("int8", "left")):
        words = np.full(2 * config.word.block_words, 7, config.format.dtype)
        words[0] = 9
        found = shown(config, words)
        assert found["block x repeats"] == {
            ("dense", "some repeated"): 1,
            ("dense", "all repeated"): 1,
        }


def test_what_an_error_shows():
    coverage = empty(CONFIG, "decompressor")
    zvcplus.observe_error(coverage, np.zeros(5, np.uint8), 0, ErrorCode.TRAILING, 0)
    zvcplus.observe_error(coverage, np.zeros(71, np.uint8), 40, ErrorCode.TRAILING, 6)
    zvcplus.observe_error(coverage, np.zeros(6, np.uint8), 40, ErrorCode.TRAILING, 6)
    zvcplus.observe_error(coverage, np.zeros(60, np.uint8), 7, ErrorCode.TRUNCATED, 37)
    hits = {name: dict(point.hits) for name, point in coverage.points.items()}
    assert hits["trailing"] == {"bytes": 1, "beats": 1, "bits of its last byte": 1}
    assert hits["byte of a row up to which a bad stream is right"] == {0: 1, 6: 2, 5: 1}
    assert hits["error x length"] == {
        ("TRAILING", "empty"): 1,
        ("TRAILING", "blocks and a part"): 2,
        ("TRUNCATED", "part of a beat"): 1,
    }


@EVERY
def test_the_packet_has_each_block_in_front_of_each(config):
    coverage = empty(config)
    found = shown(config, zvcplus.packet(config))
    for name in ("block x next block", "mask x its nibbles"):
        assert set(found[name]) == set(coverage.points[name].bins)


@EVERY
def test_the_streams_have_their_errors(config):
    streams = list(zvcplus.streams(config, np.random.default_rng(0)))
    codes = [golden_of(config.format).salvage(*each, config.format)[2] for each in streams]
    assert set(pairwise(codes)) == set(product(config.error_codes, repeat=2))


def test_what_cannot_be_is_no_bin():
    points = {each.name: each for each in zvcplus.points("decompressor", CONFIG)}
    assert ("TOO_LONG", "part of a block") in points["error x length"].bins
    assert ("TOO_LONG", "a beat") not in points["error x length"].bins
    assert zvcplus.impossible("MASK_PAST_END", "blocks") == "the last block is whole"
    assert "COUNT" not in points["error"].bins


@pytest.mark.slow
@EVERY
@pytest.mark.parametrize("unit", UNITS)
def test_everything_is_seen(unit, config):
    coverage = measure(unit, config, scenarios(unit, config))
    missing = {p.name: (p.missing, p.unexpected) for p in coverage.points.values()}
    assert coverage.is_complete, missing
