"""Measuring: real tools on a small unit, and nothing run twice."""

from dataclasses import replace
from threading import Event

import pytest

from cdma.errors import UserError
from cdma.hdl.zvc.config import Config
from cdma.synth import liberty
from cdma.synth.flow import asic, ecp5, measure
from cdma.toolchain.steps import Steps


@pytest.fixture
def only_own_script(monkeypatch):
    """Leave out the tuned script, which refuses a library as small as the toy."""
    monkeypatch.delitem(asic.FLOWS, "tuned")


@pytest.mark.usefixtures("only_own_script")
def test_second_run_calls_no_tool_and_gives_the_same(tmp_path, tiny, library_file, calls):
    library = liberty.read(library_file)
    options = {"seeds": 1, "jobs": 2, "liberty": library, "with_timing": False}
    first = measure.measure([tiny], Steps(tmp_path / "cache"), **options)
    assert sorted(calls) == ["Yosys", "Yosys", "Yosys", "nextpnr-ecp5"]
    calls.clear()
    assert measure.measure([tiny], Steps(tmp_path / "cache"), **options) == first
    assert calls == []
    (record,) = first
    assert (record["unit"], record["config"], record["bytes_per_cycle"]) == ("tiny", "2x8b32", 2)
    assert record["ecp5"]["flip_flops"] == 33
    assert record["ecp5"]["gb_per_s"] == pytest.approx(2 * record["ecp5"]["fmax_mhz"] / 1e3)
    assert record["asic"]["abc"]["storage_um2"] == 330.0
    assert record["asic"]["abc"]["critical_ns"] is None


def test_each_seed_is_a_step_and_the_median_is_reported(monkeypatch, tmp_path, tiny):
    monkeypatch.setattr(
        ecp5, "synthesise", lambda *_: ecp5.Netlist(ecp5.Area(9, 9, 0, 0, 0, 0), "")
    )
    monkeypatch.setattr(ecp5, "fmax", lambda steps, label, netlist, seed: 100.0 * seed)
    (record,) = measure.measure([tiny], Steps(tmp_path), seeds=5, jobs=2)
    figures = record["ecp5"]
    assert (figures["fmax_mhz"], figures["fmax_mhz_min"], figures["fmax_mhz_max"]) == (
        300,
        100,
        500,
    )
    assert record["asic"] is None


@pytest.mark.parametrize(("unit", "options"), [("compressor", ()), ("engine", ecp5.FOR_ENGINE)])
def test_the_engine_is_placed_with_options_of_its_own(monkeypatch, tmp_path, tiny, unit, options):
    given = []

    def fmax(steps, label, netlist, seed, options=()):
        given.append(options)
        return 100.0

    area = ecp5.Area(9, 9, 0, 0, 0, 0)
    monkeypatch.setattr(ecp5, "synthesise", lambda *_: ecp5.Netlist(area, ""))
    monkeypatch.setattr(ecp5, "fmax", fmax)
    measure.measure([replace(tiny, unit=unit)], Steps(tmp_path), seeds=2, jobs=1)
    assert given == [options] * 2


def test_a_failing_tool_ends_it(monkeypatch, tmp_path, tiny):
    def fail(*_):
        raise UserError("tiny: no room")

    monkeypatch.setattr(ecp5, "synthesise", fail)
    with pytest.raises(UserError, match=r"^tiny: no room$"):
        measure.measure([tiny], Steps(tmp_path), seeds=2, jobs=1)


def test_a_failing_tool_leaves_a_gap_when_asked_to(monkeypatch, tmp_path, tiny):
    def fmax(steps, label, netlist, seed):
        if seed == 2:
            raise UserError("tiny: no room")
        return 100.0 * seed

    monkeypatch.setattr(
        ecp5, "synthesise", lambda *_: ecp5.Netlist(ecp5.Area(9, 9, 0, 0, 0, 0), "")
    )
    monkeypatch.setattr(ecp5, "fmax", fmax)
    said = []
    (record,) = measure.measure([tiny], Steps(tmp_path), seeds=3, jobs=1, on_failure=said.append)
    assert (record["ecp5"]["seeds"], record["ecp5"]["fmax_mhz"]) == (2, 200)
    assert said == ["tiny: no room"]


def test_a_unit_that_does_not_map_has_no_figures(monkeypatch, tmp_path, tiny):
    def fail(*_):
        raise UserError("tiny: no room")

    monkeypatch.setattr(ecp5, "synthesise", fail)
    said = []
    (record,) = measure.measure([tiny], Steps(tmp_path), seeds=3, jobs=1, on_failure=said.append)
    assert record["ecp5"] is None
    assert said == ["tiny: no room"]


def test_records_come_in_the_order_of_the_designs_as_soon_as_they_can(monkeypatch, tmp_path, tiny):
    """The second design ends first; the third is not made before there is a place for it."""
    netlist = ecp5.Netlist(ecp5.Area(9, 9, 0, 0, 0, 0), "")
    has_ended, made, second = Event(), [], replace(tiny, unit="second")

    def synthesise(steps, label, *_):
        if label == second.label:
            has_ended.set()
        else:
            assert has_ended.wait(60)
        return netlist

    def designs():
        for design in (tiny, second, replace(tiny, unit="third")):
            made.append(design.unit)
            yield design

    monkeypatch.setattr(ecp5, "synthesise", synthesise)
    monkeypatch.setattr(ecp5, "fmax", lambda *_: 100.0)
    measured = measure.measure_each(designs(), Steps(tmp_path), seeds=1, jobs=2)
    assert made == []
    assert [record["unit"] for record in measured] == ["tiny", "second", "third"]


def test_cells_are_measured_on_the_unit_for_cells():
    config = Config.of(2, 8, 32)
    design = measure.generated("compressor", config)
    for_cells = measure.generated("compressor", replace(config, target="asic"))
    assert design.verilog != design.for_cells == for_cells.verilog == for_cells.for_cells
    assert replace(design, cells=None).for_cells == design.verilog


@pytest.mark.slow
def test_the_same_on_a_cluster_that_loses_a_worker(
    tmp_path, tiny, library_file, frail_cluster, monkeypatch
):
    designs = [tiny, replace(tiny, unit="again")]
    options = {"seeds": 2, "liberty": liberty.read(library_file), "with_timing": False}
    options["flows"] = ["abc"]
    here = measure.measure(designs, Steps(tmp_path / "here"), **options)
    monkeypatch.setattr(measure, "sweep", frail_cluster.losing(measure.sweep))
    steps = Steps(tmp_path / "cluster")
    there = measure.measure(designs, steps, scheduler=frail_cluster.address, **options)
    assert frail_cluster.has_lost()
    assert there == here
    assert [record["unit"] for record in there] == ["tiny", "again"]
    assert steps.ran == 0


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["compressor", "decompressor"])
def test_generated_units_map_and_route(tmp_path, unit):
    design = measure.generated(unit, Config.of(2, 8, 32))
    (record,) = measure.measure([design], Steps(tmp_path), seeds=1, jobs=2)
    assert record["ecp5"]["lut4"] > 100
    assert record["ecp5"]["flip_flops"] > 50
    assert 30 < record["ecp5"]["fmax_mhz"] < 600
