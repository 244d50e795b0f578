"""Search for traces that violate an assertion or reach a cover."""

import re

from cdma.verify.formal import aiger
from cdma.verify.formal.netlist import STATEMENTS

#: Pins of a statement: condition (A) and enable (EN).
_PIN = re.compile(rf"({'|'.join(STATEMENTS)})\d+\.(A|EN)")


class Search:
    """Searches in a graph with assertions (promises), assumptions (conditions), covers (goals).

    Parameters
    ----------
    graph : aiger.Graph
        Graph with outputs such as ``assert0.A`` (the condition) and ``assert0.EN`` (its enable).
    progress : callable
        Called after each cycle.
    """

    def __init__(self, graph, progress):
        self.graph = graph
        self.cone = graph.cone([name for name in graph.outputs if _PIN.fullmatch(name)])
        self.progress = progress
        self.promises, self.conditions, self.goals = (
            [name[:-2] for name in self.cone.outputs if re.fullmatch(rf"{kind}\d+\.A", name)]
            for kind in STATEMENTS
        )

    def refute(self, depth):
        """First assertion that is violated within ``depth`` cycles, its cycle and the
        counterexample (initial state, inputs by cycle). ``None`` if none is violated."""
        frames = self._frames()
        frames.add({"rst": aiger.TRUE})
        for cycle in range(1, depth + 1):
            self._extend(frames)
            broken = self._broken(frames)
            if broken:
                return broken, cycle, self._found(frames)
            self.progress(f"cycle {cycle} of {depth}")
        self._past = frames
        return None

    def reach(self, most):
        """Number of cycles in which all covers are reached, or the name of a cover that is not
        reached in ``most`` cycles. Call it after :meth:`refute` found no violation."""
        return self._meet_goals(self._past, most)

    def step(self, depth):
        """Assertion that does not follow from all assertions in the ``depth`` cycles before, and
        the counterexample. ``None`` if all follow."""
        steps = self._frames()
        for _ in range(depth):
            self._extend(steps)
            steps.differ()
            self._demand_promises(steps)
        self._extend(steps)
        steps.differ()
        broken = self._broken(steps)
        return (broken, self._found(steps)) if broken else None

    def _frames(self):
        return aiger.Frames(self.cone, lambda name: name.startswith("anyconst"))

    def _extend(self, frames):
        """Add a cycle without reset in which all assumptions hold."""
        frames.add({"rst": -aiger.TRUE})
        for name in self.conditions:
            frames.demand(-frames.output(f"{name}.EN"), frames.output(f"{name}.A"))

    def _broken(self, frames):
        """An assertion that can be violated in the last cycle, or ``None``.

        Assertions are checked one after the other. Each one that holds is added as a clause and
        helps to prove the next.
        """
        for name in self.promises:
            enabled, holds = frames.output(f"{name}.EN"), frames.output(f"{name}.A")
            breaks = frames.new()
            frames.demand(-breaks, enabled)
            frames.demand(-breaks, -holds)
            if frames.solve(breaks):
                return name
            frames.demand(-enabled, holds)
        return None

    def _demand_promises(self, frames):
        for name in self.promises:
            frames.demand(-frames.output(f"{name}.EN"), frames.output(f"{name}.A"))

    def _meet_goals(self, frames, reach):
        """Number of cycles in which all covers are reached, or the name of an unreachable cover."""
        latest = 0
        for name in self.goals:
            for cycle in range(1, reach + 1):
                if len(frames) <= cycle:
                    self._extend(frames)
                met = frames.new()
                frames.demand(-met, frames.output(f"{name}.EN", cycle))
                frames.demand(-met, frames.output(f"{name}.A", cycle))
                if frames.solve(met):
                    latest = max(latest, cycle)
                    break
            else:
                return name
            self.progress(f"{name} is met in cycle {cycle}")
        return latest

    def _found(self, frames):
        """Initial state and inputs by cycle. Don't-care values are zero."""
        inputs = [
            {name: frames.value(frames.input(name, index)) for name in self.graph.inputs}
            for index in range(len(frames))
        ]
        return frames.state(0), inputs
