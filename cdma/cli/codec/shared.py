"""What the verbs of the codec share: figures of a stream, and how types and shapes are written."""

import argparse
from contextlib import contextmanager

from cdma.cli.options import add_verb
from cdma.errors import UserError


def add_codec_verb(subparsers, name: str, run, summary: str, epilog: str):
    """Add a verb with ``--json``."""
    description = f"{summary.capitalize()} with the golden model."
    parser = add_verb(subparsers, name, run, summary, description=description, epilog=epilog)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    return parser


@contextmanager
def naming(path: str):
    """Name the file in errors of the golden model about its content."""
    from cdma.golden import StreamError

    try:
        yield
    except StreamError as error:
        raise UserError(f"{path}: {error}") from error


def dtype_of(name: str):
    """NumPy type of ``--dtype``; raises UserError when it is not a number of 1, 2, 4 or 8 bytes."""
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
    """Type of ``--shape``."""
    try:
        shape = tuple(int(part) for part in text.split(","))
    except ValueError:
        shape = (-1,)
    if any(size < 0 for size in shape):
        raise argparse.ArgumentTypeError(f"must be sizes with commas between, not {text!r}")
    return shape


def figures(fmt, words: int, nonzeros: int, stream_bytes: int, file_bytes: int) -> dict:
    """Sizes, ratio and density of a stream, fit for JSON."""
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


def by(shape) -> str:
    """``2x3`` of (2, 3)."""
    return "x".join(map(str, shape)) or "scalar"


def refuse_json_on_stdout(args: argparse.Namespace) -> None:
    """Refuse ``--json`` where the output itself goes to stdout."""
    from cdma.files import STDIO

    if args.output == STDIO and args.json:
        raise UserError("-o - writes to stdout, where --json would print: leave one of them out")
