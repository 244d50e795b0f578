"""Count the complete rows of the assembler, and enable the write of the next beat."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.signals import any_of
from cdma.hdl.zvc.compressor.assembly.place import Place, rows_of_ring, rows_reached
from cdma.hdl.zvc.config import Config


class RowAccount(wiring.Component):
    """Count complete rows, and decide one cycle ahead whether the ring has space for the next beat.

    ``leaves`` arrives late: both next states are computed in advance and ``leaves`` drives the mux.
    An accepted beat is written to the ring in the next cycle, with its words.

    Parameters
    ----------
    config : Config
        Lanes and format.

    Members
    -------
    valid : In, there is a beat
    place : In, its :class:`~cdma.hdl.zvc.compressor.assembly.place.Place`
    leaves : In, a row leaves
    has_row : Out, at least one row is complete
    lands : Out, what was accepted before lands, and the next beat is accepted; low after reset
    enable : Out, the same from a register of its own, for logic outside the assembler
    """

    valid: Signal
    place: data.View
    leaves: Signal
    has_row: Signal
    lands: Signal
    enable: Signal

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "valid": In(1),
                "place": In(Place(config)),
                "leaves": In(1),
                "has_row": Out(1),
                "lands": Out(1, init=1),
                "enable": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        depth, reach = rows_of_ring(self.config), rows_reached(self.config)
        complete = Signal(depth + 1, init=1)  # how many rows, one-hot
        held_rows = Signal(reach + 2, init=1)  # how many the accepted beat completes, one-hot
        held_fits = Signal(depth, init=-1)  # the accepted beat does, or there is none
        offered_rows = Mux(self.valid, self.place.rows, 0)
        offered_fits = Cat(self.place.fits, 0) | (~self.valid).replicate(depth)
        with m.If(self.lands):
            m.d.sync += [
                held_rows.eq(Cat(offered_rows == k for k in range(reach + 2))),
                held_fits.eq(offered_fits),
            ]
        outcomes = []
        for waiting in (complete, Cat(complete[1:], 0)):
            after = Cat(
                any_of(waiting[i - k] & rows for k, rows in enumerate(held_rows) if k <= i)
                for i in range(depth + 1)
            )
            outcomes.append(
                Mux(
                    self.lands,
                    Cat(after, after[0] | (after[1:] & offered_fits).any()),
                    Cat(waiting, waiting[0] | (waiting[1:] & held_fits).any()),
                )
            )
        outcome = Mux(self.leaves, outcomes[1], outcomes[0])
        m.d.comb += self.has_row.eq(~complete[0])
        # Two registers of one value. They differ at reset, so that synthesis does not merge them:
        # each drives hundreds of others.
        m.d.sync += [Cat(complete, self.lands).eq(outcome), self.enable.eq(outcome[-1])]
        return m
