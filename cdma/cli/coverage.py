"""``cdma coverage``: functional and code coverage of the regression's stimulus."""

import argparse
import json
import sys

from cdma.cli.options import add_config_options, add_units_option, config_from, units_from
from cdma.errors import UserError
from cdma.files import write_text
from cdma.progress import telling
from cdma.tables import format_table

EPILOG = """\
Functional coverage is observed at the ports of the compiled Verilog, in every cycle: words of each
beat's mask, the lane of its first word, lengths and tails, each error, stalls in each phase of a
packet, packets back to back. Every kind must occur, and none that is listed as impossible.

Lines, branches and toggles are Verilator's, at 8 lanes of 32 bits. For this size
verify/coverage/unreachable.toml explains what cannot be reached. An explained item that is reached
counts as missing, too.

exit status: 0 complete, 1 something is missing, 2 a mistake in the input or a missing tool

example:
  cdma coverage --unit decompressor --functional
"""
COLUMNS = {
    "unit": "unit",
    "config": "config",
    "what": "what",
    "kinds": "kinds",
    "seen": "seen",
    "explained": "explained",
    "percent": "%",
    "verdict": "verdict",
}


def add_parser(subparsers) -> None:
    """Add the verb ``coverage``."""
    parser = subparsers.add_parser(
        "coverage",
        help="functional and code coverage of the regression's stimulus",
        description="Measure the functional coverage of the regression's stimulus, and which "
        "lines, branches and toggles of the generated Verilog it reaches.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_units_option(parser)
    add_config_options(parser)
    parser.add_argument(
        "--functional", action="store_true", help="leave out lines, branches and toggles"
    )
    parser.add_argument(
        "--batches",
        type=int,
        default=8,
        metavar="N",
        help="batches of the fuzzer after the regression's own packets (default: 8)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of all that is random")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--save", metavar="FILE", help="write the report there too, as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measure each unit, report, and give 1 when something is missing."""
    for name in ("batches", "seed"):
        if getattr(args, name) < 0:
            raise UserError(f"--{name} must be 0 or more, not {getattr(args, name)}")
    config = config_from(args)
    from cdma.sim import SimulationError

    rows = []
    try:
        for unit in units_from(args):
            rows += measure(unit, config, args.seed, args.batches, args.functional)
    except SimulationError as error:
        print(f"cdma coverage: {error}", file=sys.stderr)
        return 1
    text = json.dumps(rows, indent=2)
    if args.save:
        write_text(args.save, f"{text}\n")
    print(text if args.json else format_table([_shown(row) for row in rows], COLUMNS))
    for row in rows:
        for name in ("missing", "unexpected"):
            if row[name]:
                items = ", ".join(map(str, row[name]))
                print(f"{row['unit']}, {row['what']}, {name}: {items}", file=sys.stderr)
    return int(any(row["missing"] or row["unexpected"] for row in rows))


def measure(unit: str, config, seed: int, batches: int, is_functional: bool) -> list[dict]:
    """Coverage of a unit, a row for each point and each kind of code.

    Parameters
    ----------
    unit : str
    config : Config
    seed, batches : int
        Of :func:`cdma.verify.coverage.scenarios.scenarios`.
    is_functional : bool
        Leave out the code.

    Returns
    -------
    list of dict
        ``unit``, ``config``, ``what``, ``kinds`` (how many there are), ``seen``, ``explained`` (of
        code: why they are not seen), ``missing`` and ``unexpected`` (lists).
    """
    from cdma.verify.coverage.code import EXPLAINED, KINDS, condense, measure_code
    from cdma.verify.coverage.functional import measure as measure_functional
    from cdma.verify.coverage.scenarios import scenarios

    def row(what, kinds, seen, explained, missing, unexpected):
        found = {"unit": unit, "config": config.name, "what": what, "kinds": kinds, "seen": seen}
        return found | {"explained": explained, "missing": missing, "unexpected": unexpected}

    def played():
        return scenarios(unit, config, seed, batches)

    found = measure_functional(unit, config, played(), progress=telling(f"{unit}, functional"))
    rows = [
        row(
            point.name,
            len(point.bins),
            len(point.bins) - len(point.missing),
            None,
            point.missing,
            point.unexpected,
        )
        for point in found.points.values()
    ]
    if is_functional or config != EXPLAINED:
        return rows
    code = measure_code(unit, config, played(), progress=telling(f"{unit}, code"))
    for kind in KINDS:
        unreached, unexplained = code.unreached(kind), code.unexplained(kind)
        kinds = len(code.hits[kind])
        explained = len(unreached) - len(unexplained)
        rows.append(row(kind, kinds, kinds - len(unreached), explained, condense(unexplained), []))
    rows[-1]["unexpected"] = condense(code.wrongly_explained)
    return rows


def _shown(row):
    """A row of the table."""
    missing, unexpected = len(row["missing"]), len(row["unexpected"])
    seen = row["seen"] + (row["explained"] or 0)
    counts = {"missing": missing, "unexpected": unexpected}
    verdicts = [f"{count} {what}" for what, count in counts.items() if count]
    percent = f"{100 * seen / row['kinds']:.2f}".removesuffix(".00")
    return row | {"percent": percent, "verdict": ", ".join(verdicts) or "complete"}
