"""Texts made of the register table: C header, SystemRDL, and the page of the documents."""

from cdma.hdl.emit.registers.header import c_header
from cdma.hdl.emit.registers.markdown import markdown
from cdma.hdl.emit.registers.rdl import system_rdl

__all__ = ["c_header", "markdown", "system_rdl"]
