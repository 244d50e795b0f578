"""Results of mutation testing: a record for JSON, and tables."""

from collections import Counter

from cdma.tables import format_table
from cdma.verify.mutation.campaign import EQUIVALENT, KILLED, OPEN, Outcome

SUMMARY = {
    "unit": "unit",
    "config": "config",
    "mutants": "mutants",
    "killed": "killed",
    "equivalent": "equivalent",
    "open": "open",
    "score": "of the faults",
}
SURVIVORS = {"unit": "unit", "line": "line", "mutant": "mutant", "known": "what is known"}


def record(outcome: Outcome, seed: int) -> dict:
    """An outcome as numbers and texts. Survivors are sorted by source line."""
    counts = Counter(result.verdict for result in outcome.results)
    return {
        "unit": outcome.unit,
        "config": outcome.config.name,
        "seed": seed,
        "mutants": len(outcome.results),
        **{verdict: counts[verdict] for verdict in (KILLED, EQUIVALENT, OPEN)},
        "score": outcome.score,
        "seconds": outcome.seconds,
        "trials": dict(
            Counter(result.trial for result in outcome.results if result.trial).most_common()
        ),
        "survivors": sorted(
            (
                {
                    "line": result.mutant.line,
                    "number": result.mutant.number,
                    "mutant": str(result.mutant),
                    "verdict": result.verdict,
                    "known": result.reason,
                }
                for result in outcome.results
                if result.verdict != KILLED
            ),
            key=_place,
        ),
    }


def text(records: list[dict]) -> str:
    """Table of the units, and table of the open mutants, if any."""
    columns = dict(SUMMARY)
    if any("noticed" in each for each in records):  # by proofs, which are asked for the engine's
        columns = {**columns, "noticed": "noticed by a proof"}
    units = format_table([{**each, "score": f"{each['score']:.1%}"} for each in records], columns)
    left = [
        {"unit": each["unit"], **survivor}
        for each in records
        for survivor in each["survivors"]
        if survivor["verdict"] == OPEN
    ]
    return f"{units}\n\n{format_table(left, SURVIVORS)}" if left else units


def _place(survivor):
    file, _, line = survivor["line"].partition(":")
    return file, int(line or 0), survivor["number"]
