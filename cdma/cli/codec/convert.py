"""``cdma convert``: a container from or to the data of the engine, or of other silicon."""

import argparse
import json
from pathlib import Path

from cdma.cli.codec import foreign
from cdma.cli.codec.shared import OF_A_CONTAINER, given, refuse_given
from cdma.cli.options import add_verb, shape_of
from cdma.cli.options.codecs import CODECS
from cdma.errors import UserError
from cdma.tables import counted, listed

EPILOG = """\
A container becomes the stream and the index that an engine's prefetch takes. A stream and the index
that an engine's offload left in host memory become a container; nothing is encoded again.

example:
  cdma convert relu1.zvc -o relu1.bin --index relu1.idx
  cdma convert relu1.bin --index relu1.idx --dtype float32 --shape 64,64 -o relu1.zvc
  cdma convert relu1.zvc --to iaa -o relu1.iaa
  cdma convert relu1.iaa --from iaa --dtype float32 -o relu1.zvc
  cdma convert int8.zvc --to aie-ml --mask-order lsb -o int8.aie
  cdma convert int8.zvc --to nvdla --group-words 4608 -o int8   (int8.wmb, int8.wt, int8.wgs)
  cdma convert int8.wmb --from nvdla --group-words 4608 --dtype int8 --shape 64,512,3,3 -o int8.zvc
"""
HELP = "convert between a .zvc file and the engine's stream and index, or data of other silicon"


def add_parser(subparsers) -> None:
    """Add the verb ``convert``."""
    add = add_verb(subparsers, "convert", run, HELP, epilog=EPILOG).add_argument
    add("input", metavar="IN", help="container (.zvc), or the engine's stream")
    add("-o", "--output", required=True, metavar="OUT", help="file to write: .zvc, or stream")
    foreign.add_options(add)
    add("--index", metavar="FILE", help="the engine's index, read or written; needed without --to")
    add("--stripe-bytes", type=int, metavar="N", help="bytes in an engine's stripe (default: 4096)")
    add("--lanes", type=int, metavar="N", help="words in a beat of the engine (default: 32 bytes)")
    add("--block-words", type=int, metavar="N", help="words under one mask (default: 128 bytes)")
    raw = "raw stripes, where a container is encoded again (default: never)"
    add("--raw", choices=("never", "auto", "always"), help=raw)
    add("--codec", choices=CODECS, help="codec, to write a container (default: zvc)")
    add("--dtype", metavar="TYPE", help="element type, to write a container")
    add("--shape", type=shape_of, metavar="N,N", help="shape, or scalar, to write a container")
    add("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> int:
    """Convert in the direction that the names say."""
    if args.to or args.origin:
        return foreign.run(args)
    foreign.refuse_options(args)
    if args.index is None:
        raise UserError("the engine's data needs --index; for other silicon's, give --to or --from")
    is_container = [Path(name).suffix == ".zvc" for name in (args.input, args.output)]
    if is_container[0] == is_container[1]:
        raise UserError(
            f"{args.input}, {args.output}: expected one name that ends in .zvc: "
            "the input to make a stream and an index, the output to make a container"
        )
    from cdma.tensors.codec import convert
    from cdma.tensors.codec.figures import by

    size = given(args, ("stripe_bytes", "lanes", "block_words", "raw"))
    if is_container[0]:
        refuse_given(args, (*OF_A_CONTAINER, "codec"), "is for writing a container")
        facts = convert.to_streams(args.input, args.output, args.index, **size)
    else:
        refuse_given(args, ("raw",), "is for reading a container")
        if args.dtype is None or args.shape is None:
            raise UserError(f"{args.output}: a container needs --dtype and --shape")
        files = (args.input, args.index, args.output)
        facts = convert.to_container(*files, args.dtype, args.shape, codec=args.codec, **size)
    if args.json:
        print(json.dumps(facts, indent=2))
        return 0
    stripes = f"{counted(facts['stripes'], 'stripe')} ({facts['raw_stripes']:,} raw)"
    what = f"{by(facts['shape'])}, {stripes}, {counted(facts['stream_bytes'], 'byte')}"
    print(f"wrote {listed(facts['wrote'])}: {facts['dtype']} {what}")
    return 0
