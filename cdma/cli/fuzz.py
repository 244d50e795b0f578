"""``cdma fuzz``: random and malformed packets through the compiled Verilog."""

import argparse
import json
import sys

from cdma.cli.cosim import UNITS
from cdma.cli.options import add_config_options, config_from
from cdma.errors import UserError
from cdma.progress import telling
from cdma.tables import format_table

EPILOG = """\
Compressor and roundtrip are fed random words. The decompressor is fed streams that are cut,
extended, flipped, lack a beat, have a wrong word count or are noise, and good ones between them;
--packets counts those that are in error. Output, status and error code are compared with the golden
model, under random back-pressure, with resets in between. The first failure ends the run and names
what replays it.

exit status: 0 as the golden model says, 1 not so, 2 a mistake in the input or a missing tool

example:
  cdma fuzz --unit decompressor --packets 100000 --seed 3
"""
COLUMNS = {
    "unit": "unit",
    "config": "config",
    "packets": "packets",
    "malformed": "malformed",
    "batches": "batches",
    "cycles": "cycles",
    "seconds": "s",
    "verdict": "verdict",
}


def add_parser(subparsers) -> None:
    """Add the verb ``fuzz``."""
    parser = subparsers.add_parser(
        "fuzz",
        help="random and malformed packets through the compiled Verilog",
        description="Play random packets through the compiled Verilog, malformed ones among them, "
        "and compare with the golden model.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--unit", choices=UNITS, action="append", help="which unit, may be repeated (default: all)"
    )
    add_config_options(parser)
    parser.add_argument(
        "--packets",
        type=int,
        default=10_000,
        metavar="N",
        help="packets for each unit, in whole batches (default: 10000)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of all that is random")
    parser.add_argument(
        "--batch", type=int, metavar="N", help="play one batch only, as a failure names it"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Fuzz each unit, report, and give 1 when one failed."""
    for name, least in (("packets", 1), ("seed", 0), ("batch", 0)):
        value = getattr(args, name)
        if value is not None and value < least:
            raise UserError(f"--{name} must be {least} or more, not {value}")
    config = config_from(args)
    from cdma.sim import SimulationError

    try:
        rows = [_fuzz(unit, config, args) for unit in dict.fromkeys(args.unit or UNITS)]
    except SimulationError as error:
        print(f"cdma fuzz: {error}", file=sys.stderr)
        return 1
    if args.json:
        print(json.dumps(rows, indent=2))
    else:
        print(format_table(rows, COLUMNS))
    for row in rows:
        if row["problem"]:
            print(f"cdma fuzz: {row['problem']}\nreplay: {row['replay']}", file=sys.stderr)
    return int(any(row["problem"] for row in rows))


def _fuzz(unit, config, args):
    from cdma.verify.fuzz.units import fuzz

    progress = telling(f"{unit} {config.name}")
    outcome = fuzz(unit, config, args.packets, args.seed, args.batch, progress=progress)
    return {
        "unit": unit,
        "config": config.name,
        "seed": args.seed,
        "packets": outcome.packets,
        "malformed": outcome.malformed if unit == "decompressor" else None,
        "batches": outcome.batches,
        "cycles": outcome.cycles,
        "seconds": outcome.seconds,
        "errors": dict(sorted(outcome.codes.items())),
        "verdict": "failed" if outcome.problem else "as it should be",
        "problem": outcome.problem,
        "replay": _replay(unit, config, args.seed, outcome.failed_batch),
    }


def _replay(unit, config, seed, batch):
    """Command that plays a batch again."""
    if batch is None:
        return None
    fmt = config.format
    return (
        f"cdma fuzz --unit {unit} --lanes {config.lanes} --word-bits {fmt.word_bits} "
        f"--block-words {fmt.block_words} --seed {seed} --batch {batch}"
    )
