"""The largest and the smallest exponent of a block."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.adder import exceeds
from cdma.hdl.lib.delay import DelayLine
from cdma.hdl.zvcplus.config import Config

#: Levels of comparisons before a register.
LEVELS_PER_STAGE = 2


class ExponentRange(wiring.Component):
    """Find the largest and the smallest exponent of the non-zero words of a block.

    A tree of comparisons; the last level compares with the beats before. A zero has the exponent
    0, which never is the largest of several. For the smallest, exponents of 0 are left out at
    first; that one of them is of a non-zero word is known a cycle later.

    Throughput one beat a cycle, latency :meth:`latency` cycles; the outputs are registered.

    Parameters
    ----------
    config : Config
        Element type, a float.

    Members
    -------
    enable : In, the registers load
    valid : In, there is a beat
    first : In, a block begins with the beat
    words : In, array of the words of the beat
    keep : In, a bit per word of the packet, contiguous from word 0; the others count as zeros
    mask : In, a cycle later: a bit per word that is not zero
    top, least : Out, largest and smallest exponent of the block up to the beat; all ones is the
        smallest where all words are zero
    """

    enable: Signal
    valid: Signal
    first: Signal
    words: data.View
    keep: Signal
    mask: Signal
    top: Signal
    least: Signal

    def __init__(self, config: Config):
        self.config = config
        word = config.word
        super().__init__(
            {
                "enable": In(1),
                "valid": In(1),
                "first": In(1),
                "words": In(data.ArrayLayout(word.bits, config.lanes)),
                "keep": In(config.lanes),
                "mask": In(config.lanes),
                "top": Out(word.exponent),
                "least": Out(word.exponent),
            }
        )

    @staticmethod
    def latency(config: Config) -> int:
        """Cycles from the last beat of a block to its range."""
        levels = config.lanes.bit_length()  # with that of the beats before
        return -(-levels // LEVELS_PER_STAGE)

    def elaborate(self, platform):
        m = Module()
        word = self.config.word
        levels = self.config.lanes.bit_length() - 1
        m.submodules.beside = beside = DelayLine(1, self.latency(self.config) - 1)
        m.d.comb += [
            beside.enable.eq(self.enable),
            beside.i_valid.eq(self.valid),
            beside.i.eq(self.first),
        ]
        tops = [each[word.mantissa : word.mantissa + word.exponent] for each in self.words]
        is_zero = Signal(len(tops), reset_less=True)  # the exponent is
        with m.If(self.enable):
            m.d.sync += is_zero.eq(Cat(~top.any() for top in tops))
        is_tiny = Signal()
        m.d.comb += is_tiny.eq((self.mask & is_zero).any())
        leasts = [top | (~top.any()).replicate(len(top)) for top in tops]
        for level in range(1, levels + 1):
            # Whether words are kept is known late, so that it acts behind the first comparison.
            keep = self.keep if level == 1 else None
            tops = larger(m, tops, keep, is_contiguous=True)
            leasts = [~each for each in leasts]
            leasts = [~each for each in larger(m, leasts, keep, is_contiguous=True)]
            if level == LEVELS_PER_STAGE + 1:
                leasts = [least & ~is_tiny.replicate(len(least)) for least in leasts]
            if level % LEVELS_PER_STAGE == 0:
                tops, leasts = (
                    held(m, self.enable, each, f"stage{level}") for each in (tops, leasts)
                )
        (top,), (least,) = tops, leasts
        with m.If(self.enable & beside.o_valid):
            m.d.sync += [
                self.top.eq(Mux(beside.o | exceeds(top, self.top), top, self.top)),
                self.least.eq(Mux(beside.o | exceeds(self.least, least), least, self.least)),
            ]
        return m


def held(m: Module, enable, values, name: str) -> list[Signal]:
    """Registers of ``values``."""
    registers = [
        Signal(len(value), name=f"{name}_{index}", reset_less=True)
        for index, value in enumerate(values)
    ]
    with m.If(enable):
        m.d.sync += [register.eq(value) for register, value in zip(registers, values, strict=True)]
    return registers


def larger(m: Module, values, keep=None, *, is_contiguous: bool = False) -> list[Signal]:
    """The larger of each pair; with ``keep``, of the values that are kept, or 0.

    Values may be kept contiguously from the first on.
    """
    found = []
    for lane, (first, second) in enumerate(zip(values[::2], values[1::2], strict=True)):
        result = Signal(len(first), name=f"larger{lane}")
        is_first, is_kept = exceeds(first, second), Const(1, 1)
        if keep is not None:
            low, high = keep[2 * lane], keep[2 * lane + 1]
            is_first, is_kept = is_first | ~high, low
            if not is_contiguous:
                is_first, is_kept = low & is_first, low | high
        m.d.comb += result.eq(Mux(is_first, first, second) & is_kept.replicate(len(first)))
        found.append(result)
    return found
