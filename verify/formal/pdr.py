"""Property-directed reachability: proofs that need no hand-written invariants."""

from pathlib import Path

from cdma.toolchain import abc
from cdma.verify.formal.logic import Logic
from cdma.verify.formal.search import Search


def decide(query: Search, seconds: int, scratch: Path) -> abc.Decision:
    """Decide with ABC whether all assertions hold in all cycles.

    Parameters
    ----------
    query : Search
        Assertions, assumptions and their graph.
    seconds : int
        Time limit of the search.
    scratch : Path
        Existing folder for temporary files.

    Raises
    ------
    UserError
        When Yosys is missing or fails.
    """
    graph, logic = query.cone, Logic()
    began = logic.latch()  # low in the cycle of reset, in which registers hold any value
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

    is_broken = 0  # an assumption was violated since the reset
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
