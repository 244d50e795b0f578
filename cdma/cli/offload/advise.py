"""``cdma offload advise``: does an accelerator need this engine, and of which size?"""

import argparse
from functools import partial

from cdma.cli import options
from cdma.cli.offload import shared
from cdma.cli.offload.rows import add_output_options, draw, written

EPILOG = """\
An engine pays when the step is at least 1 % shorter than the best lossless baseline of today that
needs no more peak memory. Say how fast the accelerator computes, with --tflops (achieved) or
--times; without either, the answer is a table over compute speed.

example:
  cdma offload advise vgg-d --link 55 --tflops 60 --dram 2000 --ratio 2.6
"""
HELP = "whether an engine pays, and the smallest that fills the link"


def add_parser(commands) -> None:
    """Add the command ``advise``."""
    parser = options.add_verb(commands, "advise", run, HELP, epilog=EPILOG)
    shared.add_setup_options(parser)
    speed = "achieved compute speed of the training step, in TFLOP/s"
    parser.add_argument("--tflops", type=options.above_zero, metavar="X", help=speed)
    add_output_options(parser, figures=True)


def run(args: argparse.Namespace) -> int:
    """Choose, compare and print."""
    setup = shared.setup_from(args)
    from cdma.offload import output
    from cdma.offload.answers import advice, advise

    row, setup = advise.choose(setup)
    is_known = bool(args.tflops or args.times)
    if args.tflops:
        setup = advise.at_speed(setup, args.tflops)
    found = advise.curve(setup, (1,) if is_known else advise.FACTORS)
    about = advice.about(setup, row, is_known)
    if args.figures is not None:
        from cdma.offload.pictures.advice import draw_advice

        draw(args, {"advice": partial(draw_advice, setup=setup)})
    if not written(args, found, **about):
        print(advice.text(about))
        print(output.as_table(found, advise.COLUMNS))
    return 0
