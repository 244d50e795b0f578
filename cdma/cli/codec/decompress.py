"""``cdma decompress``: the array of a container or of a bare stream."""

import argparse
import json
import sys
from pathlib import Path

from cdma.cli.codec.shared import add_codec_verb, refuse_json_on_stdout
from cdma.cli.options import add_format_options, add_zero_options, flag, shape_of
from cdma.errors import UserError
from cdma.files import STDIO
from cdma.tables import counted

EPILOG = """\
IN may be - for stdin, OUT may be - for stdout.

example:
  cdma decompress relu1.zvc -o relu1.npy
  cdma decompress relu1.bin --raw --count 4096 --dtype float32 --shape 64,64 -o relu1.npy
"""
#: What a container says itself.
STREAM = ("count", "word_bits", "block_words", "tail", "zero_value", "dtype", "shape")
STREAM += ("fold_negative_zero",)


def add_parser(subparsers) -> None:
    """Add the verb ``decompress``."""
    parser = add_codec_verb(subparsers, "decompress", run, "decompress a .zvc file", EPILOG)
    parser.add_argument("input", metavar="IN", help="container, or with --raw a bare stream")
    parser.add_argument("-o", "--output", required=True, metavar="OUT.npy", help="file to write")
    raw = parser.add_argument_group("raw streams")
    raw.add_argument("--raw", action="store_true", help="the input is a bare stream")
    count = "words in it; needed unless --shape is, or --tail is ones"
    raw.add_argument("--count", type=int, metavar="N", help=count)
    add_format_options(raw, default="the size of --dtype, or else 32")
    add_zero_options(raw)
    help_ = "NumPy type of the elements (default: unsigned words)"
    raw.add_argument("--dtype", metavar="TYPE", help=help_)
    raw.add_argument(
        "--shape", type=shape_of, metavar="N,N", help="shape, or scalar (default: one dimension)"
    )


def run(args: argparse.Namespace) -> int:
    """Write the array."""
    if args.output != STDIO and Path(args.output).suffix != ".npy":
        raise UserError(f"{args.output}: expected a name that ends in .npy for the output")
    refuse_json_on_stdout(args)
    stream = {name: getattr(args, name) for name in STREAM if getattr(args, name) is not None}
    if stream and not args.raw:
        raise UserError(
            f"{flag(next(iter(stream)))} is for raw streams: add --raw, or leave it out"
        )
    from cdma.tensors.codec.decompress import decompress_file
    from cdma.tensors.codec.figures import by, codec_line, lossy_line

    facts = decompress_file(args.input, args.output, is_raw=args.raw, **stream)
    if args.json:
        print(json.dumps(facts, indent=2))
        return 0
    array = f"{facts['dtype']} {by(facts['shape'])}, {counted(facts['raw_bytes'], 'byte')}"
    lines = [f"wrote {args.output}: {array}"]
    if "error_bound" in facts:
        lines.append(lossy_line(facts))
    elif "repeats" in facts:
        lines.append(codec_line(facts))
    if facts["dtype"] == "bfloat16":
        view = "np.load(FILE).view(ml_dtypes.bfloat16)"
        lines.append(f"note: .npy has no name for bfloat16; read the file by {view}")
    print("\n".join(lines), file=sys.stderr if args.output == STDIO else sys.stdout)
    return 0
