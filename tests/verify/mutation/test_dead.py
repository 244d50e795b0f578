"""Faults that reach no port."""

import pytest

from cdma.toolchain.cache import cache_folder
from cdma.verify.mutation import dead
from cdma.verify.mutation.mutants import Drawn, Mutant


def module(cells, outputs):
    """A module of Yosys' JSON: cells as kind, inputs by pin, outputs by pin."""
    made = {}
    for number, (kind, reads, gives, *parameters) in enumerate(cells):
        made[str(number)] = {
            "type": kind,
            "connections": reads | gives,
            "port_directions": dict.fromkeys(reads, "input") | dict.fromkeys(gives, "output"),
            "parameters": parameters[0] if parameters else {},
        }
    return {"cells": made, "ports": {"y": {"direction": "output", "bits": outputs}}}


def test_a_net_is_reached_through_gates_and_registers():
    cells = [
        ("$_AND_", {"A": [2], "B": ["1"]}, {"Y": [3]}),
        ("$_DFF_P_", {"C": [4], "D": [3]}, {"Q": [5]}),
        ("$_NOT_", {"A": [6]}, {"Y": [7]}),
    ]
    assert dead.reached(module(cells, [5])) == {2, 3, 4, 5}
    assert dead.reached(module(cells, [7, "0"])) == {6, 7}


def test_a_loop_of_registers_ends():
    cells = [("$_DFF_P_", {"C": [2], "D": [3]}, {"Q": [3]})]
    assert dead.reached(module(cells, [3])) == {2, 3}


def test_a_bit_of_a_memory_is_reached_by_the_same_bit_and_all_controls():
    reads = {
        "RD_ADDR": [10, 11],
        "RD_EN": [12, 13],
        "WR_ADDR": [14],
        "WR_EN": [15, 16],
        "WR_DATA": [20, 21],
    }
    cells = [("$mem_v2", reads, {"RD_DATA": [30, 31, 32, 33]}, {"WIDTH": "10"})]
    second = dead.reached(module(cells, [33]))  # bit 1 of the second port
    assert second == {33, 11, 12, 13, 14, 16, 21}
    assert dead.reached(module(cells, [30])) == {30, 10, 12, 13, 14, 15, 20}


def test_a_fault_that_changes_a_step_is_told_from_one_that_does_not():
    # Net 9 is 2 and 3, but 2 and not 3 with fault 5; net 10 is that and 3, where the fault shows;
    # net 11 is 3 and not 3, which it never reaches.
    cells = [
        ("$_AND_", {"A": [3], "B": [5]}, {"Y": [6]}),
        ("$_NOT_", {"A": [6]}, {"Y": [7]}),
        ("$_AND_", {"A": [2], "B": [7]}, {"Y": [9]}),
        ("$_AND_", {"A": [9], "B": [3]}, {"Y": [10]}),
        ("$_NOT_", {"A": [3]}, {"Y": [4]}),
        ("$_AND_", {"A": [9], "B": [4]}, {"Y": [11]}),
        ("$_DFF_P_", {"C": [1], "D": [12]}, {"Q": [13]}),
    ]
    assert not dead.Step(module(cells, [10])).is_same(5, [5])
    assert dead.Step(module(cells, [11])).is_same(5, [5])
    # A register counts as an output, and other faults are off.
    assert not dead.Step(module([*cells[:-1], ("$_DFF_P_", {"D": [9]}, {"Q": [13]})], [])).is_same(
        5, [5]
    )
    assert dead.Step(module(cells, [10])).is_same(5, [5, 3])


def gate(name, kind, a, b, y):
    """A cell of RTLIL with pins of one bit."""
    widths = "".join(f"    parameter \\{pin}_WIDTH 1\n" for pin in "ABY")
    signs = "".join(f"    parameter \\{pin}_SIGNED 0\n" for pin in "AB")
    pins = "".join(
        f"    connect \\{pin} \\{net}\n" for pin, net in zip("ABY", (a, b, y), strict=True)
    )
    return f"  cell ${kind} \\{name}\n{signs}{widths}{pins}  end\n"


RTLIL = f"""
module \\top
  wire input 1 \\a
  wire input 2 \\b
  wire output 3 \\y
  wire \\lost
  wire \\both
{gate("first", "and", "a", "b", "both")}\
{gate("second", "and", "a", "both", "y")}\
{gate("third", "or", "a", "b", "lost")}\
end
"""
COMMANDS = {
    "-mode inv -module top -cell first -port Y -portbit 0": None,
    "-mode inv -module top -cell third -port Y -portbit 0": dead.UNSEEN,
    # Where A is 0, the second cell gives 0 without the first one too.
    "-mode const1 -module top -cell first -port A -portbit 0": dead.SAME,
}


@pytest.mark.slow
def test_faults_that_are_none_are_found(tmp_path):
    mutants = [
        Mutant(number, "inv", "and", "top", "Y", 0, None, "hdl:1", command)
        for number, command in enumerate(COMMANDS, 1)
    ]
    drawn, scratch = Drawn("engine", RTLIL, mutants), cache_folder(tmp_path, "mutation")
    found = dead.proven(drawn, mutants, scratch)
    assert [found.get(each) for each in mutants] == list(COMMANDS.values())
    assert dead.proven(drawn, [], scratch) == {}
