"""``cdma offload sweep``: the model over link, ratio, channels, batch and compute."""

import argparse
from functools import partial

from cdma.cli import options
from cdma.cli.offload import shared
from cdma.cli.offload.rows import add_output_options, check_figures, draw, written
from cdma.cli.options.types import several
from cdma.errors import UserError

EPILOG = """\
The options with an s take several values, with commas; the sweep runs every combination. --figures
draws lines over one axis or maps over two: the speed over vDNN where vdnn-all is run.

example:
  cdma offload sweep vgg-d --links 8,16,32,64 --ratios 1.5,2.6,5 --scheme cdma-zv --csv sweep.csv
"""
HELP = "step time over link, ratio, channels, batch and compute"


def add_parser(commands) -> None:
    """Add the command ``sweep``."""
    parser = options.add_verb(commands, "sweep", run, HELP, epilog=EPILOG)
    shared.add_setup_options(parser)
    for axis, type_ in _TYPES.items():
        texts = {"metavar": "A,B,...", "help": f"values in place of --{axis}"}
        parser.add_argument(_flag(axis), dest=f"all_{axis}", type=several(type_), **texts)
    one = "system to show; may be repeated (default: all)"
    parser.add_argument("--scheme", action="append", metavar="NAME", help=one)
    options.add_sweep_options(parser, 1)
    add_output_options(parser, figures=True)


_PLURALS = {"batch": "batches", "channels": "all-channels", "compute": "computes"}
_TYPES = {
    "link": options.above_zero,
    "ratio": options.above_zero,
    "channels": options.positive,
    "batch": options.positive,
    "compute": options.above_zero,
}


def _flag(axis: str) -> str:
    return f"--{_PLURALS.get(axis, axis + 's')}"


def run(args: argparse.Namespace) -> int:
    """Evaluate all points and print."""
    axes = {axis: values for axis in _TYPES if (values := getattr(args, f"all_{axis}"))}
    if not axes:
        raise UserError("nothing to sweep: give --links, --ratios, --batches or another axis")
    from cdma.offload.builder import Wishes

    for axis in axes:
        if getattr(args, axis) != getattr(Wishes, axis):  # not the default
            raise UserError(f"{_flag(axis)} has the values in place of --{axis}: leave one out")
    if "ratio" in axes:
        args.ratio = axes["ratio"][0]
    wishes = shared.wishes_from(args)
    from cdma.offload import output
    from cdma.offload.answers import points
    from cdma.offload.pictures.sweeps import drawn_axes
    from cdma.offload.pictures.sweeps import sweep as picture

    check_figures(args)
    if args.figures is not None:
        drawn_axes(axes)  # before the work
    found = points.over(wishes, axes, args.scheme, args.jobs, args.scheduler)
    if args.figures is not None:
        draw(args, {"sweep": partial(picture, rows=found, axes=axes)})
    if not written(args, found):
        columns = {axis: axis for axis in axes} | output.SCHEME_COLUMNS
        print(output.as_table(found, columns))
    return 0
