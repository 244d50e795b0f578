"""Don't-care registers: their value has no effect while another register has a certain value.

An example is a payload register while its valid bit is low. Two states of the unit are related if
they are equal except in don't-care registers. The relation is proven to be preserved: from related
states, with the same inputs, the unit has the same outputs and its next states are related. The
registers in the conditions are equal in both states, so the relation is transitive, and the proof
need only consider states that differ in one bit.

The proof itself finds the conditions. At first, a register matters only while every condition bit
is both high and low, that is never. Each counterexample of the solver removes the conditions that
allowed it. This ends when no counterexample remains, or when no condition is left and the register
always matters.
"""

import random

from cdma.verify.formal.aiger import Graph, value
from cdma.verify.formal.logic import Logic, is_true, signed
from cdma.verify.mutation.graph import choice, offered_by, outputs_differ

#: Number of random states to test before the solver is used.
_STATES = 2048


def matters(graph: Graph) -> dict[int, list[int]]:
    """Find register bits that are a don't-care under a condition.

    Returns
    -------
    dict of int to list of int
        Literals of condition registers, by variable of the register. The register matters only
        while all literals are true.
    """
    return _Search(graph).run()


class _Search:
    def __init__(self, graph):
        self._logic = logic = Logic()
        self._whens = {}
        self._state = {variable: logic.input() for variable, _ in graph.latches}
        inputs = {name: logic.input() for name in graph.inputs} | choice(graph, 0)
        inputs |= {"aclk": 0}
        in_reset, _ = logic.evaluate(graph, inputs | {"aresetn": 0}, self._state)
        inputs["aresetn"] = 1
        self._following, outputs = logic.evaluate(graph, inputs, self._state)
        # Valid bits have a reset value: only such registers can be conditions.
        flags = [variable for variable, literal in in_reset.items() if literal < 2]
        self._conditions = {
            variable: {2 * flag + sign for flag in flags for sign in (0, 1)}
            for variable, literal in in_reset.items()
            if literal >= 2
        }
        self._reaches = {}
        for variable in self._conditions:
            other = self._state | {variable: self._state[variable] ^ 1}
            following, others = logic.evaluate(graph, inputs, other)
            different = {
                each: logic.differ(literal, following[each])
                for each, literal in self._following.items()
            }
            self._reaches[variable] = (
                outputs_differ(logic, outputs, others),
                {each: literal for each, literal in different.items() if literal},
            )
        self._solver = logic.solver()
        self._sample(_Samples(graph))

    def _sample(self, samples):
        """Remove the conditions that random states refute."""
        changes = {variable: samples.changes(variable) for variable in self._conditions}
        is_changed = True
        while is_changed:
            is_changed = False
            matters = {}
            for variable, conditions in self._conditions.items():
                matters[variable] = samples.ones
                for condition in conditions:
                    matters[variable] &= samples.next(condition)
            for variable, conditions in self._conditions.items():
                wrong, different = changes[variable]
                for each, where in different.items():
                    wrong |= where & matters.get(each, samples.ones)
                left = {each for each in conditions if not wrong & ~samples.now(each)}
                if left != conditions:
                    self._conditions[variable] = left
                    is_changed = True

    def run(self):
        is_changed = True
        while is_changed:
            is_changed = False
            for variable in list(self._conditions):
                while self._conditions[variable] and self._weaken(variable):
                    is_changed = True
        return {variable: sorted(found) for variable, found in self._conditions.items() if found}

    def _weaken(self, variable):
        """Remove conditions that a counterexample refutes. Returns whether there was one."""
        seen, different = self._reaches[variable]
        ways = [signed(seen)]
        for each, literal in different.items():
            way = self._new()
            self._demand([-way, signed(literal)])
            if self._conditions.get(each):
                self._demand([-way, self._when(each)])
            ways.append(way)
        conditions = self._conditions[variable]
        holds = {condition: self._state[condition >> 1] ^ condition & 1 for condition in conditions}
        model = self._solve(ways, [signed(literal ^ 1) for literal in holds.values()])
        if model is None:
            return False
        left = {condition for condition, literal in holds.items() if is_true(model, literal)}
        self._conditions[variable] = left
        self._whens.pop(variable, None)
        return True

    def _when(self, variable):
        """Literal that implies that the register matters in the next state."""
        if variable not in self._whens:
            when = self._whens[variable] = self._new()
            for condition in self._conditions[variable]:
                holds = self._following[condition >> 1] ^ condition & 1
                self._demand([-when, signed(holds)])
        return self._whens[variable]

    def _new(self):
        return signed(self._logic.input())

    def _demand(self, clause):
        self._solver.add_clause(clause)

    def _solve(self, *any_of):
        """A state in which at least one literal of each list is true. The lists are temporary
        clauses, removed after the call."""
        now = self._new()
        for literals in any_of:
            self._demand([-now, *literals])
        is_found = self._solver.solve(assumptions=[now])
        model = self._solver.get_model() if is_found else None
        self._demand([-now])
        return model


class _Samples:
    """Random states and inputs of a unit, to test the effect of a change of one register."""

    def __init__(self, graph):
        self._graph = graph
        self.ones = (1 << _STATES) - 1
        rng = random.Random(0)
        self._state, self._inputs = (
            {each: rng.getrandbits(_STATES) for each in names}
            for names in ([variable for variable, _ in graph.latches], graph.inputs)
        )
        self._inputs |= choice(graph, 0) | {"aclk": 0, "aresetn": self.ones}
        self._values = graph.evaluate(self._state, self._inputs, self.ones)
        self._following = dict(graph.latches)

    def now(self, literal):
        """Samples in which a literal is true."""
        return value(self._values, literal, self.ones)

    def next(self, condition):
        """Samples in which a register literal is true one cycle later."""
        return self.now(self._following[condition >> 1] ^ condition & 1)

    def changes(self, variable):
        """Samples in which another value of a register changes the ports; and by register, those in
        which it changes the next state."""
        values, reached = self._values.copy(), {variable}
        values[variable] ^= self.ones
        inverted = (0, self.ones)
        for result, a, b in self._graph.gates:
            if a >> 1 in reached or b >> 1 in reached:
                new = (values[a >> 1] ^ inverted[a & 1]) & (values[b >> 1] ^ inverted[b & 1])
                if new != values[result]:
                    values[result] = new
                    reached.add(result)
        seen = 0
        for name, literal in self._graph.outputs.items():
            different = values[literal >> 1] ^ self._values[literal >> 1]
            valid = offered_by(name)
            seen |= different & self.now(self._graph.outputs[valid]) if valid else different
        different = {
            each: values[literal >> 1] ^ self._values[literal >> 1]
            for each, literal in self._graph.latches
            if literal >> 1 in reached
        }
        return seen, different
