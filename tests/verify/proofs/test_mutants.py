"""Proofs detect faults: they run on the mutants of the units that no trial kills.

``--save-mutants FOLDER`` writes the outcomes.
"""

import json
from pathlib import Path

import pytest

from cdma.cli.options import config_named
from cdma.files import write_text
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvcplus.config import Config as PlusConfig
from cdma.toolchain.cache import cache_folder
from cdma.verify.formal import netlist
from cdma.verify.mutation import mutants
from cdma.verify.mutation.component import Component, is_in
from cdma.verify.proofs.mutants import benches, put_to_proofs

MEASUREMENTS = Path(__file__).parents[3] / "docs" / "measurements"
SMALL = Config.of(2, 8, 8)
PLUS = PlusConfig("fp32")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("measured", "outcomes"),
    [("mutation", "mutation_proofs"), ("mutation_zvcplus", "mutation_zvcplus_proofs")],
)
def test_what_no_trial_kills_is_put_to_the_proofs(request, measured, outcomes):
    """The outcomes agree with the record in ``docs/measurements``."""
    found = []
    for record in json.loads((MEASUREMENTS / f"{measured}.json").read_text()):
        unit, config = record["unit"], config_named(record["config"])
        drawn = mutants.draw(unit, config, record["mutants"], record["seed"], cache_folder(None))
        left = {each["number"] for each in record["survivors"] if each["verdict"] == "open"}
        found += [{"unit": unit, **each} for each in put_to_proofs(unit, config, drawn, left)]
    folder = request.config.getoption("--save-mutants")
    if folder:
        write_text(folder / f"{outcomes}.json", json.dumps(found, indent=2) + "\n")
    assert found == json.loads((MEASUREMENTS / f"{outcomes}.json").read_text())


@pytest.mark.slow
def test_a_fault_in_a_component_breaks_its_proof(tmp_path):
    drawn = mutants.draw("decompressor", SMALL, 60, 1, tmp_path)
    inside = {each.number for each in drawn.mutants if each.module.startswith("core.report")}
    found = list(put_to_proofs("decompressor", SMALL, drawn, inside))
    assert {each["number"] for each in found} == inside
    assert {each["proof"] for each in found} == {"zvc/decompressor_report"}
    refuted = [each for each in found if each["outcome"] == "refuted"]
    assert refuted
    assert all(1 <= each["cycle"] <= 5 for each in refuted)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["compressor", "decompressor"])
@pytest.mark.parametrize(("config", "count"), [(SMALL, 400), (PLUS, 6000)])
def test_each_proof_has_the_cells_of_its_component(unit, config, count, tmp_path):
    """Of merged cells, three in a hundred of one component, a small draw may have none."""
    drawn = mutants.draw(unit, config, count, 1, tmp_path)
    places = benches(unit, config)
    for path, bench in places.items():
        flat = netlist.flat(netlist.rtlil_of(bench.make(config)), tmp_path)
        component = Component(drawn, path, flat)
        others = [each for each in places if each.startswith(f"{path}.")]
        inside = [
            each
            for each in drawn.mutants
            if is_in(each.module, path) and not any(is_in(each.module, other) for other in others)
        ]
        assert inside, path
        missing = [str(each) for each in inside if not component.command(each)]
        assert 0 < len(missing) < len(inside) / 2 if bench.has_merged else not missing


@pytest.mark.slow
def test_a_fault_between_components_stays_open(tmp_path):
    drawn = mutants.draw("compressor", PLUS, 1000, 1, tmp_path)
    inside = {each.number for each in drawn.mutants if each.module == "core.coder"}
    found = list(put_to_proofs("compressor", PLUS, drawn, inside))
    assert {each["number"] for each in found} == inside != set()
    assert {(each["proof"], each["outcome"]) for each in found} == {(None, "open")}


def test_units_with_repeats_have_no_benches():
    with pytest.raises(ValueError, match=r"floats without repeats, not zvcplus-int8"):
        benches("compressor", PlusConfig("int8"))
