"""Build the compiled model of a unit: Verilator and a C++ loop in one shared library."""

import os
from collections.abc import Callable
from pathlib import Path

from cdma.hdl.codecs import UnitConfig
from cdma.toolchain import verilator
from cdma.toolchain.cache import cache_folder, digest, kept

#: Sources of the library in addition to the design.
SOURCES = [Path(__file__).with_name(name) for name in ("model.cpp", "streams.h", "stalls.h")]

#: Bytes of a status record.
_STATUS_BYTES = {"compressor": 8, "decompressor": 5, "roundtrip": 5}

#: Vectors with bits that depend on each other would be evaluated repeatedly until they settle.
#: Split vectors are evaluated once. Registers start at random values as in the other simulations.
SPLIT = '`verilator_config\nsplit_var -module "*" -var "*"\n'
VERILATE = ["--cc", "-O3", "--noassert", "--prefix", "Vmodel", *verilator.BUILD]
#: Many models are loaded in one process: symbols of one model must not resolve to another model.
COMPILE = ["-std=c++17", "-fPIC", "-fvisibility=hidden", "-fno-gnu-unique", "-pthread"]
# With -O1 the models run as fast as with -O3, and build in two thirds of the time.
COMPILE += ["-DVL_USER_FATAL", "-O1"]
_RUNTIME = ("verilated.cpp", "verilated_cov.cpp", "verilated_threads.cpp")
#: With coverage, whole signals are counted, not the parts into which they are split.
_COVERAGE = ["--coverage-line", "--coverage-toggle"]


def build(
    verilog: str,
    unit: str,
    config: UnitConfig,
    cache: str | os.PathLike | None = None,
    progress: Callable[[str], None] | None = None,
    *,
    has_mutants: bool = False,
    has_coverage: bool = False,
    has_waves: bool = False,
) -> Path:
    """Build a unit's model once. Later calls with the same text return the same file.

    Parameters
    ----------
    verilog : str
        The whole design, top level ``cdma_<unit>``.
    unit : str
        ``compressor``, ``decompressor`` or ``roundtrip``. Selects the ports.
    config : UnitConfig
        Size of the unit.
    cache, progress
        See :func:`cdma.toolchain.simulators.build`.
    has_mutants : bool
        The design has an input ``mutant``, see :mod:`cdma.verify.mutation.mutants`.
    has_coverage : bool
        Count lines, branches and toggles, see :mod:`cdma.verify.coverage.code`.
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
    options = {"has_coverage": has_coverage, "has_waves": has_waves}
    macros = defines(unit, config, has_mutants=has_mutants, **options)
    include = verilator.include_folder()
    headers = (SOURCES[0].parent, include, include / "vltstd")
    # With counters or waveforms the design is long, and each run is short.
    flags = [*COMPILE, *(f"-I{folder}" for folder in headers)]
    versions = verilator.versions(env)
    runtime = runtime_of(cache, env, versions, has_waves=has_waves)

    def make(work):
        if progress:
            progress(f"building the model of cdma_{unit} {config.name}")
        top = f"cdma_{unit}"
        compile_design(work, verilog, top, options, [*flags, *macros], SOURCES[0], runtime, env)

    options = _COVERAGE if has_coverage else ["--trace-vcd"] if has_waves else ["split.vlt"]
    texts = [source.read_text() for source in SOURCES]
    name = digest(verilog, macros, texts, versions, VERILATE, SPLIT, COMPILE)
    return kept(cache, name, make) / "model.so"


def defines(
    unit: str,
    config: UnitConfig,
    *,
    has_mutants: bool = False,
    has_coverage: bool = False,
    has_waves: bool = False,
) -> list[str]:
    """Options of the compiler for the macros of ``model.cpp``. For the arguments see
    :func:`build`."""
    macros = {
        "BEAT_BYTES": config.beat_bytes,
        "KEEP_BYTES": 1 if unit == "decompressor" or config.parts else config.format.word_bytes,
        "STATUS_BYTES": status_bytes(unit, config),
        "HAS_COMMAND": int(command_bytes(unit, config) > 0),
        "COMMAND_BYTES": command_bytes(unit, config),
        "HAS_ZERO": int("s_zero" in config.constants),
        "ZERO_VALUE": f"{config.constants.get('s_zero', 0)}ull",
        "HAS_LINK": int(unit == "roundtrip"),
        "HAS_MUTANTS": int(has_mutants),
        "HAS_COVERAGE": int(has_coverage),
        "HAS_WAVES": int(has_waves),
    }
    return [f"-D{name}={value}" for name, value in macros.items()]


def command_bytes(unit: str, config: UnitConfig) -> int:
    """Bytes of a command: number of words, and of a unit of several types the type."""
    has_words = unit != "compressor" and not config.format.ends_itself
    return 4 * has_words + bool(config.parts)


def status_bytes(unit: str, config: UnitConfig) -> int:
    """Bytes of a status record; a decompressor for a tail of ones reports the words too."""
    counts = unit != "compressor" and config.format.ends_itself
    return _STATUS_BYTES[unit] + 4 * counts


def runtime_of(cache: Path, env: dict, versions: str, *, has_waves: bool) -> list[Path]:
    """Objects of Verilator's library, which are the same for all designs.

    Parameters
    ----------
    cache : Path
        Folder of builds.
    env : dict
        From :func:`cdma.toolchain.verilator.environment`.
    versions : str
        From :func:`cdma.toolchain.verilator.versions`.
    has_waves : bool
        Include the part that writes VCD.
    """
    include = verilator.include_folder()
    flags = [*COMPILE, f"-I{include}", f"-I{include / 'vltstd'}"]

    def built(source):
        def make(work):
            out = work / "out"
            out.mkdir()
            command = [*flags, "-c", str(include / source)]
            verilator.compile_cpp(command, out, env, "Verilator's library")

        folder = kept(cache, digest(versions, COMPILE, source), make)
        return (folder / source).with_suffix(".o")

    return [
        built(source) for source in (*_RUNTIME, *(["verilated_vcd_c.cpp"] if has_waves else []))
    ]


def compile_design(work, verilog, top, options, flags, loop, runtime, env) -> None:
    """Compile a design, its loop (a C++ source) and the runtime to ``model.so``."""
    (work / "design.v").write_text(verilog)
    (work / "split.vlt").write_text(SPLIT)
    design = [*options, "design.v", "--top-module", top, "--Mdir", "verilated"]
    verilator.translate([*VERILATE, *design], work, env, top)
    out = work / "out"
    out.mkdir()
    # As one file, because the headers take longer than the code of each file.
    sources = [*sorted((work / "verilated").glob("*.cpp")), loop]
    (work / "all.cpp").write_text("".join(f'#include "{source}"\n' for source in sources))
    inputs = ["all.cpp", "-I.", "-Iverilated", *map(str, runtime)]
    link = ["-shared", "-Wl,-Bsymbolic", "-o", str(out / "model.so")]
    verilator.compile_cpp([*flags, *inputs, *link], work, env, top)
