"""``cdma analyze``: density and compression ratio of tensors, by algorithm."""

import argparse
import sys
from pathlib import Path

from cdma.cli import options
from cdma.errors import UserError, hint
from cdma.tensors.load import NAMING

EPILOG = """\
Network, layer, layout and stage of training come from a manifest.json or capture.json beside the
files: {"tensors": [{"file": "a.npz", "key": "relu1", "network": "vgg", "layer": "relu1",
"kind": "conv+relu", "layout": "NCHW", "step": 20}, ...]}, where all but the file may be missing.
.npy, .safetensors and .pt files may be larger than memory.

exit status: 0 success, 1 the RTL's stream differs, 2 wrong input, or a tensor that was not analyzed
(all others are reported)

example:
  cdma capture -o activations
  cdma analyze activations --csv activations.csv --figures figures
  cdma analyze tensors.npz:relu1 --layout NCHW --algorithm zvc32 --algorithm zlib
  cdma analyze half.npy --dtype bfloat16
"""
HELP = "compare compression algorithms and layouts on tensors"
DESCRIPTION = "Density and compression ratio of every tensor, by algorithm and layout."


def add_parser(subparsers) -> None:
    """Add the verb ``analyze``."""
    texts = {"description": DESCRIPTION, "epilog": EPILOG}
    parser = options.add_verb(subparsers, "analyze", run, HELP, **texts)
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help=f"{NAMING}; or a folder")
    algorithms = "zvc32, zvc16, zvc8, zvcplus, zvcplus_left, zvcplus_above, ebpc, rl, eyeriss, "
    algorithms += "zlib4k, zlib, zstd or lz4; may be repeated (default: all that are installed)"
    add("--algorithm", action="append", metavar="NAME", help=algorithms)
    layouts = "layout to compare; may be repeated (default: the table shows each tensor as it is "
    layouts += "stored; --csv and --json have all three)"
    add("--layout", action="append", choices=("NCHW", "NHWC", "CHWN"), help=layouts)
    axes = "axes of tensors whose layout no list gives, such as NHWC "
    add("--axes", metavar="AXES", help=f"{axes}(default: four are NCHW, two NC)")
    options.add_dtype_option(parser)
    add("--rtl", action="store_true", help="also run the compressor's RTL: cycles and bytes")
    add("--lanes", type=int, metavar="N", help="words in a beat of it (default: 32 bytes of them)")
    add("--csv", metavar="FILE", help="write all figures as CSV")
    add("--json", action="store_true", help="print all figures as JSON")
    add("--figures", type=options.folder_to_make, metavar="DIR", help="draw figures, SVG and PNG")
    options.add_sweep_options(parser)


def run(args: argparse.Namespace) -> int:
    """Analyze, write, report."""
    from cdma.study.algorithms.registry import installed
    from cdma.study.analysis import plan
    from cdma.study.layouts import LAYOUTS, check_axes
    from cdma.study.report import plots, tables
    from cdma.study.report.files import analyze_into
    from cdma.study.run import reasons

    if args.lanes is not None and not args.rtl:
        raise UserError("--lanes is for --rtl: add it, or leave --lanes out")
    check_axes(args.axes)
    algorithms, missing = installed(args.algorithm)
    if missing:
        print(f"{' and '.join(missing)} left out: {hint('study')} adds them", file=sys.stderr)
    failures: dict[str, str] = {}
    what = {"algorithms": tuple(algorithms), "layouts": tuple(args.layout or LAYOUTS)}
    what |= {"with_rtl": args.rtl, "lanes": args.lanes}
    tasks = plan(args.files, args.axes, failures, dtype=args.dtype, **what)
    where = {name: getattr(args, name) for name in ("csv", "figures", "jobs", "scheduler")}
    records = analyze_into(tasks, failures, **where)
    for reason in reasons(failures):
        print(f"cdma analyze: {reason}", file=sys.stderr)
    is_wide = bool(args.layout)
    print(tables.as_json(records, failures) if args.json else tables.text(records, is_wide), end="")
    if args.figures:  # after the report, which does not depend on them
        plots.draw(records, Path(args.figures))
    return 2 if failures else int(any(r["rtl"] and r["rtl"]["problem"] for r in records))
