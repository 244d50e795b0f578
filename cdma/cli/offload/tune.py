"""``cdma offload tune``: CSWAP's tuner on the measured CPU codec."""

import argparse
from functools import partial

from cdma.cli import options
from cdma.cli.offload.rows import add_output_options, check_figures, draw, written
from cdma.errors import UserError, require
from cdma.tensors.load import NAMING

EPILOG = """\
The objective is the measured time of compression and decompression with the golden codec on this
machine's CPU, over chunk size and threads. It is not the GPU codec of the paper.

example:
  cdma capture -o activations
  cdma offload tune activations/step0500.relu2.npy
"""
HELP = "tune chunk size and threads of the CPU codec"


def add_parser(commands) -> None:
    """Add the command ``tune``."""
    parser = options.add_verb(commands, "tune", run, HELP, epilog=EPILOG)
    add = parser.add_argument
    add("tensor", metavar="TENSOR", help=NAMING)
    add("--trials", type=options.positive, default=20, metavar="N", help="(default: 20)")
    add("--seed", type=options.natural, default=0, metavar="N", help="of the random points")
    add_output_options(parser, figures=True)


def run(args: argparse.Namespace) -> int:
    """Measure, tune and print."""
    require("sklearn", extra="capture", verb="cdma offload tune")
    check_figures(args)
    from cdma.offload import output
    from cdma.offload.tuning import cpu
    from cdma.offload.tuning.tuner import tune
    from cdma.tensors.load import load_tensor

    array = load_tensor(args.tensor)
    if not array.size:
        raise UserError(f"{args.tensor}: is empty, expected at least one word")
    space = cpu.space()
    trials = tune(space, lambda p: cpu.seconds(array, *p), args.trials, seed=args.seed)
    rows = [
        {"chunk_words": t.point[0], "threads": t.point[1], "ms": 1e3 * t.value,
         "gb_per_s": array.nbytes / t.value / 1e9}
        for t in trials
    ]  # fmt: skip
    best = min(rows, key=lambda row: row["ms"])
    if args.figures is not None:
        from cdma.offload.pictures.tuning import draw_posterior

        draw(args, {"posterior": partial(draw_posterior, space=space, trials=trials)})
    if written(args, rows, best=best, measured="golden codec on this CPU"):
        return 0
    columns = {key: key.replace("_", " ") for key in best} | {"gb_per_s": "GB/s"}
    print(output.as_table(rows, columns))
    chunk, threads = best["chunk_words"], best["threads"]
    print(f"best: {chunk:,} words a chunk, threads: {threads} (golden codec, measured on this CPU)")
    return 0
