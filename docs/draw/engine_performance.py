"""Tables and pictures of docs/engine-performance.md, from the measurements.

``engine_targets.json`` is what ``cdma bench --targets`` saved, ``engine_area.json`` what ``cdma
synth --unit engine --save-baseline`` saved, ``engine_fpga.json`` the same with ``--target xilinx``.
"""

import io
from itertools import pairwise

import matplotlib
import tables
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from measured import DOCS, records

from cdma.synth.flow import silicon
from cdma.synth.flow.engine import OF_CHANNELS, ROOTS
from cdma.synth.flow.report import spread
from cdma.tables import format_table

PAGE = DOCS / "engine-performance.md"
ABSENT = "Not measured for the engine as it is now: the command below measures it."
#: Titles of the counters of a channel.
COUNTERS = {
    "raw_beats": "a beat of words is read",
    "stream_beats": "a beat of the stream leaves",
    "stall_credit": "an address waits for room",
    "stall_address": "an address waits for the memory",
    "stall_turn": "the stream waits for other channels",
    "stall_link": "the stream waits for the link",
}
#: Most kGE without codec and RAM: with one channel, and of each further one.
FIRST_KGE, FURTHER_KGE = 49.5, 8.0
CRITICAL_NS, FMAX_MHZ = 0.60, 200


def fill(text: str) -> str:
    """The page with its tables as they were measured."""
    made = {
        "engine_targets": _targets,
        "engine_least": _least,
        "engine_counters": _counters,
        "engine_goals": _goals,
        "engine_parts": _parts,
        "engine_memories": _memories,
        "engine_ecp5": _ecp5,
        "engine_amd": _amd,
        "engine_28nm": _small,
    }
    return tables.fill(text, made, ABSENT)


def _verdict(is_met):
    return "met" if is_met else "missed"


def _targets() -> str:
    """Each target with its worst case, and how many cases met it."""
    groups = {}
    for row in records("engine_targets"):
        # Sizes of descriptors have targets of their own.
        case = row["case"] if row["row"] == "chain" else ""
        groups.setdefault((row["what"], row["channels"], case), []).append(row)
    rows = []
    for found in groups.values():
        worst = min(found, key=_margin)
        met = sum(row["verdict"] == "met" for row in found)
        rows.append(
            {
                "what": worst["what"],
                "channels": str(worst["channels"]),
                "worst case": worst["case"],
                "target": worst["target"],
                "measured": worst["measured"],
                "cases met": f"{met} of {len(found)}",
                "verdict": _verdict(met == len(found)),
            }
        )
    return format_table(rows, list(rows[0]), "markdown")


def _least() -> str:
    """Cycles that missed their target, beside the fewest of any engine."""
    rows = [
        {
            "what": row["what"],
            "channels": str(row["channels"]),
            "case": row["case"],
            "target": f"{row['limit']:,}",
            "measured": f"{row['value']:,}",
            "least possible": f"{row['least']:,}",
            "can be met": "no" if row["least"] > row["limit"] else "yes",
        }
        for row in records("engine_targets")
        if "least" in row and row["verdict"] == "missed"
    ]
    return format_table(rows, list(rows[0]), "markdown") if rows else "None.\n"


def _margin(row):
    """How far a case is on the good side of its limit."""
    return (row["value"] - row["limit"]) * (1 if row["target"].startswith(">=") else -1)


def _sweep(name: str, **fixed) -> list[dict]:
    points = [each for each in tables.read("engine_targets")["sweeps"] if each["sweep"] == name]
    return [each for each in points if all(each[key] == value for key, value in fixed.items())]


def _widest() -> int:
    return max(each["channels"] for each in _sweep("density"))


def _counters() -> str:
    rows = [
        {"density": f"{point['density']:g}", "ratio": f"{point['ratio']:.1f}"}
        | {title: f"{point['shares'][name]:.0%}" for name, title in COUNTERS.items()}
        for point in _sweep("density", channels=4)
    ]
    return format_table(rows, list(rows[0]), "markdown")


def _engines() -> list[dict]:
    """Records of whole engines with figures in cells, by channels."""
    found = [each for each in records("engine_area") if each["unit"] == "engine" and each["asic"]]
    return sorted(found, key=_channels)


def _channels(record: dict) -> int:
    return int(record["config"].partition("x")[0])


def _counted(record: dict) -> str:
    number = _channels(record)
    return f"{number} channel{'s' * (number > 1)}"


def _cells(record: dict) -> dict:
    return record["asic"]["abc"]


def _without_codec(record: dict) -> float:
    """Cells without codec and RAM in kGE."""
    figures = _cells(record)
    return figures["kge"] - figures["parts"]["codec"]["kge"]


def _goals() -> str:
    engines = _engines()
    one = _without_codec(engines[0])
    rows = [_goal("one channel without codec and RAM, kGE", FIRST_KGE, one)]
    for less, more in pairwise(engines):
        added = _channels(more) - _channels(less)
        value = (_without_codec(more) - _without_codec(less)) / added
        what = f"each further one, {_channels(less)} to {_channels(more)} channels, kGE"
        rows.append(_goal(what, FURTHER_KGE, value))
    for each in engines:
        if _cells(each)["critical_ns"]:
            what = f"critical path in Nangate45, {_counted(each)}, ns"
            rows.append(_goal(what, CRITICAL_NS, _cells(each)["critical_ns"], 2))
    for each in engines:
        tuned = each["asic"].get("tuned")
        if tuned and tuned["critical_ns"]:
            what = f"the same with the tuned script, {_counted(each)}, ns"
            rows.append(_goal(what, CRITICAL_NS, tuned["critical_ns"], 2))
    for each in _lattice():
        if each["ecp5"]["fmax_mhz"]:
            what = f"Fmax on ECP5, {_counted(each)}, MHz"
            rows.append(_goal(what, FMAX_MHZ, each["ecp5"]["fmax_mhz"], 0, at_least=True))
    if _channels(engines[-1]) == 8:
        value = silicon.areas(_cells(engines[-1]))["all"]
        what = "8 channels, all, estimated for 28 nm, mm2"
        rows.append(_goal(what, silicon.TARGET_MM2, value, 2))
    return format_table(rows, list(rows[0]), "markdown")


def _goal(what, limit, value, digits=1, *, at_least=False):
    is_met = value >= limit if at_least else value <= limit
    return {
        "what": what,
        "target": f"{'>=' if at_least else '<='} {limit:g}",
        "measured": f"{value:.{digits}f}",
        "verdict": _verdict(is_met),
    }


def _parts() -> str:
    engines = _engines()
    names = {_counted(each): each for each in engines}
    rows = []
    for name in ROOTS:
        title = f"{name}, of all channels" if name in OF_CHANNELS else name
        row = {"part, kGE": title}
        rows.append(row | {c: f"{_cells(e)['parts'][name]['kge']:.1f}" for c, e in names.items()})
    rows.append(
        {"part, kGE": "without codec"} | {c: f"{_without_codec(e):.1f}" for c, e in names.items()}
    )
    rows.append({"part, kGE": "all"} | {c: f"{_cells(e)['kge']:.1f}" for c, e in names.items()})
    area = {c: f"{_cells(e)['area_um2']:,.0f}" for c, e in names.items()}
    rows.append({"part, kGE": "all, um2"} | area)
    flip_flops = {c: f"{_cells(e)['storage_um2']:,.0f}" for c, e in names.items()}
    rows.append({"part, kGE": "of it flip-flops, um2"} | flip_flops)
    bits = {c: f"{_cells(e)['ram_bits'] / 8192:.1f}" for c, e in names.items()}
    rows.append({"part, kGE": "RAM, KiB"} | bits)
    return format_table(rows, list(rows[0]), "markdown")


def _memories() -> str:
    (one, *_) = _engines()
    rows = [
        {
            "memory": each["name"].removeprefix("cdma_engine_").replace(".memory", ""),
            "rows x bits": f"{each['rows']} x {each['width']}",
            "ports": f"{each['reads']} read, {each['writes']} write",
            "bits": f"{each['bits']:,}",
        }
        for each in sorted(_cells(one)["macros"], key=lambda each: -each["bits"])
    ]
    return format_table(rows, list(rows[0]), "markdown")


def _lattice() -> list[dict]:
    found = [each for each in records("engine_area") if each["unit"] == "engine" and each["ecp5"]]
    return sorted(found, key=_channels)


def _ecp5() -> str:
    found = _lattice()
    if not found:
        raise tables.NotMeasured("ECP5")
    rows = [
        {
            "engine": each["config"],
            "LUT4": f"{each['ecp5']['lut4']:,}",
            **_fpga_cells(each["ecp5"]),
            "Fmax MHz": spread(each["ecp5"]) if each["ecp5"]["fmax_mhz"] else "-",
            "seeds": f"{each['ecp5']['seeds']}",
        }
        for each in found
    ]
    return format_table(rows, list(rows[0]), "markdown")


def _amd() -> str:
    found = sorted(records("engine_fpga"), key=_channels)
    rows = [
        {
            "engine": each["config"],
            "LUT6": f"{each['xilinx']['luts']:,}",
            **_fpga_cells(each["xilinx"]),
        }
        for each in found
    ]
    return format_table(rows, list(rows[0]), "markdown")


def _fpga_cells(figures: dict) -> dict[str, str]:
    titles = {"FF": "flip_flops", "LUT RAM": "lut_rams", "block RAM": "block_rams"}
    return {title: f"{figures[name]:,}" for title, name in titles.items()}


def _small() -> str:
    rows = []
    for channels, figures in _with_eight(_engines()).items():
        found = silicon.areas(figures)
        rows.append(
            {
                "channels": channels,
                "logic, mm2": f"{found['logic']:.3f}",
                "RAM: bits alone, mm2": f"{found['bits']:.3f}",
                "RAM: all, mm2": f"{found['ram']:.3f}",
                "logic and RAM, mm2": f"{found['all']:.3f}",
                "of the paper's 1.5 mm2": f"{found['all'] / silicon.PAPER_MM2:.0%}",
            }
        )
    return format_table(rows, list(rows[0]), "markdown")


def _with_eight(engines: list[dict]) -> dict[str, dict]:
    """Figures by channels; those of eight on the line through the others when not measured."""
    found = {str(_channels(each)): _cells(each) for each in engines}
    if _channels(engines[-1]) == 8 or len(engines) < 2:
        return found
    less, more = engines[-2:]
    steps = (8 - _channels(more)) / (_channels(more) - _channels(less))
    line = {
        name: _cells(more)[name] + steps * (_cells(more)[name] - _cells(less)[name])
        for name in ("area_um2", "ram_bits")
    }
    return found | {"8, extrapolated": line}


def draw_speed() -> str:
    """Utilisation over size, latency and ratio, and memory bandwidth over the ratio."""
    return _picture(_draw_speed, (9, 6))


def draw_cycles() -> str:
    """Where the cycles of an offload go, over the density."""
    return _picture(_draw_cycles, (9, 3.2))


def draw_area() -> str:
    """Area of the parts and clock over the channels, and the estimate for 28 nm."""
    return _picture(_draw_area, (9, 3.8), layout=None)


def _picture(draw, size, layout="constrained") -> str:
    with matplotlib.rc_context(
        {"svg.hashsalt": "cdma", "svg.fonttype": "none", "font.size": 8, "axes.grid": True,
         "grid.alpha": 0.3}
    ):  # fmt: skip
        figure = Figure(figsize=size, layout=layout)
        FigureCanvasAgg(figure)
        draw(figure)
        target = io.BytesIO()
        figure.savefig(target, format="svg", metadata={"Date": None, "Creator": None})
    return target.getvalue().decode()


def _draw_speed(figure) -> None:
    (size, latency), (ratio, raw) = figure.subplots(2, 2)
    points = _sweep("size")
    kib = [each["bytes"] / 1024 for each in points]
    # One curve can cover the other: the second is dashed, with smaller points.
    for way, title, style in (("written", "offload", "o-"), ("read", "prefetch", ".--")):
        size.plot(kib, [100 * each[way] for each in points], style, label=title)
    size.set_xscale("log", base=2)
    size.set_xlabel("descriptors back to back, KiB each")
    size.set_ylabel("cycles with a beat on the link, %")
    size.set_title(f"over the descriptor's size, {points[0]['channels']} channels")
    for density in (0.5, 0.1):
        points = _sweep("latency", density=density)
        x = [each["latency"] for each in points]
        y = [100 * each["written"] for each in points]
        latency.plot(x, y, marker=".", label=f"density {density}")
    latency.axvline(350, color="#969696", lw=0.8, label="buffers are sized for")
    latency.set_xlabel("latency of device memory, cycles")
    latency.set_title(f"over the latency, {points[0]['channels']} channels")
    for channels in sorted({each["channels"] for each in _sweep("density")}):
        points = _sweep("density", channels=channels)
        x = [each["ratio"] for each in points]
        ratio.plot(x, [100 * each["written"] for each in points], marker=".", label=f"{channels}")
        raw.plot(
            x, [each["raw_bytes_per_cycle"] for each in points], marker=".", label=f"{channels}"
        )
    for axes in (ratio, raw):
        axes.set_xscale("log", base=2)
        axes.set_xlabel("compression ratio")
    ratio.set_ylabel("cycles with a beat on the link, %")
    ratio.set_title("over the ratio, by channels")
    raw.set_yscale("log", base=2)
    raw.set_ylabel("bytes of the tensor a cycle")
    raw.set_title("memory that is read, by channels")
    for axes in (size, latency, ratio, raw):
        axes.legend(fontsize=7)
    for axes in (size, latency, ratio):
        axes.set_ylim(0, 105)


def _draw_cycles(figure) -> None:
    panels = figure.subplots(1, 2, sharey=True)
    for axes, channels in zip(panels, (1, _widest()), strict=True):
        points = _sweep("density", channels=channels)
        for name, title in COUNTERS.items():
            y = [100 * each["shares"][name] for each in points]
            axes.plot([each["ratio"] for each in points], y, marker=".", label=title)
        axes.set_xscale("log", base=2)
        axes.set_xlabel("compression ratio")
        axes.set_title(f"offload, {channels} channel{'s' * (channels > 1)}")
    panels[0].set_ylabel("of a channel's cycles, %")
    panels[1].legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))


def _draw_area(figure) -> None:
    engines = _engines()
    left, middle, right = figure.subplots(1, 3, width_ratios=(2, 1.2, 1.2))
    names = [str(_channels(each)) for each in engines]
    base = [0.0] * len(engines)
    for part in sorted(ROOTS, key=lambda name: -_cells(engines[-1])["parts"][name]["kge"]):
        height = [_cells(each)["parts"][part]["kge"] for each in engines]
        left.bar(names, height, bottom=base, label=part)
        base = [low + more for low, more in zip(base, height, strict=True)]
    left.set_ylabel("kGE in Nangate45, without RAM")
    left.set_xlabel("channels")
    # A fixed layout: with a legend outside, the computed one is not the same each time.
    figure.subplots_adjust(left=0.07, right=0.99, bottom=0.24, top=0.97, wspace=0.35)
    figure.legend(*left.get_legend_handles_labels(), loc="lower center", ncols=4, fontsize=7)
    clocked = [each for each in engines if _cells(each)["critical_ns"]]
    middle.plot(
        [str(_channels(each)) for each in clocked],
        [1000 / _cells(each)["critical_ns"] for each in clocked],
        marker="o",
        label="Nangate45, without wires",
    )
    placed = [each for each in _lattice() if each["ecp5"]["fmax_mhz"]]
    if placed:
        clocks = [each["ecp5"]["fmax_mhz"] for each in placed]
        sizes = [str(_channels(each)) for each in placed]
        middle.plot(sizes, clocks, "s", label="ECP5, placed and routed")
    middle.axhline(1000 / CRITICAL_NS, color="#969696", lw=1, ls="--", label="target, Nangate45")
    middle.set_ylim(0, 1100 / CRITICAL_NS)
    middle.set_xlabel("channels")
    middle.set_ylabel("MHz")
    middle.legend(fontsize=7)
    found = [silicon.areas(_cells(each)) for each in engines]
    logic = [each["logic"] for each in found]
    right.bar(names, logic, label="logic")
    right.bar(names, [each["ram"] for each in found], bottom=logic, label="RAM")
    right.axhline(silicon.PAPER_MM2, color="#d95f0e", lw=1, label="paper, 8 engines")
    right.axhline(silicon.TARGET_MM2, color="#969696", lw=1, ls="--", label="target")
    right.set_xlabel("channels")
    right.set_ylabel("mm2, estimated for 28 nm")
    right.legend(fontsize=7)
