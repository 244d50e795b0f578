"""Options that say which units, and whose Verilog."""

import argparse
from pathlib import Path

from cdma.cli.options.saves import file_to_write

#: What is generated. Named here too, so that ``--help`` loads no Amaranth.
UNITS = ("compressor", "decompressor")
#: What is simulated: also both, one behind the other.
SIMULATED = (*UNITS, "roundtrip")


def add_units_option(parser: argparse.ArgumentParser, *more: str) -> None:
    """Add ``--unit``, for verbs that do both where none is named; ``more`` can be named, too."""
    which = "which unit, may be repeated (default: compressor and decompressor)"
    parser.add_argument("--unit", choices=(*UNITS, *more), action="append", help=which)


def units_from(args: argparse.Namespace) -> list[str]:
    """Units that ``--unit`` names, each once."""
    return list(dict.fromkeys(args.unit or UNITS))


def add_design_options(parser: argparse.ArgumentParser, waves: str) -> None:
    """Add ``--verilog``, and ``--waves``, of which ``waves`` says what is written."""
    parser.add_argument(
        "--verilog",
        type=Path,
        metavar="FILE",
        help="simulate this file, an edited or foreign unit, in place of the generated Verilog: it "
        "has the module cdma_UNIT, for a roundtrip both",
    )
    text = f"{waves} (.fst or .vcd)"
    parser.add_argument("--waves", type=file_to_write, metavar="OUT.fst", help=text)
