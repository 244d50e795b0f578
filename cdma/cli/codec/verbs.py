"""``cdma compress``, ``decompress`` and ``info``: the golden codec on files."""

import argparse
import json
import math
from contextlib import contextmanager
from pathlib import Path

from cdma.cli.options import add_format_options, format_from
from cdma.errors import UserError, refusals_as_user_errors
from cdma.files import replacing
from cdma.tensors.load import NAMING, load_tensor

COMPRESS_EPILOG = """\
A container (.zvc) knows type and shape of its array; a raw stream (--raw) is what the hardware
emits, and whoever decompresses it must be told them.

example:
  cdma compress relu1.npy -o relu1.zvc
  cdma compress tensors.npz:relu1 -o relu1.bin --raw
  cdma compress model.safetensors:conv1.weight -o conv1.zvc
"""
DECOMPRESS_EPILOG = """\
example:
  cdma decompress relu1.zvc -o relu1.npy
  cdma decompress relu1.bin --raw --count 4096 --dtype float32 --shape 64,64 -o relu1.npy
"""
INFO_EPILOG = """\
ratio: bytes of the array for each byte of the stream (bigger is better)
density: share of words that are not zero

example:
  cdma info relu1.zvc
"""


def add_parser(subparsers) -> None:
    """Add the verbs ``compress``, ``decompress`` and ``info``."""
    compress = _add_verb(subparsers, "compress", "compress a tensor", COMPRESS_EPILOG)
    compress.add_argument("input", metavar="IN", help=f"tensor: {NAMING}")
    compress.add_argument("-o", "--output", required=True, metavar="OUT", help="file to write")
    compress.add_argument("--raw", action="store_true", help="write the bare stream, no container")
    add_format_options(compress, default="the size of an element, and nothing else fits")
    compress.set_defaults(run=run_compress)

    decompress = _add_verb(subparsers, "decompress", "decompress a .zvc file", DECOMPRESS_EPILOG)
    decompress.add_argument("input", metavar="IN", help="container, or with --raw a bare stream")
    decompress.add_argument(
        "-o", "--output", required=True, metavar="OUT.npy", help="file to write"
    )
    raw = decompress.add_argument_group("raw streams")
    raw.add_argument("--raw", action="store_true", help="the input is a bare stream")
    raw.add_argument("--count", type=int, metavar="N", help="words in it; needed unless --shape is")
    add_format_options(raw, default="the size of --dtype, or else 32")
    raw.add_argument(
        "--dtype", metavar="TYPE", help="NumPy type of the elements (default: unsigned words)"
    )
    raw.add_argument("--shape", type=shape_of, metavar="N,N", help="shape (default: one dimension)")
    decompress.set_defaults(run=run_decompress)

    info = _add_verb(subparsers, "info", "describe a .zvc file", INFO_EPILOG)
    info.add_argument("input", metavar="FILE.zvc", help="container")
    info.set_defaults(run=run_info)


def run_compress(args: argparse.Namespace) -> int:
    """Write the container, or the bare stream."""
    import numpy as np

    from cdma.golden import compress, write_container

    array = load_tensor(args.input)
    fmt = format_from(args, array.itemsize * 8)
    if fmt.word_bytes != array.itemsize:
        raise UserError(
            f"{args.input}: elements are {array.dtype}, so words have {array.itemsize * 8} bits, "
            f"not {fmt.word_bits}; leave --word-bits out"
        )
    with replacing(args.output) as temporary:
        if args.raw:
            temporary.write_bytes(compress(array, fmt))
        else:
            with refusals_as_user_errors():
                write_container(temporary, array, fmt)
        file_bytes = temporary.stat().st_size
    nonzeros = int(np.count_nonzero(array.view(f"u{array.itemsize}")))
    stream_bytes = fmt.stream_bytes(array.size, nonzeros)
    facts = {
        "output": args.output,
        "container": not args.raw,
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        **_figures(fmt, array.size, nonzeros, stream_bytes, file_bytes),
    }
    if args.json:
        print(json.dumps(facts, indent=2))
        return 0
    print(f"wrote {args.output}: {_summary(facts)}")
    if args.raw:
        shape = ",".join(map(str, array.shape))
        print(
            f"undo with: cdma decompress {args.output} --raw --count {array.size} "
            f"--word-bits {fmt.word_bits} --block-words {fmt.block_words} "
            f"--dtype {array.dtype.name}{f' --shape {shape}' if array.ndim > 1 else ''} -o OUT.npy"
        )
    return 0


def run_decompress(args: argparse.Namespace) -> int:
    """Write the array."""
    import numpy as np

    if Path(args.output).suffix != ".npy":
        raise UserError(f"{args.output}: expected a name that ends in .npy for the output")
    array = _read_raw(args) if args.raw else _read_container(args)
    with replacing(args.output) as temporary, temporary.open("wb") as file:
        np.lib.format.write_array(file, array, allow_pickle=False)
    facts = {
        "output": args.output,
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        "words": array.size,
        "raw_bytes": array.nbytes,
    }
    if args.json:
        print(json.dumps(facts, indent=2))
    else:
        print(f"wrote {args.output}: {array.dtype.name} {_by(array.shape)}, {array.nbytes:,} bytes")
    return 0


def run_info(args: argparse.Namespace) -> int:
    """Describe a container from its header."""
    import numpy as np

    from cdma.golden import read_container, read_header

    with naming(args.input):
        header = read_header(args.input)
        nonzeros = header.nonzeros
        if nonzeros is None:  # raw chunks: only their words tell
            words = read_container(args.input).reshape(-1)
            nonzeros = int(np.count_nonzero(words.view(header.format.dtype)))
    fmt = header.format
    facts = {
        "file": args.input,
        "version": header.version,
        "dtype": header.dtype,
        "shape": list(header.shape),
        **_figures(fmt, header.words, nonzeros, header.stream_bytes, header.file_bytes),
        "header_bytes": header.header_bytes,
        "chunks": len(header.chunk_crcs),
        "chunk_blocks": header.chunk_blocks,
        "raw_chunks": int(header.chunk_raw.sum()),
    }
    if args.json:
        print(json.dumps(facts, indent=2))
        return 0
    lines = {
        "file": f"{args.input} (container version {header.version})",
        "array": f"{header.dtype} {_by(header.shape)}, {header.words:,} words",
        "format": f"{fmt.word_bits}-bit words, blocks of {fmt.block_words} words",
        "size": f"{header.raw_bytes:,} bytes as an array, {header.stream_bytes:,} as a stream, "
        f"{header.file_bytes:,} in the file",
        "chunks": f"{len(header.chunk_crcs):,} of {header.chunk_words:,} words"
        + (f", {facts['raw_chunks']:,} raw" if facts["raw_chunks"] else ""),
        "density": f"{facts['density']:.1%} of the words are not zero",
        "ratio": f"{header.ratio:.3f}",
    }
    for name, text in lines.items():
        print(f"{name:<8} {text}")
    return 0


def _add_verb(subparsers, name: str, summary: str, epilog: str) -> argparse.ArgumentParser:
    parser = subparsers.add_parser(
        name,
        help=summary,
        description=f"{summary.capitalize()} with the golden model.",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    return parser


def _read_container(args: argparse.Namespace):
    from cdma.golden import read_container

    options = ("count", "word_bits", "block_words", "dtype", "shape")
    for option in options:
        if getattr(args, option) is not None:
            name = "--" + option.replace("_", "-")
            raise UserError(f"{name} is for raw streams: add --raw, or leave it out")
    with naming(args.input):
        return read_container(args.input)


def _read_raw(args: argparse.Namespace):
    from cdma.golden import decompress

    if args.count is None and args.shape is None:
        raise UserError(f"{args.input}: a raw stream needs --count or --shape")
    count = math.prod(args.shape) if args.count is None else args.count
    shape = (count,) if args.shape is None else args.shape
    if count < 0:
        raise UserError(f"--count must be zero or more, not {count}")
    if math.prod(shape) != count:
        raise UserError(f"--shape {_by(shape)} has {math.prod(shape)} words, --count is {count}")
    dtype = None if args.dtype is None else _dtype(args.dtype)
    fmt = format_from(args, 32 if dtype is None else dtype.itemsize * 8)
    if dtype is not None and dtype.itemsize != fmt.word_bytes:
        raise UserError(f"--dtype {args.dtype} does not have the {fmt.word_bits} bits of a word")
    stream = Path(args.input).read_bytes()
    with naming(args.input):
        words = decompress(stream, count, fmt)
    return words.view(dtype or words.dtype).reshape(shape)


@contextmanager
def naming(path: str):
    """Name the file in whatever the golden model says about its content."""
    from cdma.golden import StreamError

    try:
        yield
    except StreamError as error:
        raise UserError(f"{path}: {error}") from error


def _dtype(name: str):
    from cdma.golden.container.file import numpy_dtype

    try:
        dtype = numpy_dtype(name)
    except TypeError:
        dtype = None
    is_number = dtype is not None and (dtype.kind in "biufc" or name == "bfloat16")
    if not is_number or dtype.itemsize not in (1, 2, 4, 8):
        raise UserError(f"--dtype must be a NumPy type of 1, 2, 4 or 8 bytes, not {name!r}")
    return dtype


def shape_of(text: str) -> tuple[int, ...]:
    try:
        shape = tuple(int(part) for part in text.split(","))
    except ValueError:
        shape = (-1,)
    if any(size < 0 for size in shape):
        raise argparse.ArgumentTypeError(f"must be sizes with commas between, not {text!r}")
    return shape


def _figures(fmt, words: int, nonzeros: int, stream_bytes: int, file_bytes: int) -> dict:
    raw_bytes = words * fmt.word_bytes
    return {
        "word_bits": fmt.word_bits,
        "block_words": fmt.block_words,
        "words": words,
        "nonzeros": nonzeros,
        "raw_bytes": raw_bytes,
        "stream_bytes": stream_bytes,
        "file_bytes": file_bytes,
        "ratio": raw_bytes / stream_bytes if words else 1.0,
        "density": nonzeros / words if words else 0.0,
    }


def _summary(facts: dict) -> str:
    return (
        f"{facts['dtype']} {_by(facts['shape'])}, {facts['raw_bytes']:,} bytes to "
        f"{facts['stream_bytes']:,} (ratio {facts['ratio']:.3f}, density {facts['density']:.1%})"
    )


def _by(shape) -> str:
    return "x".join(map(str, shape)) or "scalar"
