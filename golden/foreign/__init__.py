"""Formats of other silicon: what their public documents say, and no more (``docs/format.md``)."""

from cdma.golden.foreign import aie_ml, iaa, nvdla

__all__ = ["aie_ml", "iaa", "nvdla"]
