"""Builds and runs simulators under a cocotb test bench, each run in a process of its own."""

import contextlib
import importlib.util
import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from xml.etree import ElementTree

from cdma.errors import SimulationError, UserError, require
from cdma.files import replacing
from cdma.toolchain import icarus, process, verilator
from cdma.toolchain.cache import cache_folder, digest, kept
from cdma.toolchain.waves import convert

SIMULATORS = ("verilator", "icarus")

#: Ports of all designs, which Verilator lets the bench see.
_PORTS = ("aclk", "aresetn", "s_zero", "*irq*", "*_t*", "*_axi*")
_VERILATOR_RUN = ["+verilator+rand+reset+2", "+verilator+seed+1"]


def build(
    verilog: str,
    top: str,
    simulator: str = "verilator",
    cache: str | os.PathLike | None = None,
    progress: Callable[[str], None] | None = None,
    has_waves: bool = False,
) -> Path:
    """Build a simulation once; later calls with the same text give the same folder.

    Parameters
    ----------
    verilog : str
        The whole design.
    top : str
        Its top-level module, whose ports the bench uses.
    simulator : str
        ``verilator`` or ``icarus``.
    cache : path or None
        Folder of builds; See :func:`cdma.toolchain.cache.cache_folder`.
    progress : callable or None
        Called with a message when a build begins.
    has_waves : bool
        Its runs can write waveforms.

    Raises
    ------
    UserError
        When a program is missing.
    SimulationError
        When the build fails, with the end of its log.
    """
    env = environment(simulator)
    folder = cache_folder(cache, "builds")
    versions = _versions(simulator, env)
    runtime = folder / digest(versions, verilator.BUILD)

    def make(work):
        if progress:
            progress(f"building {top} with {simulator}")
        _build(work, verilog, top, simulator, env, runtime, has_waves)

    name = digest(verilog, top, simulator, versions, verilator.BUILD, has_waves)
    return kept(folder, name, make)


def run(
    folder: Path,
    top: str,
    job: Sequence,
    module: str,
    simulator: str = "verilator",
    seconds: float = 600,
    progress: Callable[[str], None] | None = None,
    waves: Path | None = None,
) -> list:
    """Play ``job`` on a build, give one report for each of its stimuli.

    The bench finds the stimuli in the file ``job.pickle`` of its working folder, and leaves
    ``report-0.pickle`` and so on there.

    Parameters
    ----------
    folder : Path
        What :func:`build` gave.
    top : str
        Top-level module.
    job : sequence
        Each becomes one cocotb test; it is pickled.
    module : str
        Python module with the cocotb tests.
    simulator : str
        The simulator that ``folder`` was built for.
    seconds : float
        Wall time after which the simulation is ended.
    progress : callable or None
        Called regularly with the progress of the simulation.
    waves : Path or None
        File that gets the waveforms, of a build that can write them; also when the run fails.

    Raises
    ------
    SimulationError
        When there is nothing to play, the time is up, or a test did not run or left no report.
    """
    if not job:
        raise SimulationError("there is nothing to simulate")
    env = environment(simulator)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".run-") as work:
        work = Path(work)
        (work / "job.pickle").write_bytes(pickle.dumps(list(job)))
        spec = {
            "test_module": module,
            "hdl_toplevel": top,
            "hdl_toplevel_lang": "verilog",
            "build_dir": str(folder),
            "test_dir": str(work),
            "results_xml": str(work / "results.xml"),
            "plusargs": _VERILATOR_RUN if simulator == "verilator" else [],
            "log_file": str(work / "log"),
        }
        dump = work / ("dump.vcd" if simulator == "verilator" else "dump.fst")
        if waves is not None:
            spec["waves"] = True
            if simulator == "verilator":
                spec["test_args"] = ["--trace-file", str(dump)]
            else:
                spec["plusargs"] = [f"+dumpfile_path={dump}"]
        try:
            _runner("test", simulator, spec, work, env, seconds, progress)
        finally:
            if waves is not None and dump.is_file():
                with replacing(waves) as temporary:
                    copy = shutil.copy if dump.suffix == waves.suffix else convert
                    copy(dump, temporary)
        _check_results(work, len(job))
        return [_report(work, index) for index in range(len(job))]


def environment(simulator: str) -> dict[str, str]:
    """Environment in which the simulator's programs are found; refuses when they are not."""
    if simulator not in SIMULATORS:
        raise UserError(f"Simulator must be one of {', '.join(SIMULATORS)}, not {simulator!r}")
    require("cocotb", extra="sim", verb="co-simulation")
    # Benches report by themselves. Rewriting the assertions of all modules takes seconds a run.
    plain = {"COCOTB_REWRITE_ASSERTION_FILES": ""}
    if simulator == "verilator":
        env = {**verilator.environment(), **plain}
        # A build in the cache may be from an environment that no longer exists: cocotb's libraries
        # are those of this one.
        folder = importlib.util.find_spec("cocotb").submodule_search_locations[0]
        folders = [str(Path(folder) / "libs"), env.get("LD_LIBRARY_PATH", "")]
        env["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, folders))
        return env
    icarus.iverilog()
    icarus.vvp()
    return {**verilator.plain_environment(), **plain}


def _versions(simulator: str, env: dict[str, str]) -> str:
    """Versions of what a build depends on, beside its sources."""
    if simulator == "verilator":
        program = f"{verilator.versions(env)} {_PORTS}"
    else:
        program = icarus.iverilog().version
    return f"{program} cocotb {metadata.version('cocotb')} {sys.version}"


def _build(work, verilog, top, simulator, env, runtime, has_waves):
    out = work / "out"
    out.mkdir()
    (out / "design.v").write_text(verilog)
    spec = {
        "sources": [str(out / "design.v")],
        "hdl_toplevel": top,
        "build_dir": str(out),
        "timescale": ["1ns", "1ps"],
        "log_file": str(work / "log"),
        "waves": has_waves,
    }
    if simulator == "verilator":
        # The runner logs each of its two commands into the same file, the last one wins.
        ports = work / "ports.vlt"
        names = "".join(f'public_flat_rw -module "{top}" -var "{pattern}"\n' for pattern in _PORTS)
        ports.write_text("`verilator_config\n" + names)
        spec["sources"].insert(0, str(ports))
        spec["build_args"] = verilator.BUILD
        # Verilator's own library is the same for all designs: compile it once. Its objects must
        # look newer than the headers that are about to be written.
        later = time.time() + 3600
        for file in runtime.glob("*.o"):
            os.utime(shutil.copy(file, out), (later, later))
    if not _runner("build", simulator, spec, work, env, seconds=900):
        said = _tail(work, until="Traceback (most recent call last):")
        raise SimulationError(f"{simulator} cannot build {top}:\n{said}")
    if simulator == "verilator":
        if not runtime.is_dir():
            _keep_runtime(out, runtime)
        for file in out.iterdir():
            if file.name not in (top, "design.v"):
                file.unlink() if file.is_file() else shutil.rmtree(file)


def _keep_runtime(out, runtime):
    with tempfile.TemporaryDirectory(dir=runtime.parent, prefix=".runtime-") as work:
        objects = Path(work) / "objects"
        objects.mkdir()
        for file in out.glob("verilated*.o"):
            shutil.copy(file, objects)
        # Somebody else may have been first: theirs is as good.
        with contextlib.suppress(OSError):
            objects.rename(runtime)


def _runner(verb, simulator, spec, work, env, seconds, progress=None):
    """Run cocotb's runner in a process group of its own; give whether it succeeded."""
    file = work / f"{verb}.json"
    file.write_text(json.dumps({"simulator": simulator, **spec}))
    command = [sys.executable, "-m", "cdma.toolchain.child", verb, str(file)]
    with (work / "out.txt").open("w") as out:
        options = {"cwd": work, "env": env, "stdout": out, "stderr": out}
        with process.started(command, **options) as running:
            return _wait(running, work, seconds, progress) == 0


def _wait(running, work, seconds, progress):
    end = time.monotonic() + seconds
    shown = None
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return running.wait(timeout=min(0.5, max(end - time.monotonic(), 0.01)))
        if time.monotonic() >= end:
            raise SimulationError(f"the simulator was ended after {seconds:g} s\n{_tail(work)}")
        note = work / "progress"
        if progress and note.is_file() and (text := note.read_text()) not in ("", shown):
            shown = text
            progress(text)


def _check_results(work, expected):
    file = work / "results.xml"
    if not file.is_file():
        raise SimulationError(f"the simulation left no results\n{_tail(work)}")
    ran = sum(1 for _ in ElementTree.parse(file).getroot().iter("testcase"))
    if ran != expected:
        raise SimulationError(f"{ran} tests ran, expected {expected}\n{_tail(work)}")


def _report(work, index):
    file = work / f"report-{index}.pickle"
    if not file.is_file():
        raise SimulationError(f"test {index} left no report\n{_tail(work)}")
    return pickle.loads(file.read_bytes())


def _tail(work, lines=30, until=None):
    """Last lines of what was written; of what comes before ``until``, which a runner adds."""
    texts = [
        file.read_text(errors="replace")
        for file in (work / "log", work / "out.txt")
        if file.is_file()
    ]
    text = "\n".join(texts)
    if until is not None and (before := text.partition(until)[0]).strip():
        text = before
    return "\n".join(text.splitlines()[-lines:])
