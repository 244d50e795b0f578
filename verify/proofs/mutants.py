"""Mutants of the units that no trial kills, put into the proofs of their components.

A mutant goes, at the size that it was drawn at, into the proof of the component that it is in. In
the first cycles after reset something that is asserted must then be false: a promise, or what the
promises rest on in an induction. Of a mutant that breaks nothing so soon the proof may hold, by
induction.
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
    """The proof that the mutants of a component are put into.

    Parameters
    ----------
    proof : str
        Its name in the registry.
    size : callable
        Size of the proof for a configuration of the unit.
    cycles : int
        Cycles in which something is to be broken.
    design : callable or None
        Makes the design for a configuration, where it is not that of the proof.
    """

    proof: str
    size: Callable[[Config], Any] = lambda config: config
    cycles: int = 8
    design: Callable[[Config], Elaboratable] | None = None

    def make(self, config: Config) -> Elaboratable:
        """Make the design."""
        if self.design:
            return self.design(config)
        return registry()[self.proof].design(self.size(config))


def words_in(config: Config) -> Elaboratable:
    """Make the bench of the compressor's counter of whole blocks: no step is longer than the
    assembler's proof says of a row."""
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
    """Name of the proof of the fetcher of a size."""
    return f"zvc/{'counting' if config.block_beats >= 4 else 'lookup'}_fetcher"


def benches(unit: str, config: Config) -> dict[str, Bench]:
    """Bench of each component by its place in the unit; what is in no other is in ``core``."""
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
    """Put mutants into the proofs of their components, and yield what comes of each.

    Parameters
    ----------
    unit, config : str, Config
        What was drawn from.
    drawn : Drawn
        The unit's mutants.
    numbers : set of int
        Numbers of those to put to the proofs.
    cache : path or None
        Folder of verdicts.

    Yields
    ------
    dict
        ``number``, ``line``, ``mutant``; ``proof`` by name; ``outcome``, ``refuted`` with the
        ``cycle``, or ``proven`` or ``open``.

    Raises
    ------
    ValueError
        When the design of a proof lacks the cell of a mutant.
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
            raise ValueError(f"Proof {bench.proof} must have the cell of {mutant}")
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
