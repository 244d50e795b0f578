"""Cells read from Liberty groups: pins, functions, energies between the points of their tables."""

import pytest

from cdma.errors import UserError
from cdma.synth.liberty.cells import Cells, Table
from cdma.synth.liberty.tree import parse


def test_units(library_text):
    cells = Cells(parse(library_text))
    assert (cells.volts, cells.farads, cells.watts) == (1.0, 1e-12, 1e-9)
    assert cells.joules == 1e-12
    assert cells.slew == pytest.approx(0.05)


def test_gate(library_text):
    gate = Cells(parse(library_text))["NAND2"]
    assert gate.leakage == 5.0
    assert gate.state == ()
    assert {name: pin.is_output for name, pin in gate.pins.items()} == {
        "A": False,
        "B": False,
        "Y": True,
    }
    assert gate.pins["A"].capacitance == 0.001
    assert gate.pins["A"].energy(0.05, 0.0) == 0.0
    assert gate.pins["Y"].function == "(A B)'"
    # The mean of rising, 0.003, and falling, 0.001, and twice that at the largest load.
    assert gate.pins["Y"].energy(0.05, 0.0) == pytest.approx(0.002)
    assert gate.pins["Y"].energy(0.05, 0.05) == pytest.approx(0.003)
    assert gate.pins["Y"].energy(0.05, 9.9) == pytest.approx(0.004)


def test_flip_flop(library_text):
    cell = Cells(parse(library_text))["DFF"]
    assert (cell.state, cell.next_state, cell.clocked_on) == (("IQ", "IQN"), "D", "CK")
    assert cell.pins["CK"].energy(0.05, 0.0) == pytest.approx(0.008)


def test_between_points_and_outside():
    table = Table((1.0, 3.0), (10.0, 20.0), ((0.0, 1.0), (4.0, 5.0)))
    assert table.at(2.0, 15.0) == pytest.approx(2.5)
    assert table.at(0.0, 0.0) == 0.0
    assert table.at(9.0, 99.0) == 5.0
    assert Table((), (), ((7.0,),)).at(2.0, 15.0) == 7.0


def test_what_is_missing_or_not_modelled(library_text):
    with pytest.raises(UserError, match=r"^the library has no cell XOR9$"):
        Cells(parse(library_text))["XOR9"]
    with pytest.raises(UserError, match=r"^the library has no nom_voltage$"):
        _ = Cells(parse("library(x) { }")).volts
    with pytest.raises(UserError, match=r"^the library has no capacitive_load_unit$"):
        _ = Cells(parse("library(x) { }")).farads
    with pytest.raises(UserError, match=r"^voltage_unit must be a number and a unit .* not 'odd'$"):
        _ = Cells(parse(library_text.replace('voltage_unit : "1V"', 'voltage_unit : "odd"'))).joules
    asynchronous = library_text.replace("clocked_on", 'clear : "R"; clocked_on')
    with pytest.raises(UserError, match=r"^DFF: flip-flops with asynchronous clear or preset"):
        Cells(parse(asynchronous))["DFF"]
    swapped = library_text.replace("variable_1 : input_transition_time", "variable_1 : other")
    with pytest.raises(UserError, match=r"^energy over other first: expected input_transition"):
        Cells(parse(swapped))
