"""Warnings about generated Verilog that are known and harmless, each with its reason.

A waiver has the tool, the kind of warning and its wording. All other warnings are findings. A test
checks that each waiver is still needed.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from cdma.synth.lint.check import Finding


@dataclass(frozen=True)
class Waiver:
    """A warning that is not reported.

    Parameters
    ----------
    tool, kind : str
        See :class:`~cdma.synth.lint.check.Finding`.
    pattern : str
        Regular expression that the whole message matches.
    reason : str
        Why the warning is harmless.
    """

    tool: str
    kind: str
    pattern: str
    reason: str

    def covers(self, finding: Finding) -> bool:
        """Whether the finding has this kind and wording."""
        same = (finding.tool, finding.kind) == (self.tool, self.kind)
        return same and re.fullmatch(self.pattern, finding.message) is not None


_WIDTHS = (
    "Amaranth computes with the widths that it needs, and Yosys writes them down and leaves the "
    "extension of the shorter operand and the cut of the result to the rules of the language"
)
_PARTS = (
    "structures travel whole through ports and registers and sums have a carry: what nobody reads "
    "of them synthesis drops; a signal of which nothing is read is a finding"
)
_CARRY = (
    "a sum in gates has a bit for its carry; where the numbers are too small to carry, Yosys finds "
    "it constant, and nobody reads it"
)
_ANONYMOUS = (
    "Yosys writes a sum that is wider than its target to an anonymous wire and the target at once; "
    "the wire's other bits, often the carry alone, nobody reads"
)
_RESET = "Amaranth gives each module the reset of its domain, also where no register needs it"
_LOOPS = (
    "Verilator orders whole signals, and here bits of one follow from others of it, as in a prefix "
    "sum; that no bit follows from itself is what Yosys checks"
)
_OUTPUTS = (
    "outputs of parts that a unit has no use for: queues beside one of the same length, whose "
    "ready speaks for all; a count of which few bits are wanted; a mask that is read piece by "
    "piece; the fetch of a mask that needs one read only"
)
_CONSTANT = (
    "a loop over lanes compares each with a number that cannot pass the last; that comparison is "
    "constant and vanishes"
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
        r"Logical operator LOGNOT expects 1 bit on the LHS, but .* generates \d+ bits\.",
        "Yosys writes a comparison of a number with zero as its logical negation",
    ),
    Waiver("verilator", "UNUSEDSIGNAL", r"Bits of signal are not used: .*", _PARTS),
    Waiver(
        *("verilator", "UNUSEDSIGNAL"),
        r"Bits of signal are not driven, nor used: 'total(\$\d+)?'\[\d+(:\d+)?\]",
        _CARRY,
    ),
    Waiver("verilator", "UNUSEDSIGNAL", r"Signal is not used: '\$\d+'", _ANONYMOUS),
    Waiver("verilator", "UNUSEDSIGNAL", r"Signal is not used: 'rst'", _RESET),
    Waiver(
        *("verilator", "UNUSEDSIGNAL"),
        r"Signal is not used: '(i__ready|value|mask|fetch)(\$\d+)?'",
        _OUTPUTS,
    ),
    Waiver("verilator", "UNOPTFLAT", r"Signal unoptimizable: Circular combinational.*", _LOOPS),
    Waiver("verilator", "CMPCONST", r"Comparison is constant due to limited range", _CONSTANT),
    Waiver(
        *("verilator", "DECLFILENAME"),
        r"Filename '\w+' does not match MODULE name: '\w+'",
        "a unit is one file, with all its modules",
    ),
    Waiver(
        "slang", "arith-op-mismatch", r"arithmetic between operands of different types.*", _WIDTHS
    ),
    Waiver("slang", "sign-conversion", r"implicit conversion changes signedness from .*", _WIDTHS),
    Waiver("slang", "unused-but-set-net", r"net '\$\d+' is driven but its.*", _ANONYMOUS),
    Waiver(
        *("slang", "unused-but-set-net"),
        r"net '(i__ready|value|mask|fetch)(\$\d+)?' is driven but its value is never used",
        _OUTPUTS,
    ),
    Waiver("slang", "unused-port", r"unused port signal 'rst'", _RESET),
)

_PRIORITY = "an If with several Elif becomes a casez whose first matching item counts, as it should"
_REGISTERS = (
    "the register block gives every field and a pulse for every write; ARENA_BASE, LOCK and many "
    "pulses are for software or for the block alone"
)
_PROT = "registers are the same for secure and other accesses, instructions and data"
_JOB = "a memory of jobs has a port for each stage, and not every stage reads all of a job"
_UNASKED = (
    "ports of parts that one of their places has no use for: the number of a job, what a memory of "
    "another part reads, whether a stripe opens, and a tag that only the index writer has early"
)
_STROBES = (
    "strobes compare each byte of a beat with the first and the last that count: for byte 0 the "
    "comparison is constant and vanishes"
)
_PASSED = "Yosys passes streams as whole ports, also to parts that look at one of their ends"
#: Additional waivers of the engine.
ENGINE_WAIVERS = (
    Waiver("verilator", "CASEOVERLAP", r"Case conditions overlap .*", _PRIORITY),
    Waiver("slang", "case-overlap", r"'casez' statement item overlaps previous item", _PRIORITY),
    Waiver(
        *("verilator", "WIDTHEXPAND"),
        r"Operator LTE?S expects \d+ bits on the RHS, but RHS's SIGNED generates \d+ bits\.",
        _WIDTHS,
    ),
    Waiver(
        "verilator",
        "UNUSEDSIGNAL",
        r"Signal is not used: 'registers[01]?__\w+(\$\d+)?'",
        _REGISTERS,
    ),
    Waiver(
        *("slang", "unused-but-set-net"),
        r"net 'registers[01]?__\w+(\$\d+)?' is driven but its value is never used",
        _REGISTERS,
    ),
    Waiver(
        *("verilator", "WIDTHEXPAND"),
        r"Operator NEGATE expects \d+ bits on the LHS, but LHS's REPLICATE generates \d+ bits\.",
        _WIDTHS,
    ),
    Waiver(
        *("verilator", "UNSIGNED"),
        r"Comparison is constant due to unsigned arithmetic",
        _STROBES,
    ),
    Waiver(
        *("verilator", "UNUSEDSIGNAL"),
        r"Signal is not used: '(views__\d__number|read__data|oldest|opens|is_early)(\$\d+)?'",
        _UNASKED,
    ),
    Waiver(
        *("slang", "unused-but-set-net"),
        r"net '(views__\d__number|read__data|oldest|opens)(\$\d+)?' is driven but its value is "
        r"never used",
        _UNASKED,
    ),
    Waiver("slang", "unused-port", r"unused port signal 'is_early'", _UNASKED),
    Waiver("verilator", "UNUSEDSIGNAL", r"Signal is not used: 'port\$\d+\$0'", _PASSED),
    Waiver("slang", "unused-port", r"unused port signal 'port\$\d+\$0'", _PASSED),
    Waiver("verilator", "UNUSEDSIGNAL", r"Signal is not used: 'axi__a[rw]prot'", _PROT),
    Waiver("slang", "unused-port", r"unused port signal 'axi__a[rw]prot'", _PROT),
    Waiver("verilator", "UNUSEDSIGNAL", r"Signal is not used: 'port__[bw]__payload'", _PASSED),
    Waiver("slang", "unused-port", r"unused port signal 'port__[bw]__payload'", _PASSED),
    Waiver(
        "verilator", "UNUSEDSIGNAL", r"Signal is not used: 'o_status__(payload|valid)'", _OUTPUTS
    ),
    Waiver(
        *("slang", "unused-but-set-net"),
        r"net 'o_status__(payload|valid)' is driven but its value is never used",
        _OUTPUTS,
    ),
    Waiver("verilator", "UNUSEDSIGNAL", r"Signal is not used: 'port__data(\$\d+)?'", _JOB),
    Waiver(
        *("slang", "unused-but-set-net"),
        r"net 'port__data(\$\d+)?' is driven but its value is never used",
        _JOB,
    ),
)

_UNREAD = (
    "signals of parts that a unit has no use for: valid of a counter whose next valid is looked "
    "at; a carry that is kept apart where nothing carries; the parity of a step without repeats"
)
#: Additional waivers of the units of ZVC+.
PLUS_WAIVERS = (
    Waiver(
        *("verilator", "UNSIGNED"),
        r"Comparison is constant due to unsigned arithmetic",
        "a loop over places compares each with a number that may be 0: that comparison vanishes",
    ),
    Waiver(
        *("verilator", "UNUSEDSIGNAL"),
        r"Signal is not used: '(o__valid|gives|parity)(\$\d+)?'",
        _UNREAD,
    ),
    Waiver(
        *("slang", "unused-but-set-net"),
        r"net '(o__valid|gives)(\$\d+)?' is driven but its value is never used",
        _UNREAD,
    ),
    Waiver("slang", "unused-port", r"unused port signal 'parity(\$\d+)?'", _UNREAD),
    Waiver(
        *("verilator", "WIDTHTRUNC"),
        r"Operator ASSIGNW expects \d+ bits on the Assign RHS, but Assign RHS's SHIFTR generates "
        r"\d+ bits\.",
        _WIDTHS,
    ),
    Waiver("slang", "width-trunc", r"implicit conversion truncates from \d+ to \d+ bits", _WIDTHS),
)


def sort(
    findings: Iterable[Finding], waivers: Iterable[Waiver] = WAIVERS
) -> tuple[list[Finding], dict[Waiver, int]]:
    """Findings without a waiver, and the number of findings that each waiver covers."""
    waivers = tuple(waivers)
    kept, waived = [], {}
    for finding in findings:
        waiver = next((waiver for waiver in waivers if waiver.covers(finding)), None)
        if waiver is None:
            kept.append(finding)
        else:
            waived[waiver] = waived.get(waiver, 0) + 1
    return kept, waived
