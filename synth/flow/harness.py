"""Registers around a unit, so that place-and-route measures the paths of the unit, not the pins."""

CLOCK = "aclk"


def verilog(unit: str, ports: dict[str, tuple[str, int]]) -> str:
    """Module ``harness`` around ``unit``, with three pins, and ``unit`` as a black box.

    The stages of a shift register, which is fed by one pin, drive the inputs of the unit. Every
    output drives a register. A pipelined chain of XORs reduces these registers to one pin. No path
    of the harness is longer than one LUT, and no signal has a fan-out above two.

    Parameters
    ----------
    unit : str
        Name of the unit's module; its clock is ``aclk``.
    ports : dict of (str, int)
        Direction, ``input`` or ``output``, and bits of each port.

    Raises
    ------
    ValueError
        When the unit has no clock ``aclk``, or no other input, or no output.
    """
    if CLOCK not in ports:
        raise ValueError(f"Unit {unit} must have a clock named {CLOCK}, not {sorted(ports)!r}")
    widths = {"input": 0, "output": 0}
    connections = [f".{CLOCK}({CLOCK})"]
    for name, (direction, bits) in ports.items():
        if name == CLOCK:
            continue
        bus = {"input": "drive", "output": "result"}[direction]
        connections.append(f".{name}({bus}[{widths[direction]} +: {bits}])")
        widths[direction] += bits
    if not all(widths.values()):
        raise ValueError(f"Unit {unit} must have inputs and outputs, not {widths!r}")
    inputs, outputs = widths["input"], widths["output"]
    header = ", ".join(f"{way} [{bits - 1}:0] {name}" for name, (way, bits) in ports.items())
    joined = ",\n    ".join(connections)
    return f"""\
(* blackbox *)
module {unit}({header});
endmodule

(* top *)
module harness(input {CLOCK}, input serial_in, output serial_out);
  reg [{inputs - 1}:0] drive;
  wire [{outputs - 1}:0] result;
  reg [{outputs - 1}:0] capture;
  reg [{outputs - 1}:0] fold;
  always @(posedge {CLOCK}) begin
    drive <= {{drive, serial_in}};
    capture <= result;
    fold <= capture ^ {{fold, 1'b0}};
  end
  assign serial_out = fold[{outputs - 1}];
  {unit} unit(
    {joined}
  );
endmodule
"""
