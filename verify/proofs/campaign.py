"""List the proofs, export them as files, or run them one after the other."""

from collections.abc import Iterator
from pathlib import Path

from cdma.files import make_folder, write_text
from cdma.toolchain.cache import cache_folder
from cdma.verify.proofs import agreement
from cdma.verify.proofs.proof import Proof
from cdma.verify.proofs.table import row_of

#: Outcomes that make a run fail, by engine.
FAILED = {"own": ("refuted", "open", "vacuous"), "sby": (agreement.DIFFERS,)}


def listed(proofs: dict[str, Proof]) -> list[dict]:
    """One row per proof, for a table."""
    return [row_of(name, proof) for name, proof in proofs.items()]


def sizes(proofs: dict[str, Proof], *, is_quick: bool) -> Iterator[tuple[str, Proof, str]]:
    """Yield name, proof and size. With ``is_quick``, skip the slow sizes."""
    for name, proof in proofs.items():
        for size in proof.sizes:
            if not (is_quick and size in proof.slow):
                yield name, proof, size


def exported(proofs: dict[str, Proof], folder: Path, *, is_quick: bool = False) -> list[dict]:
    """Write each proof at each size as an RTLIL file and a SymbiYosys task file.

    Raises
    ------
    UserError
        When Yosys is missing or fails, or the folder cannot be created.
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
    """Run each proof at each size, and yield its outcome.

    Parameters
    ----------
    proofs : dict of Proof
        Proofs by full name.
    engine : str
        ``own``: :mod:`cdma.verify.formal.prover`; ``sby``: :mod:`cdma.verify.proofs.agreement`.
    seconds : int
        Limit of the wall time of a proof, only for ``sby``.
    is_quick : bool
        Skip the slow sizes.
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
