"""Proofs before an independent checker: SymbiYosys and an SMT solver."""

from pathlib import Path

from cdma.toolchain import sby
from cdma.verify.formal import export, prover
from cdma.verify.proofs.proof import Proof

#: The solver; the prover's own are CaDiCaL and ABC.
SOLVER = "z3"

#: Cycles of hypothesis and of the check before, beside those of the proof: the checker does not
#: know that no state comes twice.
MORE = 3

#: What comes of a proof, where every cover is met: it holds for ever, or for as many cycles as a
#: bounded check has; it holds for a few cycles; it does not hold. Else the time was up.
AGREES, BOUNDED, DIFFERS, OPEN = ("agrees", "bounded", "differs", "open")


def files(name: str, proof: Proof, size: str, scratch: Path) -> dict[str, str]:
    """Files of a proof at a size, by their names: RTLIL and task file.

    Parameters
    ----------
    name : str
        Full name of the proof.
    proof : Proof
    size : str
        Name of a size.
    scratch : Path
        Existing folder for Yosys to work in.
    """
    stem = file_stem(name, size)
    is_bounded = proof.mode == prover.BOUNDED
    depth = proof.depth + (0 if is_bounded else MORE)
    reach = proof.depth if is_bounded else prover.REACH
    task = export.sby(stem, is_bounded=is_bounded, depth=depth, reach=reach, solver=SOLVER)
    return {f"{stem}.il": export.rtlil(proof.make(size), scratch), f"{stem}.sby": task}


def file_stem(name: str, size: str) -> str:
    """Name of a proof's files at a size: letters, digits, ``_`` and ``-``."""
    text = f"{name}-{size}".replace(", ", "-")
    return "".join(each if each.isalnum() or each == "-" else "_" for each in text)


def check(name: str, proof: Proof, size: str, scratch: Path, seconds: int) -> str:
    """Put a proof to the checker: :data:`AGREES`, :data:`BOUNDED`,
    :data:`DIFFERS` or :data:`OPEN`.

    Parameters
    ----------
    name, proof, size, scratch : as for :func:`files`
    seconds : int
        Bound on the wall time.

    Raises
    ------
    UserError
        When a tool is missing or fails.
    """
    found = sby.run(file_stem(name, size), files(name, proof, size, scratch), seconds, scratch)
    if "FAIL" in found.values():
        return DIFFERS
    if found[export.COVER] != "PASS":
        return OPEN
    return {"PASS": AGREES, "UNKNOWN": BOUNDED}.get(found[export.PROVE], OPEN)
