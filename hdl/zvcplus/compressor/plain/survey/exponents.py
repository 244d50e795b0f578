"""The largest and the smallest exponent of a block."""

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.adder import exceeds
from cdma.hdl.lib.delay import DelayLine
from cdma.hdl.lib.signals import one_of
from cdma.hdl.zvcplus.config import Config

#: Words that are compared with each other before the first register.
GROUP_WORDS = 4


class PairedRange(wiring.Component):
    """Find the largest and the smallest exponent of words of a block.

    Two steps, a register after each: the range of a few words each; that of a beat and the beats
    before. In each, all pairs are compared side by side, and what is larger than all others is
    chosen.

    Throughput one beat a cycle, latency :attr:`LATENCY` cycles; the outputs are registered.

    Parameters
    ----------
    config : Config
        Element type, a float.

    Members
    -------
    enable : In, array of equal bits: the first, and the second registers load
    valid : In, there is a beat
    first : In, a block begins with the beat
    exponents : In, array of the exponents of the beat's words
    mask : In, the words that count
    top : Out, largest exponent of the block up to the beat, 0 without one
    least : Out, smallest, all ones without one
    """

    #: Cycles from the last beat of a block to its range.
    LATENCY = 2

    enable: Signal
    valid: Signal
    first: Signal
    exponents: data.View
    mask: Signal
    top: Signal
    least: Signal

    def __init__(self, config: Config):
        self.config = config
        size = config.word.exponent
        super().__init__(
            {
                "enable": In(2),
                "valid": In(1),
                "first": In(1),
                "exponents": In(data.ArrayLayout(size, config.lanes)),
                "mask": In(config.lanes),
                "top": Out(size),
                "least": Out(size),
            }
        )

    def elaborate(self, platform):
        m = Module()
        lanes, size = self.config.lanes, self.config.word.exponent
        m.submodules.beside = beside = DelayLine(1, 1)
        m.d.comb += [
            beside.enable.eq(self.enable[0]),
            beside.i_valid.eq(self.valid),
            beside.i.eq(self.first),
        ]
        # What is smallest among exponents is largest among their complements.
        tops, floors = [], []
        for start in range(0, lanes, GROUP_WORDS):
            group = range(start, min(start + GROUP_WORDS, lanes))
            values = [self.exponents[lane] for lane in group]
            above = compared(m, values, f"above{start}_")
            counts = [self.mask[lane] for lane in group]
            is_top, is_least = largest(counts, above), smallest(counts, above)
            for found, chosen, each in (
                (tops, is_top, values),
                (floors, is_least, [~value for value in values]),
            ):
                name = "top" if found is tops else "floor"
                register = Signal(size, name=f"{name}{start}", reset_less=True)
                with m.If(self.enable[0]):
                    m.d.sync += register.eq(one_of(chosen, each))
                found.append(register)
        counts = [*[Const(1, 1)] * len(tops), ~beside.o]
        floor = Signal(size, reset_less=True)
        m.d.comb += self.least.eq(~floor)
        top = Signal(size, reset_less=True)
        m.d.comb += self.top.eq(top)
        for name, values, target in (("top", tops, top), ("floor", floors, floor)):
            values = [*values, target]
            chosen = largest(counts, compared(m, values, f"{name}_above"))
            with m.If(self.enable[1] & beside.o_valid):
                m.d.sync += target.eq(one_of(chosen, values))
        return m


def compared(m: Module, values: list, name: str) -> dict:
    """Of each pair, by their numbers, the lower first: the latter value is larger."""
    found = {}
    for second in range(len(values)):
        for first in range(second):
            found[first, second] = is_larger = Signal(name=f"{name}{first}_{second}")
            m.d.comb += is_larger.eq(exceeds(values[second], values[first]))
    return found


def largest(counts: list, above: dict) -> list:
    """A bit per value, set for one that is not below any other that counts; none if none counts."""
    return _best(counts, lambda first, second: above[first, second])


def smallest(counts: list, above: dict) -> list:
    """A bit per value, set for one that is not above any other that counts; none if none counts."""
    return _best(counts, lambda first, second: ~above[first, second])


def _best(counts, is_second) -> list:
    """Who wins against all others that count; of a pair, the second wins if ``is_second``."""
    numbers = range(len(counts))
    return [
        Cat(
            counts[each],
            *(~counts[other] | is_second(other, each) for other in numbers if other < each),
            *(~counts[other] | ~is_second(each, other) for other in numbers if other > each),
        ).all()
        for each in numbers
    ]
