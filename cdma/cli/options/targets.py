"""Options that say for which FPGAs a unit is measured."""

import argparse

#: FPGAs by name; the first is the default. Named here too, so that ``--help`` loads no Amaranth.
TARGETS = ("ecp5", "xilinx", "gowin")


def add_target_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--target`` and ``--no-ecp5``."""
    which = "FPGA, may be repeated; xilinx: area only, without place-and-route (default: ecp5)"
    parser.add_argument("--target", choices=TARGETS, action="append", help=which)
    parser.add_argument("--no-ecp5", action="store_true", help="leave ECP5 out")


def targets_from(args: argparse.Namespace) -> list[str]:
    """FPGAs that the options name, each once."""
    named = dict.fromkeys(args.target or TARGETS[:1])
    return [target for target in named if not (args.no_ecp5 and target == "ecp5")]
