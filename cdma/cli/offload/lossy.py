"""``cdma offload lossy``: bytes on disk of error-bounded codecs."""

import argparse

from cdma.cli import options
from cdma.cli.offload.densities import add_densities_option, needed_files, say_left_out
from cdma.cli.offload.rows import add_output_options, written

EPILOG = """\
Bounds are abs=EB or rel=R, a multiple of the standard deviation of a tensor's non-zero values. zfp
and SZ3 are measured where zfpy and pysz are installed: pip install 'cdma-engine[lossy]'.

example:
  cdma offload lossy --densities activations --bound rel=0.03
"""
HELP = "bytes on disk of error-bounded codecs, by network"


def add_parser(commands) -> None:
    """Add the command ``lossy``."""
    parser = options.add_verb(commands, "lossy", run, HELP, epilog=EPILOG)
    add_densities_option(parser)
    bound = "error bound; repeatable (default: rel=0.01, rel=0.03 and rel=0.1)"
    parser.add_argument("--bound", action="append", metavar="KIND=X", help=bound)
    options.add_save_option(parser, "write the measurements as JSON")
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    """Measure and print."""
    files = needed_files(args)
    from cdma.offload.lossy import study

    left_out: list[str] = []
    rows = study.measure(files, args.bound or study.BOUNDS, left_out)
    say_left_out(args, left_out)
    if args.save:
        study.save(rows, args.save, left_out)
    if not written(args, rows, **({"left_out": left_out} if left_out else {})):
        print(study.table(rows))
        print()
        print(study.guarantees(rows))
    return 0
