"""Icarus Verilog: a second simulator, and a reader of the generated Verilog."""

from cdma.toolchain.tool import Tool, installed


def iverilog() -> Tool:
    """The compiler. UserError when it is not installed."""
    return installed("Icarus Verilog", "iverilog", "-V", "apt-get install iverilog")


def vvp() -> Tool:
    """What runs the compiled design. UserError when it is not installed."""
    return installed("Icarus Verilog", "vvp", "-V", "apt-get install iverilog")
