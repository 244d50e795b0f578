"""Random runs on the and-inverter graph of a unit, thousands in parallel.

They find registers in which a mutant diverges from the unit. Inputs obey the stream rules, except
for gaps in ``tkeep``. The probability of set bits differs between runs.
"""

import re
from functools import cached_property

import numpy as np

from cdma.verify.formal.aiger import Graph, value
from cdma.verify.mutation.graph import choice
from cdma.verify.mutation.long_moves import packed

RUNS, CYCLES = 2048, 300
_ONES = (1 << RUNS) - 1
#: Probabilities that a port does not stall, and that a payload bit is set.
_WILLING = (0.05, 0.3, 0.5, 0.8, 0.95, 1.0)
_SET = (0.02, 0.1, 0.3, 0.6, 1.0)


class RandomRuns:
    """Random runs of a unit. They start in a random state with a cycle of reset.

    Parameters
    ----------
    graph : Graph
        The unit with its mutants, see :func:`cdma.verify.mutation.proof.graph`.
    """

    def __init__(self, graph: Graph):
        self.graph = graph
        self._evaluate = graph.evaluator()

    def apart(self, mutant: int) -> set[int]:
        """Variables of the registers in which a mutant diverges from the unit."""
        chosen = {name: _ONES * bit for name, bit in choice(self.graph, mutant).items()}
        state = self._run[0][1]
        found = set()
        for (inputs, _), (_, unit) in zip(self._run, self._run[1:], strict=False):
            state, _ = self._step(state, inputs | chosen)
            found |= {variable for variable, bits in unit.items() if bits != state[variable]}
        return found

    @cached_property
    def _run(self):
        """Inputs of each cycle, and the state of the unit at the start of the cycle."""
        rng = np.random.default_rng(0)
        # One probability for all bits of a port. Low values make zero words likely.
        pins = {name: name.partition("[")[0] for name in self.graph.inputs}
        shares = {
            pin: rng.choice(_WILLING if pin.endswith(("valid", "ready")) else _SET, RUNS)
            for pin in dict.fromkeys(pins.values())
        }
        state = {variable: packed(rng.random(RUNS) < 0.5) for variable, _ in self.graph.latches}
        chosen = choice(self.graph, 0)
        frames, inputs, outputs = [], {}, {}
        for cycle in range(CYCLES):
            fresh = {name: packed(rng.random(RUNS) < shares[pin]) for name, pin in pins.items()}
            for name, before in inputs.items():
                found = re.match(r"(\w+)_t(?!ready)", name)
                if found:
                    stalled = inputs[f"{found[1]}_tvalid"] & ~outputs[f"{found[1]}_tready"]
                    fresh[name] = before & stalled | fresh[name] & ~stalled
            inputs = fresh | chosen | {"aclk": 0, "aresetn": _ONES if cycle else 0}
            frames.append((inputs, state))
            state, outputs = self._step(state, inputs)
        return frames

    def _step(self, state, inputs):
        values = self._evaluate(state, inputs, _ONES)
        return (
            {variable: value(values, literal, _ONES) for variable, literal in self.graph.latches},
            {name: value(values, each, _ONES) for name, each in self.graph.outputs.items()},
        )
