"""The C++ class of a design with many lanes, in the place of Verilator's.

The class has the pins of lane 0. In each cycle it compares the outputs of all lanes with those of
lane 0, before the clock edge.
"""

from collections.abc import Callable, Iterator

from cdma.verify.mutation.lanes.source import Source

#: Function of the netlist and the name of an output. Gives parts of the output: a slice of its
#: bits, and the C++ condition, a vector of lanes, under which they are compared.
Where = Callable[[Source, str], Iterator[tuple[slice, str]]]
#: Condition that always holds.
ALWAYS = "~V{}"
_TYPES = ((8, "uint8_t"), (16, "uint16_t"), (32, "uint32_t"), (64, "uint64_t"))


def model_text(source: Source, ports: dict[str, int], where: Where, step: str = "") -> str:
    """The text of ``Vmodel.h``: a class with the ports of Verilator's.

    Parameters
    ----------
    source : Source
        The netlist.
    ports : dict of int
        Bits of each port.
    where : callable
        Tells which bits of an output are compared, and when.
    step : str
        C++ statement of each cycle, behind the comparison. It may use ``known`` (``known.h``).
    """
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
        step=step,
        compare="\n        ".join(_compare(source, where)),
    )


def _compare(source, where):
    """Statements that compare the outputs of all lanes with those of lane 0."""
    for number, (name, nets) in enumerate(source.outputs.items()):
        for part, condition in where(source, name):
            listed = ", ".join(source.name(net) for net in nets[part])
            yield (
                f"{{ const V v[] = {{{listed}}}; "
                f"note(unlike(v, {len(nets[part])}) & {condition}, {number}, cycle); }}"
            )


_TEXT = """\
// A design with many lanes, written by verify/mutation/lanes/model.py.
#pragma once
#include "known.h"
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

struct ModelPins {{
    {members}
}};

}}  // namespace

struct Vmodel : ModelPins {{
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
            if (aresetn) return;  // outputs are read before the edge, but in reset
        }}
        {sets}
        settle(state);
        [[maybe_unused]] const V *q = state.registers[state.now], *in = state.in;
        [[maybe_unused]] const V* w = state.w;
        {gets}
        if (!falls) return;
        if (aresetn && any(alive)) compare(q, in, w);
        {step}
        if (aresetn && is_followed)
            for (int k = 0; k < REGISTERS; ++k) apart[k] |= (q[k] ^ splat(first(q[k]))) & alive;
    }}

    void compare([[maybe_unused]] const V* q, [[maybe_unused]] const V* in, const V* w) {{
        {compare}
    }}

    ModelPins old;
    State state;
    bool was = false;
    int64_t cycle = 0;
    Known known;
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
