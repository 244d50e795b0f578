"""The assembler's ring of rows."""

from functools import reduce
from operator import or_

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.signals import any_of, select
from cdma.hdl.zvc.beat import Row
from cdma.hdl.zvc.compressor.assembly.mask import turned, width_turned
from cdma.hdl.zvc.compressor.assembly.place import rows_of_ring, rows_reached
from cdma.hdl.zvc.compressor.assembly.plan import Landing
from cdma.hdl.zvc.config import Config


class AssembledRow(data.StructLayout):
    """A full row, or the last of a packet.

    Members
    -------
    row : :class:`~cdma.hdl.zvc.beat.Row`
    kept : words of data of the blocks whose masks landed since the row before was full
    """

    def __init__(self, config: Config):
        # As many blocks as a row has masks, one that began before, and one for the next row.
        blocks = config.lanes // config.format.mask_words + 2
        super().__init__(
            {"row": Row(config), "kept": range(blocks * config.format.block_words + 1)}
        )


class RowTags(data.StructLayout):
    """Fields of :class:`AssembledRow` without the words."""

    def __init__(self, config: Config):
        kept = AssembledRow(config)["kept"].shape
        super().__init__({"kept": kept, "last": 1, "keep": config.lanes})


class RowStore(wiring.Component):
    """Ring of rows that masks and words are written to, a bank at a time, and leave as whole rows.

    All places that hold no word are zero in a row that leaves. ``o`` comes from registers through
    one multiplexer.

    Parameters
    ----------
    config : Config
        Lanes and format.

    Members
    -------
    enable : In, what lands is written
    landing : In, :class:`~cdma.hdl.zvc.compressor.assembly.plan.Landing` of the beat
    lane : In, bank of the first word of its mask
    mask : In, its block's mask, as
        :func:`~cdma.hdl.zvc.compressor.assembly.mask.turned_ahead` gives it
    bank_words : In, array of its words by bank
    tags : In, :class:`RowTags` of the last row that the beat completes
    has_row : In, the row at the head is complete
    o : Out stream of :class:`AssembledRow`
    """

    enable: Signal
    landing: data.View
    lane: Signal
    mask: Signal
    bank_words: data.View
    tags: data.View
    has_row: Signal
    o: stream.Interface

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "enable": In(1),
                "landing": In(Landing(config)),
                "lane": In(range(config.lanes)),
                "mask": In(width_turned(config)),
                "bank_words": In(data.ArrayLayout(config.format.word_bits, config.lanes)),
                "tags": In(RowTags(config)),
                "has_row": In(1),
                "o": Out(stream.Signature(AssembledRow(config))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        depth = rows_of_ring(self.config)
        mask_words = turned(m, self.config, self.mask, self.lane)
        rows = [self._write_row(m, row, mask_words) for row in range(depth)]
        tags, next_tags = zip(*(self._write_tags(m, row) for row in range(depth)), strict=True)

        head = Signal(range(depth))
        next_head = Signal(range(depth))
        leaves = Signal()
        # Of the row at the head: what is counted as it leaves. The rest is selected as its words.
        tag = Signal(RowTags(self.config), reset_less=True)
        keep = select(m, head, [row.keep for row in tags])
        out = self.o.payload
        m.d.comb += [
            self.o.valid.eq(self.has_row),
            out.row.words.eq(select(m, head, rows)),
            out.row.last.eq(tag.last),
            out.row.keep[:-1].eq(keep[:-1]),
            out.row.keep[-1].eq(tag.keep[-1]),
            out.kept.eq(tag.kept),
            leaves.eq(self.o.valid & self.o.ready),
            next_head.eq(Mux(head == depth - 1, 0, head + 1)),
        ]
        at_next, at_head = (select(m, at, list(next_tags)) for at in (next_head, head))
        m.d.sync += tag.eq(Mux(leaves, at_next, at_head))
        with m.If(leaves):
            m.d.sync += head.eq(next_head)
        return m

    def _write_row(self, m, row, mask_words):
        landing, depth = self.landing, rows_of_ring(self.config)
        words = Signal.like(self.bank_words, name=f"row{row}", reset_less=True)
        further = [landing.at[(row - k) % depth] for k in range(rows_reached(self.config) + 1)]
        for bank, word in enumerate(self.bank_words):
            mask_word = self._mask_word(mask_words, further, bank)
            size = len(word)
            with m.If(self.enable & landing.loads[row][bank]):
                m.d.sync += words[bank].eq(
                    (mask_word & landing.takes_mask[row][bank].replicate(size))
                    | (word & landing.takes_word[row][bank].replicate(size))
                )
        return words

    def _write_tags(self, m, row):
        """A row's tags, and those of the next cycle."""
        landing, lanes = self.landing, self.config.lanes
        tags = Signal(RowTags(self.config), name=f"tags{row}", reset_less=True)
        next_tags = Signal.like(tags, name=f"next_tags{row}")
        ends = landing.ends[row]
        with m.If(self.enable & landing.completes[row]):
            m.d.comb += [
                next_tags.last.eq(ends & self.tags.last),
                next_tags.keep.eq(self.tags.keep | (~ends).replicate(lanes)),
                next_tags.kept.eq(Mux(ends, self.tags.kept, 0)),
            ]
        with m.Else():
            m.d.comb += next_tags.eq(tags)
        m.d.sync += tags.eq(next_tags)
        return tags, next_tags

    def _mask_word(self, words, further, bank):
        """The mask's word that a bank takes if it takes any: of a mask that is longer than a row,
        the one for the row that is as much further as ``further`` says."""
        lanes = self.config.lanes
        if len(words) <= lanes:
            return words[bank % len(words)]
        of_rows = {}
        for k, is_row in enumerate(further):
            of_rows.setdefault((k * lanes + bank) % len(words), []).append(is_row)
        terms = [
            words[index] & any_of(rows).replicate(len(words[index]))
            for index, rows in of_rows.items()
        ]
        return reduce(or_, terms)
