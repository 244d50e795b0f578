"""``cdma formal``: the proofs about the hardware."""

import argparse
import json
from pathlib import Path

from cdma.cli import options

EPILOG = """\
A proof is made at each of its sizes. Components are named by their classes, such as Queue; proofs
by their names, such as zvc/placer or the whole folder lib. --export writes a design (RTLIL) and a
task file (.sby) for each proof and size, for SymbiYosys. --engine sby runs them with Z3: an
induction that needs a rule of the prover's own is found to hold for a few cycles (bounded).

exit status: 0 when all are proven (with --engine sby: when none differs), 1 when not, 2 a mistake
in the input or a missing tool

example:
  cdma formal Queue Placer
  cdma formal zvc/ring --export build/formal
"""


def add_parser(subparsers) -> None:
    """Add the verb ``formal``."""
    texts = {"description": "Prove what the hardware's components promise.", "epilog": EPILOG}
    help_ = "prove what the hardware's components promise"
    parser = options.add_verb(subparsers, "formal", run, help_, **texts)
    parser.add_argument(
        "name", nargs="*", help="component, proof or folder of proofs (default: all)"
    )
    parser.add_argument("--list", action="store_true", help="list the proofs and stop")
    parser.add_argument("--quick", action="store_true", help="leave out the sizes that take long")
    parser.add_argument("--engine", choices=("own", "sby"), default="own", help="(default: own)")
    parser.add_argument(
        "--seconds",
        type=int,
        default=600,
        help="most for a proof, with --engine sby (default: 600)",
    )
    parser.add_argument("--export", type=Path, metavar="DIR", help="write the proofs and stop")
    options.add_save_option(parser, "write the results as JSON")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")


def run(args: argparse.Namespace) -> int:
    """List, export or prove, and print a row for each proof and size."""
    from cdma.errors import UserError
    from cdma.files import write_text
    from cdma.tables import format_table
    from cdma.verify.proofs import campaign, registry

    try:
        chosen = registry.chosen(args.name)
    except ValueError as error:
        raise UserError(str(error)) from error
    if args.seconds < 1:
        raise UserError(f"--seconds must be 1 or more, not {args.seconds}")
    if args.list and args.export:
        raise UserError("--list writes nothing: leave it or --export out")
    if args.quick and not args.list and not any(campaign.sizes(chosen, is_quick=True)):
        raise UserError(f"all sizes of {', '.join(chosen)} take long: leave --quick out")
    if args.list:
        rows = campaign.listed(chosen)
    elif args.export:
        rows = campaign.exported(chosen, args.export, is_quick=args.quick)
    else:
        rows = []
        for row in campaign.proven(chosen, args.engine, args.seconds, is_quick=args.quick):
            rows.append(row)
            if not args.json:
                print(f"{row['proof']} {row['size']}: {row['outcome']}", flush=True)
    text = json.dumps(rows, indent=2)
    if args.save:
        write_text(args.save, text + "\n")
    if args.json:
        print(text)
    elif args.list or args.export:
        print(format_table(rows, tuple(rows[0])))
    return int(any(row.get("outcome") in campaign.FAILED[args.engine] for row in rows))
