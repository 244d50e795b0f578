"""Build the model of an engine with many faults, one in each lane."""

import ctypes
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cdma.sim.engine import build, pins
from cdma.toolchain import tool, verilator, yowasp
from cdma.toolchain.cache import cache_folder, digest, kept
from cdma.verify.mutation.engine.lanes.source import Source
from cdma.verify.mutation.mutants import Drawn, Mutant

_FOLDER = Path(__file__).parent
_SOURCES = [_FOLDER / name for name in ("lanes.h", "verilated.h", "source.py", "build.py")]
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
_TYPES = ((8, "uint8_t"), (16, "uint16_t"), (32, "uint32_t"), (64, "uint64_t"))
_VERDICT = np.dtype([("cycle", "<i8"), ("port", "<i4"), ("pad", "<i4")])


@dataclass(frozen=True)
class Lanes:
    """A model with faults.

    Attributes
    ----------
    compiled : Compiled
        For :class:`cdma.sim.engine.engine.Engine`.
    ports : list of str
        Outputs of the engine.
    registers : list of str
        Names of the bits of registers, such as ``front.ring.head[3]``.
    count : int
        Lanes of the model.
    """

    compiled: build.Compiled
    ports: list[str]
    registers: list[str]
    count: int

    def choose(self, mutants: list[Mutant], *, follow: bool = False) -> None:
        """Put a fault into each lane but the first, for all engines until the next choice.

        With ``follow``, registers that differ are noted, see :meth:`apart`.
        """
        numbers = np.zeros(self.count, np.int32)
        numbers[1 : 1 + len(mutants)] = [each.number for each in mutants]
        self._choose(numbers, 1 + len(mutants), follow=follow)

    def scatter(self) -> None:
        """No faults, but registers and memories of each lane power up at values of its own."""
        self._choose(np.zeros(self.count, np.int32), self.count, scatter=True)

    def _choose(self, numbers, count, *, scatter=False, follow=False):
        ctypes.CDLL(str(self.compiled.library)).lanes_choose(
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
        library = ctypes.CDLL(str(self.compiled.library))
        library.lanes_apart(ctypes.c_void_p(found.ctypes.data))
        bits = np.unpackbits(found, axis=1, bitorder="little").T
        return {
            mutant: {self.registers[k] for k in np.flatnonzero(lane)}
            for mutant, lane in zip(mutants, bits[1:], strict=False)
        }

    def found(self, mutants: list[Mutant]) -> dict[Mutant, str]:
        """Of the chosen mutants, those with an output that differed from the engine without a
        fault: the first such output, and the cycle."""
        reasons = zip(mutants, self._reasons()[1:], strict=False)
        return {mutant: reason for mutant, reason in reasons if reason}

    def _reasons(self):
        """For each lane its first output that differed and the cycle, or nothing."""
        verdicts = np.zeros(self.count, _VERDICT)
        library = ctypes.CDLL(str(self.compiled.library))
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
    cache: str | os.PathLike | None = None,
    progress: Callable[[str], None] | None = None,
) -> Lanes:
    """Build the model of an engine in which each lane can have any of the mutants.

    The model has a lane for each mutant, up to :data:`LANES`, and one without a fault.

    Parameters
    ----------
    drawn : Drawn
        The netlist.
    mutants : list of Mutant
        Any number of them.
    cache, progress
        See :func:`cdma.sim.engine.build.build`.

    Raises
    ------
    UserError, SimulationError
        When a tool is missing or fails.
    """
    env = verilator.environment()
    commands = [f"mutate -ctrl {_FAULT.format(each.number)} 1 1 {each.command}" for each in mutants]
    sim = Path(build.__file__).parent
    headers = (_FOLDER, sim, sim.parent / "compiled")
    texts = [file.read_text() for file in (*_SOURCES, *build.SOURCES)]
    cache = cache_folder(cache, "builds")
    count = next((each for each in _COUNTS if len(mutants) < each), LANES)
    options = [*_COMPILE, f"-DLANE_COUNT={count}"]
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
        (work / "pins.h").write_text(pins.bind(ports))
        (work / "Vmodel.h").write_text(_model(source, ports))
        out = work / "out"
        out.mkdir()
        flags = [*options, "-I.", *(f"-I{folder}" for folder in headers)]
        loop = str(sim / "model.cpp")
        target = ["-shared", "-Wl,-Bsymbolic", "-o", str(out / "model.so")]
        verilator.compile_cpp([*flags, loop, *target], work, env, "the model with lanes")
        names = [ports, list(source.outputs), source.register_names()]
        (out / "names.json").write_text(json.dumps(names))

    folder = kept(cache, name, make)
    ports, outputs, registers = json.loads((folder / "names.json").read_text())
    compiled = build.Compiled(folder / "model.so", pins.managers(ports))
    return Lanes(compiled, outputs, registers, count)


def _cpu() -> str:
    """The processor, for which the model is compiled."""
    info = Path("/proc/cpuinfo")
    return (
        "\n".join(sorted(set(re.findall("^flags.*$", info.read_text(), re.MULTILINE))))
        if info.exists()
        else ""
    )


def _ports(module: dict) -> dict[str, int]:
    """Bits of the ports of the engine without its faults."""
    ports = {name: len(port["bits"]) for name, port in module["ports"].items()}
    return {name: bits for name, bits in ports.items() if not name.startswith("fault_")}


def _model(source: Source, ports: dict[str, int]) -> str:
    """The text of ``Vmodel.h``: a class with the ports of Verilator's."""
    members, sets, gets = [], [], []
    places, place = {}, 0
    for name, nets in source.inputs.items():
        places[name] = place
        place += len(nets)
    for name, bits in ports.items():
        fits = [text for most, text in _TYPES if bits <= most]
        members.append(
            f"{fits[0]} {name} = 0;" if fits else f"uint32_t {name}[{-(-bits // 32)}] = {{}};"
        )
        if name in source.inputs:
            sets.append(f"give({name}, old.{name}, &state.in[{places[name]}], {bits});")
        elif name in source.outputs:
            nets = ", ".join(source.name(net) for net in source.outputs[name])
            gets.append(f"{{ const V v[] = {{{nets}}}; take({name}, v, {bits}); }}")
    faults = [
        f"{{{name.removeprefix('fault_')}, {places[name]}}}"
        for name in source.inputs
        if name.startswith("fault_")
    ]
    memories = "".join(f"state.{m.name}.fill(random); " for m in source.memories.values())
    return _TEXT.format(
        source=source.text(),
        members="\n    ".join(members),
        sets="\n        ".join(sets),
        gets="\n        ".join(gets),
        faults=", ".join(faults),
        memories=memories,
        compare="\n        ".join(_compare(source)),
    )


def _compare(source: Source) -> list[str]:
    """Statements that compare the outputs of all lanes with those of lane 0.

    Fields of a channel are compared where its VALID is high, bytes where they are enabled.
    """
    outputs = source.outputs
    order = {name: number for number, name in enumerate(outputs)}
    lines = []

    def differ(name, where="~V{}", only=None):
        nets = outputs[name] if only is None else outputs[name][only]
        listed = ", ".join(source.name(net) for net in nets)
        lines.append(
            f"{{ const V v[] = {{{listed}}}; "
            f"note(unlike(v, {len(nets)}) & {where}, {order[name]}, cycle); }}"
        )

    for name in outputs:
        prefix, _, pin = name.rpartition("_")
        channel = re.match(r"(aw|ar|w|r|b)(?!ready|valid)", pin)
        if channel is None or f"{prefix}_{channel[1]}valid" not in outputs:
            differ(name)
            continue
        (valid,) = outputs[f"{prefix}_{channel[1]}valid"]
        where = source.name(valid)
        if pin != "wdata" or f"{prefix}_wstrb" not in outputs:
            differ(name, where)
            continue
        for byte, strobe in enumerate(outputs[f"{prefix}_wstrb"]):
            only = slice(8 * byte, 8 * byte + 8)
            differ(name, f"{where} & {source.name(strobe)}", only)
    return lines


_TEXT = """\
// An engine with many lanes, written by verify/mutation/engine/lanes/build.py.
#pragma once
#include "lanes.h"
#include "verilated.h"

namespace {{

{source}
template <class T>
void give(const T& now, T& old, V* to, int bits) {{
    if (!memcmp(&now, &old, sizeof(T))) return;
    memcpy(&old, &now, sizeof(T));
    const uint8_t* bytes = reinterpret_cast<const uint8_t*>(&now);
    for (int k = 0; k < bits; ++k) to[k] = splat(bytes[k / 8] >> k % 8 & 1);
}}

template <class T>
void take(T& to, const V* v, int bits) {{
    uint8_t bytes[sizeof(T)] = {{}};
    for (int k = 0; k < bits; ++k) bytes[k / 8] |= first(v[k]) << k % 8;
    memcpy(&to, bytes, sizeof(T));
}}

inline V unlike(const V* v, int count) {{
    V all{{}};
    for (int k = 0; k < count; ++k) all |= v[k] ^ splat(first(v[k]));
    return all;
}}

constexpr int FAULTS[][2] = {{{{0, 0}}, {faults}}};  // number, place
V apart[REGISTERS];  // registers that have differed

struct Pins {{
    {members}
}};

}}  // namespace

struct Vmodel : Pins {{
    explicit Vmodel(VerilatedContext* context) {{
        std::mt19937_64 random(context->seed);
        for (int k = 0; k < REGISTERS; ++k)
            state.registers[0][k] = state.registers[1][k] = bits(random);
        {memories}
        for (const auto& fault : FAULTS)
            for (int lane = 1; lane < LANES; ++lane)
                if (fault[0] && chosen[lane] == fault[0])
                    state.in[fault[1]][lane / 64] |= uint64_t(1) << lane % 64;
    }}

    void eval() {{
        const bool rises = aclk && !was, falls = !aclk && was;
        was = aclk;
        if (rises) {{
            clock(state);
            ++cycle;
            return;
        }}
        {sets}
        settle(state);
        [[maybe_unused]] const V *q = state.registers[state.now], *in = state.in;
        [[maybe_unused]] const V* w = state.w;
        {gets}
        if (!falls || !aresetn) return;
        if (any(alive)) compare(q, in, w);
        if (is_followed)
            for (int k = 0; k < REGISTERS; ++k) apart[k] |= (q[k] ^ splat(first(q[k]))) & alive;
    }}

    void compare([[maybe_unused]] const V* q, [[maybe_unused]] const V* in, const V* w) {{
        {compare}
    }}

    Pins old;
    State state;
    bool was = false;
    int64_t cycle = 0;
}};

extern "C" [[gnu::visibility("default"), gnu::used]] inline void lanes_choose(
    const int32_t* faults, int count, int scatter, int follow) {{
    memcpy(chosen, faults, sizeof(chosen));
    memset(apart, 0, sizeof(apart));
    is_scattered = scatter, is_followed = follow;
    alive = V{{}};
    for (int lane = 0; lane < LANES; ++lane) {{
        verdicts[lane] = {{-1, 0, 0}};
        if (lane < count) alive[lane / 64] |= uint64_t(1) << lane % 64;
    }}
}}
extern "C" [[gnu::visibility("default"), gnu::used]] inline void lanes_verdicts(Verdict* to) {{
    memcpy(to, verdicts, sizeof(verdicts));
}}
extern "C" [[gnu::visibility("default"), gnu::used]] inline void lanes_apart(void* to) {{
    memcpy(to, apart, sizeof(apart));
}}
"""
