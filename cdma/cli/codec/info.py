"""``cdma info``: what a container holds."""

import argparse
import json

from cdma.cli.codec.shared import add_codec_verb
from cdma.files import reading
from cdma.tables import counted

EPILOG = """\
ratio: bytes of the array for each byte of the stream, and of outliers (bigger is better)
density: share of words that are not zero

example:
  cdma info relu1.zvc
"""


def add_parser(subparsers) -> None:
    """Add the verb ``info``."""
    parser = add_codec_verb(subparsers, "info", run, "describe a .zvc file", EPILOG)
    parser.add_argument("input", metavar="FILE.zvc", help="container, or - for stdin")


def run(args: argparse.Namespace) -> int:
    """Describe a container from its header."""
    from cdma.golden import read_container, read_header
    from cdma.golden.zvc.stages import count_nonzeros
    from cdma.golden.zvc.words import to_words
    from cdma.tensors.codec.errors import naming
    from cdma.tensors.codec.figures import (
        by,
        codec_figures,
        codec_line,
        figures,
        format_line,
        lossy_figures,
        lossy_line,
    )

    with reading(args.input) as source, naming(args.input):
        header = read_header(source)
        nonzeros = header.nonzeros
        if nonzeros is None:  # the sizes do not tell: count the words
            nonzeros = count_nonzeros(to_words(read_container(source)), header.format)
    fmt = header.format
    facts = {
        "file": args.input,
        "version": header.version,
        "dtype": header.dtype,
        "shape": list(header.shape),
        **figures(fmt, header.words, nonzeros, header.stream_bytes, header.file_bytes),
        **lossy_figures(header),
        **codec_figures(header),
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
        "array": f"{header.dtype} {by(header.shape)}, {counted(header.words, 'word')}",
        "format": format_line(fmt, facts),
        "size": f"{counted(header.raw_bytes, 'byte')} as an array, "
        f"{header.stream_bytes:,} as a stream, {header.file_bytes:,} in the file",
        "chunks": f"{len(header.chunk_crcs):,} of {counted(header.chunk_words, 'word')}"
        + (f", {facts['raw_chunks']:,} raw" if facts["raw_chunks"] else ""),
        "density": f"{facts['density']:.1%} of the words are not zero",
        "ratio": f"{header.ratio:.3f}",
    }
    if header.lossy:
        lines["codec"] = lossy_line(facts)
    elif "repeats" in facts:
        lines["codec"] = codec_line(facts)
    for name, text in lines.items():
        print(f"{name:<8} {text}")
    return 0
