"""Survivors among mutants of the engine or of a unit that are proven to be no faults.

Each fault gets an input of its own. Yosys simplifies the netlist and splits it into gates. Then a
fault is none

- when no output depends on its input, through any number of registers and memories;
- or when a step of the design is the same with it and without it, from every state, whether the
  design gets there or not: no next value of a register, no pin of a memory and no output differs.

Both hold for all stimulus. What only depends on states that are never reached is not found.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from cdma.errors import require
from cdma.toolchain import tool, yowasp
from cdma.verify.mutation.mutants import Drawn, Mutant

_SCRIPT = """
read_rtlil flat.il
{mutations}
opt -full -keepdc
techmap
# A register whose input is a constant is this constant from the first cycle of the reset on.
opt_dff
opt -full -keepdc
opt_dff
opt -full -keepdc
dffunmap
techmap
aigmap
opt_clean
write_json gates.json
"""
#: Input of a fault.
FAULT = "fault_{}"
#: Verdicts: why a mutant is no fault.
UNSEEN, SAME = "reaches no port", "changes no step"
#: Conflicts after which the solver gives up.
_CONFLICTS = 100_000


def proven(drawn: Drawn, mutants: list[Mutant], scratch: Path) -> dict[Mutant, str]:
    """Those of the mutants that are proven to be no faults, and why.

    Parameters
    ----------
    drawn : Drawn
        The netlist.
    mutants : list of Mutant
    scratch : Path
        Existing folder for the temporary files of Yosys.

    Raises
    ------
    UserError
        When Yosys is missing or fails.
    """
    if not mutants:
        return {}
    mutations = [f"mutate -ctrl {FAULT.format(each.number)} 1 1 {each.command}" for each in mutants]
    script = _SCRIPT.format(mutations="\n".join(mutations))
    inputs = {"flat.il": drawn.rtlil, "gates.ys": script}
    made = tool.execute(yowasp.yosys(), ["gates.ys"], inputs, ["gates.json"], scratch)
    (module,) = json.loads(made["gates.json"])["modules"].values()
    seen, step = reached(module), Step(module)
    faults = {each: module["ports"][FAULT.format(each.number)]["bits"][0] for each in mutants}
    found = {}
    for mutant, fault in faults.items():
        if fault not in seen:
            found[mutant] = UNSEEN
        elif step.is_same(fault, faults.values()):
            found[mutant] = SAME
    return found


def reached(module: dict) -> set[int]:
    """Nets that an output depends on: a module of Yosys' JSON."""
    drivers = {}
    for cell in module["cells"].values():
        for net, needs in _needs(cell):
            drivers.setdefault(net, []).append(needs)
    ports = module["ports"].values()
    left = [net for port in ports if port["direction"] != "input" for net in port["bits"]]
    seen = set()
    while left:
        net = left.pop()
        if net in seen:
            continue
        seen.add(net)
        for needs in drivers.get(net, ()):
            left.extend(each for each in needs if each not in seen)
    return {net for net in seen if isinstance(net, int)}


def _needs(cell):
    """Each output net of a cell, and the nets that it depends on."""
    pins, ways = cell["connections"], cell["port_directions"]
    if cell["type"] == "$mem_v2":
        yield from _memory_needs(pins, int(cell["parameters"]["WIDTH"], 2))
        return
    needs = [net for pin, nets in pins.items() if ways[pin] == "input" for net in nets]
    for pin, nets in pins.items():
        if ways[pin] == "output":
            yield from ((net, needs) for net in nets)


def _memory_needs(pins, width):
    """A bit that is read depends on the same bit of what is written, and on all controls."""
    controls = [
        net
        for pin, nets in pins.items()
        if pin not in ("RD_DATA", "WR_DATA", "WR_EN", "RD_ADDR")
        for net in nets
    ]
    controls += pins["WR_ADDR"]
    ports = len(pins["RD_DATA"]) // width
    bits = len(pins["RD_ADDR"]) // max(ports, 1)
    for place, net in enumerate(pins["RD_DATA"]):
        port, bit = divmod(place, width)
        written = [*pins["WR_DATA"][bit::width], *pins["WR_EN"][bit::width]]
        yield net, [*controls, *written, *pins["RD_ADDR"][port * bits : (port + 1) * bits]]


class Step:
    """The gates of a module between its registers, memories and ports: AND gates and inverters.

    Parameters
    ----------
    module : dict
        A module of Yosys' JSON, after ``aigmap``.
    """

    def __init__(self, module: dict):
        self._gates, self._users, self._sinks = {}, {}, set()
        for cell in module["cells"].values():
            pins, ways = cell["connections"], cell["port_directions"]
            needs = [net for pin, nets in pins.items() if ways[pin] == "input" for net in nets]
            if cell["type"] in ("$_AND_", "$_NOT_"):
                (gate,) = pins["Y"]
                self._gates[gate] = needs
                for net in needs:
                    self._users.setdefault(net, []).append(gate)
            else:
                self._sinks.update(needs)
        for port in module["ports"].values():
            if port["direction"] != "input":
                self._sinks.update(port["bits"])

    def is_same(self, fault: int, faults: Iterable[int]) -> bool:
        """Whether the net ``fault`` changes nothing, when all other nets of ``faults`` are low."""
        touched, left = set(), [fault]
        while left:
            net = left.pop()
            if net not in touched:
                touched.add(net)
                left += self._users.get(net, ())
        ends = touched & self._sinks
        solvers = require("pysat.solvers", extra="formal", verb="a proof")
        with solvers.Solver(name="glucose4") as solver:
            names = {"0": -1, "1": 1, "x": 2, "z": 2}
            names |= dict.fromkeys((net for net in faults if net != fault), -1)
            number = 3
            solver.add_clause([1])
            good, bad = dict(names), dict(names)
            good[fault], bad[fault] = -1, 1
            for net in self._ordered(ends):
                if net in good:
                    continue
                for values in (good, bad) if net in touched else (good,):
                    values[net] = number
                    number += 1
                    self._define(solver, values, net)
                bad.setdefault(net, good[net])
            differ = []
            for net in ends:
                a, b, number = good[net], bad[net], number + 1
                solver.append_formula([[-number, a, b], [-number, -a, -b]])
                differ.append(number)
            solver.add_clause(differ)
            solver.conf_budget(_CONFLICTS)
            return solver.solve_limited() is False

    def _define(self, solver, values, net):
        """Constrain the value of a gate by those of its inputs. All other nets are free."""
        needs = [values[each] for each in self._gates.get(net, ())]
        name = values[net]
        if len(needs) == 1:
            solver.append_formula([[name, needs[0]], [-name, -needs[0]]])
        elif needs:
            solver.append_formula([[-name, each] for each in needs])
            solver.add_clause([name, *(-each for each in needs)])

    def _ordered(self, ends):
        """The nets that these depend on within a step, inputs of gates first."""
        order, seen = [], set()
        left = [(net, False) for net in ends]
        while left:
            net, is_done = left.pop()
            if is_done:
                order.append(net)
            elif net not in seen:
                seen.add(net)
                left.append((net, True))
                left += [(each, False) for each in self._gates.get(net, ())]
        return order
