"""Words that repeat the word before them."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.zvcplus.config import Config


class LeftCopy(wiring.Component):
    """Give each repeated word the value of the last word before it that is not repeated.

    A parallel prefix (Sklansky, 1960) over the words of a beat, and one word that is carried from
    beat to beat; a packet begins with a zero. Throughput one beat a cycle; ``o`` is combinational
    from ``words``, ``repeated`` and the carried word.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    words : In, array of the words of a beat
    repeated : In, a bit per repeated word
    final : In, the packet ends with the beat
    take : In, the beat leaves: carry its last word
    o : Out, array of words
    """

    words: data.View
    repeated: Signal
    final: Signal
    take: Signal
    o: data.View

    def __init__(self, config: Config):
        self.config = config
        words = data.ArrayLayout(config.word.bits, config.lanes)
        super().__init__(
            {
                "words": In(words),
                "repeated": In(config.lanes),
                "final": In(1),
                "take": In(1),
                "o": Out(words),
            }
        )

    def elaborate(self, platform):
        m = Module()
        lanes, bits = self.config.lanes, self.config.word.bits
        carried = Signal(bits)
        values, open_ = list(self.words), list(self.repeated)
        span = 1
        while span < lanes:
            sources = [i // span * span - 1 if i // span % 2 else None for i in range(lanes)]
            joined = []
            for i, source in enumerate(sources):
                value = values[i]
                if source is not None:
                    value = Signal(bits, name=f"value{span}_{i}")
                    m.d.comb += value.eq(Mux(open_[i], values[source], values[i]))
                joined.append(value)
            open_ = [
                bit if source is None else bit & open_[source]
                for bit, source in zip(open_, sources, strict=True)
            ]
            values, span = joined, 2 * span
        for target, value, is_open in zip(self.o, values, open_, strict=True):
            m.d.comb += target.eq(Mux(is_open, carried, value))
        with m.If(self.take):
            m.d.sync += carried.eq(Mux(self.final, 0, self.o[lanes - 1]))
        return m
