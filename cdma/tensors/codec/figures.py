"""Shapes and sizes for reports."""

from collections.abc import Sequence

from cdma.format import Format
from cdma.golden import Header


def by(shape: Sequence[int]) -> str:
    """``2x3`` of (2, 3)."""
    return "x".join(map(str, shape)) or "scalar"


def _options(fmt) -> dict:
    """Options of the zero-value codec that are not the default; other codecs have none."""
    if not isinstance(fmt, Format):
        return {}
    return {
        **({"tail": fmt.tail} if fmt.ends_itself else {}),
        **({"zero_value": fmt.zero_value} if fmt.zero_value else {}),
        **({"fold_negative_zero": True} if fmt.fold_negative_zero else {}),
    }


def figures(fmt: Format, words: int, nonzeros: int, stream_bytes: int, file_bytes: int) -> dict:
    """Sizes, ratio and density of a stream, for JSON."""
    raw_bytes = words * fmt.word_bytes
    return {
        "word_bits": fmt.word_bits,
        "block_words": fmt.block_words,
        **_options(fmt),
        "words": words,
        "nonzeros": nonzeros,
        "raw_bytes": raw_bytes,
        "stream_bytes": stream_bytes,
        "file_bytes": file_bytes,
        "ratio": raw_bytes / stream_bytes if words else 1.0,
        "density": nonzeros / words if words else 0.0,
    }


def lossy_figures(header: Header) -> dict:
    """Additional figures of a container of the lossy codec, for JSON. Empty for other codecs."""
    if header.lossy is None:
        return {}
    return {
        "codec": "lossy-zvc",
        "error_bound": header.lossy.step / 2,
        "q_bits": header.format.word_bits,
        "outliers": header.lossy.outliers,
        "outlier_bytes": header.outlier_bytes,
        "raw_bytes": header.raw_bytes,
        "ratio": header.ratio,
    }


def codec_figures(header: Header) -> dict:
    """Additional figures of a container of ZVC+, for JSON. Empty for other codecs."""
    if header.codec_name != "zvcplus":
        return {}
    names = ("type", "repeats", "distance", "min_beats")
    return {"codec": header.codec_name, **{name: getattr(header.format, name) for name in names}}


def codec_line(facts: dict) -> str:
    """Format the result of :func:`codec_figures` in a line."""
    above = f", {facts['distance']:,} words to the one above" if facts["distance"] else ""
    return f"ZVC+: {facts['type']}, repeats {facts['repeats']}{above}"


def lossy_line(facts: dict) -> str:
    """Format the result of :func:`lossy_figures` in a line."""
    return (
        f"lossy: error at most {facts['error_bound']:g}, {facts['q_bits']}-bit numbers, "
        f"{facts['outliers']:,} outliers"
    )


def format_line(fmt: Format, facts: dict) -> str:
    """What :func:`figures` says of the format, for people."""
    return (
        f"{fmt.word_bits}-bit words, blocks of {fmt.block_words} words"
        + (f", tail of {fmt.tail}" if "tail" in facts else "")
        + (f", zero value {fmt.zero_value:#x}" if "zero_value" in facts else "")
        + (", -0.0 folded into 0.0" if "fold_negative_zero" in facts else "")
    )
