"""C++ of a netlist of gates: each variable is a vector with one bit for each lane.

Lane 0 has no fault. Nets that only one part of the code uses are local variables; all others are in
memory. A register has two places, for its value and for its next value, which change roles at the
clock.
"""

from collections.abc import Iterator

from cdma.errors import SimulationError

#: Gates and registers in a function: the compiler takes more than linear time for longer ones.
_CHUNK = 300
_GATES = {
    "$_AND_": "{A} & {B}",
    "$_OR_": "{A} | {B}",
    "$_XOR_": "{A} ^ {B}",
    "$_XNOR_": "~({A} ^ {B})",
    "$_NAND_": "~({A} & {B})",
    "$_NOR_": "~({A} | {B})",
    "$_ANDNOT_": "{A} & ~{B}",
    "$_ORNOT_": "{A} | ~{B}",
    "$_NOT_": "~{A}",
    "$_BUF_": "{A}",
    "$_MUX_": "({A} & ~{S}) | ({B} & {S})",
}
#: Constants; a net that nothing drives is low.
_CONSTANTS = {"0": "V{}", "1": "~V{}", "x": "V{}", "z": "V{}"}


class Source:
    """Writes the C++ of a module of Yosys' JSON, after ``techmap``.

    Parameters
    ----------
    module : dict
        Its clock is ``aclk``. Registers are any that Yosys has without an asynchronous reset.

    Raises
    ------
    SimulationError
        When the netlist has a cell that is not known.
    """

    def __init__(self, module: dict):
        self._ports, self._signals = module["ports"], module.get("netnames", {})
        self._cells = [part for cell in module["cells"].values() for part in _by_reads(cell)]
        self._drivers: dict[int, int] = {}  # net: cell
        for number, cell in enumerate(self._cells):
            for net in _outputs(cell):
                self._drivers[net] = number
        self.inputs = {
            name: port["bits"]
            for name, port in self._ports.items()
            if port["direction"] == "input" and name != "aclk"
        }
        self.outputs = {
            name: port["bits"] for name, port in self._ports.items() if port["direction"] != "input"
        }
        self._place()

    def _place(self):
        """Give registers, inputs and memories their places, and the cells their order."""
        self._names: dict[int | str, str] = dict(_CONSTANTS)
        for place, net in enumerate(net for bits in self.inputs.values() for net in bits):
            self._names[net] = f"in[{place}]"
        self.registers, self.memories = {}, {}
        for number, cell in enumerate(self._cells):
            if _is_register(cell):
                (net,) = cell["connections"]["Q"]
                self._names[net] = f"q[{len(self.registers)}]"
                self.registers[number] = len(self.registers)
            elif cell["type"] == "$mem_v2":
                self.memories[number] = Memory(cell, len(self.memories))
        self.state = len(self.registers)
        for memory in self.memories.values():
            if memory.is_clocked:  # what was read is a register
                memory.place = self.state
                self.state += len(memory.data)
                self._names |= {net: f"q[{memory.place + k}]" for k, net in enumerate(memory.data)}
        order = list(self._ordered())
        self._chunks = [order[at : at + _CHUNK] for at in range(0, len(order), _CHUNK)]
        self._keep()

    def _ordered(self) -> Iterator[int]:
        """Cells in an order in which each follows those that it depends on."""
        seen, pins = set(), [net for bits in self.outputs.values() for net in bits]
        pins += [net for memory in self.memories.values() for net in memory.later]
        drivers = [self._drivers.get(net) for net in pins if not self._is_state(net)]
        for end in (*self.registers, *drivers):
            left = [(end, False)]
            while left:
                number, is_done = left.pop()
                if number is None or (number in seen and not is_done):
                    continue
                if is_done:
                    yield number
                    continue
                seen.add(number)
                cell = self._cells[number]
                left.append((number, True))
                for net in self._needs(number, cell):
                    driver = self._drivers.get(net)
                    if driver is not None and driver not in seen and not self._is_state(net):
                        left.append((driver, False))

    def _is_state(self, net):
        """Whether the net has a value at the beginning of a cycle."""
        return self._names.get(net, "").startswith("q[")

    def _needs(self, number, cell):
        """Nets from which values of this cycle, or next values, are computed."""
        memory = self.memories.get(number)
        if memory is not None:
            return memory.needs
        ways = cell["port_directions"]
        return [
            net
            for pin, nets in cell["connections"].items()
            if ways[pin] == "input" and pin != "C"
            for net in nets
        ]

    def _keep(self):
        """Nets that need a place in memory: those that other chunks use, and pins of memories."""
        chunk_of = {number: at for at, chunk in enumerate(self._chunks) for number in chunk}
        kept = {net for bits in self.outputs.values() for net in bits}
        kept |= {net for each in self.memories.values() for net in (*each.later, *each.needs)}
        for number, at in chunk_of.items():
            for net in self._needs(number, self._cells[number]):
                if chunk_of.get(self._drivers.get(net)) != at:
                    kept.add(net)
        self.kept = 0
        for memory in self.memories.values():
            if not memory.is_clocked:  # data that is read lies together
                memory.place = self.kept
                for net in memory.data:
                    self._names[net] = f"w[{self.kept}]"
                    self.kept += 1
        for net in sorted(net for net in kept if isinstance(net, int)):
            if net not in self._names:
                self._names[net] = f"w[{self.kept}]"
                self.kept += 1

    def name(self, net: int | str) -> str:
        """Expression of a net outside of the function that computes it."""
        return self._names[net]

    def register_names(self) -> list[str]:
        """Name of each register, in the order of their places: the shortest that a signal gives."""
        names = [""] * self.state
        for signal, net in self._signals.items():
            for bit, each in enumerate(net["bits"]):
                if self._is_state(each):
                    place, name = int(self._names[each][2:-1]), f"{signal}[{bit}]"
                    old = names[place]
                    if not old or (old[0] == "$", len(old)) > (name[0] == "$", len(name)):
                        names[place] = name
        return names

    def text(self) -> str:
        """The functions ``settle`` and ``clock``, and the sizes of the state."""
        parts = [
            f"constexpr int REGISTERS = {self.state}, KEPT = {self.kept};\n",
            f"constexpr int INPUTS = {sum(map(len, self.inputs.values()))};\n",
            "struct State {\n    V in[INPUTS]{}, w[KEPT]{};\n    V registers[2][REGISTERS]{};\n",
            "    int now = 0;\n",
            *(f"    {memory.declaration}\n" for memory in self.memories.values()),
            "};\n",
        ]
        parts += [self._function(at, chunk) for at, chunk in enumerate(self._chunks)]
        calls = "".join(f"    part{at}(s, q, p);\n" for at in range(len(self._chunks)))
        parts.append(
            "static void settle(State& s) {\n"
            "    const V* q = s.registers[s.now];\n    V* p = s.registers[!s.now];\n"
            f"{calls}}}\n"
        )
        clocks = "".join(f"    {line}\n" for line in self._clock())
        parts.append(
            "static void clock(State& s) {\n    const V* q = s.registers[s.now];\n"
            "    V* p = s.registers[!s.now];\n"
            "    [[maybe_unused]] const V* in = s.in;\n    [[maybe_unused]] V* w = s.w;\n"
            f"{clocks}    s.now = !s.now;\n}}\n"
        )
        return "".join(parts)

    def _function(self, at, chunk):
        """One chunk of the combinational logic."""
        local, lines = {}, []
        for number in chunk:
            cell = self._cells[number]
            memory = self.memories.get(number)
            if memory is not None:
                lines += memory.read(self._names)
                continue
            pins = {
                pin: local.get(nets[0], self._names.get(nets[0]))
                for pin, nets in cell["connections"].items()
            }
            if number in self.registers:
                lines.append(f"p[{self.registers[number]}] = {_next(cell, pins)};")
                continue
            if cell["type"] not in _GATES:
                raise SimulationError(f"no cell of type {cell['type']} can be simulated in lanes")
            (net,) = cell["connections"]["Y"]
            local[net] = f"t{net}"
            value = _GATES[cell["type"]].format(**pins)
            lines.append(f"const V t{net} = {value};")
            if net in self._names:
                lines.append(f"{self._names[net]} = t{net};")
        body = "".join(f"    {line}\n" for line in lines)
        return (
            f"[[gnu::noinline]] static void part{at}(State& s, const V* __restrict q, "
            "V* __restrict p) {\n"
            "    [[maybe_unused]] const V* __restrict in = s.in;\n"
            "    [[maybe_unused]] V* __restrict w = s.w;\n"
            f"{body}}}\n"
        )

    def _clock(self):
        """Memories at the clock: reads of old bytes, then writes, then reads of new bytes."""
        clocked = [memory for memory in self.memories.values() if memory.is_clocked]
        for memory in clocked:
            yield from memory.read(self._names)
        for memory in self.memories.values():
            yield from memory.write(self._names)
        for memory in clocked:
            yield from memory.read(self._names, is_new=True)


class Memory:
    """A memory with one write port.

    Parameters
    ----------
    cell : dict
        ``$mem_v2``.
    number : int
    """

    def __init__(self, cell: dict, number: int):
        known = {"WR_PORTS": 1, "RD_COLLISION_X_MASK": 0, "OFFSET": 0}
        values = {name: int(cell["parameters"][name], 2) for name in known}
        if values != known:
            raise SimulationError(f"no memory with {values} can be simulated in lanes")
        self._pins = pins = cell["connections"]
        self.name = f"m{number}"
        self._width = len(pins["WR_DATA"])
        self._depth = int(cell["parameters"]["SIZE"], 2)
        self._bits = len(pins["WR_ADDR"])
        self._ports = len(pins["RD_DATA"]) // self._width
        self.is_clocked = int(cell["parameters"]["RD_CLK_ENABLE"], 2) != 0  # all reads or none
        self._new = int(cell["parameters"]["RD_TRANSPARENCY_MASK"], 2)  # a bit for each read port
        self.place = 0

    @property
    def data(self) -> list:
        """Nets of the data that is read."""
        return self._pins["RD_DATA"]

    @property
    def needs(self) -> list:
        """Nets that data depends on in the same cycle."""
        return [] if self.is_clocked else self._pins["RD_ADDR"]

    @property
    def later(self) -> list:
        """Nets that are used at the clock."""
        names = ("RD_ADDR", "RD_EN") if self.is_clocked else ()
        return [net for name in (*names, "WR_ADDR", "WR_DATA", "WR_EN") for net in self._pins[name]]

    @property
    def declaration(self) -> str:
        """The member of the state."""
        return f"Rows<{self._depth}, {self._width}, {self._bits}, {self._ports}> {self.name};"

    def read(self, names: dict, *, is_new: bool = False) -> Iterator[str]:
        """Statements that read all ports: those that give what is written in the same cycle, or the
        others."""
        for port in range(self._ports):
            if (self._new >> port & 1) != is_new:
                continue
            address = self._pins["RD_ADDR"][port * self._bits : (port + 1) * self._bits]
            listed = ", ".join(names[net] for net in address)
            place = self.place + port * self._width
            to = f"&w[{place}]"
            if self.is_clocked:
                enable = names[self._pins["RD_EN"][port]]
                to = f"{enable}, &q[{place}], &p[{place}]"
            yield f"{{ const V a[] = {{{listed}}}; s.{self.name}.read({port}, a, {to}); }}"

    def write(self, names: dict) -> Iterator[str]:
        """Statements that write."""
        enables = self._pins["WR_EN"]
        address = ", ".join(names[net] for net in self._pins["WR_ADDR"])
        data = ", ".join(names[net] for net in self._pins["WR_DATA"])
        listed = ", ".join(
            names[net] for net in (enables[:1] if len(set(enables)) == 1 else enables)
        )
        count = 1 if len(set(enables)) == 1 else len(enables)
        yield (
            f"{{ const V e[] = {{{listed}}}; if (any(e, {count})) {{ const V a[] = {{{address}}}, "
            f"d[] = {{{data}}}; s.{self.name}.write(a, d, e, {count}); }} }}"
        )


def _by_reads(cell):
    """The cell; of a memory with both kinds of reads one for each kind."""
    if cell["type"] != "$mem_v2":
        return [cell]
    parameters, pins = cell["parameters"], cell["connections"]
    marks, new = (int(parameters[name], 2) for name in ("RD_CLK_ENABLE", "RD_TRANSPARENCY_MASK"))
    count = len(pins["RD_EN"])
    kinds = [[port for port in range(count) if (marks >> port & 1) == kind] for kind in (1, 0)]
    if not all(kinds):
        return [cell]
    parts = []
    for ports in kinds:
        part = {name: list(nets) for name, nets in pins.items()}
        for name in ("RD_ADDR", "RD_DATA", "RD_EN"):
            each = len(pins[name]) // count
            part[name] = [
                net for port in ports for net in pins[name][port * each : (port + 1) * each]
            ]
        is_new = sum((new >> port & 1) << place for place, port in enumerate(ports))
        changed = {"RD_CLK_ENABLE": f"{marks >> ports[0] & 1:b}"}
        changed["RD_TRANSPARENCY_MASK"] = f"{is_new:b}"
        parts.append({**cell, "parameters": parameters | changed, "connections": part})
    return parts


def _outputs(cell):
    ways = cell["port_directions"]
    return [
        net for pin, nets in cell["connections"].items() if ways[pin] == "output" for net in nets
    ]


def _is_register(cell):
    return cell["type"].startswith(("$_DFF", "$_SDFF"))


def _next(cell, pins):
    """Expression of a register's next value. Types as ``$_SDFFE_PN0P_``: clock, reset, its value,
    enable."""
    kind, marks = cell["type"].strip("$_").rsplit("_", 1)
    value = pins["D"]
    hold = pins["Q"]
    enable = reset = None
    if kind == "DFFE":
        enable = pins["E"] if marks[1] == "P" else f"~{pins['E']}"
    if kind.startswith("SDFF"):
        reset = pins["R"] if marks[1] == "P" else f"~{pins['R']}"
        if kind != "SDFF":
            enable = pins["E"] if marks[3] == "P" else f"~{pins['E']}"
    if marks[0] != "P" or kind not in ("DFF", "DFFE", "SDFF", "SDFFE", "SDFFCE"):
        raise SimulationError(f"no register of type {cell['type']} can be simulated in lanes")
    if kind == "SDFFCE":  # the enable is of the reset, too
        value = f"(({value} & ~({reset})) | {'(' + reset + ')' if marks[2] == '1' else 'V{}'})"
        return f"({value} & ({enable})) | ({hold} & ~({enable}))"
    if enable is not None:
        value = f"(({value} & ({enable})) | ({hold} & ~({enable})))"
    if reset is not None:
        value = f"{value} | ({reset})" if marks[2] == "1" else f"{value} & ~({reset})"
    return value
