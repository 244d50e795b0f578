"""Check the proofs with independent tools: SymbiYosys and an SMT solver."""

from pathlib import Path

from cdma.toolchain import sby
from cdma.verify.formal import export, prover
from cdma.verify.proofs.proof import Proof

#: SMT solver. The prover itself uses CaDiCaL and ABC.
SOLVER = "z3"

#: Additional cycles of the induction hypothesis and of the base case. The checker needs them,
#: because it does not exclude paths that visit a state twice.
MORE = 3

#: Outcomes of a check. AGREES: all covers are reached, and the property holds for all cycles, or
#: for all cycles of a bounded proof. BOUNDED: the property holds only for a few cycles. DIFFERS:
#: a counterexample was found. OPEN: the time limit was reached.
AGREES, BOUNDED, DIFFERS, OPEN = ("agrees", "bounded", "differs", "open")


def files(name: str, proof: Proof, size: str, scratch: Path) -> dict[str, str]:
    """RTLIL and task file of a proof at a size, by file name.

    Parameters
    ----------
    name : str
        Full name of the proof.
    proof : Proof
    size : str
        Name of a size.
    scratch : Path
        Existing folder for the temporary files of Yosys.
    """
    stem = file_stem(name, size)
    is_bounded = proof.mode == prover.BOUNDED
    depth = proof.depth + (0 if is_bounded else MORE)
    reach = proof.depth if is_bounded else prover.REACH
    task = export.sby(stem, is_bounded=is_bounded, depth=depth, reach=reach, solver=SOLVER)
    return {f"{stem}.il": export.rtlil(proof.make(size), scratch), f"{stem}.sby": task}


def file_stem(name: str, size: str) -> str:
    """File name of a proof at a size, without suffix: letters, digits, ``_`` and ``-``."""
    text = f"{name}-{size}".replace(", ", "-")
    return "".join(each if each.isalnum() or each == "-" else "_" for each in text)


def check(name: str, proof: Proof, size: str, scratch: Path, seconds: int) -> str:
    """Check a proof. Returns :data:`AGREES`, :data:`BOUNDED`, :data:`DIFFERS` or :data:`OPEN`.

    Parameters
    ----------
    name, proof, size, scratch : as for :func:`files`
    seconds : int
        Limit of the wall time.

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
