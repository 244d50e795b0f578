"""``cdma offload measure``: times of the CPU codec, for CSWAP's regression and tuner."""

import argparse

from cdma.cli import options
from cdma.errors import require
from cdma.tables import counted

EPILOG = """\
Times are CPU seconds of the golden codec on this machine. cdma offload validate compares them with
what CSWAP says of its regression and of its tuner.

example:
  cdma offload measure --save docs/measurements/offload_cpu.json
"""
HELP = "measure the CPU codec for CSWAP's regression and tuner"


def add_parser(commands) -> None:
    """Add the command ``measure``."""
    parser = options.add_verb(commands, "measure", run, HELP, epilog=EPILOG)
    add = parser.add_argument
    options.add_save_option(parser, "file to write, JSON", required=True)
    samples = "tensors to fit, and as many to test (default: 300)"
    add("--samples", type=options.positive, default=300, metavar="N", help=samples)
    chunks = "chunk sizes of the tuner's space (default: 500)"
    add("--chunks", type=options.positive, default=500, metavar="N", help=chunks)


def run(args: argparse.Namespace) -> int:
    """Measure and write."""
    require("sklearn", extra="capture", verb="cdma offload measure")
    from cdma.offload.tuning import measured

    found = measured.measure(args.samples, args.chunks)
    measured.save(found, args.save)
    samples, points = counted(len(found.samples), "sample"), counted(len(found.space), "point")
    print(f"wrote {args.save}: {samples}, {points}")
    return 0
