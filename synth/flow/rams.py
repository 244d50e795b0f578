"""Replace large memories of a design by a black box before the mapping onto standard cells.

In silicon these memories are RAM macros, which a cell library does not have. Flip-flops would be
many times as large.
"""

import re
from dataclasses import dataclass

from cdma.toolchain import yowasp
from cdma.toolchain.steps import Steps

#: Least rows of a RAM. Smaller memories become flip-flops.
LEAST_ROWS = 64


@dataclass(frozen=True)
class Ram:
    """A memory.

    Parameters
    ----------
    name : str
        Name in the flat design.
    width, rows : int
        Bits of a row, and number of rows.
    """

    name: str
    width: int
    rows: int

    @property
    def bits(self) -> int:
        """Bits of all rows."""
        return self.width * self.rows


def set_aside(steps: Steps, label: str, top: str, verilog: str) -> tuple[str, list[Ram]]:
    """Replace each memory with clocked reads and at least ``LEAST_ROWS`` rows by a black box.

    Parameters
    ----------
    steps : Steps
    label : str
        Label for progress.
    top : str
        Top-level module.
    verilog : str
        The design.

    Returns
    -------
    (str, list of Ram)
        The flat design with its memories in one black box ``<top>_rams``, and the memories.

    Raises
    ------
    UserError
        When Yosys is missing or fails.
    """
    script = f"""\
read_verilog unit.v
hierarchy -check -top {top}
proc
flatten
opt_clean
memory -nomap
opt_clean
select -set rams t:$mem_v2 r:RD_CLK_ENABLE>0 %i r:SIZE>={LEAST_ROWS} %i
dump -o rams.txt @rams
submod -name {top}_rams @rams
blackbox {top}_rams
write_verilog -noattr flat.v
write_verilog -blackboxes boxes.v
"""
    files = steps.run(
        f"{label}: RAM",
        yowasp.yosys(),
        ["rams.ys"],
        {"unit.v": verilog, "rams.ys": script},
        ["flat.v", "boxes.v", "rams.txt"],
    )
    cells = re.findall(r"cell \$mem_v2 \\?(\S+)\n(.*?)^\s*end$", files["rams.txt"], re.M | re.S)
    rams = [Ram(name, _number("WIDTH", text), _number("SIZE", text)) for name, text in cells]
    return files["flat.v"] + files["boxes.v"], rams


def _number(parameter: str, text: str) -> int:
    return int(re.search(rf"parameter \\{parameter} (?:signed )?(\d+)$", text, re.M)[1])
