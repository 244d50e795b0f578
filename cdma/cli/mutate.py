"""``cdma mutate``: inject faults into the units, and report which the stimulus detects."""

import argparse
import json
import sys

from cdma.cli import options
from cdma.cli.engine import ENGINE
from cdma.errors import UserError
from cdma.files import write_text

#: Least share of the faults that must be found.
LEAST_SCORE = 0.98
#: Lanes, word bits and block of the units and of the engine by default.
UNIT, ENGINE_UNIT = "4x8b16", "2x32"

EPILOG = f"""\
Yosys makes the mutants: a bit at a pin of a cell is inverted, stuck, or inverted where another bit
is set. A mutant is killed when a check of the regression fails. ABC tries to prove that survivors
have the outputs of the unit. Others are open. A run that was interrupted continues where it ended.

Mutants of the engine (--unit engine) play jobs, faults, timeouts and aborts; those in its units are
left out. --sample N plays N of them, evenly spread, and gives the interval of the share (95 %).
With --proofs, survivors are put into the proofs of their components: a proof that fails finds them.

exit status: 0 when {LEAST_SCORE:.0%} of the faults of each unit are found (mutants that are proven
equivalent are none), 1 when not, 2 a mistake in the input or a missing tool

example:
  cdma mutate --unit compressor --count 100 --seed 3
  cdma mutate --codec zvcplus --type bf16 --count 200
  cdma mutate --unit engine --count 1000 --sample 100
"""
HELP = "inject faults into the units, and report which the stimulus detects"


def add_parser(subparsers) -> None:
    """Add the verb ``mutate``."""
    parser = options.add_verb(subparsers, "mutate", run, HELP, description=HELP, epilog=EPILOG)
    add = parser.add_argument
    options.add_units_option(parser, ENGINE)
    name = f"8x32, zvcplus-fp32 or the like (default: {UNIT}, of the engine {ENGINE_UNIT})"
    add("--config", metavar="NAME", help=name)
    options.add_codec_options(parser)
    add("--count", type=int, default=1000, metavar="N", help="mutants of each (default: 1000)")
    add("--sample", type=int, metavar="N", help="play N mutants of the engine (default: all)")
    add("--proofs", action="store_true", help="put survivors of the engine to the proofs")
    add("--seed", type=int, default=0, metavar="N", help="seed of the mutants and of the stimulus")
    options.add_sweep_options(parser, jobs=2, what="threads")
    options.add_save_option(parser, "write the report as JSON")
    add("--json", action="store_true", help="print the report as JSON")


def run(args: argparse.Namespace) -> int:
    """Make mutants of each unit, play them, report; 1 when too few were found."""
    options.refuse_below(args, count=1, seed=0, sample=1)
    units = options.units_from(args)
    for option in ("sample", "proofs"):
        if getattr(args, option) and ENGINE not in units:
            raise UserError(f"--{option} is for the engine, not for units")
    configs = {u: options.config_or(args, ENGINE_UNIT if u == ENGINE else UNIT) for u in units}
    if ENGINE in units:
        options.only_zvc(configs[ENGINE], "mutate --unit engine")
    from cdma.verify.mutation import records, report

    how = (args.count, args.seed, args.sample, {"jobs": args.jobs, "scheduler": args.scheduler})
    found = records.records(configs, *how, has_proofs=args.proofs)
    if args.save:
        write_text(args.save, f"{json.dumps(found, indent=2)}\n")
    print(json.dumps(found, indent=2) if args.json else report.text(found))
    low = [each["unit"] for each in found if each["score"] < LEAST_SCORE]
    for unit in low:
        few = f"{unit}: fewer than {LEAST_SCORE:.0%} of the faults were found"
        print(f"cdma mutate: {few}", file=sys.stderr)
    return int(bool(low))
