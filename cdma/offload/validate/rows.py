"""A row of the validation, and the published files."""

import csv
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from cdma.errors import UserError, reason_of

HOLDS, MISSED, NOT_GIVEN, OPEN = "holds", "missed", "not given", "not comparable"
COLUMNS = {
    "claim": "published",
    "published": "figure",
    "model": "model",
    "null": "null model",
    "rule": "rule",
    "verdict": "verdict",
}


@dataclass(frozen=True)
class Row:
    """A claim and what became of it.

    Parameters
    ----------
    claim, published, model : str
        What is compared, the published figure and the model's.
    null : str
        The null model and its figure.
    rule : str
        When the claim counts as reproduced.
    verdict : str
    reason : str
        Why it is missed, where that is known.
    """

    claim: str
    published: str
    model: str
    null: str
    rule: str
    verdict: str
    reason: str = ""

    def as_dict(self) -> dict:
        """The row as a mapping."""
        return asdict(self)


def judged(is_met: bool) -> str:
    """Verdict of a rule."""
    return HOLDS if is_met else MISSED


def not_given(claim: str, rule: str) -> Row:
    """Row of a claim whose published figures are not there."""
    return Row(claim, "-", "-", "-", rule, NOT_GIVEN, "set CDMA_PUBLISHED to the folder")


def folder() -> Path | None:
    """Folder of published figures; ``None`` when CDMA_PUBLISHED is not set."""
    name = os.environ.get("CDMA_PUBLISHED")
    return Path(name) if name else None


def read(name: str, columns: Sequence[str]) -> list[dict] | None:
    """Lines of a published file; ``None`` without the folder.

    Raises
    ------
    UserError
        When the file cannot be read or lacks a column.
    """
    where = folder()
    if where is None:
        return None
    try:
        with (where / name).open(encoding="utf-8", newline="") as file:
            lines = list(csv.DictReader(file))
    except (OSError, ValueError) as error:
        raise UserError(f"{where / name}: cannot read these figures ({reason_of(error)})") from None
    missing = [column for column in columns if not lines or column not in lines[0]]
    if missing:
        raise UserError(f"{where / name}: lacks the column {missing[0]}")
    return lines
