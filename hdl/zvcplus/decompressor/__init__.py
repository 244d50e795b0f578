"""The ZVC+ decompressor and its components."""

from cdma.hdl.zvcplus.decompressor.unit import Decompressor

__all__ = ["Decompressor"]
