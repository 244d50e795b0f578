"""The beats that come in, as they wait for the place of their block."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.buffer import RowBuffer
from cdma.hdl.zvc.beat import Beat, count_thermometer, kept_words
from cdma.hdl.zvcplus.compressor.records import Extent
from cdma.hdl.zvcplus.config import Config


class BlockIntake(wiring.Component):
    """Cut packets into blocks, and hold the words until they are read.

    Throughput one beat a cycle; a beat can be read a cycle after it came in. A beat comes in when
    there is space for it and ``enable`` is set. Words that are not kept are zero.

    Parameters
    ----------
    config : Config
        Element type.
    rows : int
        Beats that are held.

    Members
    -------
    i : In stream of :class:`~cdma.hdl.zvc.beat.Beat`; ``keep`` by whole words
    enable : In, a beat may come in
    accept : Out, a beat comes in, described by the next four
    words : Out, array of its words
    index : Out, its number in its block
    extent : Out, :class:`~cdma.hdl.zvcplus.compressor.records.Extent` of the block up to the beat
    end : Out, the block ends with the beat
    reads : In, the beat at the head leaves
    head : Out, array of its words
    """

    i: stream.Interface
    enable: Signal
    accept: Signal
    words: data.View
    index: Signal
    extent: data.View
    end: Signal
    reads: Signal
    head: data.View

    def __init__(self, config: Config, rows: int):
        self.config = config
        self.rows = rows
        words = data.ArrayLayout(config.word.bits, config.lanes)
        super().__init__(
            {
                "i": In(stream.Signature(Beat(config))),
                "enable": In(1),
                "accept": Out(1),
                "words": Out(words),
                "index": Out(2),
                "extent": Out(Extent(config)),
                "end": Out(1),
                "reads": In(1),
                "head": Out(words),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, beat = self.config, self.i.payload
        m.submodules.buffer = buffer = RowBuffer(self.words.shape(), self.rows)
        index = Signal(2)
        # The lowest byte of a word decides; before the packet's last beat all are kept.
        lowest = beat.keep[:: config.word.bits // 8]
        keep = Signal(config.lanes)
        count = Signal(range(config.lanes + 1))
        m.d.comb += [
            keep.eq(lowest | (~beat.last).replicate(config.lanes)),
            count.eq(count_thermometer(keep)),
            Value.cast(self.words).eq(kept_words(beat.words, keep)),
            self.index.eq(index),
            self.end.eq(beat.last | (index == config.block_beats - 1)),
            self.extent.beats.eq(index),
            self.extent.words.eq(count),
            self.extent.last.eq(beat.last),
            self.extent.is_empty.eq(beat.last & (index == 0) & (count == 0)),
            self.accept.eq(self.i.valid & self.i.ready),
            self.i.ready.eq(buffer.i.ready & self.enable),
            buffer.i.valid.eq(self.i.valid & self.enable),
            buffer.i.payload.eq(self.words),
            buffer.o.ready.eq(self.reads),
            self.head.eq(buffer.o.payload),
        ]
        with m.If(self.accept):
            m.d.sync += index.eq(Mux(self.end, 0, index + 1))
        return m
