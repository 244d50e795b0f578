"""The ZVC+ decompressor of several types and its components."""

from cdma.hdl.zvcplus.mixed.decompressor.unit import MixedDecompressor

__all__ = ["MixedDecompressor"]
