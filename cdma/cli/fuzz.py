"""``cdma fuzz``: random and malformed packets through the compiled Verilog."""

import argparse
import json
import sys

from cdma.cli import engine, options
from cdma.files import write_text
from cdma.progress import timed
from cdma.tables import format_table

EPILOG = f"""\
Compressor and roundtrip are fed random words. The decompressor is fed streams that are cut,
extended, flipped, lack a beat, have a wrong word count or are noise, and good ones between them;
--packets counts the malformed ones. Output, status and error code are compared with the golden
model, under random back-pressure and resets. The first failure ends the run and prints its replay.

{engine.ABOUT_FUZZ}

exit status: 0 equal to the golden model, 1 a difference, 2 wrong input or a missing tool

example:
  cdma fuzz --unit engine --all-sizes --packets 1000000 --save fuzz_engine.json
  cdma fuzz --unit compressor --config 8x32 --seed 3 --batch 17 --waves batch17.fst
"""
HELP = "random and malformed packets through the compiled Verilog"
DESCRIPTION = (
    "Random packets, also malformed ones, through the compiled Verilog, against the model."
)


def add_parser(subparsers) -> None:
    """Add the verb ``fuzz``."""
    parser = options.add_verb(subparsers, "fuzz", run, HELP, description=DESCRIPTION, epilog=EPILOG)
    add = parser.add_argument
    which = "which unit, may be repeated (default: all but the engine)"
    add("--unit", choices=(*options.SIMULATED, engine.ENGINE), action="append", help=which)
    options.add_config_options(parser)
    options.add_codec_options(parser)
    engine.add_engine_options(parser)
    add("--packets", type=int, default=10_000, metavar="N", help="of each unit (default: 10000)")
    add("--seed", type=int, default=0, metavar="N", help="of all that is random")
    add("--batch", type=int, metavar="N", help="play one batch only, as a failure names it")
    engine.add_fuzz_options(parser)
    options.add_design_options(parser, "file for the waveforms of the batch that fails, or --batch")
    options.add_sweep_options(parser)
    add("--json", action="store_true", help="print the report as JSON")
    options.add_save_option(parser, "write the report there too, as JSON")


def run(args: argparse.Namespace) -> int:
    """Fuzz each unit, report, and give 1 when one failed."""
    options.refuse_below(args, packets=1, seed=0, batch=0)
    units = list(dict.fromkeys(args.unit or options.SIMULATED))
    if engine.ENGINE not in units:
        engine.refuse_engine_options(args)
    config = options.config_from(args)
    from cdma.verify.fuzz import play, report

    how = {name: getattr(args, name) for name in ("verilog", "waves", "jobs", "scheduler")}
    rows = []
    try:
        for unit in units:
            if unit == engine.ENGINE:
                rows += engine.fuzz(args, timed(unit))
                continue
            what = (unit, config, args.packets, args.seed, args.batch)
            outcome = play.fuzz(*what, **how, progress=timed(f"{unit} {config.name}"))
            rows.append(report.row(unit, config, args.seed, outcome, args.verilog))
    finally:
        if args.save and rows:  # also those before a unit that stops the run
            write_text(args.save, f"{json.dumps(rows, indent=1)}\n")
    print(json.dumps(rows, indent=2) if args.json else format_table(rows, report.COLUMNS))
    for row in (row for row in rows if row["problem"]):
        waves = "" if args.waves or row["unit"] == engine.ENGINE else " --waves fail.fst"
        print(f"cdma fuzz: {row['problem']}\nreplay: {row['replay']}{waves}", file=sys.stderr)
    return int(any(row["problem"] for row in rows))
