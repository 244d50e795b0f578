"""When the beat at the head is issued to the network."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.signals import kept_apart


class IssueControl(wiring.Component):
    """Issue the beat at the head once it has its place and the mask of its block is complete.

    Whether a beat may be issued is computed one cycle ahead. It depends on whether the beat before
    is issued, which arrives late: both next states are computed, and the late signal drives the
    mux. Throughput one beat a cycle, latency one cycle; ``issue`` comes from a register through one
    gate.

    Parameters
    ----------
    rows : int
        Beats that may wait.

    Members
    -------
    enable : In, the network takes a beat
    ends : In, a bit per waiting beat, the head first: the beat is there and its block ends with it
    is_full : In, all rows are taken
    offers_end : In, a beat that ends its block is offered; it comes in when there is room
    placed : In, a bit per waiting beat: the beat has its place
    places : In, the next beat gets its place in this cycle
    issue : Out, the beat at the head leaves
    """

    enable: Signal
    ends: Signal
    is_full: Signal
    offers_end: Signal
    placed: Signal
    places: Signal
    issue: Signal

    def __init__(self, rows: int):
        self.rows = rows
        #: The beat at the head leaves if ``enable``; from a register.
        self.may_issue = Signal()
        super().__init__(
            {
                "enable": In(1),
                "ends": In(rows),
                "is_full": In(1),
                "offers_end": In(1),
                "placed": In(rows),
                "places": In(1),
                "issue": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        may_issue = self.may_issue
        m.d.comb += self.issue.eq(self.enable & may_issue)
        hold, advance = kept_apart("hold"), kept_apart("advance")
        # A block's end that waits is the first block's, since a later block's is behind.
        for head, (may, has_room) in enumerate(((hold, ~self.is_full), (advance, 1))):
            is_complete = self.ends[head:].any() | (self.offers_end & has_room)
            m.d.comb += may.eq((self.places | self.placed[head]) & is_complete)
        m.d.sync += may_issue.eq(Mux(self.issue, advance, hold))
        return m
