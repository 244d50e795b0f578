"""ABC, as it is inside Yosys: whether the output of a circuit is ever high.

YoWASP has no ABC of its own: Yosys hands it a gate, and its script does something else.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from cdma.toolchain import tool, yowasp

#: What Yosys hands to ABC, and takes back from it, while ABC does something else.
_GATE = """
module \\top
  wire input 1 \\a
  wire input 2 \\b
  wire output 3 \\y
  cell $_AND_ \\gate
    connect \\A \\a
    connect \\B \\b
    connect \\Y \\y
  end
end
"""
_BLIF = ".model netlist\n.inputs a b\n.outputs y\n.names a b y\n11 1\n.end\n"
_DECIDE = """
read_blif group.blif
strash
scorr -F 2
write_blif left.blif
pdr -T {seconds}
write_status status
"""


@dataclass(frozen=True)
class Decision:
    """What ABC found of a circuit.

    Members
    -------
    is_proven : its output is never high
    trace : inputs of each cycle, up to where it is; ``None`` where no such trace was found
    """

    is_proven: bool
    trace: list[list[int]] | None


def decide(blif: str, seconds: int, scratch: Path) -> Decision:
    """Decide whether the only output of a circuit, called ``bad``, is ever high.

    Merges signals that are equal in all reachable states (van Eijk, 2000), and then tries
    property-directed reachability (Een, Mishchenko, Brayton, 2011).

    Parameters
    ----------
    blif : str
        The circuit, an input a line; registers begin with 0.
    seconds : int
        Bound on the second step.
    scratch : Path
        Existing folder to work in.

    Raises
    ------
    UserError
        When Yosys is missing or fails.
    """
    script = _DECIDE.format(seconds=seconds)
    made = run(script, {"group.blif": blif}, ["left.blif", "status"], scratch)
    verdict, *bits = made["status"].splitlines()
    if verdict.startswith("snl_SAT"):
        width = blif.count("\n.inputs")
        values = [int(bit) for bit in bits[-1]]
        cycles = range(0, len(values), width)
        return Decision(False, [values[start : start + width] for start in cycles])
    is_low = re.search(r"^\.names bad\n 0$", made["left.blif"], re.MULTILINE)
    return Decision(bool(is_low) or verdict.startswith("snl_UNSAT"), None)


def run(script: str, inputs: dict[str, str], outputs: list[str], scratch: Path) -> dict[str, str]:
    """Run a script of ABC on files that are given and collected as text.

    Raises
    ------
    UserError
        When Yosys is missing or fails.
    """
    given = {
        **inputs,
        "gate.il": _GATE,
        "gate.blif": _BLIF,
        "script.abc": f"{script}\nread_blif gate.blif\n",
    }
    arguments = ["-p", "read_rtlil gate.il; abc -script script.abc"]
    return tool.execute(yowasp.yosys(), arguments, given, outputs, scratch)
