"""Construction of and-inverter graphs: no duplicate gates, and correct functions."""

import itertools

import pytest

from cdma.verify.formal.aiger import Graph
from cdma.verify.formal.logic import Logic

OPERATIONS = {
    "both": lambda a, b: a & b,
    "either": lambda a, b: a | b,
    "differ": lambda a, b: a ^ b,
}


def value(logic, literal, inputs):
    """Value of a literal, evaluated gate by gate."""
    values = {0: 0, **{each: inputs[each] for each in logic.inputs}}
    for (a, b), result in logic.gates.items():
        values[result] = (values[a & ~1] ^ (a & 1)) & (values[b & ~1] ^ (b & 1))
    return values[literal & ~1] ^ (literal & 1)


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize(("negate_a", "negate_b"), list(itertools.product((0, 1), repeat=2)))
def test_two_literals(name, negate_a, negate_b):
    logic = Logic()
    a, b = logic.input(), logic.input()
    result = getattr(logic, name)(a ^ negate_a, b ^ negate_b)
    for x, y in itertools.product((0, 1), repeat=2):
        expected = OPERATIONS[name](x ^ negate_a, y ^ negate_b)
        assert value(logic, result, {a: x, b: y}) == expected


def test_choice_and_conjunction():
    logic = Logic()
    a, b, c = inputs = [logic.input() for _ in range(3)]
    chosen, every = logic.choose(a, b, c), logic.all(inputs)
    for values in itertools.product((0, 1), repeat=3):
        given = dict(zip(inputs, values, strict=True))
        assert value(logic, chosen, given) == (values[1] if values[0] else values[2])
        assert value(logic, every, given) == all(values)


def test_no_gate_is_there_twice():
    logic = Logic()
    a, b = logic.input(), logic.input()
    assert logic.both(a, b) == logic.both(b, a)
    assert len(logic.gates) == 1
    assert [logic.both(a, 0), logic.both(a, 1), logic.both(a, a), logic.both(a, a ^ 1)] == [
        0,
        a,
        a,
        0,
    ]
    assert len(logic.gates) == 1


def test_a_cycle_of_a_graph():
    """A register that is inverted while its input is high."""
    graph = Graph({"flip": 1}, [(2, 10)], [(3, 2, 4), (4, 3, 5), (5, 7, 9)], {"state": 4})
    logic = Logic()
    flip, state = logic.input(), logic.input()
    following, outputs = logic.evaluate(graph, {"flip": flip}, {2: state})
    assert outputs == {"state": state}
    for x, y in itertools.product((0, 1), repeat=2):
        assert value(logic, following[2], {flip: x, state: y}) == x ^ y


def test_text_has_what_the_output_needs():
    logic = Logic()
    a, b, register = logic.input(), logic.input(), logic.latch()
    logic.latches[register] = logic.both(a, register ^ 1)
    logic.both(a, b)  # nothing reads it
    lines = logic.blif(register ^ 1).splitlines()
    assert lines[1:3] == [".inputs n1", ".inputs n2"]
    assert ".latch f3 n3 0" in lines
    assert sum(line.startswith(".names") and line.count(" n") == 3 for line in lines) == 1
    assert lines[-3:] == [".names n3 bad", "0 1", ".end"]
