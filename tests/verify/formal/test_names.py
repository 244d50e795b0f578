"""Signals of one assignment all have names, and only in the component that asks for it."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring

from cdma.verify.formal.names import all_named, elaborated


class _Pair(wiring.Component):
    """Two signals in one assignment, three in the next, and one by itself."""

    def __init__(self):
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        first, second = Signal(), Signal(4)
        like, plain, own = Signal.like(second), Signal(2), Signal(name="given")
        alone = Signal()
        pair = (alone, plain)
        self.count = len(pair)
        self.found = [each.name for each in (first, second, like, plain, own, alone)]
        return m


def test_all_signals_are_named():
    pair = _Pair()
    assert isinstance(elaborated(pair, None), Module)
    assert pair.found == ["first", "second", "like", "plain", "given", "alone"]


def test_other_components_keep_their_names():
    pair = _Pair()
    elaborated(pair, None)
    named = pair.found
    pair.elaborate(None)
    assert pair.found != named


def test_subcomponents_are_named_where_all_are():
    class Around(wiring.Component):
        def __init__(self):
            super().__init__({})
            self.pair = _Pair()

        def elaborate(self, platform):
            m = Module()
            m.submodules.pair = self.pair
            return m

    around = Around()
    all_named(around, None)
    assert around.pair.found == ["first", "second", "like", "plain", "given", "alone"]
