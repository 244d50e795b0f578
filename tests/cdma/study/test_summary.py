"""Totals over records."""

import math

import pytest

from cdma.study.summary import mean, one_layout, totals, without_copies


def record(tensor, network, layout, size, coded, nonzeros=0, digest="", blocks=0.0):
    return {
        "tensor": tensor,
        "network": network,
        "layer": "relu1",
        "step": None,
        "format": "fp32",
        "layout": layout,
        "bytes": size,
        "words": size // 4,
        "nonzeros": nonzeros,
        "sizes": {"rl": coded},
        "ratios": {"rl": size / coded if coded else None},
        "zero_blocks": blocks,
        "full_blocks": 0.0,
        "digest": digest or tensor,
    }


def test_an_empty_tensor_has_no_weight():
    empty = record("e", "x", "NCHW", 0, 0, blocks=None)
    full = record("a", "x", "NCHW", 4000, 400, nonzeros=100, blocks=0.5)
    (total,) = totals([empty | {"full_blocks": None}, full])
    assert (total["tensors"], total["zero_blocks"], total["density"]) == (2, 0.5, 0.1)
    (total,) = totals([empty])
    assert (total["zero_blocks"], total["density"], total["ratios"]) == (None, None, {"rl": None})


def test_sizes_are_summed_before_they_are_divided():
    records = [
        record("a", "x", "NCHW", 4000, 400, nonzeros=100, blocks=0.5),
        record("b", "x", "NCHW", 400, 400, nonzeros=100),
        record("c", "y", "NCHW", 40, 10),
    ]
    x, y = totals(records)
    assert (x["network"], x["layout"], x["tensors"]) == ("x", "NCHW", 2)
    assert x["ratios"] == {"rl": 4400 / 800}
    assert x["best"] == {"rl": 10}
    assert x["density"] == 200 / 1100
    assert x["zero_blocks"] == pytest.approx(0.5 * 4000 / 4400)
    assert y["ratios"] == {"rl": 4}


def test_an_algorithm_that_one_lacks_is_left_out():
    full, poor = record("a", "x", "NCHW", 40, 10), record("b", "x", "NCHW", 40, 10)
    full["sizes"]["zlib"] = 5
    assert totals([full, poor])[0]["ratios"].keys() == {"rl"}


def test_total_of_empty_tensors():
    (total,) = totals([record("a", "x", "NCHW", 0, 0)])
    assert total["density"] is total["zero_blocks"] is total["ratios"]["rl"] is None


def test_one_layout_of_each_tensor():
    records = [record(name, "x", layout, 4, 4) for name in "ab" for layout in ("NCHW", "NHWC")]
    kept = [(r["tensor"], r["layout"]) for r in one_layout(records)]
    assert kept == [("a", "NCHW"), ("b", "NCHW")]


def test_copies_in_another_layout_count_once():
    records = [
        record(name, "x", layout, 4, 4, digest=digest)
        for name, digest in (("a", "1"), ("b", "1"), ("c", "2"))
        for layout in ("NCHW", "NHWC")
    ]
    assert [r["tensor"] for r in without_copies(records)] == ["a", "a", "c", "c"]


def test_the_same_values_at_another_step_are_no_copy():
    records = [
        {**record(name, "x", "NCHW", 4, 4, digest="1"), "step": step}
        for name, step in (("a", 0), ("b", 10))
    ]
    assert without_copies(records) == records


def test_mean():
    assert mean([1, 2, 6]) == 3
    assert math.isnan(mean([]))
