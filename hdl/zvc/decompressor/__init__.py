"""The decompressor and its components."""

from cdma.hdl.zvc.decompressor.unit import Decompressor

__all__ = ["Decompressor"]
