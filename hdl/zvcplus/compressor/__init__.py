"""The ZVC+ compressor and its components."""

from cdma.hdl.zvcplus.compressor.unit import Compressor

__all__ = ["Compressor"]
