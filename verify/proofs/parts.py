"""Parts of a component at hand for a proof: to look at their ports, or to replace them."""

from collections.abc import Mapping
from contextlib import ExitStack
from types import ModuleType
from unittest import mock

from amaranth.hdl import Module
from amaranth.lib.wiring import Out

from cdma.verify.formal.names import elaborated, naming
from cdma.verify.formal.stream_rules import leave_ports_open


class AnyOutputs:
    """In front of a component's class: it gives anything at any time."""

    def elaborate(self, platform):
        m = Module()
        leave_ports_open(m, self, Out)
        return m


def with_parts(
    component,
    platform,
    sources: tuple[ModuleType, ...],
    names: tuple[str, ...],
    instead: Mapping = {},
) -> tuple[Module, dict]:
    """Elaborate a component, and keep its parts. All signals of both have names.

    Parameters
    ----------
    component : wiring.Component
        Component to elaborate.
    platform : object
        Platform of the elaboration.
    sources : tuple of modules
        Python modules that make the parts, one of each class.
    names : tuple of str
        Names of the parts' classes, each in the first of these modules that has it.
    instead : mapping
        Classes to use instead of some of them, by name.

    Returns
    -------
    The component's module, and the parts by the names of their classes.
    """
    parts = {}

    def keep(name, part):
        def init(self, *args, **options):
            part.__init__(self, *args, **options)
            parts[name] = self

        def elaborate(self, platform):
            with naming():
                return part.elaborate(self, platform)

        return type(part.__name__, (part,), {"__init__": init, "elaborate": elaborate})

    with ExitStack() as stack:
        for name in names:
            source = next(each for each in sources if hasattr(each, name))
            kept = keep(name, instead.get(name, getattr(source, name)))
            stack.enter_context(mock.patch.object(source, name, kept))
        return elaborated(component, platform), parts
