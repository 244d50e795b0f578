"""Write a counterexample as a waveform."""

import re
from collections import defaultdict
from pathlib import Path

import vcd

from cdma.verify.formal.aiger import Graph, value


def write_vcd(
    file: Path, graph: Graph, state: dict[int, bool], inputs: list[dict[str, bool]]
) -> None:
    """Write all signals of a design in each cycle.

    Parameters
    ----------
    file : Path
        Value change dump to write. The clock period is 10 ns.
    graph : Graph
        Graph with an output for each bit of each signal, ``module.signal[bit]``.
    state : dict
        Initial values of registers, by variable. Missing registers are zero.
    inputs : list of dict
        Inputs of each cycle, by name.
    """
    signals = defaultdict(dict)  # literals of the bits, by name of the signal
    bits = {name: 2 * variable for name, variable in graph.inputs.items()} | graph.outputs
    for name, literal in bits.items():
        whole, index = re.fullmatch(r"(.*?)(?:\[(\d+)\])?", name).groups()
        signals[whole][int(index or 0)] = literal
    with file.open("w") as out, vcd.VCDWriter(out, timescale="1 ns", date="") as writer:
        variables = {
            name: writer.register_var(*_scope(name), "wire", size=max(places) + 1)
            for name, places in sorted(signals.items())
        }
        for cycle, given in enumerate(inputs):
            values = graph.evaluate(state, given)
            for name, places in signals.items():
                number = sum(value(values, literal) << place for place, literal in places.items())
                writer.change(variables[name], 10 * cycle, number)
            state = {
                variable: bool(value(values, following)) for variable, following in graph.latches
            }
        writer.close(10 * len(inputs))


def _scope(name):
    """Scope and name of a signal. Dots separate the modules."""
    scope, _, last = name.rpartition(".")
    return scope or "top", last
