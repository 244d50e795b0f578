"""Code coverage of the generated Verilog: lines, branches and toggles, counted by Verilator.

``unreachable.toml`` explains each item that is not reached. An explanation of a reached item is an
error, too.

The items are all ``always`` blocks (``line``), both sides of all conditional expressions
(``branch``), and both directions of every bit of every named signal in each scope (``toggle``).
Signals with generated names (``$12``, ``port$12$3``) do not count: they are parts of expressions
between named signals.
"""

import re
import tempfile
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cdma.hdl.zvc.config import Config
from cdma.sim.result import Scenario
from cdma.sim.simulate import design_text
from cdma.verify.coverage.functional import play_each

KINDS = ("line", "branch", "toggle")
#: Configuration of the explanations.
EXPLAINED = Config.of(8, 32)
EXPLANATIONS = Path(__file__).with_name("unreachable.toml")


@dataclass
class CodeCoverage:
    """Code coverage of the Verilog of a unit.

    Attributes
    ----------
    unit : str
    config : Config
    hits : dict of str to Counter
        Count of each item, by kind.
    explained : dict of str to str
        Reasons why items cannot be reached, by item.
    """

    unit: str
    config: Config
    hits: dict[str, Counter] = field(default_factory=lambda: {kind: Counter() for kind in KINDS})
    explained: dict[str, str] = field(default_factory=dict)

    def unreached(self, kind: str) -> set[str]:
        """Items that were not reached."""
        return {item for item, count in self.hits[kind].items() if not count}

    def unexplained(self, kind: str) -> list[str]:
        """Items that were not reached and have no explanation."""
        return sorted(self.unreached(kind) - set(self.explained))

    @property
    def wrongly_explained(self) -> list[str]:
        """Items with an explanation that were reached, or do not exist."""
        return sorted(set(self.explained) - {i for kind in KINDS for i in self.unreached(kind)})

    @property
    def is_complete(self) -> bool:
        """Whether exactly the items with an explanation were not reached."""
        return not (self.wrongly_explained or any(map(self.unexplained, KINDS)))


def measure_code(
    unit: str,
    config: Config,
    scenarios: Iterable[Scenario],
    *,
    verilog: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> CodeCoverage:
    """Run scenarios on a model with code coverage counters.

    Parameters and errors as for :func:`cdma.verify.coverage.functional.measure`.
    """
    verilog = design_text(unit, config, verilog)
    found = CodeCoverage(unit, config)
    if config == EXPLAINED:
        found.explained = explanations(unit)
    lines = verilog.splitlines()
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder) / "counts"
        options = {"verilog": verilog, "progress": progress, "counts": counts}
        for _ in play_each(unit, config, scenarios, **options):
            for kind, item, count in read_counts(counts, lines):
                found.hits[kind][item] += count
    return found


def explanations(unit: str) -> dict[str, str]:
    """Reasons why items of a unit cannot be reached, by item."""
    entries = tomllib.loads(EXPLANATIONS.read_text(encoding="utf-8"))[unit]
    return {
        item: entry["why"] for entry in entries for each in entry["items"] for item in expand(each)
    }


def expand(text: str) -> list[str]:
    """Items of a short form. ``core.output.level[3:1]`` is both directions of three bits."""
    if ": " in text:
        return [text]
    name, _, direction = text.partition(" ")
    bits = re.fullmatch(r"(.*)\[(\d+):(\d+)\]", name)
    names = (
        [f"{bits[1]}[{bit}]" for bit in range(int(bits[3]), int(bits[2]) + 1)] if bits else [name]
    )
    directions = [direction] if direction else ["0->1", "1->0"]
    return [f"{name} {direction}" for name in names for direction in directions]


def condense(items: Iterable[str]) -> list[str]:
    """Short forms of many items, sorted by name: the reverse of :func:`expand`."""
    found = [item for item in items if ": " in item]
    directions = defaultdict(set)  # by name and bit number (None if there is no number)
    for item in items:
        if ": " not in item:
            name, _, direction = item.partition(" ")
            bit = re.fullmatch(r"(.*)\[(\d+)\]", name)
            directions[(bit[1], int(bit[2])) if bit else (name, -1)].add(direction)
    runs = []  # (name, lowest bit, highest bit, directions)
    for (name, bit), moves in sorted(directions.items()):
        if bit > 0 and runs and runs[-1][0:4:2] == [name, bit - 1] and runs[-1][3] == moves:
            runs[-1][2] = bit
        else:
            runs.append([name, bit, bit, moves])
    for name, low, high, moves in runs:
        bits = "" if low < 0 else f"[{low}]" if low == high else f"[{high}:{low}]"
        found.append(f"{name}{bits}" + (f" {min(moves)}" if len(moves) == 1 else ""))
    return sorted(found, key=_order)


def _order(item):
    """Sort key: bits by number."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", item)]


def read_counts(file: Path, lines: list[str]) -> Iterator[tuple[str, str, int]]:
    """Yield kind, item and count of each point in a coverage file of Verilator.

    ``lines`` is the Verilog text. Names of items are ``core.output.level[2] 0->1`` or
    ``core.output: level = a ? b : c (then)``.
    """
    seen = Counter()
    for line in file.read_text(encoding="latin1").splitlines()[1:]:
        key, _, count = line.rpartition(" ")
        point = dict(part.split("\2") for part in key[3:-1].split("\1")[1:])
        kind = point["page"].partition("/")[0].removeprefix("v_")
        _, _, place = point["h"].partition(".")
        _, _, place = place.partition(".")
        if kind == "toggle":
            name = _plain(point["o"])
            if re.match(r"(port)?\$", name):
                continue
            name, _, direction = name.rpartition(":")
            yield kind, f"{place}.{name}".lstrip(".") + f" {direction}", int(count)
            continue
        # Remove generated numbers: they change with every change elsewhere in the design.
        text = re.sub(r"\$\d+", "$", lines[int(point["l"]) - 1]).replace("\\", "").strip(" ;")
        text = " ".join(text.removeprefix("assign ").split())
        item = f"{place}: {text} ({point['o'].removeprefix('cond_')})"
        seen[item] += 1
        yield kind, item if seen[item] == 1 else f"{item} #{seen[item]}", int(count)


def _plain(name):
    """Name in the Verilog. Verilator writes special characters as two hexadecimal digits."""
    return re.sub(r"__0([0-9A-Fa-f]{2})", lambda match: chr(int(match[1], 16)), name)
