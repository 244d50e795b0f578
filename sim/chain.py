"""Verilog that connects a compressor and a decompressor, to simulate both."""

from cdma.hdl.codecs import UnitConfig

TOP = "cdma_roundtrip"


def verilog(units: str, config: UnitConfig) -> str:
    """Both units and a top level ``cdma_roundtrip`` around them.

    ``s_axis`` feeds the compressor. The compressor's stream feeds the decompressor directly, and
    the outputs ``link_t...`` show the stream. ``m_axis_csts`` is the compressor's status. The other
    ports belong to the decompressor. A text with this top level is returned unchanged.
    """
    if f"module {TOP}(" in units:
        return units
    bits = config.beat_bits
    has_types = bool(config.parts)
    stream = {"tdata": bits, "tkeep": bits // 8, "tlast": 1, "tvalid": 1, "tready": 1}
    widths = {
        "s_axis": stream,
        "s_axis_cmd": {"tdata": 40 if has_types else 32, "tvalid": 1, "tready": 1},
        "link": stream,
        "m_axis": stream,
        "m_axis_sts": {"tdata": 72 if config.format.ends_itself else 40, "tvalid": 1, "tready": 1},
        "m_axis_csts": {"tdata": 64, "tvalid": 1, "tready": 1},
    }
    command = {"s_axis_cmd": "d_cmd" if has_types else "s_axis_cmd"}
    if config.format.ends_itself:
        del widths["s_axis_cmd"]
        command = {}
    ports = ["input aclk", "input aresetn"]
    zero = list(config.constants)
    ports += [f"input [{config.format.word_bits - 1}:0] {name}" for name in zero]
    for prefix, signals in widths.items():
        for name, width in signals.items():
            is_input = prefix != "link" and prefix.startswith("s_") != (name == "tready")
            direction = "input" if is_input else "output"
            ports.append(f"{direction} [{width - 1}:0] {prefix}_{name}")
    instances = [
        _instance(
            "compressor",
            {
                **({"s_axis_cmd": "c_cmd"} if has_types else {}),
                "s_axis": "s_axis",
                "m_axis": "link",
                "m_axis_sts": "m_axis_csts",
            },
            zero,
        ),
        _instance(
            "decompressor",
            {
                **command,
                "s_axis": "link",
                "m_axis": "m_axis",
                "m_axis_sts": "m_axis_sts",
            },
            zero,
        ),
    ]
    body = (_FORK if has_types else "") + "".join(instances)
    top = f"module {TOP}(\n  " + ",\n  ".join(ports) + ");\n" + body + "endmodule\n"
    return f"{units}\n{top}"


def _instance(unit, joins, same):
    pins = [f".{name}({name})" for name in ("aclk", "aresetn", *same)]
    for port, net in joins.items():
        is_record = port.endswith(("_sts", "_cmd"))
        names = ("tdata", "tvalid", "tready") if is_record else _STREAM
        pins += [f".{port}_{name}({net}_{name})" for name in names]
    return f"  cdma_{unit} {unit}(" + ", ".join(pins) + ");\n"


#: A command with a type goes to both units, to each when it takes it.
_FORK = """\
  wire c_cmd_tready, d_cmd_tready;
  reg c_has = 0, d_has = 0;
  wire [7:0] c_cmd_tdata = s_axis_cmd_tdata[39:32];
  wire [39:0] d_cmd_tdata = s_axis_cmd_tdata;
  wire c_cmd_tvalid = s_axis_cmd_tvalid & ~c_has;
  wire d_cmd_tvalid = s_axis_cmd_tvalid & ~d_has;
  assign s_axis_cmd_tready = (c_cmd_tready | c_has) & (d_cmd_tready | d_has);
  always @(posedge aclk) begin
    c_has <= aresetn & s_axis_cmd_tvalid & ~s_axis_cmd_tready & (c_cmd_tready | c_has);
    d_has <= aresetn & s_axis_cmd_tvalid & ~s_axis_cmd_tready & (d_cmd_tready | d_has);
  end
"""

_STREAM = ("tdata", "tkeep", "tlast", "tvalid", "tready")
