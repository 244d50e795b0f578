"""``cdma demo``: real tensors through both units, one table."""

import argparse
import json
import sys
import time
from pathlib import Path

from cdma.cli.cosim import report_of, show_progress
from cdma.errors import UserError
from cdma.tables import format_table
from cdma.tensors.load import load_tensor

#: Bytes of a beat, unless ``--lanes`` says otherwise: 8 x 32, 16 x 16, 32 x 8 bits.
BEAT_BYTES = 32

COLUMNS = {
    "tensor": "tensor",
    "unit": "unit",
    "config": "config",
    "words": "words",
    "density": "density",
    "bytes_in": "bytes in",
    "bytes_out": "bytes out",
    "ratio": "ratio",
    "cycles": "cycles",
    "bytes_per_cycle": "bytes/cycle",
    "verdict": "verdict",
}

EPILOG = """\
exit status: 0 all equal and within the throughput rule, 1 not, 2 wrong input or a missing tool

example:
  cdma capture -o activations
  cdma demo activations
"""


def add_parser(subparsers) -> None:
    """Add the verb ``demo``."""
    parser = subparsers.add_parser(
        "demo",
        help="run every tensor of a folder through both units in a simulator",
        description="Simulate compressor and decompressor under Verilator on every .npy file of "
        "the folders, compare bit for bit with the golden model, and print one table.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folders", nargs="+", metavar="DIR", help="folder of .npy files")
    parser.add_argument(
        "--lanes", type=int, metavar="N", help="words in a beat (default: 32 bytes of them)"
    )
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Simulate everything, one simulation for each configuration and unit; 1 when any differs."""
    start = time.monotonic()
    by_config = {}
    for name, words in _tensors(args.folders).items():
        by_config.setdefault(_config(words, args.lanes), {})[name] = words
    from cdma.sim import SimulationError

    rows = []
    try:
        for config, tensors in by_config.items():
            for unit in ("compressor", "decompressor"):
                show_progress(f"{unit} {config.name}: {len(tensors)} tensors")
                rows += _simulate(unit, config, tensors)
    except SimulationError as error:
        print(f"cdma demo: {error}", file=sys.stderr)
        return 1
    rows.sort(key=lambda row: row["tensor"])
    seconds = time.monotonic() - start
    bad = sum(row["verdict"] != "equal" for row in rows)
    if args.json:
        print(json.dumps({"rows": rows, "bad": bad, "seconds": round(seconds, 1)}, indent=2))
    else:
        print(format_table(rows, COLUMNS))
        print(f"{len(rows)} runs, {bad} bad, in {seconds:.0f} s")
    return 1 if bad else 0


def _tensors(folders):
    from cdma.golden.zvc.words import to_words

    tensors = {}
    for folder in map(Path, folders):
        if not folder.is_dir():
            raise UserError(f"{folder}: no such folder; `cdma capture -o {folder}` makes one")
        files = sorted(folder.rglob("*.npy"))
        if not files:
            raise UserError(f"{folder}: holds no .npy file; `cdma capture -o {folder}` makes some")
        for file in files:
            name = file if len(folders) > 1 else file.relative_to(folder)
            tensors[str(name.with_suffix(""))] = to_words(load_tensor(str(file)))
    return tensors


def _config(words, lanes):
    from cdma.errors import refusals_as_user_errors
    from cdma.hdl.zvc.config import Config

    with refusals_as_user_errors():
        return Config.of(
            BEAT_BYTES // words.itemsize if lanes is None else lanes, words.itemsize * 8
        )


def _simulate(unit, config, tensors):
    from cdma.golden import compress
    from cdma.sim import Scenario, cosim_all

    packets = [
        (compress(words, config.format), words.size) if unit == "decompressor" else words
        for words in tensors.values()
    ]
    scenarios = [
        Scenario([packet], name=name) for name, packet in zip(tensors, packets, strict=True)
    ]
    results = cosim_all(unit, scenarios, config, progress=show_progress)
    rows = []
    for (name, words), result in zip(tensors.items(), results, strict=True):
        row = {"tensor": name, **report_of(result, words)}
        if result.problem:
            show_progress(f"cdma demo: {result.problem}")
        is_slow = result.is_fast_enough is False and row["comparison"] == "equal"
        row["verdict"] = "too slow" if is_slow else row["comparison"]
        rows.append(row)
    return rows
