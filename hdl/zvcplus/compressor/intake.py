"""Packets cut into blocks."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.zvc.beat import Beat, count_thermometer, kept_words
from cdma.hdl.zvcplus.compressor.records import Extent
from cdma.hdl.zvcplus.config import Config


class BlockIntake(wiring.Component):
    """Cut packets into blocks, and clear the words that are not kept.

    Combinational from ``beat`` to all outputs; only the number of the beat is a register.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    accept : In, ``beat`` comes in
    beat : In, :class:`~cdma.hdl.zvc.beat.Beat`; ``keep`` by whole words
    keep : Out, a bit per word of the packet
    words : Out, array of its words, zero where they are not kept
    index : Out, its number in its block
    extent : Out, :class:`~cdma.hdl.zvcplus.compressor.records.Extent` of the block up to the beat
    end : Out, the block ends with the beat
    """

    accept: Signal
    beat: data.View
    keep: Signal
    words: data.View
    index: Signal
    extent: data.View
    end: Signal

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "accept": In(1),
                "beat": In(Beat(config)),
                "keep": Out(config.lanes),
                "words": Out(data.ArrayLayout(config.word.bits, config.lanes)),
                "index": Out(2),
                "extent": Out(Extent(config)),
                "end": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, beat = self.config, self.beat
        index = Signal(2)
        # The lowest byte of a word decides; before the packet's last beat all are kept.
        lowest = beat.keep[:: config.word.bits // 8]
        m.d.comb += [
            self.keep.eq(lowest | (~beat.last).replicate(config.lanes)),
            Value.cast(self.words).eq(kept_words(beat.words, self.keep)),
            self.index.eq(index),
            self.end.eq(beat.last | (index == config.block_beats - 1)),
            self.extent.beats.eq(index),
            self.extent.words.eq(count_thermometer(self.keep)),
            self.extent.last.eq(beat.last),
            self.extent.is_empty.eq(beat.last & (index == 0) & ~lowest[0]),
        ]
        with m.If(self.accept):
            m.d.sync += index.eq(Mux(self.end, 0, index + 1))
        return m
