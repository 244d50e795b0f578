"""Shapes and sizes as a user reads them."""

from collections.abc import Sequence

from cdma.format import Format


def by(shape: Sequence[int]) -> str:
    """``2x3`` of (2, 3)."""
    return "x".join(map(str, shape)) or "scalar"


def figures(fmt: Format, words: int, nonzeros: int, stream_bytes: int, file_bytes: int) -> dict:
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
