"""Beat assembly and its components."""

from cdma.hdl.zvc.compressor.assembly.assembler import Assembler

__all__ = ["Assembler"]
