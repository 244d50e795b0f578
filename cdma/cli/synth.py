"""``cdma synth``: area and timing of the units."""

import argparse

from cdma.cli import options
from cdma.cli.engine.sizes import ENGINE, add_channels_option, engines_from
from cdma.errors import UserError

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
  cdma synth --unit engine --channels 1 4 --no-ecp5
  cdma synth --sweep --target xilinx
takes hours, and continues if it is started again
"""
DESCRIPTION = "Measure units on FPGAs and in standard cells: area, clock, bytes per second."


def add_parser(subparsers) -> None:
    """Add the verb ``synth``."""
    texts = {"description": DESCRIPTION, "epilog": EPILOG}
    parser = options.add_verb(subparsers, "synth", run, "report area and timing", **texts)
    add = parser.add_argument
    options.add_units_option(parser, ENGINE)
    add_channels_option(parser)
    name = "a size such as 8x32, 8x32b64 (blocks of 64 words) or zvcplus-fp32; may be repeated"
    add("--config", action="append", metavar="NAME", help=name)
    sweep = "2 to 64 lanes of 8, 16 and 32 bits; what a tool fails on is noted and left out"
    add("--sweep", action="store_true", help=sweep)
    add("--alternatives", action="store_true", help="measure what was considered for the units")
    options.add_number_options(parser)
    options.add_liberty_option(parser)
    add("--seeds", type=options.positive, default=8, metavar="N", help="of nextpnr (default: 8)")
    options.add_target_options(parser)
    options.add_sweep_options(parser, what="tools at a time")
    options.add_folder_option(parser, "report", "build/synth")
    options.add_cache_option(parser)
    add("--baseline", metavar="FILE", help="baseline or earlier synth.json: status 1 if worse")
    options.add_save_option(parser, "write what was measured as a new baseline", "--save-baseline")
    add("--compare", nargs=2, metavar=("A", "B"), help="measure two sizes, set side by side")
    clock = "also say bytes per second and latency at this clock, and what reaches it"
    add("--clock", type=float, metavar="MHZ", help=clock)
    add("--json", action="store_true", help="print the report as JSON")


def run(args: argparse.Namespace) -> int:
    """Measure, write the report, and print it."""
    if args.clock is not None and not 0 < args.clock < 1e6:
        raise UserError(f"--clock must be a clock in MHz, such as 250, not {args.clock:g}")
    from cdma.synth.flow import baseline, campaign, report
    from cdma.toolchain.steps import Steps

    numbers = (args.lanes, args.word_bits, args.block_words)
    named = {"pair": args.compare, "is_sweep": args.sweep, "plus": options.plus_size_from(args)}
    configs = campaign.sizes(args.config, *numbers, **named)
    configs = [*configs, *engines_from(args, configs)]
    if args.alternatives and args.unit:
        raise UserError("give either --unit or --alternatives, not both")
    units = None if args.alternatives else options.units_from(args)
    before = args.baseline and baseline.load(args.baseline)
    parts = {"liberty": options.liberty_path(args), "targets": options.targets_from(args)}
    how = {"seeds": args.seeds, "jobs": args.jobs, "scheduler": args.scheduler}
    steps = Steps(args.cache, options.announce)
    done = campaign.run(args.output, steps, configs, units, is_sweep=args.sweep, **parts, **how)
    changes = baseline.compare(before, done.records, done.tools) if before else None
    text = report.text(done.records, done.notes, args.compare, args.clock)
    if changes:
        text += f"\nagainst {args.baseline}:\n{changes.text()}"
    print(report.as_json(*done, changes and changes.as_dict()) if args.json else text, end="")
    if args.save_baseline:
        baseline.save(args.save_baseline, done.records, done.tools, keeps_ecp5=args.no_ecp5)
    return int(changes is not None and changes.is_worse)
