"""OpenSTA: static timing of a mapped netlist."""

from cdma.toolchain.tool import Tool, installed


def opensta() -> Tool:
    """OpenSTA, the program ``sta`` on the PATH. UserError when it is not installed."""
    return installed(
        "OpenSTA", "sta", "-version", "apt-get install opensta", "-no_init", "-no_splash", "-exit"
    )
