"""The ports of a top module, grouped and commented as a reader expects them."""

import re

from amaranth.lib.wiring import In

from cdma.hdl.axi.stream import AxiTop
from cdma.hdl.engine.engine import AxiEngine

ZERO_MEANING = "word that is omitted; it must not change while the unit has a packet"


def port_list(axi: AxiTop | AxiEngine) -> list[dict]:
    """Name, direction and bits of each port, in the order of their declaration."""
    return [
        {
            "name": name,
            "direction": "input" if member.flow is In else "output",
            "bits": len(getattr(axi, name)),
        }
        for name, member in axi.signature.members.items()
    ]


def declare_ports(code: str, module: str, axi: AxiTop | AxiEngine) -> str:
    """The Verilog with the ports of ``module`` declared in its header, a group for each stream.

    Yosys names the ports in the header and declares them one by one in the body, in the order of
    the alphabet.
    """
    match = re.search(rf"^module {module}\(.*?\);\n(.*?)^endmodule$", code, re.M | re.S)
    ports = port_list(axi)
    names = "|".join(port["name"] for port in ports)
    declared = rf"^  (?:input|output|wire) (?:\[\d+:0\] )?(?:{names});\n"
    body = re.sub(declared, "", match[1], flags=re.M)
    return code[: match.start()] + _header(module, ports, axi) + body + code[match.end(1) :]


def _header(module, ports, axi):
    lines = []
    first = "clock, and reset: synchronous, active low"
    if any(port["name"] == "irq" for port in ports):
        first += "; interrupt, level"
    last = [("s", ZERO_MEANING)] if ports[-1]["name"] == "s_zero" else []
    for prefix, meaning in [("a", first), *axi.streams(), *last]:
        group = [port for port in ports if _prefix(port["name"]) == prefix]
        lines.append(f"  // {meaning}")
        for port in group:
            span = f"[{port['bits'] - 1}:0]" if port["bits"] > 1 else ""
            end = "" if port is ports[-1] else ","
            lines.append(f"  {port['direction']:<6} wire {span:>8} {port['name']}{end}")
    return "\n".join([f"module {module} (", *lines, ");"]) + "\n"


def _prefix(name):
    """``s_axis_cmd`` of ``s_axis_cmd_tdata``; ``a`` of the clock and the reset."""
    return name.rpartition("_")[0] or "a"
