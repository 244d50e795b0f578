"""``cdma generate``: Verilog of a unit, and the manifest that describes it."""

import argparse
import json

from cdma.cli.engine.options import SIZES, add_engine_options, engine_config_from
from cdma.cli.options import UNITS, add_config_options, config_from, flag
from cdma.errors import UserError, refusals_as_user_errors

EPILOG = """\
The same version of cdma writes the same bytes on every run. A folder that has units of another
size is refused, since such units do not fit together; --prefix allows two sizes in one design.

examples:
  cdma generate both -o rtl
writes rtl/compressor.v (module cdma_compressor), rtl/compressor.json, and for the decompressor
  cdma generate both --config 16x16 --prefix act16 --template -o rtl
writes rtl/act16_compressor.v and so on, and rtl/act16_roundtrip_tb.sv, a test bench to begin with
  cdma generate engine --channels 4 -o rtl
writes rtl/engine.v (module cdma_engine), rtl/engine.json, and the registers: rtl/cdma_regs.h for C,
rtl/registers.md to read, rtl/cdma.rdl in SystemRDL
"""


def add_parser(subparsers) -> None:
    """Add the verb ``generate``."""
    parser = subparsers.add_parser(
        "generate",
        help="write the Verilog of a unit or of the engine",
        description="Write the Verilog of a unit (an AXI4-Stream top level) or of the engine (AXI4 "
        "and AXI4-Lite) and its manifest: parameters, ports, latency, error codes, checksum and "
        "tool versions.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("unit", choices=(*UNITS, "both", "engine"), help="what to generate")
    add_config_options(parser)
    add_engine_options(parser)
    parser.add_argument(
        "-o", "--output", required=True, metavar="DIR", help="folder to write to, made if missing"
    )
    add = parser.add_argument
    add("--name", metavar="MODULE", help="name of the top module and its files, for one unit")
    add("--prefix", metavar="TEXT", help="modules and files are called TEXT_compressor and so on")
    add("--template", action="store_true", help="also write a test bench that connects both units")
    add("--sources", action="store_true", help="keep attributes with the Amaranth source lines")
    add("--force", action="store_true", help="replace files of another size, and edited files")
    add("--json", action="store_true", help="print the manifest; of both units, by unit")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write all files, or none."""
    from amaranth._toolchain.yosys import YosysError

    try:
        with refusals_as_user_errors():
            return _run_engine(args) if args.unit == "engine" else _run_units(args)
    except YosysError as error:
        raise UserError(
            f"Yosys, which writes the Verilog, is missing or failed: {error}"
        ) from error


def _run_engine(args):
    for option in ("prefix", "template"):
        if getattr(args, option):
            raise UserError(f"{flag(option)} is for units, not for the engine")
    config = engine_config_from(args)
    from cdma.generate.engine import write_engine

    written = write_engine(
        args.output, config, args.name, with_sources=args.sources, force=args.force
    )
    if args.json:
        print(json.dumps(written.manifests["engine"], indent=2))
        return 0
    print("wrote", ", ".join(str(path) for path in written.paths))
    print(
        f"engine {config.name}: {config.channels} channels of {config.beat_bytes} bytes a cycle, "
        f"link of {config.link_bytes} bytes a cycle, stripes of {config.stripe_bytes} bytes"
    )
    return 0


def _run_units(args):
    for option in SIZES:
        if getattr(args, option) is not None:
            raise UserError(f"{flag(option)} is for the engine, not for units")
    config = config_from(args)
    from cdma.generate.files import write

    units = UNITS if args.unit == "both" else (args.unit,)
    written = write(
        args.output,
        config,
        units,
        name=args.name,
        prefix=args.prefix,
        with_sources=args.sources,
        with_template=args.template,
        force=args.force,
    )
    if args.json:
        manifests = written.manifests
        print(json.dumps(manifests if args.unit == "both" else manifests[args.unit], indent=2))
        return 0
    print("wrote", ", ".join(str(path) for path in written.paths))
    for unit, manifest in written.manifests.items():
        print(
            f"{unit} {config.name}: {config.lanes} lanes of {config.format.word_bits} bits, "
            f"blocks of {config.format.block_words} words, {config.beat_bytes} bytes a cycle, "
            f"latency {manifest['latency_cycles']} cycles"
        )
    return 0
