"""Every proof of the registry holds at each size, and each of its broken designs is refuted."""

import pytest

from cdma.verify.proofs.registry import registry
from cdma.verify.proofs.table import row_of

#: Proofs that take more than five seconds even for a small size.
LONG = {
    *("zvc/assembler", "zvc/payload_reader", "zvc/jump_table"),
    *("zvcplus/payload_meter", "engine/completion_writer"),
}


def sizes():
    """Name and size of each proof. The first size of a proof that is not slow is quick."""
    for name, proof in registry().items():
        quick = [size for size in proof.sizes if size not in proof.slow and name not in LONG][:1]
        for size in proof.sizes:
            marks = [] if size in quick else [pytest.mark.slow]
            yield pytest.param(name, size, marks=marks, id=f"{name}-{size}")


def broken():
    """Each proof with each broken design. Only the first design of a proof is quick."""
    for name, proof in registry().items():
        is_slow = name in LONG or set(proof.sizes) == set(proof.slow)
        for index, design in enumerate(proof.broken):
            marks = [pytest.mark.slow] if is_slow or index else []
            yield pytest.param(name, index, marks=marks, id=f"{name}-{design.name}")


@pytest.mark.proof
@pytest.mark.parametrize(("name", "size"), list(sizes()))
def test_a_promise_is_proven(name, size, record_property):
    proof = registry()[name]
    verdict = proof.prove(size)
    record_property("proof", row_of(name, proof) | {"seconds": verdict.seconds})
    assert verdict.outcome == "proven", verdict


@pytest.mark.parametrize(("name", "index"), list(broken()))
def test_a_broken_design_is_refuted(name, index):
    proof = registry()[name]
    design = proof.broken[index]
    verdict = proof.refute(design)
    assert verdict.outcome == "refuted", f"{design.name}: {verdict}"
    assert 0 < verdict.cycle <= design.cycles
