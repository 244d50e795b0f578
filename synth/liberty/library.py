"""Cell libraries in Liberty format: facts that the flow needs."""

import gzip
import itertools
import os
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cdma.errors import UserError
from cdma.synth.liberty import function
from cdma.synth.liberty.cells import Cells
from cdma.synth.liberty.tree import Group, parse

#: File that is read from a folder.
DEFAULT_FILE = "nangate45_typ.lib.gz"


@dataclass(frozen=True)
class Liberty:
    """A cell library.

    Parameters
    ----------
    name : str
        Name of the library in the file.
    text : str
        The uncompressed file.
    buffer : str
        Smallest buffer, which drives the inputs.
    nand2_area : float
        Area in um2 of the smallest two-input NAND: one gate equivalent.
    has_enables : bool
        The library has flip-flops with an enable.
    """

    name: str
    text: str
    buffer: str
    nand2_area: float
    has_enables: bool

    @cached_property
    def cells(self) -> Cells:
        """Functions and energies of the cells."""
        start = re.search(r"\blibrary\s*\(", self.text)
        return Cells(parse(self.text[start.start() :]))

    def gate_equivalents(self, area: float) -> float:
        """Convert an area in um2 to a number of two-input NANDs."""
        return area / self.nand2_area


def read(path: str | os.PathLike) -> Liberty:
    """Read a Liberty file, plain or packed with gzip, or ``nangate45_typ.lib.gz`` of a folder.

    Raises
    ------
    UserError
        When the file cannot be read, is truncated, is no Liberty file, or has no buffer or no
        two-input NAND.
    """
    path = Path(path)
    if path.is_dir():
        path = path / DEFAULT_FILE
    text = _unpack(path)
    start = re.search(r"\blibrary\s*\(", text)
    if start is None:
        raise UserError(f"{path}: not a Liberty file (no library group)")
    try:
        library = parse(text[start.start() :])
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    cells = list(_cells(library))
    buffer, _ = _smallest(path, "buffer", cells, [0, 1])
    _, area = _smallest(path, "two-input NAND", cells, [1, 1, 1, 0])
    return Liberty(library.arguments[0], text, buffer, area, _has_enables(library))


def _unpack(path: Path) -> str:
    try:
        raw = path.read_bytes()
        if raw[:2] == b"\x1f\x8b":
            raw = gzip.decompress(raw)
        return raw.decode()
    except UnicodeDecodeError:
        raise UserError(f"{path}: not a Liberty file (not text)") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UserError(f"{path}: the gzip file is cut short or damaged ({error})") from error
    except OSError as error:
        raise UserError(
            f"{path}: cannot read this Liberty file ({error.strerror}); "
            "give a .lib or .lib.gz file with --liberty or CDMA_LIBERTY"
        ) from error


def _cells(library: Group) -> Iterator[tuple[str, float, list[int]]]:
    """Name, area and truth table of each cell with one output and at most two inputs."""
    for cell in library.all("cell"):
        is_special = any(cell.all(kind) for kind in ("ff", "latch", "statetable"))
        if is_special or cell.attributes.get("dont_use") == "true" or "area" not in cell.attributes:
            continue
        pins = cell.all("pin")
        functions = [pin.attributes["function"] for pin in pins if "function" in pin.attributes]
        inputs = [pin.arguments[0] for pin in pins if pin.attributes.get("direction") == "input"]
        if len(functions) != 1 or len(inputs) > 2:
            continue
        try:
            tree = function.parse(functions[0])
            table = [
                function.evaluate(tree, dict(zip(inputs, values, strict=True)))
                for values in itertools.product((0, 1), repeat=len(inputs))
            ]
        except (KeyError, ValueError):  # the function reads a state, or is invalid
            continue
        yield cell.arguments[0], float(cell.attributes["area"]), table


def _has_enables(library: Group) -> bool:
    """Whether a flip-flop has an enable: its next state depends on its state."""
    return any(
        state.arguments[0] in re.findall(r"\w+", state.attributes.get("next_state", ""))
        for cell in library.all("cell")
        for state in cell.all("ff")
    )


def _smallest(path: Path, what: str, cells: list, table: list[int]) -> tuple[str, float]:
    found = [(area, name) for name, area, function in cells if function == table and area > 0]
    if not found:
        raise UserError(f"{path}: the library has no {what}, which the flow needs")
    area, name = min(found, key=lambda cell: (cell[0], len(cell[1]), cell[1]))
    return name, area
