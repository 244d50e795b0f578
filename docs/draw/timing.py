"""Waveforms of both units, recorded in a simulation of them."""

from amaranth.sim import Simulator
from svg import EDGE, FAINT, INK, MONO, Sheet

from cdma.golden import compress
from cdma.hdl.zvc.compressor.unit import Compressor
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.unit import Decompressor

#: Small enough to show every byte: four lanes of bytes, a mask for each two beats.
CONFIG = Config.of(4, 8, 8)
WORDS = bytes.fromhex("11002233 00004400 55667700 8899aabb 0001")
LEFT, CYCLE, PITCH, HEIGHT = 150, 62, 28, 16


def draw_compressor() -> str:
    unit = Compressor(CONFIG)
    trace = _record(
        unit,
        {"s_axis": (unit.i, _beats(WORDS))},
        {"m_axis": (unit.o, {7, 8}), "m_axis_sts": (unit.o_status, {13})},
        16,
    )
    return _draw(trace, f"Compressor, {len(WORDS)} words, sink and status stall")


def draw_decompressor() -> str:
    unit = Decompressor(CONFIG)
    stream = compress(memoryview(WORDS), CONFIG.format).tobytes()
    trace = _record(
        unit,
        {
            "s_axis_cmd": (unit.i_command, [{"words": len(WORDS)}]),
            "s_axis": (unit.i, _beats(stream)),
        },
        {"m_axis": (unit.o, {7, 8}), "m_axis_sts": (unit.o_status, set())},
        17,
    )
    return _draw(trace, f"Decompressor, {len(WORDS)} words, sink stalls")


def _beats(data):
    """A packet's beats, as ports take them."""
    for at in range(0, len(data), CONFIG.beat_bytes):
        part = data[at : at + CONFIG.beat_bytes]
        yield {
            "words": list(part.ljust(CONFIG.beat_bytes, b"\0")),
            "keep": (1 << len(part)) - 1,
            "last": at + CONFIG.beat_bytes >= len(data),
        }


def _record(unit, inputs, outputs, cycles):
    """Simulate; give a list of (name, what each cycle shows).

    ``inputs`` maps a prefix to a port and what it is fed, back to back; ``outputs`` maps a prefix
    to a port and the cycles in which it is not taken. A cycle shows a bit as 0 or 1, and anything
    else as (number of the transfer, text), or None while nothing is offered.
    """
    rows = {}

    async def bench(ctx):
        waiting = {prefix: list(transfers) for prefix, (_, transfers) in inputs.items()}
        done = dict.fromkeys((*inputs, *outputs), 0)
        ports = {prefix: port for prefix, (port, _) in (inputs | outputs).items()}
        for cycle in range(cycles):
            for prefix, transfers in waiting.items():
                ctx.set(ports[prefix].valid, bool(transfers))
                if transfers:
                    ctx.set(ports[prefix].payload, transfers[0])
            for port, stalls in outputs.values():
                ctx.set(port.ready, cycle not in stalls)
            for prefix, port in ports.items():
                valid, ready = ctx.get(port.valid), ctx.get(port.ready)
                shown = _shown(ctx, port.payload) if valid else {}
                for name in _names(port.payload):
                    row = rows.setdefault(f"{prefix}_{name}", [])
                    row.append(_item(done[prefix], name, shown))
                rows.setdefault(f"{prefix}_tvalid", []).append(valid)
                rows.setdefault(f"{prefix}_tready", []).append(ready)
                if valid and ready:
                    done[prefix] += 1
                    if prefix in waiting:
                        waiting[prefix].pop(0)
            await ctx.tick()

    simulator = Simulator(unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return rows


def _names(payload):
    return ("tdata", "tkeep", "tlast") if hasattr(payload, "keep") else ("tdata",)


def _shown(ctx, payload):
    if hasattr(payload, "keep"):
        data = "".join(f"{ctx.get(word):02x}" for word in payload.words)
        return {
            "tdata": data,
            "tkeep": f"{ctx.get(payload.keep):x}",
            "tlast": ctx.get(payload.last),
        }
    fields = (ctx.get(getattr(payload, name)) for name, _ in payload.shape())
    return {"tdata": ", ".join(map(str, fields))}


def _item(number, name, shown):
    if name == "tlast":
        return shown.get(name, 0)
    return (number, shown[name]) if shown else None


def _draw(rows, title):
    cycles = len(next(iter(rows.values())))
    prefixes = list(dict.fromkeys(name.rpartition("_")[0] for name in rows))
    height = 52 + PITCH * (len(rows) + 1) + 12 * len(prefixes)
    sheet = Sheet(LEFT + cycles * CYCLE + 24, height, title)
    sheet.text(20, 26, title, anchor="start", weight="bold")
    y = 44
    for cycle in range(cycles + 1):
        x = LEFT + cycle * CYCLE
        sheet.line((x, y), (x, height - 14), color="#e4e7eb", width=1)
    _wave(sheet, y, "aclk", [1, 0] * cycles, CYCLE / 2)
    for prefix in prefixes:
        y += 12
        for name in [name for name in rows if name.rpartition("_")[0] == prefix]:
            y += PITCH
            is_bit = name.endswith(("tvalid", "tready", "tlast"))
            (_wave if is_bit else _bus)(sheet, y, name, rows[name], CYCLE)
    return sheet.finish()


def _wave(sheet, y, name, values, pitch):
    _label(sheet, y, name)
    points = []
    for i, value in enumerate(values):
        level = y + (0 if value else HEIGHT)
        points += [(LEFT + i * pitch, level), (LEFT + (i + 1) * pitch, level)]
    sheet.line(*points, color=EDGE, width=1.6)


def _bus(sheet, y, name, values, pitch):
    _label(sheet, y, name)
    start = 0
    for end in range(1, len(values) + 1):
        if end < len(values) and values[end] == values[start]:
            continue
        x0, x1, middle = LEFT + start * pitch, LEFT + end * pitch, y + HEIGHT / 2
        if values[start] is None:
            sheet.line((x0, middle), (x1, middle), color="#9fb3c8", dash="2 3")
        else:
            slope = 4
            outline = [(x0, middle), (x0 + slope, y), (x1 - slope, y), (x1, middle)]
            outline += [(x1 - slope, y + HEIGHT), (x0 + slope, y + HEIGHT), (x0, middle)]
            sheet.line(*outline, color=EDGE, fill="#eaf1f8")
            sheet.text((x0 + x1) / 2, middle + 3.5, values[start][1], 9.5, color=INK, font=MONO)
        start = end


def _label(sheet, y, name):
    sheet.text(LEFT - 10, y + HEIGHT - 4, name, 11, "end", FAINT, font=MONO)
