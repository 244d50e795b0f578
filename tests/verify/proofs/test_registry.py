"""The registry has a proof of every component, and every proof can fail."""

import importlib
import pkgutil
from dataclasses import replace

import pytest
from amaranth.lib import wiring

from cdma import hdl
from cdma.hdl.lib.queue import Queue
from cdma.verify.formal.fault import late
from cdma.verify.proofs.proof import faults, swapped
from cdma.verify.proofs.registry import chosen, registry


def components() -> set[type]:
    """Every class of ``cdma.hdl`` with an ``elaborate`` method."""
    modules = [
        importlib.import_module(module.name)
        for module in pkgutil.walk_packages(hdl.__path__, f"{hdl.__name__}.")
    ]
    return {
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, wiring.Component)
        and value.__module__ == module.__name__
        and "elaborate" in vars(value)
    }


def proven() -> set[type]:
    """Every class that a proof is about."""
    return {each for proof in registry().values() for each in (*proof.components, *proof.parts)}


def test_every_component_has_a_proof():
    assert Queue in components()
    missing = sorted(each.__name__ for each in components() - proven())
    assert not missing, f"No proof is about {missing}"


@pytest.mark.parametrize("name", registry())
def test_every_proof_has_sizes_and_refutes_something(name):
    proof = registry()[name]
    assert proof.sizes
    assert proof.broken
    names = [broken.name for broken in proof.broken]
    assert len({(broken.name, str(broken.size)) for broken in proof.broken}) == len(names)


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (["Queue"], {"lib/queue"}),
        (["zvc/placer"], {"zvc/placer"}),
        (["RowWindow"], {"zvc/payload_reader"}),
        (["axi", "Queue"], {"axi/axi_top", "axi/lite_subordinate", "lib/queue"}),
    ],
)
def test_proofs_are_chosen_by_component_name_and_kit(wanted, names):
    assert set(chosen(wanted)) == names


def test_all_are_chosen_where_none_is_named():
    assert chosen([]) == registry()


def test_an_unknown_component_is_named():
    with pytest.raises(
        ValueError, match=r"^Component must be the name of a component, proof or kit, not 'Bus'"
    ):
        chosen(["Bus"])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"mode": "luck"}, r"^Mode must be one of induction, bounded, pdr, not 'luck'$"),
        ({"slow": ("9x9",)}, r"^Slow sizes must be among the sizes, not 9x9$"),
    ],
)
def test_mistakes(wrong, message):
    sound = registry()["lib/queue"]
    with pytest.raises(ValueError, match=message):
        replace(sound, **wrong)


def test_broken_designs_are_named():
    (forced,) = faults(8, 3, late("dut.level"))
    assert (forced.name, forced.cycles, forced.size) == ("dut.level late", 3, 8)
    (other,) = swapped(2, {"no reset": Queue})
    assert (other.name, other.cycles, other.fault) == ("no reset", 2, None)
