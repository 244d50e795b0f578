"""Build the model of a design with many faults, one in each lane."""

import ctypes
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cdma.toolchain import tool, verilator, yowasp
from cdma.toolchain.cache import cache_folder, digest, kept
from cdma.verify.mutation.lanes.model import Where, model_text
from cdma.verify.mutation.lanes.source import Source
from cdma.verify.mutation.mutants import Drawn, Mutant

_FOLDER = Path(__file__).parent
_NAMES = ("known.h", "lanes.h", "verilated.h", "source.py", "model.py", "build.py")
_SOURCES = [_FOLDER / name for name in _NAMES]
#: Most lanes of a model. Lane 0 has no fault.
LANES = 512
#: Numbers of lanes that a model can have: fewer lanes are faster.
_COUNTS = (64, 128, 256, LANES)
_FAULT = "fault_{}"
_SCRIPT = """
read_rtlil flat.il
{mutations}
opt -full -keepdc
techmap
opt_dff
opt -full -keepdc
opt_dff
opt -full -keepdc
techmap
opt -full -keepdc
opt_clean
write_json gates.json
"""
_COMPILE = ["-std=c++17", "-fPIC", "-fvisibility=hidden", "-fno-gnu-unique", "-Wno-psabi"]
_COMPILE += ["-O1", "-march=native", "-DHAS_WAVES=0"]
_VERDICT = np.dtype([("cycle", "<i8"), ("port", "<i4"), ("pad", "<i4")])


@dataclass(frozen=True)
class Loop:
    """The C++ loop around a design, and what it compares.

    Attributes
    ----------
    source : Path
        It includes ``Vmodel.h``.
    files : list of Path
        All files that it is made of.
    where : callable
        See :func:`cdma.verify.mutation.lanes.model.model_text`.
    options : tuple of str
        Options of the compiler.
    headers : callable or None
        Gives the text of ``pins.h`` for the bits of each port.
    step : str
        See :func:`cdma.verify.mutation.lanes.model.model_text`.
    """

    source: Path
    files: list[Path]
    where: Where
    options: tuple[str, ...] = ()
    headers: Callable[[dict[str, int]], str] | None = None
    step: str = ""


@dataclass(frozen=True)
class Lanes:
    """A model with faults.

    Attributes
    ----------
    library : Path
        The shared library of the loop.
    pins : dict of int
        Bits of each port.
    ports : list of str
        Outputs of the design.
    registers : list of str
        Names of the bits of registers, such as ``front.ring.head[3]``.
    count : int
        Lanes of the model.
    """

    library: Path
    pins: dict[str, int]
    ports: list[str]
    registers: list[str]
    count: int

    def choose(self, mutants: list[Mutant], *, follow: bool = False) -> None:
        """Put a fault into each lane but the first, for all runs until the next choice.

        With ``follow``, registers that differ are noted, see :meth:`apart`.
        """
        numbers = np.zeros(self.count, np.int32)
        numbers[1 : 1 + len(mutants)] = [each.number for each in mutants]
        self._choose(numbers, 1 + len(mutants), follow=follow)

    def know(self, runs: list[list[int]]) -> None:
        """From now on compare only so many bytes of each packet at an output, for each run from a
        reset. Without any run, all bytes."""
        sizes = np.array([size for run in runs for size in run], np.int64)
        counts = np.array([len(run) for run in runs], np.int64)
        ctypes.CDLL(str(self.library)).lanes_know(
            ctypes.c_void_p(sizes.ctypes.data), ctypes.c_void_p(counts.ctypes.data), len(runs)
        )

    def scatter(self) -> None:
        """No faults, but registers and memories of each lane power up at values of its own."""
        self._choose(np.zeros(self.count, np.int32), self.count, scatter=True)

    def _choose(self, numbers, count, *, scatter=False, follow=False):
        ctypes.CDLL(str(self.library)).lanes_choose(
            ctypes.c_void_p(numbers.ctypes.data), count, int(scatter), int(follow)
        )

    def scattered(self) -> list[str]:
        """Outputs that differed in a lane, each with the cycle: what was in a register or a memory
        before the reset has reached them."""
        return sorted({reason for reason in self._reasons() if reason})

    def apart(self, mutants: list[Mutant]) -> dict[Mutant, set[str]]:
        """Registers that have differed from those of lane 0, by mutant as chosen: in a cycle in
        which no output had differed yet."""
        found = np.zeros((len(self.registers), self.count // 8), np.uint8)
        library = ctypes.CDLL(str(self.library))
        library.lanes_apart(ctypes.c_void_p(found.ctypes.data))
        bits = np.unpackbits(found, axis=1, bitorder="little").T
        return {
            mutant: {self.registers[k] for k in np.flatnonzero(lane)}
            for mutant, lane in zip(mutants, bits[1:], strict=False)
        }

    def found(self, mutants: list[Mutant]) -> dict[Mutant, str]:
        """Of the chosen mutants, those with an output that differed from the design without a
        fault: the first such output, and the cycle."""
        reasons = zip(mutants, self._reasons()[1:], strict=False)
        return {mutant: reason for mutant, reason in reasons if reason}

    def _reasons(self):
        """For each lane its first output that differed and the cycle, or nothing."""
        verdicts = np.zeros(self.count, _VERDICT)
        library = ctypes.CDLL(str(self.library))
        library.lanes_verdicts(ctypes.c_void_p(verdicts.ctypes.data))
        return [
            f"{self.ports[each['port']]} differs in cycle {each['cycle']}"
            if each["cycle"] >= 0
            else ""
            for each in verdicts
        ]


def build_lanes(
    drawn: Drawn,
    mutants: list[Mutant],
    loop: Loop,
    cache: str | os.PathLike | None = None,
    progress: Callable[[str], None] | None = None,
) -> Lanes:
    """Build the model of a design in which each lane can have any of the mutants.

    The model has a lane for each mutant, up to :data:`LANES`, and one without a fault.

    Parameters
    ----------
    drawn : Drawn
        The netlist.
    mutants : list of Mutant
        Any number of them.
    loop : Loop
    cache, progress
        See :func:`cdma.sim.compiled.build.build`.

    Raises
    ------
    UserError, SimulationError
        When a tool is missing or fails.
    """
    env = verilator.environment()
    commands = [f"mutate -ctrl {_FAULT.format(each.number)} 1 1 {each.command}" for each in mutants]
    headers = (_FOLDER, *sorted({file.parent for file in loop.files}))
    texts = [file.read_text() for file in (*_SOURCES, *loop.files)]
    cache = cache_folder(cache, "builds")
    texts.append(loop.step)
    count = next((each for each in _COUNTS if len(mutants) < each), LANES)
    options = [*_COMPILE, *loop.options, f"-DLANE_COUNT={count}"]
    name = digest("lanes", drawn.rtlil, commands, texts, options, verilator.versions(env), _cpu())

    def make(work):
        if progress:
            progress(f"building a model of {len(mutants)} mutants with {count} lanes")
        script = _SCRIPT.format(mutations="\n".join(commands))
        inputs = {"flat.il": drawn.rtlil, "gates.ys": script}
        made = tool.execute(yowasp.yosys(), ["gates.ys"], inputs, ["gates.json"], work)
        (module,) = json.loads(made["gates.json"])["modules"].values()
        source = Source(module)
        ports = _ports(module)
        if loop.headers:
            (work / "pins.h").write_text(loop.headers(ports))
        (work / "Vmodel.h").write_text(model_text(source, ports, loop.where, loop.step))
        out = work / "out"
        out.mkdir()
        flags = [*options, "-I.", *(f"-I{folder}" for folder in headers)]
        target = ["-shared", "-Wl,-Bsymbolic", "-o", str(out / "model.so")]
        verilator.compile_cpp(
            [*flags, str(loop.source), *target], work, env, "the model with lanes"
        )
        names = [ports, list(source.outputs), source.register_names()]
        (out / "names.json").write_text(json.dumps(names))

    folder = kept(cache, name, make)
    return Lanes(folder / "model.so", *json.loads((folder / "names.json").read_text()), count)


def _cpu() -> str:
    """The processor, for which the model is compiled."""
    info = Path("/proc/cpuinfo")
    return (
        "\n".join(sorted(set(re.findall("^flags.*$", info.read_text(), re.MULTILINE))))
        if info.exists()
        else ""
    )


def _ports(module: dict) -> dict[str, int]:
    """Bits of the ports of the design without its faults."""
    ports = {name: len(port["bits"]) for name, port in module["ports"].items()}
    return {name: bits for name, bits in ports.items() if not name.startswith("fault_")}
