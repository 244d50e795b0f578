"""Verilog of units with a fault."""

import pytest

from cdma.hdl import emit


@pytest.fixture
def spoiled():
    """Verilog of a unit in a wrapper, in which the port has the value ``fault``, an expression of
    the original value ``x``."""

    def verilog(unit, config, port, fault):
        name = f"cdma_{unit}"
        ports = emit.manifest(unit, config)["ports"]
        declared = [f"{p['direction']} [{p['bits'] - 1}:0] {p['name']}" for p in ports]
        joins = [f".{p['name']}({'x' if p['name'] == port else p['name']})" for p in ports]
        (bits,) = (p["bits"] for p in ports if p["name"] == port)
        return (
            emit.verilog(unit, config).replace(name, "inner")
            + f"module {name}({', '.join(declared)});\nwire [{bits - 1}:0] x;\n"
            f"assign {port} = {fault};\ninner inner({', '.join(joins)});\nendmodule\n"
        )

    return verilog
