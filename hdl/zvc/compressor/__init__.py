"""The compressor and its components."""

from cdma.hdl.zvc.compressor.unit import Compressor

__all__ = ["Compressor"]
