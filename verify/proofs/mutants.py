"""Run the proofs on the mutants that no trial kills.

A mutant is inserted into the design of the proof of its component, at the size of the mutated unit.
A bounded search then looks for a violated assertion in the first cycles after reset: the promise
itself, or an invariant of the induction. Without a violation, the full proof of the mutant is
tried: it may hold, for a mutant that does not change the promised behaviour, or fail: a counter
reaches its upper bits only after more cycles than any search has.
"""

from collections.abc import Iterator
from pathlib import Path

from cdma.hdl.codecs import UnitConfig
from cdma.toolchain.cache import cache_folder
from cdma.verify.formal import netlist, prover
from cdma.verify.mutation import mutants
from cdma.verify.mutation.component import Component, is_in
from cdma.verify.proofs.bench import Bench
from cdma.verify.proofs.registry import registry
from cdma.verify.proofs.zvc import benches as zvc
from cdma.verify.proofs.zvcplus import benches as zvcplus


def put_to_proofs(
    unit: str,
    config: UnitConfig,
    drawn: mutants.Drawn,
    numbers: set[int],
    cache: Path | None = None,
) -> Iterator[dict]:
    """Run the proofs of their components on mutants, and yield the outcome of each.

    Parameters
    ----------
    unit, config : str, UnitConfig
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
        ``number``, ``line``, ``mutant``; ``proof``: name of the proof, ``None`` if the component
        has none, or not this cell; ``outcome``: ``refuted`` (with its ``cycle``), ``broken`` if the
        induction fails with the fault and holds without, ``proven`` or ``open``.

    Raises
    ------
    ValueError
        When the design of the proof does not contain the cell of the mutant.
    """
    places, components = benches(unit, config), {}
    for mutant in (each for each in drawn.mutants if each.number in numbers):
        path = max((path for path in places if is_in(mutant.module, path)), key=len, default=None)
        found = {"proof": None, "outcome": "open", "cycle": None}
        if path is not None:
            bench = places[path]
            if path not in components:
                text = netlist.rtlil_of(bench.make(config))
                flat = netlist.flat(text, cache_folder(cache, "proofs"))
                components[path] = Component(drawn, path, flat)
            command = components[path].command(mutant)
            if command:
                found = _put(bench, config, command, cache)
            elif not bench.has_merged:
                raise ValueError(f"The design of proof {bench.proof} lacks the cell of {mutant}")
        known = {"number": mutant.number, "line": mutant.line, "mutant": str(mutant)}
        yield known | found


def benches(unit: str, config: UnitConfig) -> dict[str, Bench]:
    """Benches of a unit by the path of the component in the unit."""
    return (zvc if config.codec == "zvc" else zvcplus).benches(unit, config)


def _put(bench, config, command, cache):
    """Search for a violation, then try the full proof."""
    proof = registry()[bench.proof]
    how = {"command": command, "cache": cache}
    verdict = prover.prove(bench.make(config), bench.cycles, mode=prover.BOUNDED, **how)
    if verdict.outcome == "refuted":
        return {"proof": bench.proof, "outcome": "refuted", "cycle": verdict.cycle}
    if proof.mode == prover.BOUNDED:
        return {"proof": bench.proof, "outcome": "open", "cycle": None}

    def whole(text):
        how = {"command": text, "cache": cache, "seconds": bench.seconds}
        return prover.prove(bench.make(config), proof.depth, mode=proof.mode, **how).outcome

    outcome = whole(command)
    if outcome == "open" and proof.mode == prover.INDUCTION and whole("") == "proven":
        outcome = "broken"
    return {"proof": bench.proof, "outcome": outcome, "cycle": None}
