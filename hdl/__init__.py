"""The hardware, in Amaranth, and the Verilog made of it.

``Compressor`` and ``Decompressor`` are Amaranth components, :class:`Config` is their size, and
``AxiTop`` gives them AXI ports. ``AxiEngine`` is the engine, of the size ``EngineConfig``.
"""

import importlib

#: Where each name lives; loaded when it is used, since most of the package needs no Amaranth.
_HOMES = {
    "AxiEngine": "cdma.hdl.engine.engine",
    "AxiTop": "cdma.hdl.axi.stream",
    "Compressor": "cdma.hdl.zvc.compressor",
    "Config": "cdma.hdl.zvc.config",
    "Decompressor": "cdma.hdl.zvc.decompressor",
    "EngineConfig": "cdma.engine_config",
}

__all__ = ["AxiEngine", "AxiTop", "Compressor", "Config", "Decompressor", "EngineConfig"]


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__():
    return sorted([*globals(), *_HOMES])
