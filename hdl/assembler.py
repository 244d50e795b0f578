"""Beat assembly: words from the compactor's banks become full rows."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.beat import Row
from cdma.hdl.config import Config


class Place(data.StructLayout):
    """Where the words of a beat go, seen from the row that is being filled.

    Members
    -------
    lane : bank of the first word, the mask's where there is one
    has_mask : the block's mask goes in front of the words
    rows : rows that the beat completes
    fits : a bit per row but the first: the beat fits when that many rows are complete before it
    last : the packet ends with the beat
    count : words of the packet's last row, when ``last``
    """

    def __init__(self, config: Config):
        rows = Assembler.rows(config)
        super().__init__(
            {
                "lane": range(config.lanes),
                "has_mask": 1,
                "rows": range(rows + 1),
                "fits": rows - 1,
                "last": 1,
                "count": config.lanes.bit_length(),
            }
        )


class AssembledRow(data.StructLayout):
    """A full row, or the last of a packet.

    Members
    -------
    row : :class:`~cdma.hdl.beat.Row`
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

    The rows move up as they leave: the first is the output register, the last are where words land
    when those before are full. A block's mask and a beat's words land in one cycle. All places
    that hold no word are zero when their row leaves.

    Throughput one beat in and one row out a cycle, latency two cycles. ``o`` is registered;
    ``enable`` depends combinationally on ``o.ready``, through one multiplexer.

    Parameters
    ----------
    config : Config
        Lanes and format.

    Members
    -------
    valid : In, there is a beat
    place : In, its :class:`Place`
    mask : In, its block's mask
    kept : In, words of data of the block that begins with the beat, or 0
    bank_words : In, its words as :class:`~cdma.hdl.butterfly.Compactor` gives them, a cycle later
        than those above
    enable : Out, the beat is taken in
    o : Out stream of :class:`AssembledRow`
    """

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "valid": In(1),
                "place": In(Place(config)),
                "mask": In(config.format.block_words),
                "kept": In(range(config.format.block_words + 1)),
                "bank_words": In(data.ArrayLayout(config.format.word_bits, config.lanes)),
                "enable": Out(1),
                "o": Out(stream.Signature(AssembledRow(config))),
            }
        )

    @staticmethod
    def capacity(config: Config) -> int:
        """Words that the rows hold. A beat and a mask fall on a row that is all but full, while
        the row before waits for its turn; and blocks without a zero, which take longer as stream
        than as data, may gather three masks before they cost a cycle."""
        return 2 * config.lanes + 3 * config.format.mask_words

    @staticmethod
    def rows(config: Config) -> int:
        """Rows, of which the last may be shorter."""
        return -(-Assembler.capacity(config) // config.lanes)

    def elaborate(self, platform):
        m = Module()
        config = self.config
        lanes, mask_words = config.lanes, config.format.mask_words
        depth, capacity = self.rows(config), self.capacity(config)

        # The beat that lands, when there is room for it.
        held = Signal(Place(config), reset_less=True)
        held_valid = Signal()
        mask = Signal.like(self.mask, reset_less=True)
        held_kept = Signal.like(self.kept, reset_less=True)
        with m.If(self.enable):
            m.d.sync += [held.eq(self.place), held_valid.eq(self.valid), mask.eq(self.mask)]
            m.d.sync += held_kept.eq(self.kept)

        # Whether it lands, and another beat is taken in, is known a cycle before, but for whether
        # the first row leaves, which comes late and only selects.
        complete = Signal(depth + 1, init=1)  # how many rows are complete, one-hot
        enable_if = [Signal(name=f"enable_if_{name}", init=1) for name in ("kept", "left")]
        pop = Signal()
        lands = Signal()
        m.d.comb += [
            self.o.valid.eq(~complete[0]),
            pop.eq(self.o.valid & self.o.ready),
            self.enable.eq(Mux(self.o.ready, enable_if[1], enable_if[0])),
            lands.eq(self.enable & held_valid),
        ]
        outcomes = [self._next(m, complete, held, held_valid, enable_if[p], p) for p in (0, 1)]
        for register, *values in zip((complete, *enable_if), *outcomes, strict=True):
            m.d.sync += register.eq(Mux(self.o.ready, values[1], values[0]))

        # A run of words that begins in some bank lies in two rows: in the banks from there on, and
        # in those below it, a row further. Found a cycle before.
        place = self.place
        most = (2 * lanes + mask_words - 2) // lanes  # rows further that a word may land
        first = Signal(range(2 * lanes + mask_words))  # where the first data word lands
        m.d.comb += first.eq(place.lane + Mux(place.has_mask, mask_words, 0))
        lane_bits = lanes.bit_length() - 1
        begun = Signal(lanes, reset_less=True)  # banks that have their word of the row being filled
        words_in = [Signal(lanes, name=f"words_in{k}", reset_less=True) for k in range(most + 1)]
        masks_in = [Signal(lanes, name=f"masks_in{k}", reset_less=True) for k in range(most + 1)]
        with m.If(self.enable):
            for bank in range(lanes):
                wraps = first[:lane_bits] > bank
                m.d.sync += begun[bank].eq(place.lane > bank)
                for k in range(most + 1):
                    begins = first[lane_bits:]
                    m.d.sync += words_in[k][bank].eq(
                        (wraps & (begins == k - 1)) | (~wraps & (begins == k))
                        if k
                        else ~wraps & (begins == k)
                    )
                    # The mask begins here or in one of the `mask_words - 1` places before.
                    here = k * lanes + bank
                    m.d.sync += masks_in[k][bank].eq(
                        place.has_mask & (place.lane <= here) & (place.lane > here - mask_words)
                    )

        # Let it land, and move the rows up.
        rows = [Signal.like(self.bank_words, name=f"row{i}", reset_less=True) for i in range(depth)]
        ends = [Signal(_End(config), name=f"end{i}") for i in range(depth)]
        landed = Signal.like(self.o.payload.kept)  # words of data that no row counts
        kept = Signal.like(landed)
        completes = lands & (held.rows != 0)
        m.d.comb += [
            self.o.payload.row.words.eq(rows[0]),
            self.o.payload.row.count.eq(ends[0].count),
            self.o.payload.row.last.eq(ends[0].last),
            self.o.payload.kept.eq(ends[0].kept),
            kept.eq(landed + held_kept),
        ]
        with m.If(lands):
            m.d.sync += landed.eq(Mux(completes, 0, kept))
        waiting = Signal(depth + 1)  # complete rows, this cycle's not counted that leaves
        m.d.comb += waiting.eq(Mux(pop, complete >> 1, complete))
        behind = _behind(waiting, held.rows)
        for i in range(depth):
            # The row is the one that is being filled, or one behind it.
            target = [waiting[i - k] if i >= k else 0 for k in range(most + 1)]
            is_behind = waiting[:i].any()
            is_behind_if_left = complete[: i + 1].any()
            for bank in range(min(lanes, capacity - i * lanes)):
                loads = Signal(name=f"loads{i}_{bank}")
                loads_if_left = (
                    enable_if[1]
                    & held_valid
                    & (is_behind_if_left | (complete[i + 1] & ~begun[bank]))
                )
                m.d.comb += loads.eq(lands & (is_behind | (waiting[i] & ~begun[bank])))
                is_mask = Cat(t & w[bank] for t, w in zip(target, masks_in, strict=True)).any()
                is_word = Cat(t & w[bank] for t, w in zip(target, words_in, strict=True)).any()
                value = Mux(is_word, self.bank_words[bank], 0)
                # Nothing lands in the first row unless it is empty or leaves.
                moves = ~complete[0] if i == 0 else pop
                if i == 0:
                    is_mask, value = masks_in[0][bank], self.bank_words[bank]
                value = Mux(is_mask, self._mask_word(mask, held.lane, target, bank), value)
                if (i + 1) * lanes + bank < capacity:
                    value = Mux(moves & ~loads_if_left, rows[i + 1][bank], value)
                elif i == 0:
                    value = Mux(moves & ~loads_if_left, 0, value)
                with m.If(loads | pop):
                    m.d.sync += rows[i][bank].eq(value)
            with m.If(completes & behind[i + 1]):
                m.d.sync += [
                    ends[i].last.eq(held.last),
                    ends[i].count.eq(held.count),
                    ends[i].kept.eq(kept),
                ]
            with m.Elif(pop):
                m.d.sync += ends[i].eq(ends[i + 1] if i + 1 < depth else 0)
        return m

    def _next(self, m, complete, held, held_valid, enable, pop):
        """State of the next cycle, if the first row is kept (``pop`` is 0) or leaves: complete
        rows, and whether a beat is then taken in if the first row is kept, and if it leaves.
        """
        waiting = Signal(len(complete), name=f"waiting_if_{pop}")
        after = Signal.like(waiting, name=f"after_if_{pop}")
        # When no row is complete, none can leave, and both cases are the same.
        m.d.comb += [
            waiting.eq(Mux(complete[0], complete, complete >> 1) if pop else complete),
            after.eq(Mux(enable & held_valid, _behind(waiting, held.rows), waiting)),
        ]
        valid = Mux(enable, self.valid, held_valid)
        fits = Cat(1, Mux(enable, self.place.fits, held.fits))
        return (
            after,
            ~valid | (after[: len(fits)] & fits).any(),
            ~valid | after[0] | (after[1:] & fits).any(),
        )

    def _mask_word(self, mask, lane, target, bank):
        """The mask's word that lands in a bank, in the row for which ``target`` says how far it is
        from the one being filled, if the mask begins in bank ``lane``."""
        lanes, size = self.config.lanes, self.config.format.word_bits
        value = None
        for index in range(self.config.format.mask_words):
            word = mask[index * size : (index + 1) * size]
            for k, is_row in enumerate(target):
                start = k * lanes + bank - index
                if not 0 <= start < lanes:
                    continue
                is_here = is_row & (lane == start)
                value = word if value is None else Mux(is_here, word, value)
        return value


class _End(data.StructLayout):
    """Of a row: all that :class:`AssembledRow` has but the words."""

    def __init__(self, config: Config):
        row = AssembledRow(config)
        super().__init__({"kept": row["kept"].shape, "last": 1, "count": config.lanes.bit_length()})


def _behind(waiting, rows):
    """One-hot number of complete rows when ``rows`` more are complete."""
    return Cat(
        Cat(waiting[i - j] & (rows == j) for j in range(i + 1)).any() for i in range(len(waiting))
    )
