"""Where a beat's mask and words land in the assembler's ring of rows."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.signals import any_of, select
from cdma.hdl.zvc.compressor.assembly.place import Place, rows_of_ring, rows_reached
from cdma.hdl.zvc.config import Config


class Landing(data.StructLayout):
    """Where a beat lands.

    Members
    -------
    at : row that is being filled, one-hot
    loads : per row, a bit per bank: it is written, with a word or with zero
    takes_mask, takes_word : likewise: with a word of the mask, with a word of data
    completes : a bit per row: the beat completes it
    ends : a bit per row: it is the last row that the beat completes
    """

    def __init__(self, config: Config):
        depth = rows_of_ring(config)
        banks = data.ArrayLayout(config.lanes, depth)
        super().__init__(
            {
                "at": depth,
                "loads": banks,
                "takes_mask": banks,
                "takes_word": banks,
                "completes": depth,
                "ends": depth,
            }
        )


class LandingPlan(wiring.Component):
    """Select the bank and the row of each word of a beat and its mask, one cycle in advance.

    Throughput one beat a cycle, latency one cycle; ``o`` comes from registers.

    Parameters
    ----------
    config : Config
        Lanes and format.

    Members
    -------
    enable : In, the plan advances by one cycle
    valid : In, there is a beat
    place : In, its :class:`~cdma.hdl.zvc.compressor.assembly.place.Place`
    first : In, place of its first word of data, counted as ``place.end`` is
    o : Out, :class:`Landing` of the beat before; without a beat nothing loads
    """

    enable: Signal
    valid: Signal
    place: data.View
    first: Signal
    o: data.View

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "enable": In(1),
                "valid": In(1),
                "place": In(Place(config)),
                "first": In(range(config.lanes + config.format.mask_words)),
                "o": Out(Landing(config)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        place, reach = self.place, rows_reached(self.config)
        depth = rows_of_ring(self.config)
        at = Signal(depth, init=1)
        held_at = Signal.like(at, reset_less=True)
        m.d.comb += self.o.at.eq(held_at)
        behind = select(m, place.rows, [at.rotate_left(k) for k in range(reach + 2)], "behind")
        with m.If(self.enable):
            m.d.sync += held_at.eq(at)
            with m.If(self.valid):
                m.d.sync += at.eq(behind)
        for row in range(depth):
            # One-hot: how much further the row is than the one that is being filled.
            further = [at[(row - k) % depth] for k in range(reach + 1)]
            self._plan_row(m, row, further)
        return m

    def _plan_row(self, m, row, further):
        place, lanes = self.place, self.config.lanes
        completes, ends = Signal(name=f"completes{row}"), Signal(name=f"ends{row}")
        loads = Signal(lanes, name=f"loads{row}")
        takes_mask, takes_word = (
            Signal(lanes, name=f"{name}{row}", reset_less=True)
            for name in ("takes_mask", "takes_word")
        )
        m.d.comb += [
            self.o.completes[row].eq(completes),
            self.o.ends[row].eq(ends),
            self.o.loads[row].eq(loads),
            self.o.takes_mask[row].eq(takes_mask),
            self.o.takes_word[row].eq(takes_word),
        ]
        with m.If(self.enable):
            m.d.sync += [
                completes.eq(
                    self.valid & any_of(here & (place.rows > k) for k, here in enumerate(further))
                ),
                ends.eq(
                    self.valid
                    & any_of(here & (place.rows == k + 1) for k, here in enumerate(further))
                ),
            ]
            for bank in range(lanes):
                loaded, has_mask, has_word = self._bank(bank, further)
                m.d.sync += [
                    loads[bank].eq(self.valid & loaded),
                    takes_mask[bank].eq(place.has_mask & has_mask),
                    takes_word[bank].eq(has_word),
                ]

    def _bank(self, bank, further):
        """Whether a bank of the row is written, with a word of the mask, with a word of data."""
        place, lanes, mask_words = self.place, self.config.lanes, self.config.format.mask_words
        # In the row that is being filled: all banks from the first word's on.
        behind = further[0] & (place.lane <= bank)
        beyond = any_of(h & r for h, r in zip(further[1:], place.reaches, strict=True))
        has_mask, has_word = [], []
        for k, here in enumerate(further):
            at_bank = k * lanes + bank
            # The mask begins here or in one of the `mask_words - 1` places before.
            begins = (place.lane <= at_bank) & (place.lane > at_bank - mask_words)
            has_mask.append(here & begins)
            has_word.append(here & (self.first <= at_bank) & (place.end > at_bank))
        return behind | beyond, any_of(has_mask), any_of(has_word)
