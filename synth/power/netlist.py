"""A mapped netlist: its cells and nets, and plain Verilog for all simulators."""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cdma.errors import UserError
from cdma.synth.flow.asic import Mapped
from cdma.synth.flow.harness import CLOCK
from cdma.synth.liberty.cells import Cell
from cdma.synth.liberty.library import Liberty, function
from cdma.toolchain import tool, yowasp


@dataclass(frozen=True)
class Instance:
    """A cell in the netlist: its type, and the net of each connected pin."""

    cell: Cell
    nets: dict[str, str]


@dataclass(frozen=True)
class Netlist:
    """A netlist of cells.

    Parameters
    ----------
    ports : dict of (str, list of str)
        Direction and nets of each port, bit 0 first. Nets are named ``n1``, ``n2``, ...; constants
        ``1'b0`` and ``1'b1``.
    instances : list of Instance
    """

    ports: dict[str, tuple[str, list[str]]]
    instances: list[Instance]

    def loads(self) -> dict[str, float]:
        """Capacitance of the pins driven by each net, in the library's unit."""
        found: dict[str, float] = {}
        for instance in self.instances:
            for name, net in instance.nets.items():
                found[net] = found.get(net, 0.0) + instance.cell.pins[name].capacitance
        return found

    def verilog(self, name: str, delay: int = 0, seed: int = 0) -> str:
        """Module of plain assignments and registers. Registers start with random values.

        Parameters
        ----------
        name : str
            Name of the module. The module has the ports of the netlist, and wires for its nets.
        delay : int
            Delay of each cell in units of time. 0 for no delay.
        seed : int
            Seed of the random values.
        """
        chance = random.Random(seed)
        wait = f"#{delay} " if delay else ""
        nets = {
            net for _, bits in self.ports.values() for net in bits if not net.startswith("1'b")
        } | {net for each in self.instances for net in each.nets.values() if "'" not in net}
        header = ", ".join(
            f"{way} [{len(bits) - 1}:0] {port}" for port, (way, bits) in self.ports.items()
        )
        lines = [f"module {name}({header});"]
        lines += [f"  wire {net};" for net in sorted(nets)]
        for port, (way, bits) in self.ports.items():
            for bit, net in enumerate(bits):
                here = f"{port}[{bit}]"
                target, source = (net, here) if way == "input" else (here, net)
                lines.append(f"  assign {target} = {source};")
        registers = []
        for number, instance in enumerate(self.instances):
            values = dict(instance.nets)
            if instance.cell.state:
                here = f"s{number}"
                lines.append(f"  reg {here} = 1'b{chance.getrandbits(1)};")
                values |= zip(instance.cell.state, (here, f"~{here}"), strict=True)
                registers.append(f"    {here} <= {wait}{_next_state(instance)};")
            for net, tree in _outputs(instance):
                lines.append(f"  assign {wait}{net} = {_expression(instance, tree, values)};")
        clock = self.ports[CLOCK][1][0]
        lines += [f"  always @(posedge {clock}) begin", *registers, "  end", "endmodule"]
        return "\n".join(lines) + "\n"


def _outputs(instance: Instance) -> Iterator[tuple[str, function.Tree]]:
    for name, net in instance.nets.items():
        pin = instance.cell.pins[name]
        if pin.is_output:
            yield net, function.parse(pin.function)


def _next_state(instance: Instance) -> str:
    return _expression(instance, function.parse(instance.cell.next_state), instance.nets)


def _expression(instance: Instance, tree: function.Tree, values: dict[str, str]) -> str:
    unknown = function.names(tree) - set(values)
    if unknown:
        raise UserError(f"{instance.cell.name}: reads {min(unknown)}, which is no pin")
    return function.verilog(tree, values)


def read(top: str, mapped: Mapped, liberty: Liberty, scratch: Path) -> Netlist:
    """Netlist of a unit that :func:`cdma.synth.flow.asic.synthesise` mapped.

    Raises
    ------
    UserError
        When Yosys cannot read the netlist, or its cells are not in the model: cells with several
        clocks or asynchronous resets, and latches.
    """
    script = f"read_liberty -lib cells.lib; read_verilog mapped.v; hierarchy -top {top}; "
    text = tool.execute(
        yowasp.yosys(),
        ["-p", f"{script}write_json netlist.json"],
        {"cells.lib": liberty.text, "mapped.v": mapped.netlist},
        ["netlist.json"],
        scratch,
    )["netlist.json"]
    module = json.loads(text)["modules"][top]
    cells = liberty.cells
    ports = {
        name: (port["direction"], [_net(bit) for bit in port["bits"]])
        for name, port in module["ports"].items()
    }
    instances = [
        Instance(
            cells[cell["type"]],
            {pin: _net(bits[0]) for pin, bits in cell["connections"].items() if bits},
        )
        for cell in module["cells"].values()
        if cell["type"] != "$scopeinfo"
    ]
    clock = ports[CLOCK][1][0]
    for instance in instances:
        if instance.cell.state and instance.nets.get(instance.cell.clocked_on) != clock:
            raise UserError(f"{instance.cell.name}: is not clocked by {CLOCK}")
    return Netlist(ports, instances)


def _net(bit: int | str) -> str:
    return f"n{bit}" if isinstance(bit, int) else f"1'b{bit}"
