"""``cdma generate``: Verilog of a unit, and the manifest that describes it."""

import argparse
import json

from cdma.cli.options import UNITS, add_config_options, config_from
from cdma.errors import UserError
from cdma.files import make_folder, replacing

EPILOG = """\
The same version of cdma writes the same bytes on every run.

example:
  cdma generate compressor --word-bits 32 --lanes 8 -o build
writes build/compressor.v (module cdma_compressor) and build/compressor.json
"""


def add_parser(subparsers) -> None:
    """Add the verb ``generate``."""
    parser = subparsers.add_parser(
        "generate",
        help="write the Verilog of a unit",
        description="Write the Verilog of a unit (an AXI4-Stream top level) and its manifest: "
        "parameters, ports, latency and tool versions.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("unit", choices=UNITS, help="which unit")
    add_config_options(parser)
    parser.add_argument(
        "-o", "--output", required=True, metavar="DIR", help="folder to write to, made if missing"
    )
    parser.add_argument("--json", action="store_true", help="print the manifest")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write both files, or neither."""
    config = config_from(args)
    from amaranth._toolchain.yosys import YosysError

    from cdma.hdl import emit

    try:
        verilog = emit.verilog(args.unit, config)
    except YosysError as error:
        raise UserError(
            f"Yosys, which writes the Verilog, is missing or failed: {error}"
        ) from error
    manifest = emit.manifest(args.unit, config)
    manifest_text = json.dumps(manifest, indent=2) + "\n"
    folder = make_folder(args.output)
    paths = folder / f"{args.unit}.v", folder / f"{args.unit}.json"
    with replacing(paths[0]) as verilog_file, replacing(paths[1]) as manifest_file:
        verilog_file.write_text(verilog, encoding="utf-8", newline="\n")
        manifest_file.write_text(manifest_text, encoding="utf-8", newline="\n")
    if args.json:
        print(manifest_text, end="")
        return 0
    print(f"wrote {paths[0]} and {paths[1]}")
    print(
        f"{args.unit} {config.name}: {config.lanes} lanes of {config.format.word_bits} bits, "
        f"blocks of {config.format.block_words} words, {config.beat_bytes} bytes a cycle, "
        f"latency {manifest['latency_cycles']} cycles"
    )
    return 0
