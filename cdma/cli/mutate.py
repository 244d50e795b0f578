"""``cdma mutate``: faults put into the units, and whether the regression's stimulus finds them."""

import argparse
import json
import sys
from collections import Counter

from cdma.cli.options import add_units_option, config_named, units_from
from cdma.errors import UserError
from cdma.files import write_text
from cdma.progress import telling
from cdma.tables import format_table

#: Least share of the faults that must be found.
LEAST_SCORE = 0.98

EPILOG = f"""\
Yosys draws the mutants: a bit at a pin of a cell is inverted, stuck, or inverted where another bit
says so. One compiled model has them all. A mutant is killed by what the regression would notice; of
one that survives, ABC is asked to prove that nobody at the ports can tell it from the unit. What is
left is open, named by the line of the sources that its cell was written in. The default size has
as many beats in a block as 8x32, and a mask of two words. A run that was ended goes on from there.

exit status: 0 when {LEAST_SCORE:.0%} of the faults of each unit are found (mutants that are proven
equivalent are none), 1 when not, 2 a mistake in the input or a missing tool

example:
  cdma mutate --unit compressor --count 100 --seed 3
"""
SUMMARY = {
    "unit": "unit",
    "config": "config",
    "mutants": "mutants",
    "killed": "killed",
    "equivalent": "equivalent",
    "open": "open",
    "score": "of the faults",
}
SURVIVORS = {"unit": "unit", "line": "line", "mutant": "mutant", "known": "what is known"}


def add_parser(subparsers) -> None:
    """Add the verb ``mutate``."""
    parser = subparsers.add_parser(
        "mutate",
        help="put faults into the units and see whether the stimulus finds them",
        description="Put faults into the units, and see whether the regression's stimulus finds "
        "them.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_units_option(parser)
    parser.add_argument(
        "--config",
        default="4x8b16",
        metavar="NAME",
        help="lanes x word bits, such as 8x32 (default: 4x8b16)",
    )
    parser.add_argument(
        "--count", type=int, default=1000, metavar="N", help="mutants of each unit (default: 1000)"
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of which mutants, and of the stimulus"
    )
    parser.add_argument(
        "--jobs", type=int, default=2, metavar="N", help="threads at a time (default: 2)"
    )
    parser.add_argument("--save", metavar="FILE", help="write the report as JSON")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Make mutants of each unit, play them, report; 1 when too few were found."""
    for name, least in (("count", 1), ("seed", 0), ("jobs", 1)):
        if getattr(args, name) < least:
            raise UserError(f"--{name} must be {least} or more, not {getattr(args, name)}")
    config = config_named(args.config)
    from cdma.sim import SimulationError

    try:
        records = [_record(unit, config, args) for unit in units_from(args)]
    except SimulationError as error:
        print(f"cdma mutate: {error}", file=sys.stderr)
        return 1
    report = json.dumps(records, indent=2)
    if args.save:
        write_text(args.save, f"{report}\n")
    if args.json:
        print(report)
    else:
        print(summary(records))
        if survivors(records):
            print(f"\n{survivors(records)}")
    low = [record["unit"] for record in records if record["score"] < LEAST_SCORE]
    for unit in low:
        message = f"cdma mutate: {unit}: fewer than {LEAST_SCORE:.0%} of the faults were found"
        print(message, file=sys.stderr)
    return int(bool(low))


def _record(unit, config, args):
    from cdma.verify.mutation.campaign import EQUIVALENT, KILLED, OPEN, mutate

    progress = telling(f"{unit} {config.name}")
    outcome = mutate(unit, config, args.count, args.seed, jobs=args.jobs, progress=progress)
    counts = Counter(fate.verdict for fate in outcome.fates)
    return {
        "unit": unit,
        "config": config.name,
        "seed": args.seed,
        "mutants": len(outcome.fates),
        **{verdict: counts[verdict] for verdict in (KILLED, EQUIVALENT, OPEN)},
        "score": outcome.score,
        "seconds": outcome.seconds,
        "trials": dict(Counter(fate.trial for fate in outcome.fates if fate.trial).most_common()),
        "survivors": sorted(
            (
                {
                    "line": fate.mutant.line,
                    "number": fate.mutant.number,
                    "mutant": str(fate.mutant),
                    "verdict": fate.verdict,
                    "known": fate.reason,
                }
                for fate in outcome.fates
                if fate.verdict != KILLED
            ),
            key=_place,
        ),
    }


def _place(survivor):
    file, _, line = survivor["line"].partition(":")
    return file, int(line or 0), survivor["number"]


def summary(records: list[dict]) -> str:
    """Lay out what became of each unit's mutants."""
    rows = [{**record, "score": f"{record['score']:.1%}"} for record in records]
    return format_table(rows, SUMMARY)


def survivors(records: list[dict]) -> str:
    """Lay out the mutants that are open, by line of the sources; nothing when there are none."""
    rows = [
        {"unit": record["unit"], **survivor}
        for record in records
        for survivor in record["survivors"]
        if survivor["verdict"] == "open"
    ]
    return format_table(rows, SURVIVORS) if rows else ""
