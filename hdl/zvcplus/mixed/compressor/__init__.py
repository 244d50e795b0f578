"""The ZVC+ compressor of several types and its components."""

from cdma.hdl.zvcplus.mixed.compressor.unit import MixedCompressor

__all__ = ["MixedCompressor"]
