"""A row of the validation, and the published files."""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from cdma.errors import UserError
from cdma.files import read_csv

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
        When the file cannot be read, lacks a column or has no line.
    """
    where = folder()
    if where is None:
        return None
    _, lines = read_csv(where / name, "figures", columns)
    if not lines:
        raise UserError(f"{where / name}: has no line behind its header")
    return lines
