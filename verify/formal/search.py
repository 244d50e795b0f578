"""The search for a trace in which a statement of a proof is violated or met."""

import re

from cdma.verify.formal import aiger
from cdma.verify.formal.netlist import STATEMENTS

#: A statement's condition, and when it counts.
_PIN = re.compile(rf"({'|'.join(STATEMENTS)})\d+\.(A|EN)")


class Search:
    """What a graph promises (``assert``), relies on (``assume``) and can do (``cover``).

    Parameters
    ----------
    graph : aiger.Graph
        With outputs named ``assert0.A`` (the condition) and ``assert0.EN`` (when it counts).
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
        """First promise that is broken within ``depth`` cycles, with the cycle and the frames that
        show it: inputs by name and the state before them. ``None`` when none is."""
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
        """Cycle in which the last goal is first met; the name of a goal that is not, in so many
        cycles. After :meth:`refute`, which found nothing."""
        return self._meet_goals(self._past, most)

    def step(self, depth):
        """Promise that does not follow from all in the ``depth`` cycles before, with the frames
        that show it. ``None`` when all do."""
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
        """A cycle without reset, in which all conditions are met."""
        frames.add({"rst": -aiger.TRUE})
        for name in self.conditions:
            frames.demand(-frames.output(f"{name}.EN"), frames.output(f"{name}.A"))

    def _broken(self, frames):
        """The promise that can be broken in the last cycle; when none can, that is known of it.

        One after the other: what is known of the first helps with the next.
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
        """Cycle in which the last goal is first met; the name of a goal that cannot be."""
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
        """Registers at the start, inputs by cycle; those that do not matter are zero."""
        inputs = [
            {name: frames.value(frames.input(name, index)) for name in self.graph.inputs}
            for index in range(len(frames))
        ]
        return frames.state(0), inputs
