"""The ports that all mask fetchers share."""

from amaranth.hdl import Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.zvc.beat import DecompressorCommand
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.fetch.block import Block
from cdma.hdl.zvc.decompressor.ring import RowInfo
from cdma.hdl.zvc.decompressor.rows import RowIndex


class MaskFetcher(wiring.Component):
    """Find where each block of a packet begins and fetch its mask from the ring.

    The feedback loop that limits a decompressor is "where is the next mask": it is known once the
    ones of this mask are counted. The fetchers differ in how they close this loop.

    Parameters
    ----------
    config : Config
        Lanes and format.
    rows : int
        Rows of the ring.

    Members
    -------
    i_command : In stream of :class:`~cdma.hdl.zvc.beat.DecompressorCommand`; none with a tail of
        ones
    accept, tail, info, beat_words : In, the beat that the ring accepts
    bank_rows : Out, which row of the ring each bank is to give
    bank_words : In, a word per bank
    next_ready : In, ``o.ready`` of the next cycle
    mask : In, mask of the block that was handed on in the cycle before
    o : Out stream of :class:`~cdma.hdl.zvc.decompressor.fetch.block.Block`
    """

    i_command: stream.Interface
    accept: Signal
    tail: Signal
    info: data.View
    beat_words: data.View
    bank_rows: data.View
    bank_words: data.View
    next_ready: Signal
    mask: Signal
    o: stream.Interface

    def __init__(self, config: Config, rows: int):
        self.config = config
        self.rows = rows
        self.index = RowIndex.of(config, rows)
        words = data.ArrayLayout(config.format.word_bits, config.lanes)
        command = {"i_command": In(stream.Signature(DecompressorCommand()))}
        super().__init__(
            {
                **({} if config.format.ends_itself else command),
                "accept": In(1),
                "tail": In(self.index.shape),
                "info": In(RowInfo(config)),
                "beat_words": In(words),
                "bank_rows": Out(data.ArrayLayout(self.index.shape, config.lanes)),
                "bank_words": In(words),
                "next_ready": In(1),
                "mask": In(config.format.block_words),
                "o": Out(stream.Signature(Block(config))),
            }
        )

    @property
    def first_words(self) -> int:
        """Words of a mask that its first read gives."""
        return min(self.config.format.mask_words, self.config.lanes)

    @property
    def row_reach(self) -> int:
        """Rows by which two row numbers that are compared differ at most."""
        return max(self.config.block_beats + reads_of(self.config) + 1, self.rows)

    @property
    def number_bits(self) -> int:
        """Bits of a row number. Rows are numbered on and on; only differences count."""
        return (2 * self.row_reach).bit_length()


def reads_of(config: Config) -> int:
    """Cycles in which a mask is read: one per beat that it takes."""
    return -(-config.format.mask_words // config.lanes)
