"""Memories that are taken out before mapping."""

import pytest

from cdma.synth import liberty
from cdma.synth.flow import asic, rams

#: Two memories of 64 rows in a module that is used twice, and one of 4 rows.
TEXT = """\
module part(input aclk, input [5:0] a, input [7:0] d, input we, output reg [7:0] q);
  reg [7:0] rows [63:0];
  always @(posedge aclk) begin
    if (we) rows[a] <= d;
    q <= rows[a + 6'd1];
  end
endmodule
module whole(input aclk, input [5:0] a, input [7:0] d, input we, output [7:0] x, y, z);
  part first(aclk, a, d, we, x);
  part second(aclk, ~a, d, we, y);
  reg [7:0] rows [3:0];
  always @(posedge aclk) if (we) rows[a[1:0]] <= d;
  assign z = rows[a[3:2]];
endmodule
"""


@pytest.fixture(scope="module")
def aside(steps):
    return rams.set_aside(steps, "whole", "whole", TEXT)


def test_large_memories_are_named(aside):
    assert aside[1] == [rams.Ram("first.rows", 8, 64), rams.Ram("second.rows", 8, 64)]
    assert [ram.bits for ram in aside[1]] == [512, 512]


def test_the_rest_is_mapped(aside, steps, library_file):
    library = liberty.read(library_file)
    mapped = asic.synthesise(steps, "whole", "whole", aside[0], library, "abc")
    # The flip-flops of the memory of four rows, and nothing of the others.
    assert mapped.storage == 10.0 * 4 * 8
    assert mapped.logic > 0


def test_a_design_without_large_memories_stays(steps, tiny):
    text, found = rams.set_aside(steps, tiny.label, tiny.top, tiny.verilog)
    assert found == []
    assert "tiny_rams" not in text
