"""Property-directed reachability: proofs that need no invariants beside the promises."""

from pathlib import Path

from cdma.toolchain import abc
from cdma.verify.formal.logic import Logic
from cdma.verify.formal.search import Search


def decide(query: Search, seconds: int, scratch: Path) -> abc.Decision:
    """Whether all promises hold for ever, as ABC finds out.

    Parameters
    ----------
    query : Search
        Promises and conditions, and the graph that they are about.
    seconds : int
        Bound on the search.
    scratch : Path
        Existing folder to work in.

    Raises
    ------
    UserError
        When Yosys is missing or fails.
    """
    graph, logic = query.cone, Logic()
    began = logic.latch()  # low in the cycle of reset, in which registers hold anything
    logic.latches[began] = 1
    inputs = {name: logic.input() for name in graph.inputs}
    inputs["rst"] = began ^ 1
    for name in (name for name in inputs if name.startswith("anyconst")):
        chosen = logic.latch()
        inputs[name] = logic.choose(began, chosen, inputs[name])
        logic.latches[chosen] = inputs[name]
    registers = {variable: logic.latch() for variable, _ in graph.latches}
    state = {
        variable: logic.choose(began, register, logic.input())
        for variable, register in registers.items()
    }
    following, outputs = logic.evaluate(graph, inputs, state)
    for variable, register in registers.items():
        logic.latches[register] = following[variable]

    def broken(name):
        return logic.both(outputs[f"{name}.EN"], outputs[f"{name}.A"] ^ 1)

    is_broken = 0  # a condition, since the reset
    was_broken = logic.latch()
    for name in query.conditions:
        is_broken = logic.either(is_broken, broken(name))
    is_broken = logic.either(was_broken, logic.both(began, is_broken))
    logic.latches[was_broken] = is_broken
    bad = 0
    for name in query.promises:
        bad = logic.either(bad, broken(name))
    bad = logic.both(bad, logic.both(began, is_broken ^ 1))
    return abc.decide(logic.blif(bad), seconds, scratch)
