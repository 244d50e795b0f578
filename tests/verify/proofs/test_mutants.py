"""Proofs notice faults: mutants of the units that no trial kills are put into them.

Each mutant that ``cdma mutate`` left open goes, at the size that it was drawn at, into the proof of
the component that it is in. In the first cycles after reset something that is asserted must then be
false: a promise, or what the promises rest on in an induction. Of a mutant that breaks nothing so
soon the proof may hold, by induction. ``--save-mutants FILE`` writes what came of it.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from amaranth.hdl import Assume

from cdma.cli.options import config_named
from cdma.files import write_text
from cdma.hdl.lib.counter import Counter
from cdma.hdl.zvc.beat import COUNT_BITS, CompressorStatus, DecompressorStatus
from cdma.hdl.zvc.compressor.assembly.assembler import Assembler
from cdma.hdl.zvc.compressor.assembly.store import AssembledRow
from cdma.hdl.zvc.compressor.placer import Placer
from cdma.hdl.zvc.compressor.unit import Compressor
from cdma.hdl.zvc.decompressor.beats.block_beats import BlockBeats
from cdma.hdl.zvc.decompressor.report import DecompressorReport
from cdma.hdl.zvc.decompressor.ring import StreamRing
from cdma.hdl.zvc.decompressor.unit import Decompressor
from cdma.hdl.zvc.output import PacketOutput
from cdma.toolchain.simulators import cache_folder
from cdma.verify.formal import prover as engine
from cdma.verify.mutation import mutants
from cdma.verify.mutation.component import Component

MEASUREMENTS = Path(__file__).parents[3] / "docs" / "measurements"


@dataclass(frozen=True)
class Bench:
    """Proofs of a component: the file, a function that makes one of the file and a size, in how
    many cycles something is to be broken, and the depth of the induction, if it is by one."""

    file: str
    make: Callable
    cycles: int
    depth: int | None = None


def ring(proofs, config):
    return proofs.Holds(StreamRing(config, Decompressor.rows(config)))


def words_in(proofs, config):
    """The compressor's counter of whole blocks: no step is longer than the assembler's proof says
    of a row."""
    fmt = config.format
    low = (fmt.block_words & -fmt.block_words).bit_length() - 1
    most = fmt.block_words * (config.lanes - 1 + fmt.mask_words) // fmt.mask_words

    class Steps(proofs.Sums):
        def elaborate(self, platform):
            m = super().elaborate(platform)
            m.d.comb += Assume(self.dut.step <= most >> low)
            return m

    kept = AssembledRow(config)["kept"].width
    return Steps(Counter(COUNT_BITS - low, kept - low))


#: By the component's place in its unit; what is in no other is in the unit.
BENCHES = {
    "compressor": {
        "core.assembler": Bench("test_assembler", lambda p, c: p.Assembles(Assembler(c)), 8, 1),
        "core.placer": Bench("test_placer", lambda p, c: p.Places(Placer(c)), 8, 4),
        "core.output": Bench(
            "test_output", lambda p, c: p.Reports(PacketOutput(c, CompressorStatus())), 8, 1
        ),
        "core.words_in": Bench("test_counter", words_in, 4, 1),
        "core": Bench("test_compressor", lambda p, c: p.Packets(Compressor(c)), 13),
    },
    "decompressor": {
        "core.ring": Bench("test_ring", ring, 10, 1),
        "core.fetcher": Bench("test_fetch", lambda p, c: p.walks(c), 9, 1),
        "core.beats": Bench("test_block_beats", lambda p, c: p.Cuts(BlockBeats(c)), 8, 1),
        "core.reader": Bench("test_reader", lambda p, c: p.reads(c), 8, 1),
        "core.report": Bench("test_report", lambda p, c: p.Reports(DecompressorReport(c)), 5, 1),
        "core.output": Bench(
            "test_output", lambda p, c: p.Reports(PacketOutput(c, DecompressorStatus())), 8, 1
        ),
        "core": Bench("test_decompressor", lambda p, c: p.Obeys(Decompressor(c)), 14),
    },
}


@pytest.fixture(scope="module")
def records():
    """What ``cdma mutate`` has written, by unit."""
    records = json.loads((MEASUREMENTS / "mutation.json").read_text())
    return {record["unit"]: record for record in records}


@pytest.mark.slow
def test_what_no_trial_kills_is_put_to_the_proofs(records, proofs_of, request):
    """What comes of it is on record."""
    found = [
        {"unit": unit, **each}
        for unit, record in records.items()
        for each in _put_to_proofs(unit, record, proofs_of)
    ]
    file = request.config.getoption("--save-mutants")
    if file:
        write_text(file, json.dumps(found, indent=2) + "\n")
    assert found == json.loads((MEASUREMENTS / "mutation_proofs.json").read_text())


def _put_to_proofs(unit, record, proofs_of):
    config = config_named(record["config"])
    drawn = mutants.draw(unit, config, record["mutants"], record["seed"], cache_folder(None))
    left = {each["number"] for each in record["survivors"] if each["verdict"] == "open"}
    components = {}
    for mutant in drawn.mutants:
        if mutant.number not in left:
            continue
        path = max((path for path in BENCHES[unit] if _is_in(mutant.module, path)), key=len)
        bench = BENCHES[unit][path]
        design = bench.make(proofs_of(bench.file), config)
        if path not in components:
            components[path] = Component(drawn, path, engine.flat(design))
        fault = components[path].command(mutant)
        assert fault, f"{mutant} is not in {bench.file}"
        verdict = engine.prove(design, bench.cycles, by_induction=False, fault=fault)
        outcome = "refuted" if verdict.outcome == "refuted" else "open"
        if outcome == "open" and bench.depth:
            whole = engine.prove(design, bench.depth, by_induction=True, fault=fault)
            outcome = "proven" if whole.outcome == "proven" else "open"
        yield {
            "number": mutant.number,
            "line": mutant.line,
            "mutant": str(mutant),
            "proof": f"tests/verify/proofs/{bench.file}.py",
            "outcome": outcome,
            "cycle": verdict.cycle if outcome == "refuted" else None,
        }


def _is_in(module, path):
    return module == path or module.startswith(f"{path}.")
