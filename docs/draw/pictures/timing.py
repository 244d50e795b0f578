"""Timing diagrams of both units in WaveDrom style, recorded in runs of their generated Verilog."""

import json
import re

import numpy as np
import wavedrom

from cdma.golden import compress
from cdma.hdl import emit
from cdma.hdl.zvc.config import Config
from cdma.sim.backpressure import per_port
from cdma.sim.compiled.run import Fed
from cdma.sim.compiled.unit import ModelUnit

#: Small enough to show every byte: four lanes of bytes, a mask for each two beats.
CONFIG = Config.of(4, 8, 8)
WORDS = bytes.fromhex("11002233 00004400 55667700 8899aabb 0001")
#: Bits of the fields of a record, by its port.
RECORDS = {"m_axis_sts": {"compressor": (32, 32), "decompressor": (32, 8)}, "s_axis_cmd": (32,)}


def draw_compressor() -> str:
    title = f"Compressor, {len(WORDS)} words; sink and status stall"
    return _draw("compressor", WORDS, None, "sink=paused:2,7 status=paused:1,13", title)


def draw_decompressor() -> str:
    stream = compress(memoryview(WORDS), CONFIG.format).tobytes()
    title = f"Decompressor, {len(WORDS)} words; sink stalls"
    return _draw("decompressor", stream, len(WORDS), "sink=paused:2,7", title)


def _draw(unit, data, count, stalls, title):
    trace = _record(unit, data, count, stalls.split())
    groups = [_group(unit, prefix, trace[prefix]) for prefix in trace.dtype.names]
    clock = {"name": "aclk", "wave": "p" + "." * (len(trace) - 1)}
    picture = {
        "signal": [clock, {}, *groups],
        "head": {"text": title, "tick": 0},
        "config": {"hscale": 2},
    }
    return _pruned(wavedrom.render(json.dumps(picture)).tostring()) + "\n"


def _pruned(svg):
    """Without the shapes that the picture does not use, nine tenths of the file."""
    used = set(re.findall(r'xlink:href="#([^"]+)"', svg))
    return re.sub(r'<g id="([^"]+)">(?:<path [^>]*/>|<rect [^>]*/>)+</g>',
                  lambda shape: shape[0] if shape[1] in used else "", svg)  # fmt: skip


def _record(unit, data, count, stalls):
    """Pins of all ports, cycle by cycle, from the first cycle after reset on."""
    model = ModelUnit(unit, CONFIG, emit.verilog(unit, CONFIG))
    counts = None if count is None else np.array([count], "<u4")
    content = np.frombuffer(data, np.uint8)
    fed = Fed(content, np.array([0, len(data)]), counts, per_port(stalls))
    trace = model.play(fed, is_traced=True).trace
    is_busy = np.any([trace[prefix]["valid"] for prefix in trace.dtype.names], axis=0)
    return trace[: np.flatnonzero(is_busy)[-1] + 2]


def _group(unit, prefix, pins):
    """The signals of a port."""
    is_packet = "last" in pins.dtype.names
    valid = pins["valid"].astype(bool)
    # A transfer stays the same until it is taken.
    number = np.concatenate([[0], np.cumsum(valid & pins["ready"].astype(bool))[:-1]])
    signals = [_bus("tdata", valid, number, [_text(unit, prefix, each) for each in pins["data"]])]
    if is_packet:
        keeps = [f"{int.from_bytes(each.tobytes(), 'little'):x}" for each in pins["keep"]]
        signals += [_bus("tkeep", valid, number, keeps), _bit("tlast", pins["last"] & valid)]
    signals += [_bit("tvalid", valid), _bit("tready", pins["ready"])]
    return [prefix, *signals]


def _text(unit, prefix, data):
    """A beat as its bytes in the order of the packet, a record as its fields."""
    if prefix not in RECORDS:
        return data.tobytes().hex()
    fields = RECORDS[prefix]
    number, texts = int.from_bytes(data.tobytes(), "little"), []
    for bits in fields[unit] if isinstance(fields, dict) else fields:
        texts.append(str(number & (1 << bits) - 1))
        number >>= bits
    return ", ".join(texts)


def _bus(name, valid, number, texts):
    wave, data, shown = "", [], None
    for is_valid, each, text in zip(valid, number, texts, strict=True):
        now = (each, text) if is_valid else None
        wave += "." if wave and now == shown else "=" if is_valid else "x"
        if is_valid and now != shown:
            data.append(text)
        shown = now
    return {"name": name, "wave": wave, "data": data}


def _bit(name, values):
    wave = ""
    for index, value in enumerate(values):
        wave += "." if index and value == values[index - 1] else str(int(value))
    return {"name": name, "wave": wave}
