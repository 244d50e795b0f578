"""``cdma decompress``: the array of a container or of a bare stream."""

import argparse
import json
import math
import sys
from pathlib import Path

from cdma.cli.codec.shared import (
    add_codec_verb,
    by,
    dtype_of,
    naming,
    refuse_json_on_stdout,
    shape_of,
)
from cdma.cli.options import add_format_options, flag, format_from
from cdma.errors import UserError
from cdma.files import STDIO, reading, refuse_same, writing

EPILOG = """\
IN may be - for stdin, OUT may be - for stdout.

example:
  cdma decompress relu1.zvc -o relu1.npy
  cdma decompress relu1.bin --raw --count 4096 --dtype float32 --shape 64,64 -o relu1.npy
"""


def add_parser(subparsers) -> None:
    """Add the verb ``decompress``."""
    parser = add_codec_verb(subparsers, "decompress", run, "decompress a .zvc file", EPILOG)
    parser.add_argument("input", metavar="IN", help="container, or with --raw a bare stream")
    parser.add_argument("-o", "--output", required=True, metavar="OUT.npy", help="file to write")
    raw = parser.add_argument_group("raw streams")
    raw.add_argument("--raw", action="store_true", help="the input is a bare stream")
    raw.add_argument("--count", type=int, metavar="N", help="words in it; needed unless --shape is")
    add_format_options(raw, default="the size of --dtype, or else 32")
    help_ = "NumPy type of the elements (default: unsigned words)"
    raw.add_argument("--dtype", metavar="TYPE", help=help_)
    raw.add_argument("--shape", type=shape_of, metavar="N,N", help="shape (default: one dimension)")


def run(args: argparse.Namespace) -> int:
    """Write the array."""
    import numpy as np

    if args.output != STDIO and Path(args.output).suffix != ".npy":
        raise UserError(f"{args.output}: expected a name that ends in .npy for the output")
    refuse_json_on_stdout(args)
    refuse_same(args.output, args.input)
    with reading(args.input) as source:
        array, stored = _raw(args, source) if args.raw else _container(args, source)
    with writing(args.output) as temporary, temporary.open("wb") as file:
        np.lib.format.write_array(file, array, allow_pickle=False)
    facts = {
        "output": args.output,
        "dtype": stored,
        "shape": list(array.shape),
        "words": array.size,
        "raw_bytes": array.nbytes,
    }
    if args.json:
        print(json.dumps(facts, indent=2))
        return 0
    where = sys.stderr if args.output == STDIO else sys.stdout
    print(f"wrote {args.output}: {stored} {by(array.shape)}, {array.nbytes:,} bytes", file=where)
    if stored == "bfloat16":
        view = "np.load(FILE).view(ml_dtypes.bfloat16)"
        print(f"note: .npy has no name for bfloat16; read the file by {view}", file=where)
    return 0


def _container(args: argparse.Namespace, source: str):
    from cdma.golden import read_container, read_header

    for option in ("count", "word_bits", "block_words", "dtype", "shape"):
        if getattr(args, option) is not None:
            raise UserError(f"{flag(option)} is for raw streams: add --raw, or leave it out")
    with naming(args.input):
        return read_container(source), read_header(source).dtype


def _raw(args: argparse.Namespace, source: str):
    from cdma.golden import decompress

    if args.count is None and args.shape is None:
        raise UserError(f"{args.input}: a raw stream needs --count or --shape")
    count = math.prod(args.shape) if args.count is None else args.count
    shape = (count,) if args.shape is None else args.shape
    if count < 0:
        raise UserError(f"--count must be zero or more, not {count}")
    if math.prod(shape) != count:
        raise UserError(f"--shape {by(shape)} has {math.prod(shape)} words, --count is {count}")
    dtype = None if args.dtype is None else dtype_of(args.dtype)
    fmt = format_from(args, 32 if dtype is None else dtype.itemsize * 8)
    if dtype is not None and dtype.itemsize != fmt.word_bytes:
        raise UserError(f"--dtype {args.dtype} does not have the {fmt.word_bits} bits of a word")
    stream = Path(source).read_bytes()
    with naming(args.input):
        words = decompress(stream, count, fmt)
    words = words.view(dtype or words.dtype).reshape(shape)
    return words, args.dtype if args.dtype == "bfloat16" else words.dtype.name
