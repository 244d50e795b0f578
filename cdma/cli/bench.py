"""``cdma bench``: speed of the golden models and of the compiled RTL, with zlib and cocotb."""

import argparse
import json

from cdma.cli import options
from cdma.cli.codec.shared import refuse_given
from cdma.cli.engine import bench as engine_bench
from cdma.errors import UserError

EPILOG = """\
MB/s counts bytes of the array, for every row; bigger is better, as is "x zlib", the speed next to
zlib of level 6 in the same direction. Memory is the peak of the operation beyond its input, as a
multiple of the size of the array; smaller is better. ZVC+ is measured for each type and each of its
repeats, on 16 MiB at most.

The RTL is the compressor of 8 lanes of 32 bits, compiled and under cocotb, on 16 MiB at most, the
start of the simulator included. It is left out where a tool is missing.

With --engine, tensors go out and back through engines of 1, 2, 4 and 8 channels instead. Cycles are
those of a job without the latencies of its memories, beside a lower bound; smaller is better.

With --targets, engines of 1, 2, 4 and 8 channels are measured against their targets for speed, and
the points of the plots. The exit status is 1 when a target is missed.

example:
  cdma bench --mib 16
  cdma bench --engine activations/step0500.relu2.npy --channels 1 4
  cdma bench --targets --channels 1
"""
#: Size of the array by default, and at most.
MIB, MOST_MIB = 64, 65_536
HELP = "measure the speed of the golden models and of the compiled RTL"
DESCRIPTION = """\
Measure speed and memory of the golden models beside zlib, and the speed of the compiled RTL beside
cocotb, on random numbers."""


def add_parser(subparsers) -> None:
    """Add the verb ``bench``."""
    texts = {"description": DESCRIPTION, "epilog": EPILOG}
    parser = options.add_verb(subparsers, "bench", run, HELP, **texts)
    add = parser.add_argument
    add("--json", action="store_true", help="print the result as JSON")
    add("--mib", type=int, metavar="N", help=f"size of the array in MiB (default: {MIB})")
    density = "share of words that are not zero, 0 to 1 (default: 0.5)"
    add("--density", type=float, metavar="D", help=density)
    names = "tensors to take through engines, in place of the speeds"
    add("--engine", nargs="+", metavar="TENSOR", help=names)
    add("--targets", action="store_true", help="measure the engine against its targets")
    sizes = "channels of the engines"
    add("--channels", nargs="+", type=int, metavar="N", help=sizes)
    options.add_save_option(parser, "file for what --engine or --targets measures, as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the table or the JSON."""
    if args.engine and args.targets:
        raise UserError("give either --engine or --targets, not both")
    if args.engine or args.targets:
        refuse_given(args, ("mib", "density"), "is not for --engine and --targets")
        return (engine_bench.run if args.engine else engine_bench.run_targets)(args)
    refuse_given(args, ("channels", "save"), "is for --engine and --targets")
    mib = MIB if args.mib is None else args.mib
    density = 0.5 if args.density is None else args.density
    if not 1 <= mib <= MOST_MIB:
        raise UserError(f"--mib must lie in 1..{MOST_MIB}, not {mib}")
    if not 0 <= density <= 1:
        raise UserError(f"--density must lie in 0..1, not {density}")
    from cdma.study import speed

    result = speed.measure(mib << 20, density)
    result["zvcplus"] = speed.measure_zvcplus(min(mib << 20, speed.PLUS_BYTES), density)
    try:
        result["rtl"] = speed.measure_rtl(min(mib << 20, speed.RTL_BYTES), density)
    except UserError as error:
        speed.report(f"RTL left out: {error}")
        result["rtl"] = []
    print(json.dumps(result, indent=2) if args.json else speed.text(result))
    return 0
