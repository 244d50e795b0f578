"""``cdma convert``: between a container and the engine's stream and index."""

import argparse
import json
import math
from contextlib import ExitStack
from pathlib import Path

from cdma.cli.codec.shared import naming, shape_of
from cdma.cli.options import add_verb
from cdma.errors import UserError, refusals_as_user_errors
from cdma.files import replacing

EPILOG = """\
A container becomes the stream and the index that an engine's prefetch takes. A stream and the index
that an engine's offload left in host memory become a container; nothing is encoded again.

example:
  cdma convert relu1.zvc -o relu1.bin --index relu1.idx
  cdma convert relu1.bin --index relu1.idx --dtype float32 --shape 64,64 -o relu1.zvc
"""


def add_parser(subparsers) -> None:
    """Add the verb ``convert``."""
    parser = add_verb(
        subparsers,
        "convert",
        run,
        "convert between a .zvc file and the engine's stream and index",
        description="Convert a .zvc file into the engine's stream and index, or back.",
        epilog=EPILOG,
    )
    parser.add_argument("input", metavar="IN", help="container (.zvc), or the engine's stream")
    parser.add_argument(
        "-o", "--output", required=True, metavar="OUT", help="file to write: a .zvc file, or stream"
    )
    parser.add_argument(
        "--index", required=True, metavar="FILE", help="the engine's index, read or written"
    )
    parser.add_argument(
        "--stripe-bytes",
        type=int,
        default=4096,
        metavar="N",
        help="bytes in a stripe of the engine (default: 4096)",
    )
    parser.add_argument(
        "--lanes",
        type=int,
        metavar="N",
        help="words in a beat of the engine (default: a beat of 32 bytes)",
    )
    parser.add_argument(
        "--block-words", type=int, metavar="N", help="words under one mask (default: 128 bytes)"
    )
    parser.add_argument(
        "--raw",
        choices=("never", "auto", "always"),
        default="never",
        help="raw stripes, where a container is encoded again (default: never)",
    )
    parser.add_argument("--dtype", metavar="TYPE", help="element type, to write a container")
    parser.add_argument("--shape", type=shape_of, metavar="N,N", help="shape, to write a container")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> int:
    """Convert in the direction that the names say."""
    is_container = [Path(name).suffix == ".zvc" for name in (args.input, args.output)]
    if is_container[0] == is_container[1]:
        raise UserError(
            f"{args.input}, {args.output}: expected one name that ends in .zvc: "
            "the input to make a stream and an index, the output to make a container"
        )
    facts = _to_streams(args) if is_container[0] else _to_container(args)
    if args.json:
        print(json.dumps(facts, indent=2))
    else:
        print(
            f"wrote {' and '.join(facts['wrote'])}: {facts['dtype']} "
            f"{'x'.join(map(str, facts['shape'])) or 'scalar'}, {facts['stripes']:,} stripes "
            f"({facts['raw_stripes']:,} raw), {facts['stream_bytes']:,} bytes"
        )
    return 0


def _to_streams(args: argparse.Namespace) -> dict:
    from cdma.golden import read_header
    from cdma.golden.engine import read_zvc

    for option in ("dtype", "shape"):
        if getattr(args, option) is not None:
            raise UserError(f"--{option} is for writing a container: leave it out")
    with naming(args.input):
        header = read_header(args.input)
        block_words = args.block_words or header.format.block_words
        config = _config(args, header.format.word_bits, block_words)
        with refusals_as_user_errors():
            streams = read_zvc(args.input, config, raw=args.raw)
    with ExitStack() as files:
        files.enter_context(replacing(args.output)).write_bytes(streams.stream)
        files.enter_context(replacing(args.index)).write_bytes(streams.index)
    written = [args.output, args.index]
    return _facts(written, streams.dtype, streams.shape, streams.index, streams.stream)


def _to_container(args: argparse.Namespace) -> dict:
    import numpy as np

    from cdma.golden.container.header import DTYPES
    from cdma.golden.engine import write_zvc

    if args.dtype is None or args.shape is None:
        raise UserError(f"{args.output}: a container needs --dtype and --shape")
    if args.dtype not in DTYPES:
        raise UserError(f"--dtype must be one of {', '.join(DTYPES)}, not {args.dtype!r}")
    width = 2 if args.dtype == "bfloat16" else np.dtype(args.dtype).itemsize
    config = _config(args, 8 * width, args.block_words)
    stream = np.frombuffer(Path(args.input).read_bytes(), np.uint8)
    index = np.frombuffer(Path(args.index).read_bytes(), np.uint8)
    expected = 8 * config.stripes(math.prod(args.shape) * width)
    if len(index) != expected:
        raise UserError(f"{args.index}: expected {expected} bytes of index, not {len(index)}")
    with replacing(args.output) as temporary, naming(args.input):
        write_zvc(temporary, stream, index, config, args.dtype, args.shape)
    return _facts([args.output], args.dtype, args.shape, index, stream)


def _config(args: argparse.Namespace, word_bits: int, block_words: int | None):
    from cdma.engine_config import EngineConfig

    lanes = 256 // word_bits if args.lanes is None else args.lanes
    with refusals_as_user_errors():
        return EngineConfig(1, lanes, word_bits, args.stripe_bytes, block_words=block_words)


def _facts(written: list[str], dtype: str, shape, index, stream) -> dict:
    flags = index.view("<u4")[::2]
    return {
        "wrote": written,
        "dtype": dtype,
        "shape": list(shape),
        "stripes": len(flags),
        "raw_stripes": int((flags >> 24 & 1).sum()),
        "stream_bytes": len(stream),
    }
