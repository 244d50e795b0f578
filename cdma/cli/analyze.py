"""``cdma analyze``: density and compression ratio of tensors, by algorithm."""

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path

from cdma.cli.options import add_sweep_options
from cdma.errors import UserError, hint, require
from cdma.files import make_folder, replacing
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
"""


def add_parser(subparsers) -> None:
    """Add the verb ``analyze``."""
    parser = subparsers.add_parser(
        "analyze",
        help="compare compression algorithms and layouts on tensors",
        description="Density and compression ratio of every tensor, by algorithm and layout.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help=f"{NAMING}; or a folder")
    parser.add_argument(
        "--algorithm",
        action="append",
        metavar="NAME",
        help="zvc32, zvc16, zvc8, rl, eyeriss, zlib4k, zlib, zstd or lz4; may be repeated "
        "(default: all that are installed)",
    )
    parser.add_argument(
        "--layout",
        action="append",
        choices=("NCHW", "NHWC", "CHWN"),
        help="layout to compare; may be repeated (default: the table shows each tensor as it is "
        "stored; --csv and --json have all three)",
    )
    parser.add_argument(
        "--axes",
        metavar="AXES",
        help="axes of tensors whose layout no list gives, such as NHWC "
        "(default: four are NCHW, two NC)",
    )
    parser.add_argument(
        "--rtl", action="store_true", help="also run the compressor's RTL: cycles and bytes"
    )
    parser.add_argument(
        "--lanes", type=int, metavar="N", help="words in a beat of it (default: 32 bytes of them)"
    )
    parser.add_argument("--csv", metavar="FILE", help="write all figures as CSV")
    parser.add_argument("--json", action="store_true", help="print all figures as JSON")
    parser.add_argument("--figures", metavar="DIR", help="draw figures, SVG and PNG")
    add_sweep_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Analyze, write, report."""
    from cdma.study.algorithms.registry import installed
    from cdma.study.analysis import plan
    from cdma.study.layouts import LAYOUTS
    from cdma.study.report import plots, tables
    from cdma.study.run import analyze_all, reasons

    algorithms, missing = installed(args.algorithm)
    if missing:
        print(f"{' and '.join(missing)} left out: {hint('study')} adds them", file=sys.stderr)
    failures: dict[str, str] = {}
    tasks = plan(
        args.files,
        args.axes,
        failures,
        algorithms=tuple(algorithms),
        layouts=tuple(args.layout or LAYOUTS),
        with_rtl=args.rtl,
        lanes=args.lanes,
    )
    with ExitStack() as outputs:  # what cannot be written is refused before the work, not after it
        if args.figures:
            require("matplotlib", extra="study", verb="--figures")
            folder = make_folder(args.figures)
        if args.csv:
            csv = outputs.enter_context(replacing(args.csv))
        records, failed = analyze_all(tasks, args.jobs, args.scheduler)
        failures |= failed
        if not records:
            raise UserError("; ".join(reasons(failures)))
        if args.csv:
            csv.write_text(tables.as_csv(records), encoding="utf-8", newline="")
        if args.figures:
            plots.draw(records, Path(folder))
    for reason in reasons(failures):
        print(f"cdma analyze: {reason}", file=sys.stderr)
    is_wide = bool(args.layout)
    print(tables.as_json(records, failures) if args.json else tables.text(records, is_wide), end="")
    if failures:
        return 2
    return int(any(record["rtl"] and record["rtl"]["problem"] for record in records))
