"""The hardware as Verilog, with a manifest that describes it."""

from cdma.hdl.emit.manifest import manifest
from cdma.hdl.emit.template import roundtrip
from cdma.hdl.emit.verilog import latency, module_name, pause, verilog

__all__ = ["latency", "manifest", "module_name", "pause", "roundtrip", "verilog"]
