"""A proof: a property of components, the sizes to prove, and broken designs to refute."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Elaboratable, Value

from cdma.verify.formal import prover
from cdma.verify.formal.fault import Fault
from cdma.verify.formal.prover import BOUNDED, INDUCTION, MODES, PDR, Verdict

__all__ = [
    "BOUNDED",
    "INDUCTION",
    "PDR",
    "Broken",
    "InvertsField",
    "Proof",
    "faults",
    "named",
    "swapped",
]


@dataclass(frozen=True)
class Broken:
    """A design that violates the promise: with a fault, or with a wrong component.

    Parameters
    ----------
    name : str
        Name of the fault.
    cycles : int
        Number of cycles after reset within which the promise is violated.
    size : object
        Size of the design, as a value of :attr:`Proof.sizes`.
    fault : Fault or None
        Fault to inject into the design of this size.
    design : callable or None
        Makes a design with a wrong component. Used in place of ``size`` and ``fault``.
    """

    name: str
    cycles: int
    size: Any = None
    fault: Fault | None = None
    design: Callable[[], Elaboratable] | None = None


@dataclass(frozen=True, kw_only=True)
class Proof:
    """A property of components, and the method that proves the property.

    Parameters
    ----------
    name : str
        Short name, unique in its kit.
    promise : str
        The property, as one sentence.
    components : tuple
        Classes or functions under proof.
    parts : tuple
        Classes of subcomponents without a proof of their own. The invariants of this proof, an
        induction, cover them.
    design : callable
        Makes the design to prove. The argument is a size.
    sizes : mapping
        Sizes to prove, by name.
    slow : tuple of str
        Names of the sizes that take more than a few seconds.
    mode : str
        One of :data:`cdma.verify.formal.prover.MODES`.
    depth : int
        Number of cycles, see :func:`cdma.verify.formal.prover.prove`.
    broken : tuple of Broken
        Designs for which the prover must find a counterexample.
    """

    name: str
    promise: str
    components: tuple[Any, ...]
    parts: tuple[type, ...] = ()
    design: Callable[[Any], Elaboratable]
    sizes: Mapping[str, Any]
    slow: tuple[str, ...] = ()
    mode: str = INDUCTION
    depth: int = 1
    broken: tuple[Broken, ...]

    def __post_init__(self):
        if self.mode not in MODES:
            raise ValueError(f"Mode must be one of {', '.join(MODES)}, not {self.mode!r}")
        unknown = set(self.slow) - set(self.sizes)
        if unknown:
            raise ValueError(f"Slow sizes must be among the sizes, not {', '.join(unknown)}")

    def make(self, size: str) -> Elaboratable:
        """Make the design at a size."""
        return self.design(self.sizes[size])

    def prove(self, size: str, **options) -> Verdict:
        """Prove the promise at a size. For ``options`` see
        :func:`cdma.verify.formal.prover.prove`.
        """
        return prover.prove(self.make(size), self.depth, mode=self.mode, **options)

    def refute(self, broken: Broken, **options) -> Verdict:
        """Search for a counterexample in a broken design."""
        design = broken.design() if broken.design else self.design(broken.size)
        return prover.prove(design, broken.cycles, mode=BOUNDED, fault=broken.fault, **options)


def named(*configs) -> dict[str, Any]:
    """Sizes by the names of their configurations."""
    return {config.name: config for config in configs}


def faults(size, cycles: int, *forced: Fault) -> tuple[Broken, ...]:
    """Broken designs of one size, each with one fault."""
    return tuple(Broken(str(fault), cycles, size, fault) for fault in forced)


class InvertsField:
    """In front of a component's class: inverts a field on its way, a wire without a cell.

    Parameters
    ----------
    *arguments
        Of the component.
    field : callable
        Called with the component: where the field goes, and where it comes from.
    """

    def __init__(self, *arguments, field: Callable[[Any], tuple]):
        super().__init__(*arguments)
        self._field = field

    def elaborate(self, platform):
        """The component with the fault."""
        m = super().elaborate(platform)
        to, of = self._field(self)
        m.d.comb += Value.cast(to).eq(~Value.cast(of))
        return m


def swapped(cycles: int, designs: Mapping[str, Callable[[], Elaboratable]]) -> tuple[Broken, ...]:
    """Broken designs, each with a wrong component, by the name of the fault."""
    return tuple(Broken(name, cycles, design=design) for name, design in designs.items())
