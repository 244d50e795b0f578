"""Energies by hand, and the verb on the smallest unit."""

import json

import numpy as np
import pytest

from cdma.cli import main
from cdma.synth.flow import measure
from cdma.synth.liberty.cells import Cells
from cdma.synth.liberty.tree import parse
from cdma.synth.power import energy, netlist, switching
from cdma.synth.power.switching import Window


@pytest.fixture
def gates(library_text):
    """A flip-flop whose output an inverter drives out of the unit."""
    library = Cells(parse(library_text))
    instances = [
        netlist.Instance(library["DFF"], {"CK": "n1", "D": "n2", "Q": "n3"}),
        netlist.Instance(library["INV"], {"A": "n3", "Y": "n4"}),
    ]
    ports = {"aclk": ("input", ["n1"]), "d": ("input", ["n2"]), "y": ("output", ["n4"])}
    return netlist.Netlist(ports, instances), library


def test_energy_by_hand(gates):
    window = Window(10, {"n1": 20, "n2": 4, "n3": 3, "n4": 3})
    spent = energy.energy(*gates, window)
    pin = 0.5 * 0.001  # half of C * V**2 of a pin, in pJ
    assert spent.clock == pytest.approx(1e-12 * 20 * (0.008 + pin))
    # The output's table is 0.005 at no load and twice that at 0.1 pF.
    assert spent.storage == pytest.approx(1e-12 * (4 * 0.002 + 3 * (0.005 * 1.01 + pin)))
    assert spent.logic == pytest.approx(1e-12 * (3 * 0.002 + 4 * pin))
    assert spent.total == pytest.approx(spent.clock + spent.storage + spent.logic)


def test_without_changes_there_is_no_energy(gates):
    assert energy.energy(*gates, Window(10, {})).total == 0.0


def test_power_at_a_clock():
    figures = {
        "leakage_mw": 0.5,
        "idle_pj_per_cycle": 10.0,
        "settled": {"pj_per_cycle": 20.0},
        "with_glitches": {"pj_per_cycle": 30.0},
    }
    assert energy.at_clock(figures, 2.0) == {
        "mhz": 500.0,
        "idle_mw": 5.5,
        "settled_mw": 10.5,
        "with_glitches_mw": 15.5,
    }


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run the verb in a folder of its own, on a tensor of 200 bytes, half of them zero."""
    monkeypatch.delenv("CDMA_LIBERTY", raising=False)
    monkeypatch.delenv("CDMA_CACHE", raising=False)
    monkeypatch.chdir(tmp_path)
    values = np.arange(200, dtype=np.uint8)
    np.save("half.npy", values * (values % 2))
    return lambda *arguments: main.main(["power", "half.npy", *map(str, arguments)])


@pytest.mark.slow
@pytest.mark.usefixtures("iverilog")
def test_both_units(run, capsys, library_file):
    size = ("--lanes", 2, "--block-words", 32)
    assert run(*size, "--liberty", library_file, "--json") == 0
    compressor, decompressor = json.loads(capsys.readouterr().out)["records"]
    for record in (compressor, decompressor):
        assert record["is_equal"]
        assert record["words"] == 200
        assert record["density"] == 0.5
        assert record["stream_bytes"] == 200 // 32 * 4 + 4 + 100
        assert record["cycles"] > 100
        settled, glitches = record["settled"], record["with_glitches"]
        assert 0 < record["idle_pj_per_cycle"] < settled["pj_per_cycle"]
        assert settled["pj_per_cycle"] < glitches["pj_per_cycle"]
        assert settled["clock"] == pytest.approx(1 - settled["storage"] - settled["logic"])


@pytest.mark.slow
@pytest.mark.usefixtures("iverilog")
def test_a_stream_that_ends_itself(run, capsys, library_file):
    config = "2x8b32-ones"
    assert run("--config", config, "--words", 160, "--liberty", library_file, "--json") == 0
    for record in json.loads(capsys.readouterr().out)["records"]:
        assert (record["config"], record["is_equal"], record["words"]) == (config, True, 160)
        assert record["settled"]["pj_per_cycle"] > record["idle_pj_per_cycle"] > 0


def test_a_unit_that_folds_is_for_floating_point(run, capsys, library_file):
    command = ("--config", "2x8b8-fold", "--liberty", library_file)
    assert run(*command) == 2
    assert "not uint8, of which 128 would become 0" in capsys.readouterr().err
    assert run(*command, "--dtype", "float16") == 2
    assert (
        "--dtype float16 has 2 bytes an element, the tensor (uint8) has 1"
        in capsys.readouterr().err
    )


@pytest.mark.usefixtures("iverilog")
def test_a_wrong_netlist_is_reported(run, capsys, monkeypatch, tiny, library_file):
    window = Window(4, {})
    monkeypatch.setattr(measure, "generated", lambda unit, config: tiny)
    monkeypatch.setattr(
        netlist, "read", lambda *_: netlist.Netlist({"aclk": ("input", ["n1"])}, [])
    )
    monkeypatch.setattr(switching, "simulate", lambda *_: switching.Run(window, window, b"wrong"))
    monkeypatch.setattr(energy, "energy", lambda *_: energy.Energy(1.0, 2.0, 3.0))
    assert (
        run("--lanes", 2, "--block-words", 32, "--unit", "compressor", "--liberty", library_file)
        == 1
    )
    assert capsys.readouterr().err.splitlines()[-1] == (
        "cdma power: compressor: the netlist gave another output than the golden model"
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "energy needs a cell library: give --liberty FILE or CDMA_LIBERTY"),
        (["--liberty", "x.lib", "--words", 0], "--words must be 1 or more, not 0"),
        (["--liberty", "x.lib", "--lanes", 3], "Number of lanes must be a power of two in 2..64"),
    ],
)
def test_mistakes(run, capsys, arguments, complaint):
    assert run(*arguments) == 2
    assert capsys.readouterr().err.startswith(f"cdma power: {complaint}")
