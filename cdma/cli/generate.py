"""``cdma generate``: Verilog of a unit or of the engine, and the manifest that describes it."""

import argparse
import json

from cdma.cli import engine, options
from cdma.errors import UserError
from cdma.progress import running

EPILOG = """\
The same version of cdma writes the same bytes on every run. A folder that has units or an engine of
another size is refused, and edited files are. Two sizes of units in one design: --prefix. Two
engines: --name, and a folder for each.

examples:
  cdma generate both -o rtl
writes rtl/compressor.v (module cdma_compressor), rtl/compressor.json, and for the decompressor
  cdma generate both --config 16x16 --prefix act16 --template -o rtl
writes rtl/act16_compressor.v and so on, and rtl/act16_roundtrip_tb.sv, a test bench to begin with
  cdma generate decompressor --codec zvcplus --type fp32 -o plus
writes the decompressor of ZVC+ (docs/zvcplus.md)
  cdma generate engine --channels 4 -o rtl
writes into rtl: engine.v (module cdma_engine), engine.json; cdma_regs.h, registers.md and cdma.rdl
"""
HELP = "write the Verilog of a unit or of the engine"
DESCRIPTION = "Write the Verilog of a unit (an AXI4-Stream top level) or of the engine (AXI4 and \
AXI4-Lite) and its manifest: parameters, ports, checksum, versions; of units latency, error codes."


def add_parser(subparsers) -> None:
    """Add the verb ``generate``."""
    texts = {"description": DESCRIPTION, "epilog": EPILOG}
    parser = options.add_verb(subparsers, "generate", run, HELP, **texts)
    add = parser.add_argument
    add("unit", choices=(*options.UNITS, "both", engine.ENGINE), help="what to generate")
    options.add_config_options(parser)
    options.add_codec_options(parser)
    options.add_zero_options(parser)
    port = "take the word that is omitted from an input s_zero; it must not change in a packet"
    add("--zero-port", action="store_true", help=port)
    target = "fpga, or asic, rows of flip-flops for standard cells; other latency (default: fpga)"
    add("--target", choices=("fpga", "asic"), help=target)
    engine.add_engine_options(parser)
    options.add_folder_option(parser)
    add("--name", metavar="MODULE", help="name of the files and modules of one unit or the engine")
    add("--prefix", metavar="TEXT", help="modules and files are called TEXT_compressor and so on")
    add("--template", action="store_true", help="also write a test bench that connects both units")
    add("--sources", action="store_true", help="keep attributes with the Amaranth source lines")
    add("--force", action="store_true", help="replace files of another size, and edited files")
    add("--json", action="store_true", help="print the manifest; of both units, by unit")


@running("generating Verilog")
def run(args: argparse.Namespace) -> int:
    """Write all files, or none."""
    from amaranth._toolchain.yosys import YosysError

    from cdma.generate.engine import write_engine
    from cdma.generate.files import write

    how = {"name": args.name, "with_sources": args.sources, "force": args.force}
    try:
        if args.unit == engine.ENGINE:
            for option in ("prefix", "template"):
                if getattr(args, option):
                    raise UserError(f"--{option} is for units, not for the engine: see --name")
            written = write_engine(args.output, engine.engine_config_from(args), **how)
        else:
            engine.refuse_engine_options(args)
            how |= {"prefix": args.prefix, "with_template": args.template}
            units = options.UNITS if args.unit == "both" else (args.unit,)
            written = write(args.output, options.config_from(args), units, **how)
    except YosysError as error:
        raise UserError(f"Yosys, which writes Verilog, is missing or failed: {error}") from error
    if args.json:
        made = written.manifests if args.unit == "both" else written.manifests[args.unit]
        print(json.dumps(made, indent=2))
    else:
        print("\n".join([f"wrote {', '.join(map(str, written.paths))}", *written.lines]))
    return 0
