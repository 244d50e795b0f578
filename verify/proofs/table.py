"""The table of proofs: what ``make formal`` writes and docs/verification.md shows."""

from cdma.verify.proofs.proof import Proof
from cdma.verify.proofs.registry import name_of

#: Columns of the table.
COLUMNS = {
    "promise": "promise",
    "components": "components",
    "sizes": "sizes",
    "mode": "mode",
    "depth": "depth",
    "seconds": "seconds",
}


def row_of(name: str, proof: Proof) -> dict:
    """Row of a proof without its time."""
    return {
        "proof": name,
        "promise": proof.promise,
        "components": ", ".join(name_of(component) for component in proof.components),
        "sizes": "; ".join(proof.sizes),
        "mode": proof.mode,
        "depth": proof.depth,
    }


def merged(rows: list[dict], before: list[dict]) -> list[dict]:
    """Rows in the order of their names, each with the whole seconds of before where these differ by
    less than half."""
    known = {row["proof"]: row["seconds"] for row in before}
    result = []
    for row in sorted(rows, key=lambda row: row["proof"]):
        seconds = max(1, round(row["seconds"]))
        old = known.get(row["proof"]) or seconds
        result.append(row | {"seconds": old if old / 2 < seconds < 2 * old else seconds})
    return result
