"""Write the study as a document: the paper's claims and the results of these tensors."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from cdma.errors import UserError
from cdma.files import make_folder, write_text
from cdma.study.density import layers_of, steps_of
from cdma.study.layers import axis, has_all_axes
from cdma.study.layouts import FLAT, LAYOUTS
from cdma.study.pooling import pairs
from cdma.study.report import codecs, plots
from cdma.study.report.claims import RL, ZL, ZV, Claim, density_claims, ratio_claims
from cdma.study.report.tables import TITLES
from cdma.study.summary import mean, one_layout, totals, without_copies
from cdma.tables import format_table

PAPER_NETWORKS = ("AlexNet", "OverFeat", "NiN", "VGG", "SqueezeNet", "GoogLeNet")
PREFIX = "study_"
#: Steps of training that a table shows.
_COLUMNS = 6
_NAMES = {RL: "RL", ZV: "ZV", ZL: "ZL"}

INTRODUCTION = """\
# The paper's claims on other tensors

*Compressing DMA Engine* (Rhu et al., HPCA 2018) reports how well activations compress, with three
algorithms in three memory layouts, and how their density changes. This page checks its claims on
the tensors in `CDMA_DATA`, or on those of `cdma capture`. `make study` writes the page with every
figure in it. `cdma study` does the same for your own tensors, and `cdma analyze` prints all figures
of each tensor.
"""

DEFINITIONS = """\
## How it was measured

The **ratio** is uncompressed bytes divided by compressed bytes, all tensors of a network together;
larger is better. **Density** is the share of words that are not zero. The tensors of a network are
fp32. Of several tensors with the same values in different layouts only one counts. Tensors of dense
layers have no layout and count for density only. Every size is that of an encoded stream that the
tests decode, or the exact formula of the format. Figures of zlib, zstd and lz4 may differ in the
last digit with their versions.

- **ZV** is the stream of [format.md](format.md) with 32-bit words. ZVC 16 and ZVC 8 are the same
  bytes as narrower words.
- **RL** is our definition, since the paper does not define its own. Runs of zero and of non-zero
  words alternate. A run begins with a token of one byte: the top bit is 0 for zeros and 1 for
  values, the other seven bits are the length minus one. The values of a run follow its token. A run
  of more than 128 words is split.
- **RL Eyeriss** (Chen et al., JSSC 2017) is a sequence of pairs: a 5-bit count of zeros, and the
  value that follows them. Longer runs of zeros, and zeros at the end, are split by values that are
  zero. Pairs are packed without gaps.
- **ZL** is zlib of level 6 on windows of 4 KiB; *zlib* is the whole tensor as one stream.
- **zstd** has level 3, **lz4** its defaults, both on whole tensors.
- **ZVC+** is the stream of [zvcplus.md](zvcplus.md) as one packet: without repeats, with repeats to
  the left, and with left and above. A tensor without rows has left only. **EBPC** is the size of
  both its streams, by the lengths of its symbols.
- **Mask entropy** is a bound, not an encoder: words times the binary entropy of the density, plus
  the non-zero words. An encoder that uses neighbouring words can do better where zeros cluster.
- A **block** is 32 words. Zero blocks have no value, full blocks have no zero.
"""


def write(records: Sequence[dict], folder: Path) -> None:
    """Write ``study.md`` and ``images/study_*.svg`` below ``folder``.

    Parameters
    ----------
    records : sequence of dict
        Results of ``analyze``, with all of ``ALGORITHMS`` in all layouts.
    folder : Path

    Raises
    ------
    UserError
        When no tensor is an fp32 map with known axes.
    """
    usable = [record for record in without_copies(records) if _is_usable(record)]
    maps = [record for record in usable if record["layout"] in LAYOUTS]
    if not maps:
        raise UserError("no fp32 tensor among these has the axes N, C, H and W")
    figures = plots.draw(usable, make_folder(folder / "images"), PREFIX, kinds=("svg",))
    shown = {path.stem.removeprefix(PREFIX): f"images/{path.name}" for path in figures}
    of_density = density_claims(usable, pairs(usable))
    parts = [
        INTRODUCTION,
        _claims([*ratio_claims(maps), *of_density]),
        _networks(usable, len({record["tensor"] for record in records})),
        _ratios(maps, shown),
        _formats(records),
        codecs.section(records),
        _densities(usable, of_density, shown),
        DEFINITIONS,
    ]
    write_text(folder / "study.md", "\n".join(parts))


def _is_usable(record: dict) -> bool:
    return record["dtype"] == "float32" and record["axes"] != FLAT and record["words"] > 0


def _claims(claims: Iterable[Claim]) -> str:
    rows = [
        {"claim": it.text, "figure": it.figure, "verdict": it.verdict, "rule": it.rule}
        for it in claims
    ]
    columns = {"claim": "The paper", "figure": "Here", "verdict": "Verdict", "rule": "Rule"}
    return "## Verdicts\n\n" + _markdown(rows, columns)


def _networks(records: Sequence[dict], given: int) -> str:
    tensors = one_layout(records)
    networks = _by_network(tensors)
    rows = [
        {
            "network": network,
            "paper": _paper_name(network) or "none",
            "tensors": len(found),
            "images": max(axis(record, "N") for record in found),
            "map": "{} x {}".format(*max((axis(r, "H"), axis(r, "W")) for r in found)),
            "stages": _stages(found) or "unknown",
            "mode": ", ".join(dict.fromkeys(record["mode"] for record in found)) or "unknown",
            "about": found[0]["about"] or "unknown",
        }
        for network, found in networks.items()
    ]
    columns = {
        "network": "Network",
        "paper": "In the paper",
        "tensors": "Tensors",
        "images": "Images at most",
        "map": "Largest map",
        "stages": "Stages",
        "mode": "Mode",
        "about": "Origin",
    }
    here = {_paper_name(network) for network in networks}
    missing = [name for name in PAPER_NETWORKS if name not in here]
    lines = [
        "## How these networks differ from the paper's\n",
        "The paper trained its six networks on ImageNet, on images of 224 x 224 or 227 x 227",
        "pixels in large batches, and followed density over the whole training. Here:\n",
        _markdown(rows, columns),
    ]
    if missing:
        lines.append(f"Networks of the paper that are missing: {', '.join(missing)}.")
    lines += [
        f"Of the {given} tensors given {len(tensors)} are used: fp32 with known axes, each once.",
        "The verdicts are about these. A network with the name of one of the paper's was",
        "trained again on other images, and may have another size or version.\n",
    ]
    return "\n".join(lines)


def _ratios(maps: Sequence[dict], shown: dict[str, str]) -> str:
    rest = ["zvc16", "zvc8", "eyeriss", "zlib", "zstd", "lz4", "bound"]
    columns = {"network": "Network", **{name: TITLES[name] for name in rest}}
    columns |= {"zero_blocks": "zero blocks", "full_blocks": "full blocks"}
    others = [{**it, **it["ratios"]} for it in totals(maps) if it["layout"] == LAYOUTS[0]]
    several = [record for record in maps if has_all_axes(record)]
    return "\n".join(
        [
            "## Compression ratio\n",
            "All maps of a network together (larger is better):\n",
            _by_layout(maps),
            "For a single image, CHWN is the same order as NCHW; for a single channel, NHWC is.",
            "Only tensors with several images and several channels:\n",
            _by_layout(several) if several else "there are none.\n",
            "Other algorithms, in NCHW:\n",
            _markdown(others, columns),
            _picture(shown, "ratio", "Ratio by layout, network and algorithm"),
        ]
    )


def _by_layout(maps: Sequence[dict]) -> str:
    """Table of RL, ZV and ZL in three layouts: a row for each network, and the mean."""
    rows = []
    for network, found in _by_network(totals(maps)).items():
        row = {"network": network, "tensors": found[0]["tensors"], "density": found[0]["density"]}
        row |= {(n, it["layout"]): it["ratios"][n] for it in found for n in _NAMES}
        rows.append({**row, "best": found[0]["best"][ZV]})
    keys = [key for key in rows[0] if isinstance(key, tuple)]
    average = {key: mean(row[key] for row in rows) for key in keys}
    rows.append({"network": "mean", **average, "best": max(row["best"] for row in rows)})
    columns = {"network": "Network", "tensors": "Tensors", "density": "Density"}
    columns |= {(n, layout): f"{_NAMES[n]} {layout}" for n in _NAMES for layout in LAYOUTS}
    return _markdown(rows, {**columns, "best": "ZV, best tensor"})


def _formats(records: Sequence[dict]) -> str:
    """Table of the layers with tensors in several formats. Empty without such layers."""
    found: dict[str, dict[tuple, dict]] = {}
    for record in one_layout(without_copies(records)):
        fields = ("network", "layer", "step", "axes", "shape")
        key = tuple(str(record[field]) for field in fields)
        if record["axes"] != FLAT:
            found.setdefault(record["format"], {}).setdefault(key, record)
    several = {key for name, keys in found.items() if name != _main(found) for key in keys}
    common = several.intersection(*found.values())
    if not common or len(found) < 2:
        return ""
    rows = [
        {"format": name, **total, **total["ratios"]}
        for name, keys in found.items()
        for total in totals((keys[key] for key in sorted(common)), by=())
    ]
    columns = {"format": "Elements", "tensors": "Tensors", "density": "Density"}
    columns |= {name: TITLES[name] for name in (*("zvc32", "zvc16", "zvc8", RL, ZL), "bound")}
    return "\n".join(
        [
            "The same layers with elements of other formats, in NCHW:\n",
            _markdown(rows, columns),
        ]
    )


def _main(found: dict[str, dict]) -> str:
    return max(found, key=lambda name: len(found[name]))


def _densities(records: Sequence[dict], claims: Sequence[Claim], shown: dict[str, str]) -> str:
    networks = layers_of(records)
    stages = {record["step"]: record["stage"] for record in records}
    rows = [
        {"network": network} | {it.text: _part(it, network) for it in claims}
        for network in networks
        if any(network in it.parts for it in claims)
    ]
    lines = [
        "## Density\n",
        "The four observations by network, with the figure that the rule above uses:\n",
        _markdown(rows, {"network": "Network", **{it.text: it.text for it in claims}}),
        _picture(shown, "density-layers", "Density by layer"),
    ]
    for network, layers in networks.items():
        steps = _some(steps_of(layers))
        if len(steps) > 1:
            rows = [
                {"layer": layer.name} | {s: f"{d:.1%}" for s, d in layer.densities.items()}
                for layer in layers
            ]
            columns = {"layer": network} | {step: stages[step] for step in steps}
            lines.append(_markdown(rows, columns))
    lines.append(_picture(shown, "density-training", "Density over training"))
    return "\n".join(lines)


def _part(claim: Claim, network: str) -> str:
    part = claim.parts.get(network)
    return "-" if part is None else f"{part.figure}: {'holds' if part.holds else 'does not hold'}"


def _stages(records: Iterable[dict]) -> str:
    stages = list(dict.fromkeys(r["stage"] for r in sorted(records, key=lambda r: r["step"] or 0)))
    if len(stages) <= _COLUMNS:
        return ", ".join(stages)
    return f"{stages[0]} to {stages[-1]}, {len(stages)} in all"


def _some(steps: list[float]) -> list[float]:
    """First step, last step and steps between them, as many as fit in a table."""
    if len(steps) <= _COLUMNS:
        return steps
    return [steps[round(at * (len(steps) - 1) / (_COLUMNS - 1))] for at in range(_COLUMNS)]


def _paper_name(network: str) -> str | None:
    """Network of the paper whose name is the beginning of ``network``."""
    return next((n for n in PAPER_NETWORKS if network.lower().startswith(n.lower())), None)


def _by_network(rows: Iterable[dict]) -> dict[str, list[dict]]:
    networks: dict[str, list[dict]] = {}
    for row in rows:
        networks.setdefault(row["network"], []).append(row)
    return networks


def _picture(shown: dict[str, str], name: str, title: str) -> str:
    return f"![{title}]({shown[name]})\n" if name in shown else ""


def _markdown(rows: Sequence[dict], columns: dict) -> str:
    return format_table(rows, columns, "markdown") + "\n"
