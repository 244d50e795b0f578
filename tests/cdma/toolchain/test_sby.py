"""SymbiYosys runs the tasks of a file, and says what came of each."""

import pytest

from cdma.errors import UserError
from cdma.toolchain import sby

#: A register that takes its input over, and a promise about it.
DESIGN = """
module \\top
  wire input 1 \\clk
  wire input 2 \\a
  wire \\state
  wire \\holds
  wire \\first
  cell $dff \\register
    parameter \\WIDTH 1
    parameter \\CLK_POLARITY 1'1
    connect \\CLK \\clk
    connect \\D {following}
    connect \\Q \\state
  end
  cell $or \\or
    parameter \\A_SIGNED 0
    parameter \\A_WIDTH 1
    parameter \\B_SIGNED 0
    parameter \\B_WIDTH 1
    parameter \\Y_WIDTH 1
    connect \\A \\state
    connect \\B \\first
    connect \\Y \\holds
  end
  cell $initstate \\initstate
    connect \\Y \\first
  end
  cell $assert \\assert
    connect \\A \\holds
    connect \\EN 1'1
  end
end
"""
TASKS = """\
[tasks]
prove

[options]
prove: mode prove
prove: depth 3

[engines]
smtbmc z3

[script]
read_rtlil one.il
prep -top top

[files]
one.il
"""


@pytest.fixture
def run(tmp_path):
    pytest.importorskip("z3")

    def run(following, seconds=120):
        text = DESIGN.format(following=following)
        return sby.run("one", {"one.sby": TASKS, "one.il": text}, seconds, tmp_path)

    return run


@pytest.mark.parametrize(("following", "status"), [("1'1", "PASS"), ("\\a", "FAIL")])
def test_a_promise_holds_or_not(run, following, status):
    assert run(following) == {"prove": status}


def test_what_takes_too_long_is_ended(run, tmp_path):
    assert run("\\a", seconds=0.1) == {"prove": "TIMEOUT"}
    assert not list(tmp_path.iterdir())


def test_a_design_that_cannot_be_read_is_reported(run):
    with pytest.raises(UserError, match=r"^SymbiYosys failed: .*ERROR"):
        run("\\missing")
