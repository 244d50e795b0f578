"""Units of several element types: a command gives the type of each packet."""

from cdma.hdl.zvcplus.mixed.compressor import MixedCompressor
from cdma.hdl.zvcplus.mixed.decompressor import MixedDecompressor

__all__ = ["MixedCompressor", "MixedDecompressor"]
