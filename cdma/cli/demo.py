"""``cdma demo``: real tensors through both units, one table."""

import argparse
import json
import time

from cdma.cli import options
from cdma.progress import show
from cdma.tables import counted, format_table

EPILOG = """\
exit status: 0 all equal and within the throughput rule, 1 not, 2 wrong input or a missing tool

example:
  cdma capture -o activations
  cdma demo activations
"""
HELP = "run every tensor of a folder through both units in a simulator"
DESCRIPTION = "Simulate compressor and decompressor under Verilator on every .npy file of the \
folders, compare bit for bit with the golden model, and print one table."


def add_parser(subparsers) -> None:
    """Add the verb ``demo``."""
    texts = {"description": DESCRIPTION, "epilog": EPILOG}
    parser = options.add_verb(subparsers, "demo", run, HELP, **texts)
    add = parser.add_argument
    add("folders", nargs="+", metavar="DIR", help="folder of .npy files")
    add("--lanes", type=int, metavar="N", help="words in a beat (default: 32 bytes of them)")
    engine = "also take the largest tensor through an engine with so many channels"
    add("--engine", type=int, metavar="CHANNELS", help=engine)
    add("--json", action="store_true", help="print the rows as JSON")


def run(args: argparse.Namespace) -> int:
    """Simulate everything, and print a row for each tensor and unit; 1 when any is bad."""
    from cdma.study import demo

    start = time.monotonic()
    tensors = demo.words_in(args.folders)
    if args.engine is not None:  # a wrong size is refused before the simulations
        demo.engine_for(tensors, args.engine, args.lanes)
    rows = demo.run(tensors, args.lanes, show)
    if args.engine is not None:
        rows += demo.run_engine(tensors, args.engine, args.lanes, show)
    seconds = time.monotonic() - start
    bad = sum(row["verdict"] != "equal" for row in rows)
    if args.json:
        print(json.dumps({"rows": rows, "bad": bad, "seconds": round(seconds, 1)}, indent=2))
    else:
        print(format_table(rows, demo.COLUMNS))
        print(f"{counted(len(rows), 'run')}, {bad} bad, in {seconds:.0f} s")
    return int(bad > 0)
