"""Structs of the C++ sources in this folder, and the C++ text that binds the pins of a design."""

import ctypes
import re

import numpy as np

from cdma.errors import SimulationError

#: Channels of a port, in the order of ``axi.h``.
CHANNELS = ("ar", "r", "aw", "w", "b")


class Stall(ctypes.Structure):
    """``stalls.h``."""

    _fields_ = (
        *[(name, ctypes.c_int64) for name in ("on", "off", "phase", "pause", "at")],
        ("p", ctypes.c_double),
        ("draw", ctypes.c_void_p),
        ("state", ctypes.c_void_p),
    )


#: IDs of a port, at most.
MOST_IDS = 4


class Limits(ctypes.Structure):
    """``rules.h``."""

    _fields_ = (
        *[(name, ctypes.c_int32) for name in ("beat_bytes", "burst_bytes", "ids")],
        *[(name, ctypes.c_int32 * MOST_IDS) for name in ("reads", "read_beats", "writes")],
        *[(name, ctypes.c_int32) for name in ("bubble", "channels", "channel")],
        ("stripe_bytes", ctypes.c_int64),
    )


class Timing(ctypes.Structure):
    """``memory.h``."""

    _fields_ = (
        ("latency", ctypes.c_int64),
        ("jitter", ctypes.c_int64),
        ("tail", ctypes.c_double),
        ("tail_latency", ctypes.c_int64),
        ("bandwidth", ctypes.c_double),
        ("refresh_period", ctypes.c_int64),
        ("refresh_gap", ctypes.c_int64),
        ("reorder", ctypes.c_double),
        ("outstanding", ctypes.c_int64),
        ("order", ctypes.c_int32),
        ("pad", ctypes.c_int32),
        ("stalls", Stall * len(CHANNELS)),
    )


class Fault(ctypes.Structure):
    """``space.h``."""

    _fields_ = (
        ("first", ctypes.c_uint64),
        ("last", ctypes.c_uint64),
        ("delay", ctypes.c_int64),
        ("count", ctypes.c_int64),
        ("on_read", ctypes.c_uint8),
        ("on_write", ctypes.c_uint8),
        ("response", ctypes.c_uint8),
        ("pad", ctypes.c_uint8 * 5),
    )


class Access(ctypes.Structure):
    """``lite.h``."""

    _fields_ = (
        ("address", ctypes.c_uint64),
        ("data", ctypes.c_uint32),
        ("write", ctypes.c_uint8),
        ("strobe", ctypes.c_uint8),
        ("response", ctypes.c_uint8),
        ("order", ctypes.c_uint8),
        ("taken", ctypes.c_int64),
        ("done", ctypes.c_int64),
    )


class LitePins(ctypes.Structure):
    """``lite.h``."""

    _fields_ = (
        ("awaddr", ctypes.c_uint64),
        ("araddr", ctypes.c_uint64),
        ("wdata", ctypes.c_uint32),
        *[
            (name, ctypes.c_uint8)
            for name in ("awvalid", "wvalid", "wstrb", "bready", "arvalid", "rready", "awprot")
        ],
        ("arprot", ctypes.c_uint8),
        ("rdata", ctypes.c_uint32),
        *[
            (name, ctypes.c_uint8)
            for name in ("awready", "wready", "bvalid", "bresp", "arready", "rvalid", "rresp")
        ],
    )


class Stop(ctypes.Structure):
    """``model.cpp``."""

    _fields_ = (
        ("cycles", ctypes.c_int64),
        ("byte", ctypes.c_void_p),
        ("mask", ctypes.c_uint8),
        ("value", ctypes.c_uint8),
        ("irq", ctypes.c_uint8),
        ("access", ctypes.c_uint8),
    )


class Counts(ctypes.Structure):
    """``axi.h``."""

    _fields_ = tuple(
        (name, ctypes.c_int64)
        for name in (
            *("reads", "writes", "read_beats", "write_beats", "written_bytes"),
            *("reading", "writing", "most_reading", "most_writing"),
            *("first_write_beat", "last_write_beat", "first_read_beat", "last_read_beat"),
        )
    )


#: ``Event`` of ``axi.h``.
EVENT = np.dtype(
    [
        ("cycle", "<i8"),
        ("address", "<u8"),
        ("id", "<u2"),
        ("user", "<u2"),
        ("channel", "u1"),
        ("len", "u1"),
        ("cache", "u1"),
        ("prot", "u1"),
        ("qos", "u1"),
        ("pad", "V7"),
    ]
)

#: Fields of an address channel, and pins of the AXI4-Lite port by driver.
ADDRESS = ("addr", "id", "user", "valid", "len", "size", "burst", "lock", "cache", "prot", "qos")
LITE_OUT = ("rdata", "awready", "wready", "bvalid", "bresp", "arready", "rvalid", "rresp")
LITE_IN = ("awaddr", "araddr", "wdata", "awvalid", "wvalid", "wstrb", "bready", "arvalid")
LITE_IN += ("rready", "awprot", "arprot")


def declared(verilog: str, top: str) -> dict[str, int]:
    """Bits of each port of a module.

    Raises
    ------
    SimulationError
        When the text does not have the module.
    """
    found = re.search(rf"^module {top}\b(.*?)^endmodule", verilog, re.MULTILINE | re.DOTALL)
    if found is None:
        raise SimulationError(f"the Verilog has no module {top}")
    pattern = r"^\s*(?:input|output)\s+(?:wire\s+|reg\s+)?(?:\[(\d+):0\]\s*)?(\w+)"
    ports = re.findall(pattern, found[1], re.MULTILINE)
    return {name: int(high or 0) + 1 for high, name in ports}


def managers(ports: dict[str, int]) -> list[str]:
    """Prefixes of the AXI4 managers: the channels first, then the link."""
    prefixes = [name.removesuffix("_awlen") for name in ports if name.endswith("_awlen")]
    if not prefixes:
        raise SimulationError("the Verilog has no AXI4 port")
    is_channel = {each: re.search(r"\d+$", each) for each in prefixes}
    channels = [each for each in prefixes if is_channel[each]]
    links = [each for each in prefixes if not is_channel[each]]
    return [*sorted(channels, key=lambda each: int(is_channel[each][0])), *links]


def bind(ports: dict[str, int]) -> str:
    """The text of ``pins.h``."""
    prefixes = managers(ports)
    lite = next(name.removesuffix("_awaddr") for name in ports if _is_lite(name, prefixes))
    load, drive = [], []
    for number, prefix in enumerate(prefixes):
        ask, answer = f"asks[{number}]", f"answers[{number}]"
        for channel in ("ar", "aw"):
            for field in ADDRESS:
                if f"{prefix}_{channel}{field}" in ports:
                    load.append(f"{ask}.{channel}.{field} = top.{prefix}_{channel}{field};")
        size = ports[f"{prefix}_wdata"] // 8
        load.append(f"memcpy({ask}.wdata, &top.{prefix}_wdata, {size});")
        load.append(f"memcpy({ask}.wstrb, &top.{prefix}_wstrb, {-(-size // 8)});")
        load += [f"{ask}.{pin} = top.{prefix}_{pin};" for pin in PLAIN_ASK]
        drive.append(f"memcpy(&top.{prefix}_rdata, {answer}.rdata, {size});")
        drive += [
            f"top.{prefix}_{pin} = {answer}.{pin};"
            for pin in PLAIN_ANSWER
            if f"{prefix}_{pin}" in ports
        ]
    load += [f"lite.{pin} = top.{lite}_{pin};" for pin in LITE_OUT]
    drive += [f"top.{lite}_{pin} = lite.{pin};" for pin in LITE_IN if f"{lite}_{pin}" in ports]
    lines = "\n    ".join
    return (
        "// The pins of one design.\n"
        "#pragma once\n"
        f"constexpr int PORTS = {len(prefixes)};\n"
        "inline void load_pins(const Vmodel& top, Ask* asks, LitePins& lite) {\n"
        f"    {lines(load)}\n}}\n"
        "inline void drive_pins(Vmodel& top, const Answer* answers, const LitePins& lite) {\n"
        f"    {lines(drive)}\n}}\n"
    )


PLAIN_ASK = ("wvalid", "wlast", "rready", "bready")
PLAIN_ANSWER = ("arready", "awready", "wready", "rvalid", "rlast", "rresp", "rid", "bvalid")
PLAIN_ANSWER += ("bresp", "bid")


def _is_lite(name, prefixes):
    return name.endswith("_awaddr") and name.removesuffix("_awaddr") not in prefixes
