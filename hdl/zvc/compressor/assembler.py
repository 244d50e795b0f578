"""Beat assembly: words from the compactor's banks become full rows."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.signals import select
from cdma.hdl.zvc.beat import Row, thermometer
from cdma.hdl.zvc.config import Config


class Place(data.StructLayout):
    """Where the words of a beat go, seen from the row that is being filled.

    Members
    -------
    lane : bank of the first word, the mask's where there is one
    has_mask : the block's mask goes in front of the words
    rows : rows that the beat completes
    reaches : a bit per row but the first: some of its words go into that row
    fits : a bit per number of complete rows from 1 on: the beat fits behind so many
    last : the packet ends with the beat
    end : place behind the last word, counted from the row's start
    is_full : its last word is the last of a row
    """

    def __init__(self, config: Config):
        rows = Assembler.rows(config)
        super().__init__(
            {
                "lane": range(config.lanes),
                "has_mask": 1,
                "rows": range(rows + 1),
                "reaches": Assembler.reach(config),
                "fits": rows - 1,
                "last": 1,
                "end": range(2 * config.lanes + config.format.mask_words),
                "is_full": 1,
            }
        )


class AssembledRow(data.StructLayout):
    """A full row, or the last of a packet.

    Members
    -------
    row : :class:`~cdma.hdl.zvc.beat.Row`
    kept : words of data of the blocks whose masks landed since the row before was full
    """

    def __init__(self, config: Config):
        # As many blocks as masks go in a row, one begun before, and one that the next row takes.
        blocks = config.lanes // config.format.mask_words + 2
        super().__init__(
            {"row": Row(config), "kept": range(blocks * config.format.block_words + 1)}
        )


class Assembler(wiring.Component):
    """Put the masks and words of the beats behind each other and give out full rows.

    Beats land in a ring of rows and full rows leave from there. A block's mask and a beat's words
    land in one cycle. All places that hold no word are zero in a row that leaves.

    Throughput one beat in and one row out a cycle, latency two cycles. ``enable`` is registered: a
    beat lands if there is room for it though no row should leave. ``o`` comes from registers,
    through one multiplexer.

    Parameters
    ----------
    config : Config
        Lanes and format.

    Members
    -------
    valid : In, there is a beat; none in the cycle after reset
    place : In, its :class:`Place`
    first : In, place of its first word of data, counted as ``place.end`` is
    mask : In, its block's mask
    kept : In, words of data of the block that begins with the beat, or 0
    bank_words : In, its words as :class:`~cdma.hdl.zvc.network.Compactor` gives them, a cycle later
        than those above
    enable : Out, the beat is taken in; low in the cycle after reset
    o : Out stream of :class:`AssembledRow`
    """

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "valid": In(1),
                "place": In(Place(config)),
                "first": In(range(config.lanes + config.format.mask_words)),
                "mask": In(config.format.block_words),
                "kept": In(range(config.format.block_words + 1)),
                "bank_words": In(data.ArrayLayout(config.format.word_bits, config.lanes)),
                "enable": Out(1),
                "o": Out(stream.Signature(AssembledRow(config))),
            }
        )

    @staticmethod
    def rows(config: Config) -> int:
        """Rows of the ring: those that a beat may touch, and one that is complete, so that a row
        leaves in every cycle in which beats have to wait."""
        return Assembler.reach(config) + 2

    @staticmethod
    def reach(config: Config) -> int:
        """Rows further than the one that is being filled in which a beat's words may land."""
        return (2 * config.lanes + config.format.mask_words - 2) // config.lanes

    def elaborate(self, platform):
        m = Module()
        config = self.config
        lanes, mask_words = config.lanes, config.format.mask_words
        lane_bits = lanes.bit_length() - 1
        depth, reach = self.rows(config), self.reach(config)

        # Which places a beat's words go to is found a cycle before they come. The unit before has
        # `enable` from a register of its own, which differs at reset lest synthesis make one of
        # the two: each drives hundreds of others.
        lands = Signal(init=1)
        place = self.place
        held = Signal(Place(config), reset_less=True)
        mask = Signal.like(self.mask, reset_less=True)
        held_keep = Signal(lanes, reset_less=True)  # of the row in which it ends
        at = Signal(depth, init=1)  # the row that is being filled, one-hot
        held_at = Signal.like(at, reset_less=True)
        loads = [Signal(lanes, name=f"loads{row}") for row in range(depth)]
        takes_mask, takes_word = (
            [Signal(lanes, name=f"{name}{row}", reset_less=True) for row in range(depth)]
            for name in ("takes_mask", "takes_word")
        )
        completes, ends = Signal(depth), Signal(depth)  # rows; and the last of them
        held_rows = Signal(reach + 2, init=1)  # how many, one-hot
        held_fits = Signal(depth, init=-1)  # the beat does, or there is none
        offered_rows = Mux(self.valid, place.rows, 0)
        offered_fits = Cat(place.fits, 0) | (~self.valid).replicate(depth)
        with m.If(lands):
            m.d.sync += [held.eq(place), mask.eq(self.mask)]
            m.d.sync += [
                held_at.eq(at),
                held_rows.eq(Cat(offered_rows == k for k in range(reach + 2))),
                held_fits.eq(offered_fits),
                held_keep.eq(
                    thermometer(place.end[:lane_bits], lanes)
                    | (~place.last | place.is_full).replicate(lanes)
                ),
            ]
            for row in range(depth):
                further = [at[(row - k) % depth] for k in range(reach + 1)]
                m.d.sync += [
                    completes[row].eq(
                        self.valid & _any(here & (place.rows > k) for k, here in enumerate(further))
                    ),
                    ends[row].eq(
                        self.valid
                        & _any(here & (place.rows == k + 1) for k, here in enumerate(further))
                    ),
                ]
                for bank in range(lanes):
                    # In the row that is being filled: all banks from the first word's on.
                    behind = further[0] & (place.lane <= bank)
                    beyond = _any(h & r for h, r in zip(further[1:], place.reaches, strict=True))
                    # The mask begins here or in one of the `mask_words - 1` places before.
                    has_mask, has_word = [], []
                    for k, here in enumerate(further):
                        at_bank = k * lanes + bank
                        has_mask.append(
                            here & (place.lane <= at_bank) & (place.lane > at_bank - mask_words)
                        )
                        has_word.append(here & (self.first <= at_bank) & (place.end > at_bank))
                    m.d.sync += [
                        loads[row][bank].eq(self.valid & (behind | beyond)),
                        takes_mask[row][bank].eq(place.has_mask & _any(has_mask)),
                        takes_word[row][bank].eq(_any(has_word)),
                    ]
            with m.If(self.valid):
                m.d.sync += at.eq(
                    select(m, place.rows, [at.rotate_left(k) for k in range(reach + 2)])
                )

        # Let them land.
        rows = [
            Signal.like(self.bank_words, name=f"row{row}", reset_less=True) for row in range(depth)
        ]
        tags = [Signal(_Tags(config), name=f"tags{row}", reset_less=True) for row in range(depth)]
        next_tags = [Signal.like(tag, name=f"next_tags{row}") for row, tag in enumerate(tags)]
        kept = Signal.like(self.o.payload.kept)  # words of data that no row counts, the beat's too
        with m.If(lands):
            m.d.sync += kept.eq(Mux(completes.any(), 0, kept) + Mux(self.valid, self.kept, 0))
        for row in range(depth):
            further = [held_at[(row - k) % depth] for k in range(reach + 1)]
            for bank in range(lanes):
                mask_word = self._mask_word(mask, held.lane, further, bank)
                word = self.bank_words[bank]
                with m.If(lands & loads[row][bank]):
                    m.d.sync += rows[row][bank].eq(
                        (mask_word & takes_mask[row][bank].replicate(len(mask_word)))
                        | (word & takes_word[row][bank].replicate(len(word)))
                    )
            with m.If(lands & completes[row]):
                m.d.comb += [
                    next_tags[row].last.eq(ends[row] & held.last),
                    next_tags[row].keep.eq(held_keep | (~ends[row]).replicate(lanes)),
                    next_tags[row].kept.eq(Mux(ends[row], kept, 0)),
                ]
            with m.Else():
                m.d.comb += next_tags[row].eq(tags[row])
            m.d.sync += tags[row].eq(next_tags[row])

        # Give out what is complete.
        complete = Signal(depth + 1, init=1)  # how many rows, one-hot
        head, next_head = Signal(range(depth)), Signal(range(depth))
        # Of the first row: what is counted as it leaves. All else is chosen as the words are.
        tag = Signal(_Tags(config), reset_less=True)
        keep = select(m, head, [row.keep for row in tags])
        leaves = Signal()
        m.d.comb += [
            self.o.valid.eq(~complete[0]),
            self.o.payload.row.words.eq(select(m, head, rows)),
            self.o.payload.row.last.eq(tag.last),
            self.o.payload.row.keep.eq(Cat(keep[:-1], tag.keep[-1])),
            self.o.payload.kept.eq(tag.kept),
            leaves.eq(self.o.valid & self.o.ready),
            next_head.eq(Mux(head == depth - 1, 0, head + 1)),
        ]
        m.d.sync += tag.eq(Mux(leaves, select(m, next_head, next_tags), select(m, head, next_tags)))
        with m.If(leaves):
            m.d.sync += head.eq(next_head)

        # Whether the next beat lands is known a cycle before. Whether a row leaves comes late.
        outcomes = []
        for waiting in (complete, Cat(complete[1:], 0)):
            after = Cat(
                _any(waiting[i - k] & rows for k, rows in enumerate(held_rows) if k <= i)
                for i in range(depth + 1)
            )
            outcomes.append(
                Mux(
                    lands,
                    Cat(after, after[0] | (after[1:] & offered_fits).any()),
                    Cat(waiting, waiting[0] | (waiting[1:] & held_fits).any()),
                )
            )
        outcome = Mux(leaves, outcomes[1], outcomes[0])
        m.d.sync += [Cat(complete, lands).eq(outcome), self.enable.eq(outcome[-1])]
        return m

    def _mask_word(self, mask, lane, further, bank):
        """The mask's word that lands in a bank, if the mask begins in bank ``lane``: of a mask that
        is longer than a row, the one for the row that is as much further as ``further`` says."""
        lanes, size = self.config.lanes, self.config.format.word_bits
        mask_words = self.config.format.mask_words
        value = None
        for index in range(mask_words):
            word = mask[index * size : (index + 1) * size]
            for k, is_row in enumerate(further):
                start = k * lanes + bank - index
                if not 0 <= start < lanes:
                    continue
                is_here = (lane == start) & (is_row if mask_words > lanes else 1)
                value = word if value is None else Mux(is_here, word, value)
        return value


class _Tags(data.StructLayout):
    """Of a row: all that :class:`AssembledRow` has but the words."""

    def __init__(self, config: Config):
        row = AssembledRow(config)
        super().__init__({"kept": row["kept"].shape, "last": 1, "keep": config.lanes})


def _any(bits):
    return Cat(bits).any()
