"""``cdma analyze``: what compression makes of tensors, algorithm by algorithm."""

import argparse
import os
import sys
import traceback
from contextlib import ExitStack, closing
from pathlib import Path

from cdma.errors import UserError, require
from cdma.files import make_folder, replacing
from cdma.progress import Bar
from cdma.tensors.load import NAMING

EPILOG = """\
Network, layer, layout and stage of training come from a manifest.json or capture.json beside the
files: {"tensors": [{"file": "a.npz", "key": "relu1", "network": "vgg", "layer": "relu1",
"kind": "conv+relu", "layout": "NCHW", "step": 20}, ...]}, where all but the file may be missing.
.npy, .safetensors and .pt files may be larger than memory.

exit status: 0 fine, 1 the RTL's stream differs, 2 a mistake, or a tensor that could not be analyzed
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
        help="layout to compare; may be repeated (default: all three)",
    )
    parser.add_argument(
        "--axes",
        metavar="AXES",
        help="axes of tensors whose layout no list tells, such as NHWC "
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


def add_sweep_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--jobs`` and ``--scheduler``."""
    parser.add_argument(
        "--jobs",
        type=_positive,
        default=os.cpu_count() or 1,
        metavar="N",
        help="processes (default: the number of processors)",
    )
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="run on a Dask cluster, such as tcp://10.0.0.1:8786, in place of processes here",
    )


def run(args: argparse.Namespace) -> int:
    """Analyze, write, report."""
    from cdma.study.algorithms.registry import installed
    from cdma.study.analysis import plan
    from cdma.study.layouts import LAYOUTS
    from cdma.study.report import plots, tables

    algorithms, missing = installed(args.algorithm)
    if missing:
        print(
            f"{' and '.join(missing)} left out: pip install 'cdma-engine[study]' adds them",
            file=sys.stderr,
        )
    tasks = plan(
        args.files,
        args.axes,
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
        records, failures = analyze_all(tasks, args)
        if not records:
            raise UserError("; ".join(reasons(failures)))
        if args.csv:
            csv.write_text(tables.as_csv(records), encoding="utf-8", newline="")
        if args.figures:
            plots.draw(records, Path(folder))
    for reason in reasons(failures):
        print(f"cdma analyze: {reason}", file=sys.stderr)
    print(tables.as_json(records, failures) if args.json else tables.text(records), end="")
    if failures:
        return 2
    return int(any(record["rtl"] and record["rtl"]["problem"] for record in records))


def analyze_all(tasks, args: argparse.Namespace) -> tuple[list[dict], dict[str, str]]:
    """Records of all tasks in their order, and by name why those failed that did."""
    from cdma.study.analysis import analyze
    from cdma.sweep.sweep import sweep

    total = sum(task.weight for task in tasks)
    label = f"analyzing {len(tasks)} tensor{'s' if len(tasks) > 1 else ''}"
    with closing(Bar(label, total)) as bar:
        jobs = min(args.jobs, len(tasks))
        sweeping = sweep(analyze, tasks, jobs=jobs, scheduler=args.scheduler, progress=bar)
        found = {outcome.task.name: outcome for outcome in sweeping}
    records, failures = [], {}
    for task in tasks:
        outcome = found[task.name]
        if outcome.error is None:
            records += outcome.value
            continue
        if not isinstance(outcome.error, UserError | MemoryError | OSError):
            # A fault of this program: show where.
            traceback.print_exception(outcome.error)
        failures[task.name] = str(outcome.error) or type(outcome.error).__name__
    return records, failures


def reasons(failures: dict[str, str]) -> list[str]:
    """A line for each reason, with the names that it stands for."""
    names: dict[str, list[str]] = {}
    for name, message in failures.items():
        names.setdefault(" ".join(message.splitlines()), []).append(name)
    lines = []
    for message, group in names.items():
        others = f" and {len(group) - 1} more" if len(group) > 1 else ""
        lines.append(message if group[0] in message else f"{group[0]}{others}: {message}")
    return lines


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be an integer of at least 1, not {text!r}")
    return int(text)
