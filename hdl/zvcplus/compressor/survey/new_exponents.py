"""The range of the exponents of a block with repeated words, with them and without."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.adder import exceeds
from cdma.hdl.lib.delay import DelayLine
from cdma.hdl.zvcplus.compressor.survey.exponents import (
    LEVELS_PER_STAGE,
    ExponentRange,
    held,
    larger,
)
from cdma.hdl.zvcplus.config import Config


class NewExponentRange(wiring.Component):
    """Find the largest and the smallest exponent of the new words of a block, and of all.

    A repeated word of a block equals a new one, or it equals the block's first word, which repeats
    the block before. So the range of all non-zero words is that of the new ones and of the first.

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
    mask : In, a cycle later: a bit per new word
    is_repeated : In, a cycle later: the beat's first word is repeated
    new_top, new_least : Out, largest and smallest exponent of the new words of the block up to the
        beat; 0 and all ones if there is none
    top, least : Out, those of all words that are not zero
    """

    enable: Signal
    valid: Signal
    first: Signal
    words: data.View
    mask: Signal
    is_repeated: Signal
    new_top: Signal
    new_least: Signal
    top: Signal
    least: Signal

    def __init__(self, config: Config):
        self.config = config
        word = config.word
        names = ("new_top", "new_least", "top", "least")
        super().__init__(
            {
                "enable": In(1),
                "valid": In(1),
                "first": In(1),
                "words": In(data.ArrayLayout(word.bits, config.lanes)),
                "mask": In(config.lanes),
                "is_repeated": In(1),
                **dict.fromkeys(names, Out(word.exponent)),
            }
        )

    @staticmethod
    def latency(config: Config) -> int:
        """Cycles from the last beat of a block to its range."""
        return 1 + ExponentRange.latency(config)

    def elaborate(self, platform):
        m = Module()
        word, stages = self.config.word, self.latency(self.config) - 2
        levels = self.config.lanes.bit_length() - 1
        fields = [each[word.mantissa : word.mantissa + word.exponent] for each in self.words]
        exponents = held(m, self.enable, fields, "exponent")
        m.submodules.early = early = DelayLine(1, 1)
        m.submodules.beside = beside = DelayLine(_Beside(self.config), stages)
        m.d.comb += [
            early.enable.eq(self.enable),
            early.i_valid.eq(self.valid),
            early.i.eq(self.first),
            beside.enable.eq(self.enable),
            beside.i_valid.eq(early.o_valid),
            beside.i.first.eq(early.o),
            beside.i.is_repeated.eq(self.is_repeated),
            beside.i.exponent.eq(exponents[0]),
        ]
        tops, leasts = exponents, exponents
        for level in range(1, levels + 1):
            # The mask is known late, so that it acts behind the first comparison.
            keep = self.mask if level == 1 else None
            tops = larger(m, tops, keep)
            leasts = [~each for each in larger(m, [~each for each in leasts], keep)]
            if level % LEVELS_PER_STAGE == 0:
                tops = held(m, self.enable, tops, f"top{level}_")
                leasts = held(m, self.enable, leasts, f"least{level}_")
        (top,), (least,) = tops, leasts
        enable = self.enable & beside.o_valid
        self._join(m, enable, beside.o, top, least)
        return m

    def _join(self, m, enable, beside, top, least):
        """The beats of a block together."""
        bits, is_first = len(top), beside.first
        starts = beside.is_repeated.replicate(bits)
        with m.If(enable):
            for target, value, start in (
                (self.new_top, top, Const(0, bits)),
                (self.top, top, beside.exponent & starts),
            ):
                before = Mux(is_first, start, target)
                m.d.sync += target.eq(Mux(exceeds(value, before), value, before))
            for target, value, start in (
                (self.new_least, least, Const((1 << bits) - 1, bits)),
                (self.least, least, beside.exponent | ~starts),
            ):
                before = Mux(is_first, start, target)
                m.d.sync += target.eq(Mux(exceeds(before, value), value, before))


class _Beside(data.StructLayout):
    """Of a beat: whether it begins a block, whether its first word is repeated, the exponent."""

    def __init__(self, config: Config):
        super().__init__({"first": 1, "is_repeated": 1, "exponent": config.word.exponent})
