"""``cdma coverage``: functional and code coverage of the regression's stimulus."""

import argparse
import json
import sys

from cdma.cli import options
from cdma.cli.engine import ENGINE, add_engine_options, engine_config_from, refuse_engine_options
from cdma.files import write_text

EPILOG = """\
Functional coverage is observed at the ports of the compiled Verilog, in every cycle: words of each
beat's mask, the lane of its first word, lengths and tails, each error, stalls in each phase of a
packet, packets back to back; of ZVC+ each choice of the encoder, and where controls and payloads
begin. Every kind must occur, and none that is listed as impossible.

Lines, branches and toggles are Verilator's, at 8 lanes of 32 bits. For this size
verify/coverage/unreachable.toml explains what cannot be reached. An explained item that is reached
counts as missing, too.

The engine (--unit engine) is played jobs of the fuzzer, each operation with each field, and a fault
in each access of each operation. verify/coverage/engine_points.py explains what cannot be seen.

exit status: 0 complete, 1 something is missing, 2 a mistake in the input or a missing tool

example:
  cdma coverage --unit decompressor --functional
  cdma coverage --unit engine --channels 2 --stripe-bytes 1024
"""
HELP = "functional and code coverage of the regression's stimulus"
DESCRIPTION = "Measure which kinds, lines, branches and toggles the regression's stimulus reaches."


def add_parser(subparsers) -> None:
    """Add the verb ``coverage``."""
    texts = {"description": DESCRIPTION, "epilog": EPILOG}
    parser = options.add_verb(subparsers, "coverage", run, HELP, **texts)
    add = parser.add_argument
    options.add_units_option(parser, ENGINE)
    options.add_config_options(parser)
    add_engine_options(parser)
    add("--functional", action="store_true", help="leave out lines, branches and toggles")
    more = "batches of the fuzzer after the regression's own packets (default: 8)"
    add("--batches", type=int, default=8, metavar="N", help=more)
    add("--seed", type=int, default=0, metavar="N", help="of all that is random")
    add("--json", action="store_true", help="print the report as JSON")
    options.add_save_option(parser, "write the report there too, as JSON")


def run(args: argparse.Namespace) -> int:
    """Measure each unit, report, and give 1 when something is missing."""
    options.refuse_below(args, batches=0, seed=0)
    units = options.units_from(args)
    size = options.config_from(args)
    if ENGINE in units:
        config = engine_config_from(args)
    else:
        refuse_engine_options(args)
    from cdma.sim import SimulationError
    from cdma.sim.cocotb.ports import Violation
    from cdma.verify.coverage import report

    rows = []
    try:
        for unit in units:
            if unit == ENGINE:
                rows += report.measure_engine(config, args.seed, args.batches)
            else:
                rows += report.measure(unit, size, args.seed, args.batches, args.functional)
    except Violation as error:
        raise SimulationError(str(error)) from error
    text = json.dumps(rows, indent=2)
    if args.save:
        write_text(args.save, f"{text}\n")
    print(text if args.json else report.text(rows))
    problems = report.problems(rows)
    for problem in problems:
        print(problem, file=sys.stderr)
    return int(bool(problems))
