"""COMET, VLDB 2022: its ratio beside bytes on disk of the lossy codec on real tensors."""

from cdma.offload import constants, records
from cdma.offload.lossy import study
from cdma.offload.validate.rows import NOT_GIVEN, OPEN, Row

#: Bound at which they are compared: about 3 % of the deviation of a tensor's values.
BOUND = "rel=0.03"
_RULE = "bytes on disk, at an accuracy"
_REASON = "the published ratios are of a codec with an entropy stage, at an accuracy on ImageNet"


def rows() -> list[Row]:
    """The one row of COMET; not given without the study of the lossy codec."""
    low, high = (each.value for each in constants.COMET_RATIO)
    claim, published = f"COMET: bytes on disk at {BOUND}", f"{low:g} to {high:g}x"
    if not records.LOSSY.is_file():
        reason = "make docs/measurements/lossy.json with cdma offload lossy --save"
        return [Row(claim, published, "-", "-", _RULE, NOT_GIVEN, reason)]
    found = [row for row in study.read() if row["bound"] == BOUND]
    sizes = {
        "lossy": [row["lossy-zvc"]["bytes"] for row in found],
        "entropy": [row["entropy_bytes"] for row in found],
        "zvc": [row["zvc"]["bytes"] for row in found],
    }
    raw = [row["raw_bytes"] for row in found]
    shown = {}
    for key, values in sizes.items():
        ratios = [a / b for a, b in zip(raw, values, strict=True)]
        shown[key] = f"{min(ratios):.1f} to {max(ratios):.1f}x"
    model = f"{shown['lossy']}, entropy {shown['entropy']}"
    return [Row(claim, published, model, f"lossless: {shown['zvc']}", _RULE, OPEN, _REASON)]
