"""The table of proofs that ``make formal`` writes and docs/verification.md shows."""

from cdma.verify.proofs import agreement
from cdma.verify.proofs.proof import BOUNDED, INDUCTION, PDR, Proof
from cdma.verify.proofs.registry import name_of

#: Columns of the table: key of the row, title.
COLUMNS = {
    "promise": "promise",
    "components": "components",
    "sizes": "sizes",
    "mode": "mode",
    "depth": "depth",
    "seconds": "seconds",
    "engine": "engine",
    "z3": "Z3 agrees",
}
#: Solver by mode of the proof.
ENGINES = {INDUCTION: "CaDiCaL", BOUNDED: "CaDiCaL", PDR: "ABC"}


def row_of(name: str, proof: Proof) -> dict:
    """Table row of a proof, without its run time."""
    return {
        "proof": name,
        "promise": proof.promise,
        "components": ", ".join(name_of(component) for component in proof.components),
        "sizes": "; ".join(proof.sizes),
        "mode": proof.mode,
        "depth": proof.depth,
    }


def merged(rows: list[dict], before: list[dict]) -> list[dict]:
    """Rows sorted by name, with the run times in whole seconds.

    Proofs that were not run keep their earlier rows. A run time that changed by less than half
    keeps its earlier value, so that the file does not change with each run.
    """
    known = {row["proof"]: row["seconds"] for row in before}
    ran = {row["proof"] for row in rows}
    rows = [*rows, *(row for row in before if row["proof"] not in ran)]
    result = []
    for row in sorted(rows, key=lambda row: row["proof"]):
        seconds = max(1, round(row["seconds"]))
        old = known.get(row["proof"]) or seconds
        result.append(row | {"seconds": old if old / 2 < seconds < 2 * old else seconds})
    return result


def with_engines(rows: list[dict], checked: list[dict]) -> list[dict]:
    """Rows with the solver of each proof, and the sizes at which an independent checker agrees.

    Parameters
    ----------
    rows : list of dict
        Rows from :func:`merged`.
    checked : list of dict
        Rows saved by ``cdma formal --engine sby``: ``proof``, ``size`` and ``outcome``.
    """
    result = []
    for row in rows:
        outcomes = [each["outcome"] for each in checked if each["proof"] == row["proof"]]
        agrees, bounded = (outcomes.count(each) for each in (agreement.AGREES, agreement.BOUNDED))
        parts = [f"{agrees} of {len(row['sizes'].split('; '))} sizes"] if agrees else []
        parts += [f"{bounded} for {row['depth'] + agreement.MORE} cycles"] if bounded else []
        z3 = "; ".join(parts) or "-"
        result.append(row | {"engine": ENGINES[row["mode"]], "z3": z3})
    return result
