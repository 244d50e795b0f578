"""``cdma synth``: area and timing of the units."""

import argparse
import json
import os
import sys

from cdma.cli.options import (
    add_format_options,
    add_sweep_options,
    add_units_option,
    config_named,
    format_from,
    positive,
    units_from,
)
from cdma.errors import UserError, refusals_as_user_errors
from cdma.files import make_folder, write_text

EPILOG = """\
ECP5 needs pip install 'cdma-engine[synth]'; standard-cell area needs a Liberty file, and timing
also needs OpenSTA (the program sta). Steps whose inputs have not changed are taken from the cache.

examples:
  cdma synth --config 8x32 --config 16x16 --liberty nangate45_typ.lib.gz
writes build/synth/synth.md, build/synth/synth.json and a plot
  cdma synth --config 8x32 --baseline docs/measurements/baseline.json
says what got better and worse, and ends with status 1 when anything got worse
  cdma synth --compare 8x32 16x16 --clock 200
sets two configurations side by side, and says what both do at 200 MHz
  cdma synth --sweep --seeds 3 --liberty nangate45_typ.lib.gz
takes hours; started again, it continues where it was interrupted
"""


def add_parser(subparsers) -> None:
    """Add the verb ``synth``."""
    parser = subparsers.add_parser(
        "synth",
        help="report area and timing",
        description="Measure units on ECP5 and in standard cells: area, clock, bytes per second.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_units_option(parser)
    parser.add_argument(
        "--config",
        action="append",
        metavar="NAME",
        help="lanes x word bits, such as 8x32 (8x32b64: blocks of 64 words); may be repeated",
    )
    parser.add_argument(
        "--sweep",
        action="store_true",
        help="2 to 64 lanes of 8, 16 and 32 bits; what a tool fails on is noted and left out",
    )
    parser.add_argument(
        "--alternatives",
        action="store_true",
        help="measure what was considered for the units instead of the units",
    )
    parser.add_argument(
        "--lanes", type=int, metavar="N", help="words in a beat, in place of --config (default: 8)"
    )
    add_format_options(parser)
    parser.add_argument(
        "--liberty",
        metavar="FILE",
        help="cell library, .lib or .lib.gz (default: $CDMA_LIBERTY, a file or a folder)",
    )
    parser.add_argument(
        "--seeds", type=positive, default=8, metavar="N", help="runs of nextpnr (default: 8)"
    )
    parser.add_argument("--no-ecp5", action="store_true", help="leave ECP5 out")
    add_sweep_options(parser, what="tools at a time")
    parser.add_argument(
        *("-o", "--output"),
        default="build/synth",
        metavar="DIR",
        help="folder of the report, made if missing (default: build/synth)",
    )
    parser.add_argument(
        "--cache",
        metavar="DIR",
        help="folder of kept results (default: $CDMA_CACHE, or your cache folder)",
    )
    parser.add_argument(
        "--baseline",
        metavar="FILE",
        help="compare with this baseline, or with an earlier synth.json: exit status 1 if worse",
    )
    parser.add_argument(
        "--save-baseline", metavar="FILE", help="write what was measured as a new baseline"
    )
    parser.add_argument(
        "--compare",
        nargs=2,
        metavar=("A", "B"),
        help="measure two configurations, such as 8x32 16x16, and set them side by side",
    )
    parser.add_argument(
        "--clock",
        type=float,
        metavar="MHZ",
        help="also say bytes per second and latency at this clock, and what reaches it",
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measure, write the report, and print it."""
    from cdma.synth import liberty
    from cdma.synth.alternatives import catalogue
    from cdma.synth.flow import baseline, measure, plot, report
    from cdma.synth.flow.compare import at_clock, comparison
    from cdma.toolchain.opensta import opensta
    from cdma.toolchain.steps import Steps
    from cdma.toolchain.yowasp import nextpnr_ecp5, yosys

    if args.clock is not None and not 0 < args.clock < 1e6:
        raise UserError(f"--clock must be a clock in MHz, such as 250, not {args.clock:g}")
    configs = _configs(args)
    if args.alternatives and args.unit:
        raise UserError("give either --unit or --alternatives, not both")
    before = baseline.load(args.baseline) if args.baseline else None
    path = args.liberty or os.environ.get("CDMA_LIBERTY")
    library = liberty.read(path) if path else None
    if args.no_ecp5 and library is None:
        raise UserError("nothing to measure: --no-ecp5 and no --liberty FILE or CDMA_LIBERTY")

    notes = []
    used = [yosys()] + ([] if args.no_ecp5 else [nextpnr_ecp5()])
    if library is None:
        notes.append("no liberty given (--liberty FILE or CDMA_LIBERTY): ASIC columns left out")
    else:
        try:
            used.append(opensta())
        except UserError as error:
            notes.append(f"{error}; critical path left out")
    for note in notes:
        print(note, file=sys.stderr)
    versions = {tool.name: tool.version for tool in used}

    folder = make_folder(args.output)
    steps = Steps(args.cache, _announce)

    def designs():
        for config in configs:
            _announce(f"{config.name}: Verilog", steps.seconds)
            if args.alternatives:
                for name in catalogue.COMPONENTS:
                    yield catalogue.design(name, config)
            else:
                for unit in units_from(args):
                    yield measure.generated(unit, config)

    # A sweep takes hours: it writes partial results, and continues when a tool fails on a size.
    measured = measure.measure_each(
        designs(),
        steps,
        seeds=args.seeds,
        jobs=args.jobs,
        scheduler=args.scheduler,
        with_ecp5=not args.no_ecp5,
        liberty=library,
        with_timing="OpenSTA" in versions,
        flows=["abc"] if args.sweep else None,
        on_failure=notes.append if args.sweep else None,
    )
    records = []
    for record in measured:
        records.append(record)
        json_text = report.as_json(records, notes, versions)
        write_text(folder / "synth.json", json_text)
        write_text(folder / "synth.md", report.markdown(records, notes, versions))
    print(f"wrote {folder / 'synth.md'} and {folder / 'synth.json'}", file=sys.stderr)
    print(
        f"[{steps.seconds:7.1f} s] done: {steps.ran} steps run, {steps.found} kept from before",
        file=sys.stderr,
    )
    if len(configs) > 1:
        plot.draw(records, folder)

    compared = baseline.compare(before, records, versions) if before else None
    if args.json:
        extra = {"comparison": compared.as_dict()} if compared else {}
        print(json.dumps({**json.loads(json_text), **extra}, indent=2))
    else:
        print(report.text(records, notes), end="")
        if args.compare:
            print(f"\n{comparison(records, args.compare)}")
        if args.clock:
            print(f"\nat {args.clock:g} MHz\n{at_clock(records, args.clock)}")
        if compared:
            print(f"\nagainst {args.baseline}:\n{compared.text()}", end="")
    if args.save_baseline:
        baseline.save(args.save_baseline, records, versions)
    return int(compared is not None and compared.is_worse)


def _configs(args: argparse.Namespace) -> list:
    from cdma.hdl.zvc.config import Config
    from cdma.synth.flow import scaling

    sizes = (args.lanes, args.word_bits, args.block_words)
    if args.sweep:
        if args.config or any(size is not None for size in sizes):
            raise UserError("--sweep has its own sizes: leave --config, --lanes and the like out")
        return scaling.sweep()
    if args.compare:
        if args.config or any(size is not None for size in sizes):
            raise UserError("--compare names both sizes: leave --config, --lanes and the like out")
        return [config_named(name) for name in args.compare]
    if args.config is None:
        fmt = format_from(args)
        with refusals_as_user_errors():
            return [Config(8 if args.lanes is None else args.lanes, fmt)]
    if any(size is not None for size in sizes):
        raise UserError("give either --config or --lanes, --word-bits and --block-words, not both")
    return [config_named(name) for name in dict.fromkeys(args.config)]


def _announce(label: str, seconds: float) -> None:
    print(f"[{seconds:7.1f} s] {label}", file=sys.stderr, flush=True)
