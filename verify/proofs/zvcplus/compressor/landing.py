"""Items on their way from their places to the assembler, side by side with what they count."""

from amaranth.hdl import Assert, Cover, Module, Mux, Signal
from amaranth.lib import data

from cdma.hdl.lib.counter import Counter
from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.hdl.zvcplus.compressor.place import BitPlacer, _Appended
from cdma.hdl.zvcplus.compressor.records import Place
from cdma.hdl.zvcplus.compressor.rotator import ControlRotator
from cdma.verify.formal.prover import probe


class PlainCounter(Counter):
    """The sum of a :class:`Counter` in one piece."""

    def elaborate(self, platform):
        m = Module()
        with m.If(self.enable):
            m.d.sync += self.value.eq(Mux(self.restart, 0, self.value) + self.step)
        return m


class FollowedItem(data.StructLayout):
    """What is followed of an item; ``mark`` for any use."""

    def __init__(self, size):
        super().__init__({"last": 1, "words": range(size.lanes + 1), "mark": 1})


def follow_items(m, size, control_latency: int, assembler, item, valid) -> list:
    """Each item comes to the assembler as late as its control, with the words of its packet so far.

    Registers of the component ``dut`` are looked at by name, for the induction.

    Parameters
    ----------
    size : Config or ByteLanes
        Size of items.
    control_latency : int
        Cycles from an item to its control.
    assembler : BitAssembler
        The assembler, whose ``ready`` lets all registers load.
    item, valid : FollowedItem, Signal
        The item at hand.

    Returns
    -------
    The items on their way, each with its valid bit: at hand, after each cycle, and in the
    assembler.
    """
    layout, steps = FollowedItem(size), [(item, valid)]
    for number in range(control_latency + ControlRotator.LATENCY):
        kept, is_kept = Signal(layout, name=f"step{number}"), Signal(name=f"valid{number}")
        with m.If(assembler.ready):
            m.d.sync += [kept.eq(steps[-1][0]), is_kept.eq(steps[-1][1])]
        steps.append((kept, is_kept))
    (before, is_before), (landed, is_landed) = steps[-2:]
    total, is_first = Signal(COUNT_BITS, name="total"), Signal(name="is_first", init=1)
    with m.If(assembler.ready & is_before):
        m.d.sync += [
            total.eq(Mux(is_first, 0, total) + before.words),
            is_first.eq(before.last),
        ]
    m.d.comb += [
        Assert(assembler.valid == is_landed),
        Assert(assembler.words == total),
        Assert(~is_landed | (assembler.landing.place.last == landed.last)),
        Assert(probe(m, "dut.is_first", 1) == is_first),
    ]
    with m.If(is_landed):
        m.d.comb += [
            Assert(is_first == landed.last),
            Cover(landed.last & (total == 0)),
            Cover(landed.last & (total == size.lanes + 3)),
        ]
    # Invariants: the items in the registers.
    kept = [("placer.appended.valid0", "placer.appended.value0", _Appended(size))]
    kept.append(("placer.placed.valid0", "placer.placed.value0", Place(size)))
    for number in range(control_latency - BitPlacer.LATENCY):
        kept.append((f"coded.valid{number}", f"coded.value{number}", Place(size)))
    kept.append(("rotated.valid0", "rotated.value0", Place(size)))
    for (flag, value, layout), (step, is_step) in zip(kept, steps[1:-1], strict=True):
        place = data.View(layout, probe(m, f"dut.{value}", layout.size))
        m.d.comb += Assert(probe(m, f"dut.{flag}", 1) == is_step)
        with m.If(is_step):
            m.d.comb += [Assert(place.last == step.last), Assert(place.words == step.words)]
    return steps
