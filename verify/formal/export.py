"""Export proofs for other checkers: the design as RTLIL, and a task file for SymbiYosys.

The design is flat. Memories are converted to registers, probes are connected, statements are cells.
As in :mod:`cdma.verify.formal.prover`, reset is high in the first cycle. In this cycle registers
hold any value and no statement is checked.
"""

import re
from pathlib import Path

from amaranth.hdl import Elaboratable

from cdma.verify.formal import netlist
from cdma.verify.formal.netlist import STATEMENTS

#: Tasks of a file: prove all assertions; reach all covers.
PROVE, COVER = TASKS = ("prove", "cover")

_SBY = """\
[tasks]
{prove}
{cover}

[options]
{prove}: mode {mode}
{prove}: depth {depth}
{cover}: mode cover
{cover}: depth {reach}

[engines]
smtbmc {solver}

[script]
read_rtlil {name}.il
prep -top top

[files]
{name}.il
"""
_RESET = """\
  cell $initstate \\reset
    connect \\Y \\rst
  end
  cell $not \\counts.inverter
    parameter \\A_SIGNED 0
    parameter \\A_WIDTH 1
    parameter \\Y_WIDTH 1
    connect \\A \\rst
    connect \\Y \\counts
  end
"""
_GATE = """\
  cell $and \\{name}.gate
    parameter \\A_SIGNED 0
    parameter \\A_WIDTH 1
    parameter \\B_SIGNED 0
    parameter \\B_WIDTH 1
    parameter \\Y_WIDTH 1
    connect \\A {enable}
    connect \\B \\counts
    connect \\Y \\{name}.counts
  end
"""
_STATEMENT = re.compile(
    rf"^(  cell \$(?:{'|'.join(STATEMENTS)}) \\(\w+)\n(?:    .*\n)*?    connect \\EN )(.*)$",
    re.MULTILINE,
)


def rtlil(design: Elaboratable, scratch: Path) -> str:
    """RTLIL of a design with its statements, ready for a checker.

    Parameters
    ----------
    design : Elaboratable
        As for :func:`cdma.verify.formal.prover.prove`.
    scratch : Path
        Existing folder for the temporary files of Yosys.

    Raises
    ------
    UserError
        When Yosys is missing or fails.
    """
    named, _ = netlist.graph_of(netlist.rtlil_of(design), scratch)
    wires, gates = ["  wire \\counts\n"], [_RESET]

    def gated(match):
        wires.append(f"  wire \\{match[2]}.counts\n")
        gates.append(_GATE.format(name=match[2], enable=match[3]))
        return f"{match[1]}\\{match[2]}.counts"

    text = _STATEMENT.sub(gated, named)
    text = re.sub(r"^  wire input \d+ \\rst$", r"  wire \\rst", text, flags=re.MULTILINE)
    head, module, text = text.partition("module \\top\n")
    body, end, rest = text.rpartition("end\n")
    return "".join([head, module, *wires, body, *gates, end, rest])


def sby(name: str, *, is_bounded: bool, depth: int, reach: int, solver: str) -> str:
    """Task file for SymbiYosys.

    Parameters
    ----------
    name : str
        Name of the design file, without ``.il``.
    is_bounded : bool
        Run a bounded check; otherwise an induction.
    depth : int
        Number of cycles after the reset.
    reach : int
        Bound of the search for covers, in cycles after the reset.
    solver : str
        Solver by its ``yosys-smtbmc`` name, such as ``z3``.
    """
    mode = "bmc" if is_bounded else "prove"
    tasks = {"prove": PROVE, "cover": COVER}
    # The reset takes one additional cycle.
    return _SBY.format(
        **tasks, name=name, mode=mode, depth=depth + 1, reach=reach + 1, solver=solver
    )
