"""A design whose registers and memories hold random values before its first reset.

Generated Verilog says nothing of power-up, so that a four-state simulator starts it at X. X is
pessimistic in sums and optimistic in conditions; random values are what a chip has.
"""

import re

import numpy as np

_REGISTER = re.compile(
    r"^ *reg (?:\[(?P<top>\d+):0\] )?(?P<name>\S+) ?(?:\[(?P<last>\d+):0\])?;$", re.MULTILINE
)


def randomised(verilog: str, seed: int = 0) -> str:
    """Generated Verilog, every register and every word of its memories with a random initial value.

    Parameters
    ----------
    verilog : str
        What :func:`cdma.hdl.emit.verilog` gave, in which registers alone are ``reg``.
    seed : int
        Seeds the values.
    """
    rng = np.random.default_rng(seed)

    def literal(bits):
        value = int.from_bytes(rng.bytes(-(-bits // 8)), "little") % (1 << bits)
        return f"{bits}'h{value:x}"

    def with_value(match):
        bits = int(match["top"] or 0) + 1
        rows = match["last"] and range(int(match["last"]) + 1)
        places = [f"[{row}]" for row in rows] if rows else [""]
        values = [f"{match['name']} {place} = {literal(bits)};" for place in places]
        return f"{match[0]}\n  initial begin {' '.join(values)} end"

    return _REGISTER.sub(with_value, verilog)
