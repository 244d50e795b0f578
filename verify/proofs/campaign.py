"""Many proofs: listed, exported as files, or made one after the other."""

from collections.abc import Iterator
from pathlib import Path

from cdma.files import make_folder, write_text
from cdma.toolchain.cache import cache_folder
from cdma.verify.proofs import agreement
from cdma.verify.proofs.proof import Proof
from cdma.verify.proofs.table import row_of

#: Outcomes with which a run of an engine fails.
FAILED = {"own": ("refuted", "open", "vacuous"), "sby": (agreement.DIFFERS,)}


def listed(proofs: dict[str, Proof]) -> list[dict]:
    """Row of each proof."""
    return [row_of(name, proof) for name, proof in proofs.items()]


def sizes(proofs: dict[str, Proof], *, is_quick: bool) -> Iterator[tuple[str, Proof, str]]:
    """Yield name, proof and size; with ``is_quick`` without those that take long."""
    for name, proof in proofs.items():
        for size in proof.sizes:
            if not (is_quick and size in proof.slow):
                yield name, proof, size


def exported(proofs: dict[str, Proof], folder: Path, *, is_quick: bool = False) -> list[dict]:
    """Write each proof at each size as RTLIL and a task file of SymbiYosys.

    Raises
    ------
    UserError
        When Yosys is missing or fails, or the folder cannot be made.
    """
    make_folder(folder)
    rows, scratch = [], cache_folder(None, "proofs")
    for name, proof, size in sizes(proofs, is_quick=is_quick):
        for file, text in agreement.files(name, proof, size, scratch).items():
            write_text(folder / file, text)
            rows.append({"proof": name, "size": size, "file": str(folder / file)})
    return rows


def proven(
    proofs: dict[str, Proof], engine: str, seconds: int, *, is_quick: bool = False
) -> Iterator[dict]:
    """Make each proof at each size, and yield what came of it.

    Parameters
    ----------
    proofs : dict of Proof
        By their full names.
    engine : str
        ``own``: :mod:`cdma.verify.formal.prover`; ``sby``: :mod:`cdma.verify.proofs.agreement`.
    seconds : int
        Bound on the wall time of a proof, for ``sby``.
    is_quick : bool
        Leave out the sizes that take long.
    """
    scratch = cache_folder(None, "proofs")
    for name, proof, size in sizes(proofs, is_quick=is_quick):
        row = {"proof": name, "size": size}
        if engine == "sby":
            yield row | {"outcome": agreement.check(name, proof, size, scratch, seconds)}
        else:
            verdict = proof.prove(size)
            row |= {"outcome": verdict.outcome, "seconds": verdict.seconds}
            if verdict.outcome != "proven":
                row |= {"statement": verdict.statement, "trace": verdict.trace}
            yield row
