"""Each claim holds on records that obey the paper, and does not on records that break it."""

from dataclasses import replace

import pytest

from cdma.study.layouts import LAYOUTS
from cdma.study.pooling import pairs
from cdma.study.report.claims import density_claims, ratio_claims


@pytest.fixture
def maps(records):
    return [record for record in records if record["layout"] in LAYOUTS]


def with_sizes(records, change):
    """Records with other sizes, the ratios following."""
    found = []
    for record in records:
        sizes = {**record["sizes"], **change(record)}
        ratios = {name: record["bytes"] / size for name, size in sizes.items()}
        found.append({**record, "sizes": sizes, "ratios": ratios})
    return found


def test_ratios_of_a_network_that_obeys(maps):
    _, most, insensitive, best, zlib = ratio_claims(maps)
    assert most.verdict == "does not hold"
    assert insensitive.verdict == "holds"
    assert insensitive.figure == "18 of 18 tensors"
    assert best.verdict == "holds"
    assert zlib.verdict == "holds"


def test_ratios_of_one_that_does_not(maps):
    def change(record):
        worse = {"NCHW": 0.9, "NHWC": 0.8, "CHWN": 0.7}[record["layout"]]
        coded = {name: int(record["bytes"] * worse) for name in ("zvc32", "rl")}
        return {**coded, "zlib4k": record["bytes"]}

    verdicts = [claim.verdict for claim in ratio_claims(with_sizes(maps, change))]
    assert verdicts == ["does not hold"] * 5


def test_largest_ratio(maps):
    def change(record):
        return {"zvc32": record["bytes"] // (16 if record["layer"] == "relu1" else 2)}

    claim = ratio_claims(with_sizes(maps, change))[1]
    assert claim.verdict == "holds"
    assert claim.figure == "16.0x at most (AlexNet-toy relu1)"


def test_average_is_of_the_networks(maps):
    """A small network counts as much as a large one."""
    sparse = with_sizes(maps[:3], lambda record: {"zvc32": record["bytes"] // 8})
    other = [{**record, "network": "other"} for record in sparse]
    dense = with_sizes(maps, lambda record: {"zvc32": record["bytes"] // 2})
    claim = ratio_claims([*dense, *other])[0]
    assert claim.figure == "5.00x, networks 2.00x to 8.00x"
    assert claim.verdict == "holds"


def test_layouts_are_compared_where_they_differ(maps):
    single = [{**record, "shape": [1, *record["shape"][1:]]} for record in maps]
    assert ratio_claims(single)[3].verdict == "no data"


def test_densities_of_a_network_that_obeys(records):
    claims = density_claims(records, pairs(records))
    assert [claim.verdict for claim in claims] == ["holds"] * 4
    first, pooling, training, depth = claims
    assert pooling.parts["AlexNet-toy"].figure == "6 of 6"
    assert training.figure == "falls in 1 of 1, creeps back in 1"
    assert first.parts.keys() == depth.parts.keys() == {"AlexNet-toy"}


def test_first_layer_that_is_dense(records):
    dense = [
        {**r, "nonzeros": r["words"]} if (r["layer"], r["step"]) == ("relu0", 10) else r
        for r in records
    ]
    assert density_claims(dense, [])[0].verdict == "does not hold"


def test_pooling_that_lowers_density(records):
    found = pairs(records)
    found[0] = replace(found[0], density=found[0].density_before)
    claim = density_claims(records, found)[1]
    assert claim.verdict == "does not hold"
    assert claim.parts["AlexNet-toy"].figure == "5 of 6"


@pytest.mark.parametrize(
    "order", [{0: 0, 10: 20, 20: 10}, {0: 20, 10: 0, 20: 10}, {0: 0, 10: 20, 20: 30}]
)
def test_density_that_changes_otherwise(records, order):
    """Falling all along, rising all along, and falling late."""
    moved = [{**record, "step": order[record["step"]]} for record in records]
    assert density_claims(moved, [])[2].verdict == "does not hold"


def test_later_layers_that_are_denser(records):
    dense = [{**r, "nonzeros": r["words"]} if r["layer"] == "relu3" else r for r in records]
    assert density_claims(dense, [])[3].verdict == "does not hold"


def test_no_data(records):
    single = [{**r, "step": None} for r in records if r["layer"] in ("relu0", "pool0")]
    assert [claim.verdict for claim in density_claims(single, [])] == ["no data"] * 4


def test_a_verdict_counts_networks(records):
    other = [
        {**r, "network": "other", "tensor": "other " + r["tensor"], "nonzeros": r["words"]}
        for r in records
    ]
    first = density_claims([*records, *other], [])[0]
    assert first.verdict == "holds in 1 of 2"
