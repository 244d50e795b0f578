"""Faults that change no output of the part that they are in."""

import pytest

from cdma.verify.mutation.engine.parts import (
    Part,
    begins_alike,
    parts_of,
    readers_of,
    unchanged,
)
from cdma.verify.mutation.mutants import Drawn, Mutant

_CELL = r"""
  attribute \src "hdl/box.py:1"
  cell ${kind} {name}
{parameters}
{pins}
  end
"""
_WIRES = r"""
module \top
  wire input 1 \aclk
  wire input 2 \aresetn
  wire input 3 \go
  wire output 4 \y
  wire width 2 \box.count
  wire width 2 \box.more
  wire width 2 \box.following
  wire width 2 \box.next
  wire \box.is_two
  wire \box.is_three
  wire \box.inner.and
  wire \box.any
"""
#: A box counts 0, 1, 2 and begins again. Inside it, another one looks at a count of 3 that it never
#: has after a reset, and at ``go``.
_CELLS = [
    ("eq", r"\box.$1", {"A": r"\box.count", "B": "2'10", "Y": r"\box.is_two"}, (2, 2, 1)),
    ("eq", r"\box.$2", {"A": r"\box.count", "B": "2'11", "Y": r"\box.is_three"}, (2, 2, 1)),
    ("add", r"\box.$3", {"A": r"\box.count", "B": "2'01", "Y": r"\box.more"}, (2, 2, 2)),
    (
        "mux",
        r"\box.$4",
        {"A": r"\box.more", "B": "2'00", "S": r"\box.is_two", "Y": r"\box.following"},
        2,
    ),
    (
        "mux",
        r"\box.$5",
        {"A": "2'00", "B": r"\box.following", "S": r"\aresetn", "Y": r"\box.next"},
        2,
    ),
    ("dff", r"\box.$6", {"D": r"\box.next", "CLK": r"\aclk", "Q": r"\box.count"}, 2),
    (
        "and",
        r"\box.\inner.$7",
        {"A": r"\box.is_three", "B": r"\go", "Y": r"\box.inner.and"},
        (1, 1, 1),
    ),
    ("or", r"\box.$8", {"A": r"\box.is_two", "B": r"\box.inner.and", "Y": r"\box.any"}, (1, 1, 1)),
    # In the cycle of reset the count may be anything.
    ("and", r"\box.$9", {"A": r"\box.any", "B": r"\aresetn", "Y": r"\y"}, (1, 1, 1)),
]


def box():
    """The netlist of the box."""
    return netlist(_WIRES, _CELLS)


def netlist(wires, cells):
    text = wires
    for kind, name, pins, bits in cells:
        if isinstance(bits, int):
            parameters = {"WIDTH": bits, **({"CLK_POLARITY": 1} if kind == "dff" else {})}
        else:
            parameters = {f"{pin}_WIDTH": each for pin, each in zip("ABY", bits, strict=True)}
            parameters |= {"A_SIGNED": 0, "B_SIGNED": 0}
        text += _CELL.format(
            kind=kind,
            name=f"$flatten{name}",
            parameters="\n".join(
                rf"    parameter \{key} {value}" for key, value in parameters.items()
            ),
            pins="\n".join(rf"    connect \{pin} {net}" for pin, net in pins.items()),
        ).strip("\n")
        text += "\n"
    return text + "end\n"


#: A channel of AXI, whose data is ``go`` while its VALID is high.
_CHANNEL = r"""
  wire output 5 \m_axi_wvalid
  wire output 6 \m_axi_wdata
  cell $and $flatten\box.$10
    parameter \A_SIGNED 0
    parameter \B_SIGNED 0
    parameter \A_WIDTH 1
    parameter \B_WIDTH 1
    parameter \Y_WIDTH 1
    connect \A \box.is_two
    connect \B \aresetn
    connect \Y \m_axi_wvalid
  end
  cell $mux $flatten\box.$11
    parameter \WIDTH 1
    connect \A 1'0
    connect \B \go
    connect \S \m_axi_wvalid
    connect \Y \m_axi_wdata
  end
end
"""

#: Two bits are written to a memory, and others read one of those, or one bit of the memory.
_MEMORY = r"""
  wire output 5 \z
  wire width 2 \box.pair
  wire width 2 \box.kept
  cell $not $flatten\box.$12
    parameter \A_SIGNED 0
    parameter \A_WIDTH 2
    parameter \Y_WIDTH 2
    connect \A { \go \go }
    connect \Y \box.pair
  end
  cell $mem_v2 \box.memory
    parameter \MEMID "\\box.memory"
    parameter \SIZE SLOTS
    parameter \OFFSET 0
    parameter \ABITS 2
    parameter \WIDTH 2
    parameter \INIT 1'x
    parameter \RD_PORTS 1
    parameter \RD_CLK_ENABLE 1'0
    parameter \RD_CLK_POLARITY 1'1
    parameter \RD_TRANSPARENCY_MASK 1'0
    parameter \RD_COLLISION_X_MASK 1'0
    parameter \RD_WIDE_CONTINUATION 1'0
    parameter \RD_CE_OVER_SRST 1'0
    parameter \RD_ARST_VALUE 2'x
    parameter \RD_SRST_VALUE 2'x
    parameter \RD_INIT_VALUE 2'x
    parameter \WR_PORTS 1
    parameter \WR_CLK_ENABLE 1'1
    parameter \WR_CLK_POLARITY 1'1
    parameter \WR_PRIORITY_MASK 1'0
    parameter \WR_WIDE_CONTINUATION 1'0
    connect \RD_CLK 1'x
    connect \RD_EN 1'1
    connect \RD_ARST 1'0
    connect \RD_SRST 1'0
    connect \RD_ADDR \box.count
    connect \RD_DATA \box.kept
    connect \WR_CLK \aclk
    connect \WR_EN 2'11
    connect \WR_ADDR \box.count
    connect \WR_DATA \box.pair
  end
  cell $not $flatten\other.$13
    parameter \A_SIGNED 0
    parameter \A_WIDTH 1
    parameter \Y_WIDTH 1
    connect \A NET
    connect \Y \z
  end
end
"""


def mutant(name, module, mode="const0", port="Y"):
    cell = rf"$flatten{name}"
    command = f"-mode {mode} -module top -cell {cell} -port {port} -portbit 0"
    return Mutant(1, mode, "and", module, port, 0, None, "hdl/box.py:1", command)


def found(each, tmp_path):
    return unchanged(Drawn("engine", box(), [each]), each, tmp_path)


def test_a_fault_that_only_a_state_shows_that_is_never_reached(tmp_path):
    assert found(mutant(r"\box.$2", "box"), tmp_path) == "box"


@pytest.mark.parametrize(
    "each", [mutant(r"\box.$1", "box"), mutant(r"\box.$2", "box", "const1")], ids=["low", "high"]
)
def test_a_fault_that_is_one(each, tmp_path):
    assert found(each, tmp_path) is None


def test_what_a_part_never_gets_is_known_around_it(tmp_path):
    inside = mutant(r"\box.\inner.$7", "box.inner")
    assert not Part(Drawn("engine", box(), [inside]), "box.inner", [inside], tmp_path).is_unchanged(
        inside, 10
    )
    assert found(inside, tmp_path) == "box"


@pytest.mark.parametrize(
    ("name", "mode", "is_none"), [(r"\box.$2", "const0", True), (r"\box.$5", "const1", False)]
)
def test_in_the_cycle_of_reset_a_part_may_be_in_another_state(tmp_path, name, mode, is_none):
    """A count of 3 looks as one of 0 then. No state without the fault has its count behind it."""
    each = mutant(name, "box", mode)
    seen = box().replace(r"connect \B \aresetn", r"connect \B 1'1")
    part = Part(Drawn("engine", seen, [each]), "box", [each], tmp_path)
    assert begins_alike(part.graph, each.number) == is_none
    assert (unchanged(Drawn("engine", seen, [each]), each, tmp_path) == "box") == is_none


@pytest.mark.parametrize(("port", "path"), [("A", "box"), ("B", None)])
def test_a_field_counts_while_valid_is_high(tmp_path, port, path):
    each = mutant(r"\box.$11", "box", "const1", port)
    drawn = Drawn("engine", box().removesuffix("end\n") + _CHANNEL.lstrip("\n"), [each])
    assert unchanged(drawn, each, tmp_path) == path


@pytest.mark.parametrize(
    ("net", "slots", "path"),
    [
        (r"\box.pair [1]", 4, "box"),
        (r"\box.pair [0]", 4, None),
        (r"\box.kept [1]", 4, "box"),
        (r"\box.kept [0]", 4, None),
        (r"\box.kept [1]", 128, None),
    ],
)
def test_only_what_others_read_is_an_output(tmp_path, net, slots, path):
    """Bits of a signal, also behind a memory, unless the memory is large."""
    each = mutant(r"\box.$12", "box")
    more = _MEMORY.lstrip("\n").replace("NET", net).replace("SLOTS", str(slots))
    drawn = Drawn("engine", box().removesuffix("end\n") + more, [each])
    assert unchanged(drawn, each, tmp_path) == path


def test_parts_are_the_component_and_that_around_it():
    inside = mutant(r"\a.\b.\c.$1", "a.b.c")
    assert parts_of(inside) == ["a.b.c", "a.b"]
    assert parts_of(mutant(r"\a.$1", "a")) == ["a"]


def test_a_part_has_the_registers_of_its_components(tmp_path):
    each = mutant(r"\box.$2", "box")
    assert Part(Drawn("engine", box(), [each]), "box", [each], tmp_path).bits == 2
    assert Part(Drawn("engine", box(), [each]), "box.inner", [each], tmp_path).bits == 0


_HOLDER = r"""
module \top
  wire input 1 \aclk
  wire input 2 \aresetn
  wire input 3 \go
  wire input 4 \word
  wire output 5 \y
  wire \hold.more
  wire \hold.next
  wire \hold.word
  wire \hold.has_more
  wire \hold.has_next
  wire \hold.valid
  wire \sink.seen
"""
#: A word is kept with a valid bit, both have a reset; another component shows a valid word.
_HOLD = [
    ("mux", r"\hold.$1", {"A": r"\hold.word", "B": r"\word", "S": r"\go", "Y": r"\hold.more"}, 1),
    ("mux", r"\hold.$2", {"A": "1'1", "B": r"\hold.more", "S": r"\aresetn", "Y": r"\hold.next"}, 1),
    ("dff", r"\hold.$3", {"D": r"\hold.next", "CLK": r"\aclk", "Q": r"\hold.word"}, 1),
    ("or", r"\hold.$4", {"A": r"\hold.valid", "B": r"\go", "Y": r"\hold.has_more"}, (1, 1, 1)),
    (
        "mux",
        r"\hold.$5",
        {"A": "1'0", "B": r"\hold.has_more", "S": r"\aresetn", "Y": r"\hold.has_next"},
        1,
    ),
    ("dff", r"\hold.$6", {"D": r"\hold.has_next", "CLK": r"\aclk", "Q": r"\hold.valid"}, 1),
    (
        "and",
        r"\sink.$7",
        {"A": r"\hold.word", "B": r"\hold.valid", "Y": r"\sink.seen"},
        (1, 1, 1),
    ),
    ("and", r"\sink.$8", {"A": r"\sink.seen", "B": r"\aresetn", "Y": r"\y"}, (1, 1, 1)),
]


@pytest.mark.parametrize(
    ("name", "mode", "is_none"), [(r"\hold.$2", "const0", True), (r"\hold.$5", "const1", False)]
)
def test_a_reset_of_what_nobody_looks_at_is_known_with_its_readers(tmp_path, name, mode, is_none):
    """A word may have any value while it is not valid. The valid bit may not."""
    each = mutant(name, "hold", mode, "A")
    drawn = Drawn("engine", netlist(_HOLDER, _HOLD), [each])
    assert readers_of(drawn, each) == {"sink"}
    assert unchanged(drawn, each, tmp_path) == ("hold and its readers" if is_none else None)


def test_only_a_reset_has_readers():
    drawn = Drawn("engine", netlist(_HOLDER, _HOLD), [])
    for name, port in ((r"\hold.$2", "B"), (r"\hold.$1", "A"), (r"\sink.$7", "A")):
        assert not readers_of(drawn, mutant(name, "hold", "const1", port))
