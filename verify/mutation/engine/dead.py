"""Faults of the engine that reach no port: the structure of its netlist shows that they are none.

Each fault gets an input of its own. Yosys simplifies the netlist and splits it into gates. A fault
whose input no output depends on, through any number of registers and memories, is equivalent: no
stimulus can show it.
"""

import json
from pathlib import Path

from cdma.toolchain import tool, yowasp
from cdma.verify.mutation.mutants import Drawn, Mutant

_SCRIPT = """
read_rtlil flat.il
{mutations}
opt -full -keepdc
techmap
opt -full -keepdc
write_json gates.json
"""
_FAULT = "fault_{}"


def unseen(drawn: Drawn, mutants: list[Mutant], scratch: Path) -> set[Mutant]:
    """The mutants of these that no port of the design depends on.

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
        return set()
    mutations = [
        f"mutate -ctrl {_FAULT.format(each.number)} 1 1 {each.command}" for each in mutants
    ]
    script = _SCRIPT.format(mutations="\n".join(mutations))
    inputs = {"flat.il": drawn.rtlil, "gates.ys": script}
    made = tool.execute(yowasp.yosys(), ["gates.ys"], inputs, ["gates.json"], scratch)
    (module,) = json.loads(made["gates.json"])["modules"].values()
    seen = reached(module)
    ports = module["ports"]
    return {each for each in mutants if ports[_FAULT.format(each.number)]["bits"][0] not in seen}


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
    ports = len(pins["RD_DATA"]) // width
    bits = len(pins["RD_ADDR"]) // max(ports, 1)
    for place, net in enumerate(pins["RD_DATA"]):
        port, bit = divmod(place, width)
        written = [*pins["WR_DATA"][bit::width], *pins["WR_EN"][bit::width]]
        yield net, [*controls, *written, *pins["RD_ADDR"][port * bits : (port + 1) * bits]]
