"""The document: the answer first, then method, validation, figures and limits."""

from collections.abc import Sequence
from pathlib import Path

from cdma.files import make_folder, write_text
from cdma.offload import records
from cdma.offload.answers import advise
from cdma.offload.document import figures, results
from cdma.offload.document.texts import ATTEMPTS, LIMITS, LOSSY, METHOD, TITLE
from cdma.offload.lossy import bound, study
from cdma.offload.schemes.registry import SCHEMES
from cdma.offload.validate import report, tried
from cdma.offload.validate.rows import COLUMNS, Row
from cdma.tables import format_table, listed

_CAPTIONS = {
    "steps": "Step time by system",
    "pareto": "Peak memory against step time; the line joins the lossless systems that none beats",
    "timeline": "Compute and copies of four systems",
    "links": "Gain of cDMA by link bandwidth; at a dot its copies take as long as compute",
    "ratios": "Speed of the engine by ratio and compute speed, GoogLeNet, PCIe 3",
    "stages": "Gain of cDMA over training",
    "decisions": "What compression saves in CSWAP, by layer and stage",
    "posterior": "The tuner's posterior after 35 trials, on the measured CPU codec",
    "advice": "Speed of the engine by compute speed, and which assumption changes it most at four "
    "times the compute of a Titan X (GoogLeNet, PCIe 5)",
    "validation": "Modelled and published speed of vDNN",
}
#: Deviation of the gradient at which COMET's scheme is shown.
_DEVIATION = "grad=0.01"
_BOARDS = {"titan-x": "Titan X", "titan-xp": "Titan Xp"}


def write(folder: str | Path, densities: Sequence[str]) -> Path:
    """Write ``offload.md`` and its figures into a folder, and give the path of the document."""
    folder, files = make_folder(folder), tuple(densities)
    shown = figures.draw(folder, files)
    paper = results.paper(files)
    validation = report.rows(files)
    parts = [
        TITLE, _answer(paper, validation), _paper(paper), _advice(files), METHOD,
        _validation(validation), _attempts(), _lossy(files), _pictures(shown), LIMITS,
    ]  # fmt: skip
    path = folder / "offload.md"
    write_text(path, "\n".join(part.strip("\n") + "\n" for part in parts))
    return path


def _answer(paper: list[results.Paper], validation: Sequence[Row] = ()) -> str:
    lines = ["## The answer\n"]
    for board, title in _BOARDS.items():
        mine = [row for row in paper if row.board == board]
        vdnn, waits = ([row.gain(over) for row in mine] for over in ("vdnn-all", "async"))
        best = [row.gain(row.best) for row in mine]
        fair = [row.gain(row.best_async, "async-zv") for row in mine]
        losers = [row.name for row in mine if row.gain(row.best) < 1]
        memory = 100 * (max(row.memory for row in mine) - 1)
        lines += [
            f"On the {title}, with PCIe 3 at 12.8 GB/s and the ratios of real tensors:\n",
            f"- cDMA is faster than synchronised vDNN by {_spread(vdnn)}.",
            f"- It is faster than asynchronous offload by {_spread(waits)}. So",
            f"  {_share(vdnn, waits):.0f} % of its gain over vDNN is a gain over "
            "synchronisation, which software removes,",
            f"  with at most {memory:.0f} % more peak memory.",
            f"- Against the best lossless baseline of no more peak memory: {_spread(best)}.",
            f"  It gains less than 1 % on {', '.join(losers) or 'no network'}.",
            f"- The engine under asynchronous offload gains {_spread(fair)}",
            "  over the best lossless baseline of no more peak memory than its own.\n",
        ]
    claims = [row for row in validation if row.claim.startswith("cDMA over vDNN")]
    if claims:
        lines.append("The paper's headline, average and largest gain over synchronised vDNN:\n")
    for row in claims:
        where = row.claim.removeprefix("cDMA over vDNN, ").partition(":")[0]
        lines.append(f"- {where}: published {row.published}, model {row.model}: {row.verdict}.")
    return "\n".join(lines)


def _share(whole: list[float], rest: list[float]) -> float:
    """Percent of the gains ``whole`` that the gains ``rest`` do not have."""
    return 100 * (1 - sum(rest) / sum(whole)) if sum(whole) else 0.0


def _spread(values: list[float]) -> str:
    mean = sum(values) / len(values)
    shown = [f"{round(value) + 0:d}" for value in (mean, min(values), max(values))]  # no -0
    return f"{shown[0]} % on average ({shown[1]} to {shown[2]} %)"


def _paper(paper: list[results.Paper]) -> str:
    columns = {"board": "Board", "network": "Network", "ratio": "Ratio"}
    shown = ("oracle", "vdnn-all", "cdma-zv", "async", "async-zv", "recompute")
    columns |= {name: SCHEMES[name].title + ", ms" for name in shown}
    columns |= {"best": "Best baseline", "over_vdnn": "cDMA over vDNN", "over_best": "over best"}
    rows = [
        {"board": _BOARDS[row.board], "network": row.name, "ratio": row.ratio}
        | {name: row.ms[name] for name in shown}
        | {"best": SCHEMES[row.best].title}
        | {"over_vdnn": f"{row.gain('vdnn-all'):+.0f} %"}
        | {"over_best": f"{row.gain(row.best):+.0f} %"}
        for row in paper
    ]
    return (
        "The paper's six networks, all feature tensors moved:\n\n"
        + format_table(rows, columns, "markdown")
        + "\n\nOverFeat has no measured tensors: it takes those of all networks, by depth."
    )


def _advice(files: tuple[str, ...]) -> str:
    lines = ["### Faster links\n"]
    options = listed([f"`--link {link:g}`" for link in results.LINKS.values()])
    lines.append(
        f"`cdma offload advise googlenet --dram {results.DRAM:g}` with {options}. The table\n"
        "is over the achieved speed of compute, since an answer without that speed means nothing.\n"
    )
    for label, row, curve in results.links(files):
        link = results.LINKS[label]
        lines.append(
            f"**{label}, {link:g} GB/s**: {row['engine']}, {row['area_mm2']:.2f} mm2 of codec "
            f"units, fills {row['link_use']:.0%} of the link.\n"
        )
        lines.append(format_table(curve, advise.COLUMNS, "markdown"))
        lines.append("")
    return "\n".join(lines)


def _validation(found: list[Row]) -> str:
    rows = [row.as_dict() for row in found]
    lines = ["## Validation\n", report.summary(found) + ".\n"]
    lines.append(format_table(rows, COLUMNS, "markdown"))
    lines.append("\nWhy rows are missed or cannot be compared:\n")
    reasons = dict.fromkeys(row.reason for row in found if row.reason)
    for reason in reasons:
        claims = [row.claim for row in found if row.reason == reason]
        more = f" and {len(claims) - 1} more" if len(claims) > 1 else ""
        lines.append(f"- {claims[0]}{more}: {reason}.")
    unknown = [row.claim for row in found if row.verdict == "missed" and not row.reason]
    if unknown:
        lines.append(f"- {'; '.join(unknown)}: the cause is not known.")
    return "\n".join(lines)


def _attempts() -> str:
    rows = tried.rows()
    return ATTEMPTS + format_table(rows, tried.COLUMNS, "markdown") if rows else ""


def _lossy(files: tuple[str, ...]) -> str:
    if not (records.LOSSY.is_file() and records.TORCH.is_file()):
        return ""
    measured = study.read()
    columns = {"network": "network"}
    for key in ("cdma-zv", "comet"):
        title = SCHEMES[key].title
        columns |= {f"{key} ratio": f"{title}, ratio", f"{key} ms": f"{title}, ms"}
    columns["gain"] = "COMET over cDMA"
    chosen = bound.bound_of(_DEVIATION)
    return "\n".join((
        LOSSY, study.table(measured, "markdown"), "", study.guarantees(measured, "markdown"), "",
        f"COMET's scheme at `--lossy {_DEVIATION}`, on the Titan X. The training step of",
        f"[docs/torch.md](torch.md) has this deviation at rel={chosen.value:.3f}:\n",
        format_table(results.comet(files, _DEVIATION), columns, "markdown"),
    ))  # fmt: skip


def _pictures(shown: dict[str, str]) -> str:
    lines = ["## Figures\n"]
    for name, path in shown.items():
        lines.append(f"{_CAPTIONS[name]}:\n\n![{_CAPTIONS[name]}]({path})\n")
    return "\n".join(lines)
