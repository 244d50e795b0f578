"""Parts of a design that are mapped by themselves."""

import pytest

from cdma.synth import liberty
from cdma.synth.flow import parts

#: A memory of 128 rows in a module that is a part, one of 4 rows, and a module that is none.
TEXT = """\
module top_part(aclk, a, d, we, q);
  input aclk;
  wire aclk;
  input [6:0] a;
  wire [6:0] a;
  input [7:0] d;
  wire [7:0] d;
  input we;
  wire we;
  output [7:0] q;
  reg [7:0] q;
  wire [6:0] \\$procmux$2204_Y ;
  reg [7:0] rows [127:0];
  assign \\$procmux$2204_Y  = we ? a : 7'd3;
  always @(posedge aclk) begin
    if (we) rows[a] <= d;
    q <= rows[\\$procmux$2204_Y ];
  end
endmodule

module top_inner(aclk, d, q);
  input aclk;
  wire aclk;
  input [7:0] d;
  wire [7:0] d;
  output [7:0] q;
  reg [7:0] q;
  always @(posedge aclk) q <= ~d;
endmodule

module top(aclk, a, d, we, x, y, z);
  input aclk;
  wire aclk;
  input [6:0] a;
  wire [6:0] a;
  input [7:0] d;
  wire [7:0] d;
  input we;
  wire we;
  output [7:0] x;
  wire [7:0] x;
  output [7:0] y;
  wire [7:0] y;
  output [7:0] z;
  wire [7:0] z;
  reg [7:0] few [3:0];
  always @(posedge aclk) if (we) few[a[1:0]] <= d;
  assign z = few[a[3:2]];
  top_part first (
    .aclk(aclk), .a(a), .d(d), .we(we), .q(x)
  );
  top_inner \\output  (
    .aclk(aclk), .d(d), .q(y)
  );
endmodule
"""
ROOTS = {"top", "top_part"}


@pytest.fixture(scope="module")
def modules():
    return parts.Modules(TEXT)


@pytest.fixture
def library(library_file):
    return liberty.read(library_file)


def test_a_part_has_its_modules_and_empty_ones_for_others(modules):
    text, others = modules.part("top", ROOTS)
    assert others == ["top_part"]
    assert modules.below("top", ROOTS) == (["top", "top_inner"], ["top_part"])
    assert "q <= ~d" in text
    assert "rows[a]" not in text
    assert "output [7:0] q;" in text.partition("module top_part")[2]


def test_numbers_of_the_whole_design_change_no_part(modules):
    renumbered = parts.Modules(TEXT.replace("$2204_", "$17_"))
    assert renumbered.part("top_part", ROOTS) == modules.part("top_part", ROOTS)
    text = TEXT.replace("we, q);", "we, q, \\port$12$0 );").replace(
        "we(we)", "we(we), .\\port$12$0 (a)"
    )
    first, second = (parts.Modules(text.replace("$12$", number)) for number in ("$5$", "$77$"))
    assert first.texts == second.texts
    assert ".\\port$0$top_part (a)" in first.texts["top"]


def test_a_module_with_an_escaped_name_belongs_to_its_part():
    """As Amaranth writes the second module of a name; a plain name that is taken stays as it is."""
    numbered = TEXT.replace("module top_inner(", "module \\top_inner$41 (")
    numbered = numbered.replace("  top_inner ", "  \\top_inner$41  ")
    assert numbered.count("$41") == 1 + TEXT.count("  top_inner ")
    modules = parts.Modules(numbered)
    assert "top_inner_41" in modules.below("top", ROOTS)[0]
    text, _ = modules.part("top", ROOTS)
    assert "module top_inner_41(" in text
    assert "$41" not in text
    taken = parts.Modules(numbered + "\nmodule top_inner_41(a);\n  input a;\nendmodule\n")
    assert "top_inner_41_" in taken.below("top", ROOTS)[0]


def test_the_order_of_assignments_changes_no_part():
    lines = ["  assign y = ~d;", "  assign z = few[a[3:2]];"]
    one, other = (
        parts.Modules(TEXT.replace(lines[1], "\n".join(order))).part("top", ROOTS)
        for order in (lines, lines[::-1])
    )
    assert one == other


def test_area_of_each_part(modules, steps, library):
    top, part = (
        parts.synthesise(steps, root, root, modules.part(root, ROOTS), library)
        for root in ("top", "top_part")
    )
    # Flip-flops of the toy library have 10 um2: a memory of four rows and a register.
    assert top.storage == 10.0 * (4 * 8 + 8)
    assert top.area > top.storage
    assert top.macros == ()
    assert "top_part first" in top.netlist
    assert part.macros == (parts.Macro("top_part.rows", 8, 128, 1, 1, 7, ("\\we",)),)
    assert part.macros[0].bits == 1024
    assert part.storage == 0, "no row is a flip-flop, the register is the memory's"
    assert part.area > 0, "the multiplexer before the memory is there"
    assert "cdma_ram_128x8_7_1r1w_1e" in part.netlist
    assert ".WR_EN(we)" in part.netlist


def test_a_memory_has_an_enable_for_each_part_of_a_row(steps, library):
    whole = "    if (we) rows[a] <= d;"
    halves = "    if (a[0]) rows[a][7:4] <= d[7:4];\n    if (we) rows[a][3:0] <= d[3:0];"
    part = parts.Modules(TEXT.replace(whole, halves)).part("top_part", ROOTS)
    mapped = parts.synthesise(steps, "halves", "top_part", part, library)
    assert [macro.enables for macro in mapped.macros] == [("\\a[0]", "\\we")]
    assert ".WR_EN({ a[0], we })" in mapped.netlist


def test_a_memory_below_the_limit_is_flip_flops(steps, library):
    text = TEXT.replace("[127:0]", "[63:0]")
    modules = parts.Modules(text)
    part = modules.part("top_part", ROOTS)
    mapped = parts.synthesise(steps, "small", "top_part", part, library)
    assert mapped.macros == ()
    assert mapped.storage >= 10.0 * 64 * 8
