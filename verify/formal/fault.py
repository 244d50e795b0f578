"""Fault injection: force a named signal of a design, for all its readers.

A proof that can fail must refute a design with a fault. The fault is inserted into the flat
netlist: the drivers of the signal drive a new signal, and the fault logic drives the original one.
"""

import re
from dataclasses import dataclass

#: Kinds of faults.
KINDS = ("stuck at 0", "stuck at 1", "inverted", "late")

#: Output ports of Yosys cells.
_OUTPUTS = ("Y", "Q", "RD_DATA")
_WIRE = re.compile(r"^  wire (?:width (\d+) )?(?:\S+ \d+ |upto |signed )*(\S+)$", re.MULTILINE)
_CELL = re.compile(r"^  cell (\S+) (\S+)\n((?:    .*\n)*)  end$", re.MULTILINE)
_PIN = re.compile(r"^    connect \\(\w+) (.*)$", re.MULTILINE)
_CONNECT = re.compile(r"^  connect (.*)$", re.MULTILINE)
_TOKEN = re.compile(r"[{}]|\d+'[01xzm-]*|(?:\\|\$)\S+(?: \[\d+(?::\d+)?\])?|\d+")


@dataclass(frozen=True)
class Fault:
    """A fault at a signal.

    Parameters
    ----------
    signal : str
        Name of the signal below the bench, such as ``dut.queue.valid``.
    kind : str
        One of :data:`KINDS`. ``late`` delays the signal by one cycle.
    bit : int or None
        Faulty bit. ``None`` is all bits.

    Raises
    ------
    ValueError
        When the kind is unknown.
    """

    signal: str
    kind: str
    bit: int | None = None

    def __post_init__(self):
        if self.kind not in KINDS:
            raise ValueError(f"Fault must be one of {', '.join(KINDS)}, not {self.kind!r}")

    def __str__(self):
        bit = "" if self.bit is None else f"[{self.bit}]"
        return f"{self.signal}{bit} {self.kind}"


def stuck_at(value: int, signal: str, bit: int | None = None) -> Fault:
    """A fault that forces a signal, or one bit, to 0 or 1."""
    return Fault(signal, f"stuck at {value}", bit)


def inverted(signal: str, bit: int | None = None) -> Fault:
    """A fault that inverts a signal, or one bit."""
    return Fault(signal, "inverted", bit)


def late(signal: str, bit: int | None = None) -> Fault:
    """A fault that delays a signal, or one bit, by one cycle."""
    return Fault(signal, "late", bit)


def force(flat: str, fault: Fault) -> str:
    """Insert a fault into a flat netlist.

    The fault also affects all signals on the same net.

    Raises
    ------
    ValueError
        When the signal or bit does not exist, or no cell drives it.
    """
    widths = {name: int(width or 1) for width, name in _WIRE.findall(flat)}
    name = f"\\bench.{fault.signal}"
    if name not in widths:
        raise ValueError(f"Design has no signal {fault.signal!r}")
    if fault.bit is not None and not 0 <= fault.bit < widths[name]:
        raise ValueError(f"Signal {fault.signal!r} has {widths[name]} bits, no bit {fault.bit}")
    sources = {}
    for line in _CONNECT.findall(flat):
        left, right = _sides(line, widths)
        sources.update(zip(left, right, strict=True))
    bits = range(widths[name]) if fault.bit is None else [fault.bit]
    forced = {_driven((name, bit), sources): None for bit in bits}  # each net once, in bit order
    places = {net: index for index, net in enumerate(forced)}
    found = set()

    def driver(match):
        def pin(pin):
            nets = _bits(pin[2], widths)
            if pin[1] not in _OUTPUTS or not places.keys() & set(nets):
                return pin[0]
            found.update(places.keys() & set(nets))
            moved = [("\\fault", places[net]) if net in places else net for net in nets]
            return f"    connect \\{pin[1]} {_text(moved)}"

        return f"  cell {match[1]} {match[2]}\n{_PIN.sub(pin, match[3])}  end"

    text = _CELL.sub(driver, flat)
    missing = [net for net in forced if net not in found]
    if missing:
        raise ValueError(f"No cell drives {fault.signal!r}, but {_text(missing)}")
    begin, module, rest = text.partition("module \\top\n")
    body, end, _ = rest.rpartition("end\n")
    wire = f"  wire width {len(forced)} \\fault\n"
    return "".join([begin, module, wire, body, _through(fault.kind, list(forced)), end])


def _through(kind, nets):
    """Cells of the fault, from the driven signal ``fault`` to the forced nets."""
    width, result = len(nets), _text(nets)
    if kind == "late":
        lines = [
            "cell $dff \\fault.register",
            *(f"  parameter \\{name}" for name in (f"WIDTH {width}", "CLK_POLARITY 1'1")),
            "  connect \\CLK \\clk",
            "  connect \\D \\fault",
            f"  connect \\Q {result}",
            "end",
        ]
    elif kind == "inverted":
        lines = [
            "cell $not \\fault.inverter",
            "  parameter \\A_SIGNED 0",
            *(f"  parameter \\{name}_WIDTH {width}" for name in "AY"),
            "  connect \\A \\fault",
            f"  connect \\Y {result}",
            "end",
        ]
    else:
        lines = [f"connect {result} {width}'{kind[-1] * width}"]
    return "".join(f"  {line}\n" for line in lines)


def _driven(bit, sources):
    """Follow connections from a bit to its driven net."""
    while bit in sources:
        bit = sources[bit]
    return bit


def _sides(line, widths):
    """Bits of both sides of a connection."""
    depth, tokens = 0, _TOKEN.findall(line)
    for index, token in enumerate(tokens):
        depth += (token == "{") - (token == "}")
        if depth == 0:
            return [
                _bits(" ".join(part), widths) for part in (tokens[: index + 1], tokens[index + 1 :])
            ]
    raise ValueError(f"Connection must have two sides, not {line!r}")


def _bits(sigspec, widths):
    """Bits of an RTLIL signal specification, lowest first. Each is a constant, or a wire and an
    index."""
    bits = []
    for token in _TOKEN.findall(sigspec):
        if token in "{}":
            continue
        name, _, index = token.partition(" ")
        if name[0] in "\\$":
            high, _, low = (
                index[1:-1].partition(":") if index else (str(widths[name] - 1), ":", "0")
            )
            part = [(name, place) for place in range(int(low or high), int(high) + 1)]
        else:
            _, sized, digits = name.rpartition("'")
            if not sized:  # a constant of 32 bits is written as a number
                digits = f"{int(name) & 0xFFFFFFFF:032b}"
            part = [(digit, None) for digit in reversed(digits)]
        bits = part + bits  # RTLIL writes the highest bit first
    return bits


def _text(bits):
    """RTLIL signal specification of a list of bits."""
    parts = [f"{name} [{place}]" if place is not None else f"1'{name}" for name, place in bits]
    return f"{{ {' '.join(reversed(parts))} }}"
