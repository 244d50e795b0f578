"""C++ of lanes: each kind of register, memories, faults in lanes of their own."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

from cdma.errors import SimulationError
from cdma.toolchain import verilator
from cdma.verify.mutation import lanes
from cdma.verify.mutation.lanes.source import Source

#: Types of registers: an enable, a reset and its value, high or low.
TYPES = [
    *("$_DFF_P_", "$_DFFE_PP_", "$_DFFE_PN_", "$_SDFF_PP0_", "$_SDFF_PN1_"),
    *("$_SDFFE_PP0P_", "$_SDFFE_PN1N_", "$_SDFFE_PN0P_", "$_SDFFCE_PP0P_", "$_SDFFCE_PN1N_"),
]
D, E, R, A0, A1, FAULT = range(2, 8)
WIDTH = 2

#: Exports one step of a netlist: inputs of all lanes, registers and nets of all lanes after it.
_HARNESS = """
#include "lanes.h"
namespace {
%s
State state;
}
extern "C" [[gnu::visibility("default")]] void step(const V* in, V* outputs) {
    for (int lane = 0; lane < LANES; ++lane) alive[lane / 64] |= uint64_t(1) << lane %% 64;
    for (int k = 0; k < INPUTS; ++k) state.in[k] = in[k];
    settle(state);
    clock(state);
    settle(state);
    const V *q = state.registers[state.now], *w = state.w, *in_ = state.in;
    (void)q, (void)w, (void)in_;
    const V found[] = {%s};
    memcpy(outputs, found, sizeof(found));
}
"""


def cell(kind, reads, gives, **parameters):
    """A cell of Yosys' JSON; pins have lists of nets."""
    return {
        "type": kind,
        "connections": reads | gives,
        "port_directions": dict.fromkeys(reads, "input") | dict.fromkeys(gives, "output"),
        "parameters": {name: f"{value:b}" for name, value in parameters.items()},
    }


def memory(data, *, is_clocked, is_new=False):
    """A memory of four rows: what is read lies at nets ``data``."""
    return cell(
        "$mem_v2",
        {
            "RD_ADDR": [A0, A1],
            "RD_EN": [E],
            "RD_CLK": [1],
            "WR_ADDR": [A1, A0],
            "WR_EN": [R, E],
            "WR_DATA": [D, E],
            "WR_CLK": [1],
        },
        {"RD_DATA": data},
        SIZE=4,
        WR_PORTS=1,
        RD_TRANSPARENCY_MASK=int(is_new),
        RD_COLLISION_X_MASK=0,
        OFFSET=0,
        RD_CLK_ENABLE=int(is_clocked),
    )


def module():
    """Registers of all types, whose D is inverted by the fault, and each kind of memory."""
    cells = {"gate": cell("$_XOR_", {"A": [D], "B": [FAULT]}, {"Y": [9]})}
    for number, kind in enumerate(TYPES):
        pins = {"C": [1], "D": [9], "E": [E], "R": [R]}
        cells[kind] = cell(kind, pins, {"Q": [20 + number]})
    cells["async"] = memory([50, 51], is_clocked=False)
    cells["sync"] = memory([52, 53], is_clocked=True)
    cells["new"] = memory([54, 55], is_clocked=True, is_new=True)
    names = {"d": D, "e": E, "r": R, "a0": A0, "a1": A1, "fault_1": FAULT}
    ports = {name: {"direction": "input", "bits": [net]} for name, net in names.items()}
    outputs = [*range(20, 20 + len(TYPES)), *range(50, 56)]
    ports["y"] = {"direction": "output", "bits": outputs}
    return {"cells": cells, "ports": ports}


class Model:
    """What one lane must do."""

    def __init__(self):
        self.registers = [0] * len(TYPES)
        self.rows = [[0] * WIDTH for _ in range(4)]
        self.old = self.new = [0] * WIDTH

    def step(self, d, e, r, a0, a1, fault):
        for number, kind in enumerate(TYPES):
            self.registers[number] = self._next(kind, self.registers[number], d ^ fault, e, r)
        if e:
            self.old = list(self.rows[a0 + 2 * a1])
        for bit, (enable, value) in enumerate(((r, d), (e, e))):
            if enable:
                self.rows[a1 + 2 * a0][bit] = value
        if e:
            self.new = list(self.rows[a0 + 2 * a1])
        return [*self.registers, *self.rows[a0 + 2 * a1], *self.old, *self.new]

    @staticmethod
    def _next(kind, old, d, e, r):
        name, marks = kind.strip("$_").rsplit("_", 1)
        has_reset, has_enable = name.startswith("SDFF"), name.endswith("E")
        is_reset = has_reset and r == (marks[1] == "P")
        polarity = marks[-1] if has_enable else "P"
        is_enabled = not has_enable or e == (polarity == "P")
        if name == "SDFFCE":
            return (int(marks[2]) if is_reset else d) if is_enabled else old
        if is_reset:
            return int(marks[2])
        return d if is_enabled else old


@pytest.fixture(scope="module")
def step(tmp_path_factory):
    """Function that makes a step of the compiled netlist: bits by lane."""
    folder = tmp_path_factory.mktemp("lanes")
    source = Source(module())
    outputs = ", ".join(source.name(net).replace("in[", "in_[") for net in source.outputs["y"])
    (folder / "netlist.cpp").write_text(_HARNESS % (source.text(), outputs))
    headers = f"-I{Path(lanes.__file__).parent}"
    flags = ["-std=c++17", "-O1", "-fPIC", "-shared", "-Wno-psabi", headers]
    command = [*flags, "netlist.cpp", "-o", "netlist.so"]
    verilator.compile_cpp(command, folder, verilator.environment(), "a netlist")
    library = ctypes.CDLL(str(folder / "netlist.so"))
    count = len(source.outputs["y"])

    def run(bits):
        packed = np.packbits(bits, axis=1, bitorder="little")
        given = _aligned(packed.shape)
        given[:] = packed
        found = _aligned((count, lanes.LANES // 8))
        library.step(ctypes.c_void_p(given.ctypes.data), ctypes.c_void_p(found.ctypes.data))
        return np.unpackbits(found, axis=1, bitorder="little")

    return run


def _aligned(shape):
    """Bytes at a multiple of 64, as vectors need."""
    data = np.zeros(int(np.prod(shape)) + 64, np.uint8)
    start = -data.ctypes.data % 64
    return data[start : start + int(np.prod(shape))].reshape(shape)


def test_each_lane_does_what_the_netlist_does(step):
    """Registers and memories of all lanes against a model of each, with inputs of their own."""
    rng = np.random.default_rng(1)
    models = [Model() for _ in range(lanes.LANES)]
    for _ in range(60):
        bits = rng.integers(0, 2, (6, lanes.LANES), dtype=np.uint8)
        # Often the same address in all lanes, as of an engine.
        if rng.random() < 0.7:
            bits[3:5] = rng.integers(0, 2, (2, 1))
            bits[3:5, rng.integers(lanes.LANES, size=3)] ^= 1
        found = step(bits)
        for lane, model in enumerate(models):
            assert model.step(*bits[:, lane].tolist()) == found[:, lane].tolist()


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        ("$_SDFF_NP0_", {}, "no register of type"),
        ("$_ALDFF_PP_", {}, "no cell of type"),
        ("$_AOI3_", {}, "no cell of type"),
    ],
)
def test_cells_that_are_not_known_are_refused(kind, parameters, message):
    made = module()
    output = {"Q": [60]} if "DFF" in kind else {"Y": [60]}
    made["cells"]["odd"] = cell(kind, {"C": [1], "D": [D], "R": [R]}, output, **parameters)
    made["ports"]["z"] = {"direction": "output", "bits": [60]}
    with pytest.raises(SimulationError, match=message):
        Source(made).text()


def test_a_memory_with_both_kinds_of_reads_is_simulated_as_two():
    made = module()
    both = memory([60, 61, 62, 63], is_clocked=True)
    both["parameters"] |= {"RD_CLK_ENABLE": "10", "RD_TRANSPARENCY_MASK": "10"}
    both["connections"] |= {"RD_ADDR": [A0, A1, A1, A0], "RD_EN": [1, E]}
    made["cells"]["both"] = both
    pair = Source(made).memories.values()
    found = [(each.is_clocked, each.data) for each in pair]
    assert found[-2:] == [(True, [62, 63]), (False, [60, 61])]


def test_memories_that_are_not_known_are_refused():
    made = module()
    made["cells"]["async"]["parameters"]["WR_PORTS"] = "10"
    with pytest.raises(SimulationError, match="no memory with"):
        Source(made)
