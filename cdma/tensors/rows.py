"""Parameters of ZVC+ that follow from a tensor: its element type, and how far apart rows are."""

from collections.abc import Sequence

from cdma.zvcplus import MAX_DISTANCE_BYTES, Format

#: Types of ZVC+ by the name of the element type.
TYPE_OF = {
    "float32": "fp32",
    "float16": "fp16",
    "bfloat16": "bf16",
    **dict.fromkeys(("int8", "uint8", "bool"), "int8"),
}
#: Axes that a row of words spans, from the last: the words of one row, or of one pixel.
_ROW_AXES = {"NCHW": 1, "NHWC": 1, "CHWN": 2}
LAYOUTS = tuple(_ROW_AXES)


def type_of(name: str) -> str:
    """ZVC+ type by the name of the element type; that name, which ZVC+ refuses, without one."""
    return TYPE_OF.get(name, name)


def row_distance(shape: Sequence[int], layout: str | None = None) -> int | None:
    """Words between a word and the one above it.

    Parameters
    ----------
    shape : sequence of int
        Shape of the tensor.
    layout : str or None
        ``"NCHW"``: the word a row above; ``"NHWC"``: the same channel of the pixel before;
        ``"CHWN"``: a row above. ``None``: the last axis is a row.

    Returns
    -------
    int or None
        ``None`` without two axes, or when the distance is 0 or above 4,096 words.
    """
    axes = _ROW_AXES.get(layout, 1)
    if len(shape) <= axes:
        return None
    distance = 1
    for size in shape[-axes:]:
        distance *= size
    return distance if 0 < distance <= MAX_DISTANCE_BYTES else None


def format_for(type_: str, repeats: str, distance: int | None) -> Format:
    """Format of a type; with repeats above, but no distance that the format allows, left."""
    if repeats == "above":
        words = Format(type_)
        if distance is not None and 0 < distance * words.word_bytes <= MAX_DISTANCE_BYTES:
            return Format(type_, "above", distance)
        repeats = "left"
    return Format(type_, repeats)
