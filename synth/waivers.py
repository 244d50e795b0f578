"""Warnings about generated Verilog that are known and harmless, each with its reason.

A waiver names the tool, the kind of warning and its wording, so that any other warning is a
finding. A test holds that each one is still needed.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from cdma.synth.lint import Finding


@dataclass(frozen=True)
class Waiver:
    """What is not complained of.

    Parameters
    ----------
    tool, kind : str
        As in :class:`~cdma.synth.lint.Finding`.
    pattern : str
        Regular expression that the whole message matches.
    reason : str
        Why it is harmless.
    """

    tool: str
    kind: str
    pattern: str
    reason: str

    def covers(self, finding: Finding) -> bool:
        """Whether the finding is of this kind and wording."""
        same = (finding.tool, finding.kind) == (self.tool, self.kind)
        return same and re.fullmatch(self.pattern, finding.message) is not None


_WIDTHS = (
    "Amaranth computes with the widths that it needs, and Yosys writes them down and leaves the "
    "extension of the shorter operand and the cut of the result to the rules of the language"
)
_CARRY = (
    "the carry out of a sum that is taken modulo a power of two: Yosys writes it to a bit of an "
    "anonymous wire, which nobody reads"
)

WAIVERS = (
    Waiver(
        *("verilator", "WIDTHEXPAND"),
        r"Operator (ADD|SUB|EQ|NEQ|LT|LTE|GT|GTE|GTS|GTES|SHIFTL) expects \d+ bits on the [LR]HS, "
        r"but [LR]HS's .* generates \d+ bits\.",
        _WIDTHS,
    ),
    Waiver(
        *("verilator", "WIDTHTRUNC"),
        r"Operator ASSIGNW expects \d+ bits on the Assign RHS, but .*'s (ADD|SUB|SHIFTR) generates "
        r"\d+ bits\.",
        _WIDTHS,
    ),
    Waiver(
        *("verilator", "WIDTHTRUNC"),
        r"Logical operator LOGNOT expects 1 bit on the LHS, but .* generates \d+ bits\.",
        "Yosys writes a comparison of a number with zero as its logical negation",
    ),
    Waiver(
        "verilator", "UNUSEDSIGNAL", r"(Bits of signal|Signal) (are|is) not used: '\$\d+'.*", _CARRY
    ),
    Waiver("slang", "arith-op-mismatch", r".*", _WIDTHS),
    Waiver("slang", "width-trunc", r"implicit conversion truncates from \d+ to \d+ bits", _WIDTHS),
    Waiver(
        "slang", "unused-but-set-net", r"net '\$\d+' is driven but its value is never used", _CARRY
    ),
)


def sort(findings: Iterable[Finding]) -> tuple[list[Finding], dict[Waiver, int]]:
    """What no waiver covers, and how many findings each waiver covers."""
    kept, waived = [], {}
    for finding in findings:
        waiver = next((waiver for waiver in WAIVERS if waiver.covers(finding)), None)
        if waiver is None:
            kept.append(finding)
        else:
            waived[waiver] = waived.get(waiver, 0) + 1
    return kept, waived
