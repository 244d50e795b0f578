"""Figures: ratio by algorithm, layout and network; density by layer; density over training."""

from collections.abc import Callable, Sequence
from pathlib import Path

from cdma.errors import require
from cdma.files import replacing
from cdma.labels import plain
from cdma.study.density import layers_of, steps_of
from cdma.study.layouts import LAYOUTS
from cdma.study.report.tables import TITLES
from cdma.study.summary import totals

#: One hue for each family of algorithms.
COLORS = {
    "zvc32": "#08519c",
    "zvc16": "#4292c6",
    "zvc8": "#9ecae1",
    "zvcplus": "#54278f",
    "zvcplus_left": "#807dba",
    "zvcplus_above": "#bcbddc",
    "ebpc": "#c51b8a",
    "rl": "#d95f0e",
    "eyeriss": "#fec44f",
    "zlib4k": "#00441b",
    "zlib": "#238b45",
    "zstd": "#74c476",
    "lz4": "#c7e9c0",
    "bound": "#969696",
}
_LAYER, _POOL = "#4292c6", "#d95f0e"


def draw(
    records: Sequence[dict], folder: Path, prefix: str = "", kinds: Sequence[str] = ("svg", "png")
) -> list[Path]:
    """Write the figures for which the records have data, and return their paths.

    Parameters
    ----------
    records : sequence of dict
        Results of ``analyze``.
    folder : Path
        Folder of the figures.
    prefix : str
        Prefix of the file names ``ratio``, ``density-layers`` and ``density-training``.
    kinds : sequence of str
        File types.

    Raises
    ------
    MissingPackageError
        When matplotlib is not installed.
    """
    matplotlib = require("matplotlib", extra="study", verb="figures")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    drawings: dict[str, Callable] = {
        "ratio": draw_ratio,
        "density-layers": draw_density_by_layer,
        "density-training": draw_density_over_training,
    }
    paths = []
    # The same records give the same bytes: no date and no random names.
    with matplotlib.rc_context({"svg.hashsalt": "cdma", "svg.fonttype": "none", "font.size": 9}):
        for name, drawing in drawings.items():
            figure = Figure(layout="constrained")
            FigureCanvasAgg(figure)
            if not drawing(figure, records):
                continue
            for kind in kinds:
                path = Path(folder) / f"{prefix}{name}.{kind}"
                metadata = {"Date": None} if kind == "svg" else {}
                with replacing(path) as temporary:
                    figure.savefig(temporary, format=kind, dpi=120, metadata=metadata)
                paths.append(path)
    return paths


def draw_ratio(figure, records: Sequence[dict]) -> bool:
    """A panel for each layout, a group of bars for each network, a bar for each algorithm.

    Tensors without layouts to compare are omitted, unless no tensor has layouts.
    """
    compared = [record for record in records if record["layout"] in LAYOUTS] or records
    sums = [{**total, "group": _group(total, records)} for total in totals(compared)]
    layouts = list(dict.fromkeys(total["layout"] for total in sums))
    networks = list(dict.fromkeys(total["group"] for total in sums))
    if not sums:
        return False
    figure.set_size_inches(max(6, 2 + 1.4 * len(networks)), 0.8 + 2.4 * len(layouts))
    panels = figure.subplots(len(layouts), 1, sharey=True, squeeze=False)[:, 0]
    for axes, layout in zip(panels, layouts, strict=True):
        found = {total["group"]: total for total in sums if total["layout"] == layout}
        names = [name for name in TITLES if any(name in it["ratios"] for it in found.values())]
        width = 0.85 / len(names)
        for number, name in enumerate(names):
            heights = [(found[n]["ratios"].get(name) or 0) if n in found else 0 for n in networks]
            places = [at + (number - (len(names) - 1) / 2) * width for at in range(len(networks))]
            axes.bar(places, heights, width, color=COLORS[name], label=TITLES[name])
        axes.axhline(1, color="0.5", linewidth=0.6)
        axes.set_xticks(range(len(networks)), labels=list(map(plain, networks)))
        axes.set_title(layout, loc="left", fontweight="bold")
        axes.set_ylabel("ratio (bigger is better)")
        axes.grid(visible=True, axis="y", alpha=0.3)
        axes.set_axisbelow(True)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=5)
    return True


def _group(total: dict, records: Sequence[dict]) -> str:
    """Network, with the format of the elements if the network has several formats."""
    formats = {record["format"] for record in records if record["network"] == total["network"]}
    return "\n".join([total["network"], *([total["format"]] if len(formats) > 1 else [])])


def draw_density_by_layer(figure, records: Sequence[dict]) -> bool:
    """A panel for each network: its layers by depth, each at its last measured step."""
    networks = layers_of(records)
    if not networks:
        return False
    for axes, (network, layers) in _panels(figure, networks):
        colors = [_POOL if layer.is_pool else _LAYER for layer in layers]
        axes.bar(range(len(layers)), [layer.last for layer in layers], color=colors)
        names = [plain(layer.name) for layer in layers]
        axes.set_xticks(range(len(layers)), labels=names, rotation=90, fontsize=6)
        axes.set_title(plain(network), loc="left", fontweight="bold")
    handles = [figure.axes[0].bar(0, 0, color=color) for color in (_LAYER, _POOL)]
    figure.legend(handles, ["ReLU", "pooling"], loc="outside upper center", ncols=2)
    return True


def draw_density_over_training(figure, records: Sequence[dict]) -> bool:
    """A panel for each network with several measured steps, a line for each layer."""
    networks = {n: layers for n, layers in layers_of(records).items() if len(steps_of(layers)) > 1}
    if not networks:
        return False
    from matplotlib import colormaps

    for axes, (network, layers) in _panels(figure, networks):
        steps = steps_of(layers)
        for number, layer in enumerate(layers):
            known = [step for step in steps if step in layer.densities]
            axes.plot(
                [steps.index(step) for step in known],
                [layer.densities[step] for step in known],
                linestyle="--" if layer.is_pool else "-",
                marker="o",
                markersize=4,
                color=colormaps["viridis"](number / len(layers)),
                label=plain(layer.name),
            )
        axes.set_xticks(range(len(steps)), labels=[f"{step:g}" for step in steps])
        axes.set_title(plain(network), loc="left", fontweight="bold")
        axes.set_xlabel("step of training (dashed: pooling)")
        axes.legend(fontsize=6, loc="center left", bbox_to_anchor=(1, 0.5))
    return True


def _panels(figure, networks: dict):
    """Panels with an axis of density, two in a row, each with its network."""
    rows = (len(networks) + 1) // 2
    columns = min(2, len(networks))
    figure.set_size_inches(5.2 * columns, 0.4 + 3 * rows)
    grid = figure.subplots(rows, columns, squeeze=False).flat
    for axes in list(grid)[len(networks) :]:
        axes.remove()
    for axes in figure.axes:
        axes.set_ylim(0, 1)
        axes.set_ylabel("density")
        axes.grid(visible=True, axis="y", alpha=0.3)
        axes.set_axisbelow(True)
    return zip(figure.axes, networks.items(), strict=True)
