"""Run the proofs on the mutants that no trial kills.

A mutant is inserted into the design of the proof of its component, at the size of the mutated unit.
A bounded search then looks for a violated assertion in the first cycles after reset: the promise
itself, or an invariant of the induction. Without a violation, the full proof of the mutant is
tried: it may hold, for a mutant that does not change the promised behaviour.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.hdl import Assume, Elaboratable

from cdma.hdl.lib.counter import Counter
from cdma.hdl.zvc.beat import COUNT_BITS, CompressorStatus, DecompressorStatus
from cdma.hdl.zvc.compressor.assembly.store import AssembledRow
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.unit import Decompressor
from cdma.toolchain.cache import cache_folder
from cdma.verify.formal import netlist, prover
from cdma.verify.mutation import mutants
from cdma.verify.mutation.component import Component
from cdma.verify.proofs.lib.counter import Sums
from cdma.verify.proofs.registry import registry


@dataclass(frozen=True)
class Bench:
    """The proof for the mutants of one component.

    Parameters
    ----------
    proof : str
        Name of the proof in the registry.
    size : callable
        Gives the size of the proof for a configuration of the unit.
    cycles : int
        Bound of the search for a violation, in cycles.
    design : callable or None
        Makes the design for a configuration. By default, the design of the proof.
    """

    proof: str
    size: Callable[[Config], Any] = lambda config: config
    cycles: int = 8
    design: Callable[[Config], Elaboratable] | None = None

    def make(self, config: Config) -> Elaboratable:
        """Make the design for a configuration."""
        if self.design:
            return self.design(config)
        return registry()[self.proof].design(self.size(config))


def words_in(config: Config) -> Elaboratable:
    """Make the bench of the compressor's counter of whole blocks.

    The steps of the counter are limited to the bound of a row that the assembler's proof shows.
    """
    fmt = config.format
    low = (fmt.block_words & -fmt.block_words).bit_length() - 1
    most = fmt.block_words * (config.lanes - 1 + fmt.mask_words) // fmt.mask_words

    class Steps(Sums):
        def elaborate(self, platform):
            m = super().elaborate(platform)
            m.d.comb += Assume(self.dut.step <= most >> low)
            return m

    kept = AssembledRow(config)["kept"].width
    return Steps(Counter(COUNT_BITS - low, kept - low))


def fetcher(config: Config) -> str:
    """Name of the proof of the mask fetcher that a configuration uses."""
    return f"zvc/{'counting' if config.block_beats >= 4 else 'lookup'}_fetcher"


def benches(unit: str, config: Config) -> dict[str, Bench]:
    """Benches by the path of the component in the unit. ``core`` is for all other components."""
    if unit == "compressor":
        return {
            "core.assembler": Bench("zvc/assembler"),
            "core.placer": Bench("zvc/placer"),
            "core.output": Bench("zvc/packet_output", lambda c: (c, CompressorStatus)),
            "core.report.words_in": Bench("lib/counter", cycles=4, design=words_in),
            "core": Bench("zvc/compressor_packets", cycles=13),
        }
    return {
        "core.ring": Bench("zvc/ring", lambda c: (c, Decompressor.rows(c)), 10),
        "core.fetcher": Bench(fetcher(config), cycles=9),
        "core.beats": Bench("zvc/block_beats"),
        "core.reader": Bench("zvc/payload_reader"),
        "core.report": Bench("zvc/decompressor_report", cycles=5),
        "core.output": Bench("zvc/packet_output", lambda c: (c, DecompressorStatus)),
        "core": Bench("zvc/decompressor_obeys", cycles=14),
    }


def put_to_proofs(
    unit: str, config: Config, drawn: mutants.Drawn, numbers: set[int], cache: Path | None = None
) -> Iterator[dict]:
    """Run the proofs of their components on mutants, and yield the outcome of each.

    Parameters
    ----------
    unit, config : str, Config
        The mutated unit.
    drawn : Drawn
        All mutants drawn for the unit.
    numbers : set of int
        Numbers of the mutants to run.
    cache : path or None
        Folder that caches the verdicts.

    Yields
    ------
    dict
        ``number``, ``line``, ``mutant``; ``proof``: name of the proof; ``outcome``: ``refuted``
        (with its ``cycle``), ``proven`` or ``open``.

    Raises
    ------
    ValueError
        When the design of the proof does not contain the cell of the mutant.
    """
    places, components = benches(unit, config), {}
    for mutant in (each for each in drawn.mutants if each.number in numbers):
        path = max((path for path in places if _is_in(mutant.module, path)), key=len)
        bench = places[path]
        design = bench.make(config)
        if path not in components:
            flat = netlist.flat(netlist.rtlil_of(design), cache_folder(cache, "proofs"))
            components[path] = Component(drawn, path, flat)
        command = components[path].command(mutant)
        if not command:
            raise ValueError(f"The design of proof {bench.proof} lacks the cell of {mutant}")
        proof = registry()[bench.proof]
        how = {"command": command, "cache": cache}
        verdict = prover.prove(design, bench.cycles, mode=prover.BOUNDED, **how)
        outcome = "refuted" if verdict.outcome == "refuted" else "open"
        if outcome == "open" and proof.mode != prover.BOUNDED:
            whole = prover.prove(bench.make(config), proof.depth, mode=proof.mode, **how)
            outcome = "proven" if whole.outcome == "proven" else "open"
        yield {
            "number": mutant.number,
            "line": mutant.line,
            "mutant": str(mutant),
            "proof": bench.proof,
            "outcome": outcome,
            "cycle": verdict.cycle if outcome == "refuted" else None,
        }


def _is_in(module, path):
    return module == path or module.startswith(f"{path}.")
