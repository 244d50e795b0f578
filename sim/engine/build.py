"""Build the compiled model of an engine: Verilator, memories and a C++ loop in one library."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cdma import designs
from cdma.engine_config import EngineConfig
from cdma.hdl.emit.engine import TOP
from cdma.sim.compiled import build as units
from cdma.sim.engine import pins
from cdma.toolchain import verilator
from cdma.toolchain.cache import cache_folder, digest, kept

_FOLDER = Path(__file__).parent
_NAMES = ("axi.h", "digest.h", "lite.h", "memory.h", "rules.h", "space.h", "model.cpp")
SOURCES = [_FOLDER / name for name in _NAMES]
SOURCES.append(_FOLDER.parent / "compiled" / "stalls.h")


@dataclass(frozen=True)
class Compiled:
    """A model that was built.

    Attributes
    ----------
    library : Path
    managers : list of str
        Prefixes of the AXI4 ports: those of the channels, then that of the link.
    """

    library: Path
    managers: list[str]


def design(
    config: EngineConfig,
    cache: str | os.PathLike | None = None,
    progress: Callable[[str], None] | None = None,
) -> str:
    """Verilog of an engine that is to be built: parameters as of :func:`cdma.designs.engine`.

    Raises
    ------
    UserError
        When a program is missing, before the minutes that a large engine takes.
    """
    verilator.environment()
    return designs.engine(config, cache, progress)


def compiled(
    design: str | Compiled,
    cache: str | os.PathLike | None = None,
    progress: Callable[[str], None] | None = None,
    *,
    has_waves: bool = False,
) -> Compiled:
    """The model of a design, built or to be built: parameters and errors as of :func:`build`."""
    if isinstance(design, Compiled):
        return design
    library = build(design, cache, progress, has_waves=has_waves)
    return Compiled(library, pins.managers(pins.declared(design, TOP)))


def build(
    verilog: str,
    cache: str | os.PathLike | None = None,
    progress: Callable[[str], None] | None = None,
    *,
    has_waves: bool = False,
) -> Path:
    """Build an engine's model once. Later calls with the same text return the same file.

    Parameters
    ----------
    verilog : str
        The whole design, top level ``cdma_engine``.
    cache, progress
        See :func:`cdma.toolchain.simulators.build`.
    has_waves : bool
        Runs can write waveforms, as VCD.

    Returns
    -------
    Path
        The shared library.

    Raises
    ------
    UserError
        When a program is missing.
    SimulationError
        When the build fails, with the end of its log.
    """
    env = verilator.environment()
    cache = cache_folder(cache, "builds")
    include = verilator.include_folder()
    headers = (_FOLDER, _FOLDER.parent / "compiled", include, include / "vltstd")
    flags = [
        *units.COMPILE,
        f"-DHAS_WAVES={int(has_waves)}",
        *(f"-I{folder}" for folder in headers),
    ]
    versions = verilator.versions(env)
    runtime = units.runtime_of(cache, env, versions, has_waves=has_waves)
    bound = pins.bind(pins.declared(verilog, TOP))

    def make(work):
        if progress:
            progress("building the model of the engine")
        (work / "pins.h").write_text(bound)
        extra = ["--trace-vcd" if has_waves else "split.vlt"]
        loop = _FOLDER / "model.cpp"
        units.compile_design(work, verilog, TOP, extra, flags, loop, runtime, env)

    texts = [source.read_text() for source in SOURCES]
    options = [units.VERILATE, units.SPLIT, units.COMPILE, has_waves]
    return kept(cache, digest(verilog, bound, texts, versions, options), make) / "model.so"
