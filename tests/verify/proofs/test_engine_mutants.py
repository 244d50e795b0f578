"""Proofs of the engine's components find faults that no trial kills."""

import itertools
import json
import re
from pathlib import Path

import pytest

from cdma.verify.mutation.engine import campaign
from cdma.verify.mutation.mutants import Drawn, Mutant, cells, module_of
from cdma.verify.proofs import engine_mutants
from cdma.verify.proofs.engine_mutants import (
    BROKEN,
    HOLDS,
    LIBRARY,
    MORE,
    PLACES,
    REFUTED,
    Judged,
    places_of,
    put_to_proofs,
    with_proofs,
)
from cdma.verify.proofs.registry import registry

RECORD = Path(__file__).parents[3] / "docs" / "measurements" / "mutation_engine.json"


def mutant(module, line="hdl/engine/job.py:1", number=1):
    return Mutant(number, "inv", "mux", module, "Y", 0, None, line, "")


def test_each_place_has_a_proof():
    known = {*PLACES.values(), *MORE.values(), *itertools.chain(*LIBRARY.values())}
    assert known <= set(registry())


def test_parts_come_before_what_has_them():
    found = places_of(mutant("front.rings.starter.checker.multiplier"))
    assert found == [
        ("front.rings.starter.checker.multiplier", "engine/multiplier"),
        ("front.rings.starter.checker", "engine/checker"),
        ("front.rings.starter", "engine/starter"),
        ("front.rings", "engine/rings"),
        ("front", "engine/front_end"),
    ]
    assert places_of(mutant("links")) == []


def test_components_of_the_library_come_last():
    found = places_of(mutant("data.prefetch.tasks.store.memory", "hdl/lib/fifo.py:49"))
    assert found == [
        ("data.prefetch.tasks", "engine/task_maker"),
        ("data", "engine/data_path"),
        ("data.prefetch.tasks.store", "lib/fifo"),
    ]


def test_further_proofs_come_behind_those_of_all_components_around():
    found = [proof for _, proof in places_of(mutant("front.counters"))]
    assert found == ["engine/counters", "engine/front_end", "engine/snapshots"]
    assert ("front", "engine/timeouts") in places_of(mutant("front"))


@pytest.mark.parametrize("failing", [0, 1, None])
def test_sizes_of_a_proof_are_tried_until_one_fails(monkeypatch, failing):
    proofs = [name for _, name in places_of(mutant("front.rings.starter.checker"))]
    sizes = list(registry()["engine/checker"].sizes)
    tried = []

    class Anywhere:
        def command(self, mutant):
            return "mutate"

    def outcome(proof, size, command, cache):
        tried.append(size)
        fails = failing is not None and size == sizes[failing]
        return (REFUTED, 3) if fails else (HOLDS, None)

    monkeypatch.setattr(engine_mutants, "_component", lambda *where: Anywhere())
    monkeypatch.setattr(engine_mutants, "_outcome", outcome)
    found = engine_mutants.judge((None, mutant("front.rings.starter.checker"), None))
    if failing is None:
        assert found == Judged(1, "engine/checker", sizes[0], HOLDS)
        assert len(tried) == sum(len(registry()[name].sizes) for name in proofs)
    else:
        assert found == Judged(1, "engine/checker", sizes[failing], REFUTED, 3)
        assert tried == sizes[: failing + 1]


@pytest.mark.parametrize("is_none", [False, True])
def test_a_record_counts_what_proofs_notice(monkeypatch, is_none):
    outcomes = {1: REFUTED, 2: BROKEN, 3: HOLDS}
    survivors = [
        {"number": number, "verdict": "equivalent" if number == 5 else "open", "known": ""}
        for number in range(1, 6)
    ]
    record = {"mutants": 100, "killed": 90, "equivalent": 6, "open": 4, "survivors": survivors}

    def judged(drawn, mutants, **where):
        assert [each.number for each in mutants] == [1, 2, 3, 4]
        return (Judged(each, "engine/x", "2 lanes", found, 3) for each, found in outcomes.items())

    def parts(drawn, mutants, **where):
        assert [each.number for each in mutants] == [3, 4]
        return {4: "link"} if is_none else {}

    monkeypatch.setattr(engine_mutants, "put_to_proofs", judged)
    monkeypatch.setattr(engine_mutants, "without_effect", parts)
    drawn = Drawn("engine", "", [mutant("link", number=number) for number in range(1, 8)])
    made = with_proofs(record, drawn)
    assert (made["killed"], made["noticed"]) == (90, 2)
    assert (made["open"], made["equivalent"]) == ((1, 7) if is_none else (2, 6))
    assert made["score"] == 92 / (93 if is_none else 94)
    assert made["low"] < made["score"] < made["high"]
    assert [each["known"] for each in made["survivors"]] == [
        "refuted by engine/x in cycle 3",
        "breaks engine/x",
        "is allowed by engine/x",
        "changes no output of link" if is_none else "no proof has its cell",
        "",
    ]
    assert made["survivors"][3]["verdict"] == ("equivalent" if is_none else "open")
    assert [each["verdict"] for each in made["survivors"][:3]] == ["noticed", "noticed", "open"]


def test_the_record_says_what_proofs_found():
    (record,) = json.loads(RECORD.read_text())
    verdicts = [each["verdict"] for each in record["survivors"]]
    assert record["noticed"] == verdicts.count("noticed") > 0
    for each in record["survivors"]:
        if each["verdict"] == "noticed":
            assert re.match(r"(breaks|refuted by) (engine|lib|axi)/\w+", each["known"])


@pytest.mark.slow
def test_faults_of_a_component_break_its_proof(tmp_path):
    """Each path is in the engine, and a fault in a tally of the link breaks the tally's proof."""
    drawn = campaign.draw(campaign.small_engine(), 1000, 0, tmp_path)
    modules = {module_of(cell.name) for cell in cells(drawn.rtlil)}
    for pattern in (*PLACES, *MORE):
        assert any(re.match(rf"({pattern})(\.|$)", each) for each in modules), pattern
    inside = [each for each in drawn.mutants if each.module.startswith("link.reads_owed")]
    found = list(put_to_proofs(drawn, inside, cache=str(tmp_path)))
    assert len(found) == len(inside) > 0
    assert any(each.is_noticed for each in found)
    assert {each.proof for each in found} == {"lib/tally"}
