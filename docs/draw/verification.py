"""Tables of docs/verification.md, from what ``cdma coverage``, ``cdma mutate`` and ``make formal``
saved."""

import itertools
from collections import Counter

import tables
from measured import DOCS

from cdma.tables import format_table
from cdma.verify.coverage.code import KINDS
from cdma.verify.proofs.table import COLUMNS, with_engines

PAGE = DOCS / "verification.md"

MUTANTS = {
    "unit": "unit",
    "config": "config",
    "mutants": "mutants",
    "killed": "killed by a trial",
    "refuted": "noticed by a proof",
    "equivalent": "equivalent",
    "open": "open",
    "score": "of the faults",
}
ENGINE_MUTANTS = {
    "config": "config",
    "drawn": "drawn",
    "mutants": "played",
    "killed": "killed by a trial",
    "noticed": "noticed by a proof",
    "equivalent": "equivalent",
    "open": "open",
    "share": "of the faults",
    "interval": "of all, with 95 %",
}
ENGINE_FUZZ = {
    "config": "engine",
    "seed": "seed",
    "packets": "jobs",
    "malformed": "not OK",
    "cycles": "cycles",
    "batches": "batches",
    "verdict": "verdict",
}
UNIT_FUZZ = {
    "config": "config",
    "unit": "unit",
    "seed": "seed",
    "packets": "packets",
    "malformed": "malformed",
    "cycles": "cycles",
    "verdict": "verdict",
}
#: Without line numbers, which change with every edit of the source.
SURVIVORS = {
    "unit": "unit",
    "config": "config",
    "source": "source",
    "mutant": "fault",
    "known": "what is known",
}


def fill(text: str) -> str:
    """The document with its tables as they were measured."""
    made = {
        "coverage": lambda: _coverage("coverage"),
        "plus_coverage": lambda: _coverage("coverage_zvcplus"),
        "mutants": lambda: _mutants(judged("mutation", "mutation_proofs")),
        "survivors": lambda: _survivors(judged("mutation", "mutation_proofs"), "config"),
        "option_mutants": lambda: _mutants(options(), "refuted"),
        "option_survivors": lambda: _survivors(options(), "known"),
        "plus_mutants": lambda: _mutants(plus()),
        "plus_survivors": lambda: _survivors(plus(), "config"),
        "proofs": _proofs,
        "unit_fuzz": _unit_fuzz,
        "engine_coverage": _engine_coverage,
        "engine_mutants": _engine_mutants,
        "engine_survivors": _engine_survivors,
        "engine_fuzz": _engine_fuzz,
        "engine_fuzz_jobs": _engine_fuzz_jobs,
    }
    return tables.fill(text, made, "Not measured for the units as they are now.")


def _coverage(measured: str) -> str:
    rows = {}
    for record in sorted(tables.read(measured), key=lambda each: each["what"] in KINDS):
        row = rows.setdefault(record["what"], {"what": record["what"]})
        row[record["unit"]] = _shown(record)
    return format_table(list(rows.values()), ("what", "compressor", "decompressor"), "markdown")


def _shown(record: dict) -> str:
    seen = f"{record['seen']:,} of {record['kinds']:,}"
    return f"{seen}, {record['explained']:,} explained" if record["explained"] else seen


def judged(measured: str, proofs: str) -> list[dict]:
    """What became of the mutants of each unit: by trials, and of what these left by proofs.

    Parameters
    ----------
    measured, proofs : str
        Names of the records.
    """
    records = tables.read(measured)
    put = {(each["unit"], each["number"]): each for each in tables.read(proofs)}
    for record in records:
        record["refuted"] = 0
        for survivor in record["survivors"]:
            if survivor["verdict"] != "open":
                continue
            found = put[record["unit"], survivor["number"]]
            assert found["mutant"] == survivor["mutant"]
            if found["outcome"] in ("refuted", "broken"):
                record["refuted"] += 1
                survivor["verdict"] = "refuted"
                cycle = found["cycle"]
                where = "the induction of " if cycle is None else ""
                when = "" if cycle is None else f" in cycle {cycle}"
                survivor["known"] = f"breaks {where}{found['proof']}{when}"
            elif found["outcome"] == "proven":
                survivor["known"] = f"{found['proof']} holds"
            elif found["proof"]:
                survivor["known"] = "nothing"
            else:
                survivor["known"] = "its component has no proof"
        record["open"] -= record["refuted"]
        faults = record["mutants"] - record["equivalent"]
        record["score"] = (record["killed"] + record["refuted"]) / faults
    return records


def options() -> list[dict]:
    """What became of the mutants of units with options: by trials."""
    return tables.read("mutation_options")


def plus() -> list[dict]:
    """What became of the mutants of ZVC+: by trials, and of what these left by proofs."""
    return judged("mutation_zvcplus", "mutation_zvcplus_proofs")


def _mutants(records: list[dict], *left_out: str) -> str:
    rows = [{**record, "score": f"{record['score']:.1%}"} for record in records]
    return format_table(rows, _without(MUTANTS, left_out), "markdown")


def _survivors(records: list[dict], *left_out: str) -> str:
    rows = [
        {**record, **survivor, "source": survivor["line"].partition(":")[0]}
        for record in records
        for survivor in record["survivors"]
        if survivor["verdict"] != "equivalent"
    ]
    return format_table(rows, _without(SURVIVORS, left_out), "markdown") if rows else "None."


def _without(columns: dict[str, str], left_out: tuple[str, ...]) -> dict[str, str]:
    return {name: title for name, title in columns.items() if name not in left_out}


def _proofs() -> str:
    rows = with_engines(tables.read("formal"), tables.read("formal_sby"))
    return format_table(rows, COLUMNS, "markdown")


def _engine_coverage() -> str:
    rows = [
        {"what": record["what"], "engine": _shown(record)}
        for record in tables.read("coverage_engine")
    ]
    return format_table(rows, ("what", "engine"), "markdown")


def _engine_mutants() -> str:
    (record,) = tables.read("mutation_engine")
    low, high = record["low"], record["high"]
    row = record | {"share": f"{record['score']:.1%}", "interval": f"{low:.1%} to {high:.1%}"}
    return format_table([row], ENGINE_MUTANTS, "markdown")


def _engine_survivors() -> str:
    """Those that are open: proofs notice too many of the others for a table."""
    (record,) = tables.read("mutation_engine")
    left = [each for each in record["survivors"] if each["verdict"] == "open"]
    return _survivors([{**record, "survivors": left}], "unit", "config")


def _unit_fuzz() -> str:
    """Random packets of each configuration, those with the most first."""
    files = sorted((tables.MEASUREMENTS / "fuzz").glob("*.json"))
    found = [tables.read(f"fuzz/{file.stem}") for file in files]
    if not found:
        raise tables.NotMeasured("fuzz")
    found.sort(key=lambda rows: -rows[0]["packets"])
    return format_table([row for rows in found for row in rows], UNIT_FUZZ, "markdown")


def _engine_fuzz() -> str:
    records = tables.read("fuzz_engine")
    numbers = ("packets", "malformed", "cycles", "batches")
    whole = {name: sum(record[name] for record in records) for name in numbers}
    failed = sum(bool(record["problem"]) for record in records)
    whole |= {"config": "all", "verdict": f"{failed} failed"}
    return format_table([*records, whole], ENGINE_FUZZ, "markdown")


def _engine_fuzz_jobs() -> str:
    """Jobs of all sizes by status and by kind, side by side."""
    counts = {}
    for column in ("errors", "kinds"):
        counts[column] = Counter()
        for record in tables.read("fuzz_engine"):
            counts[column].update(record[column])
    pairs = itertools.zip_longest(*(each.most_common() for each in counts.values()))
    rows = [
        {"status": a and a[0], "jobs": a and a[1], "kind": b and b[0], "of it": b and b[1]}
        for a, b in pairs
    ]
    return format_table(rows, ("status", "jobs", "kind", "of it"), "markdown")
