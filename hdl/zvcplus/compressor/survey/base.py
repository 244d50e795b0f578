"""What all surveys have in common: their ports."""

from amaranth.hdl import Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.zvcplus.compressor.records import BlockStats, Extent
from cdma.hdl.zvcplus.config import Config


class Survey(wiring.Component):
    """Gather what the choice of a block's coding depends on.

    Throughput one beat a cycle, latency ``latency(config)`` cycles; the outputs are registered.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    enable : In, the registers load; a block that has ended is given until then
    valid : In, there is a beat
    words : In, array of its words
    keep : In, a bit per word of the packet, contiguous from word 0; the others count as zeros
    index : In, number of the beat in its block
    extent : In, :class:`~cdma.hdl.zvcplus.compressor.records.Extent` of the block up to the beat
    end : In, the block ends with the beat
    o_valid : Out, a block has ended
    o : Out, its :class:`~cdma.hdl.zvcplus.compressor.records.BlockStats`
    """

    enable: Signal
    valid: Signal
    words: data.View
    keep: Signal
    index: Signal
    extent: data.View
    end: Signal
    o_valid: Signal
    o: data.View

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "enable": In(1),
                "valid": In(1),
                "words": In(data.ArrayLayout(config.word.bits, config.lanes)),
                "keep": In(config.lanes),
                "index": In(2),
                "extent": In(Extent(config)),
                "end": In(1),
                "o_valid": Out(1),
                "o": Out(BlockStats(config)),
            }
        )
