"""Systems side by side: step time, timeline, and memory against time."""

from collections.abc import Sequence

from cdma.labels import plain
from cdma.offload.pictures.canvas import GREY, KINDS
from cdma.offload.schemes.registry import Result

_TRACKS = {"compute": "#4292c6", "down": "#d95f0e", "up": "#238b45"}
_MIB = 1 << 20


def steps(figure, results: Sequence[Result], label: str) -> None:
    """Step time by system: compute, and what the copies add."""
    figure.set_size_inches(7, 0.7 + 0.22 * len(results))
    axes = figure.subplots()
    titles = [each.scheme.title for each in results]
    compute = [
        1e3 * sum(e.end - e.start for e in each.step.events if e.track == "compute")
        for each in results
    ]
    whole = [1e3 * each.step.seconds for each in results]
    colors = [KINDS[each.scheme.kind] for each in results]
    axes.barh(titles, compute, color=colors)
    rest = [max(a - b, 0) for a, b in zip(whole, compute, strict=True)]
    axes.barh(titles, rest, left=compute, color=colors, alpha=0.4)
    axes.invert_yaxis()
    axes.set_xlabel(f"step, ms ({plain(label)}); pale: waits for copies")
    middle = sorted(whole)[len(whole) // 2]
    right = min(1.05 * max(whole), 2 * middle)
    axes.set_xlim(0, right)
    for place, value in enumerate(whole):
        if value > right:  # the axis ends before this bar does
            text = f"{value:,.0f} ms \N{RIGHTWARDS ARROW}"
            axes.text(0.99 * right, place, text, ha="right", va="center", fontsize=8)


def timeline(figure, results: Sequence[Result], label: str) -> None:
    """Compute and copies of some systems."""
    figure.set_size_inches(7, 0.5 + len(results))
    rows = figure.subplots(len(results), 1, sharex=True)
    for axes, each in zip(rows, results, strict=True):
        for place, (track, color) in enumerate(_TRACKS.items()):
            events = [e for e in each.step.events if e.track == track]
            spans = [(1e3 * e.start, 1e3 * (e.end - e.start)) for e in events]
            axes.broken_barh(spans, (place - 0.4, 0.8), color=color, edgecolor="white", lw=0.3)
        axes.set_yticks(range(3), ["compute", "out", "back"])
        axes.invert_yaxis()
        axes.set_title(each.scheme.title, loc="left", fontsize=9)
    rows[-1].set_xlabel(f"ms ({plain(label)})")


def front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Places of the points that no other point beats in both coordinates, by the first one."""
    order = sorted(range(len(points)), key=lambda k: points[k])
    found, least = [], float("inf")
    for k in order:
        if points[k][1] < least:
            found.append(k)
            least = points[k][1]
    return found


def pareto(figure, results: Sequence[Result], label: str) -> None:
    """Peak memory against step time; a line joins the lossless systems that no other beats."""
    figure.set_size_inches(7, 4.2)
    axes = figure.subplots()
    points = [(1e3 * each.step.seconds, each.peak / _MIB) for each in results]
    safe = [k for k, each in enumerate(results) if each.scheme.lossless]
    best = [safe[k] for k in front([points[k] for k in safe])]
    axes.step(*zip(*(points[k] for k in best), strict=True), where="post", color=GREY, lw=0.8)
    for number, ((x, y), each) in enumerate(zip(points, results, strict=True)):
        color = KINDS[each.scheme.kind]
        face = color if each.scheme.lossless else "none"
        title = f"{_letter(number)}  {each.scheme.title}"
        axes.plot(x, y, "o", ms=4, mfc=face, mec=color, label=title)
        # Many systems have the same memory: letters at two heights.
        axes.annotate(_letter(number), (x, y), xytext=(-2, 5 + 8 * (number % 2)), fontsize=7,
                      textcoords="offset points")  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlabel(f"step, ms ({plain(label)}); hollow: lossy")
    axes.set_ylabel("peak device memory, MiB")
    figure.legend(loc="outside right upper", fontsize=7)


def _letter(number: int) -> str:
    return chr(ord("a") + number)
