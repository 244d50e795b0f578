"""A design with random values in registers and memories before the first reset.

Generated Verilog does not define values at power-up, so a four-state simulator starts with X. X is
pessimistic in sums and optimistic in conditions. A chip has random values.
"""

import re

import numpy as np

_REGISTER = re.compile(
    r"^ *reg (?:\[(?P<top>\d+):0\] )?(?P<name>\S+) ?(?:\[(?P<last>\d+):0\])?;$", re.MULTILINE
)


def randomised(verilog: str, seed: int = 0) -> str:
    """Add random initial values to all registers and all words of memories of generated Verilog.

    Parameters
    ----------
    verilog : str
        From :func:`cdma.hdl.emit.verilog`, where only registers are ``reg``.
    seed : int
        Seed of the values.
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
