"""Cell libraries in Liberty format: what the flow has to know of one before it uses it."""

import gzip
import itertools
import os
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cdma.errors import UserError
from cdma.synth.liberty import function

#: File taken from a folder.
DEFAULT_FILE = "nangate45_typ.lib.gz"


@dataclass(frozen=True)
class Liberty:
    """A cell library.

    Parameters
    ----------
    name : str
        Name of the library, as the file says it.
    text : str
        The file, unpacked.
    buffer : str
        Its smallest buffer, which drives the inputs.
    nand2_area : float
        Area in um2 of its smallest two-input NAND: one gate equivalent.
    has_enables : bool
        Whether it has flip-flops with an enable.
    """

    name: str
    text: str
    buffer: str
    nand2_area: float
    has_enables: bool

    def gate_equivalents(self, area: float) -> float:
        """Area in um2 as a number of two-input NANDs."""
        return area / self.nand2_area


def read(path: str | os.PathLike) -> Liberty:
    """Read a Liberty file, plain or packed with gzip, or ``nangate45_typ.lib.gz`` of a folder.

    Raises
    ------
    UserError
        When the file cannot be read, is cut short, is no Liberty file, or lacks a buffer or a
        two-input NAND.
    """
    path = Path(path)
    if path.is_dir():
        path = path / DEFAULT_FILE
    text = _unpack(path)
    bare = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    library = re.search(r'\blibrary\s*\(\s*"?([^")\s]+)"?\s*\)\s*\{', bare)
    if library is None:
        raise UserError(f"{path}: not a Liberty file (no library group)")
    if bare.count("{") != bare.count("}"):
        raise UserError(f"{path}: the file is cut short (its last group is not closed)")
    cells = list(_cells(bare))
    buffer, _ = _smallest(path, "buffer", cells, [0, 1])
    _, area = _smallest(path, "two-input NAND", cells, [1, 1, 1, 0])
    return Liberty(library[1], text, buffer, area, _has_enables(bare))


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


def _cells(bare: str) -> Iterator[tuple[str, float, list[int]]]:
    """Name, area and truth table of each cell with one output and at most two inputs."""
    for group in re.split(r"\bcell\s*\(", bare)[1:]:
        functions = re.findall(r'\bfunction\s*:\s*"([^"]*)"', group)
        special = re.search(r"\b(ff|latch|statetable)\s*\(|\bdont_use\s*:\s*\"?true", group)
        area = re.search(r"\barea\s*:\s*\"?([\d.eE+-]+)", group)
        if len(functions) != 1 or special or area is None:
            continue
        pins = re.split(r"\bpin\s*\(", group)[1:]
        inputs = [_name(pin) for pin in pins if re.search(r'\bdirection\s*:\s*"?input', pin)]
        if len(inputs) > 2:
            continue
        try:
            tree = function.parse(functions[0])
            table = [
                function.evaluate(tree, dict(zip(inputs, values, strict=True)))
                for values in itertools.product((0, 1), repeat=len(inputs))
            ]
        except (KeyError, ValueError):  # it reads its own state, or is none
            continue
        yield _name(group), float(area[1]), table


def _has_enables(bare: str) -> bool:
    """Whether the next state of some flip-flop reads its state, as with an enable it must."""
    for group in re.split(r"\bff\s*\(", bare)[1:]:
        state = group.split(",", 1)[0].strip().strip('"')
        following = re.search(r'\bnext_state\s*:\s*"([^"]*)"', group)
        if following and state in re.findall(r"\w+", following[1]):
            return True
    return False


def _name(group: str) -> str:
    """First argument of a group whose text begins behind its opening parenthesis."""
    return group.split(")", 1)[0].strip().strip('"')


def _smallest(path: Path, what: str, cells: list, table: list[int]) -> tuple[str, float]:
    found = [(area, name) for name, area, function in cells if function == table and area > 0]
    if not found:
        raise UserError(f"{path}: the library has no {what}, which the flow needs")
    area, name = min(found, key=lambda cell: (cell[0], len(cell[1]), cell[1]))
    return name, area
