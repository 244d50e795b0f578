"""The order of controls and payloads in the stream."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.zvcplus.compressor.records import RAW, BlockPlan, Item
from cdma.hdl.zvcplus.config import Config


class ItemIssue(wiring.Component):
    """Issue controls and beats in the order C(0) C(1) P(0) C(2) P(1) ...

    The control of the next block goes with the first beat of a block, so that a block of four
    beats takes four cycles. The first control of a packet goes with the last beat of the packet
    before, if it is there by then, else alone, or with its own payload if there is no other block.

    Combinational from ``plans`` to ``o``; throughput one item a cycle.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    enable : In, an item is taken
    plans : In, array of :class:`~cdma.hdl.zvcplus.compressor.records.BlockPlan`: of the block whose
        beats are sent, and of the next
    valid : In, a bit per plan
    leaves : Out, the first block is done
    o_valid : Out, there is an item
    o : Out, :class:`~cdma.hdl.zvcplus.compressor.records.Item`
    """

    enable: Signal
    plans: data.View
    valid: Signal
    leaves: Signal
    o_valid: Signal
    o: data.View

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "enable": In(1),
                "plans": In(data.ArrayLayout(BlockPlan(config), 2)),
                "valid": In(2),
                "leaves": Out(1),
                "o_valid": Out(1),
                "o": Out(Item(config)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        lanes = self.config.lanes
        this, following = self.plans
        beat = Signal(2)
        is_begun, is_next_begun = Signal(), Signal()  # the control of the block is issued
        begins, sends, begins_next, is_end, mask = (
            Signal(name=name) if name != "mask" else Signal(lanes, name=name)
            for name in ("begins", "sends", "begins_next", "is_end", "mask")
        )
        m.d.comb += [
            begins.eq(self.valid[0] & ~is_begun),
            is_end.eq(beat == this.extent.beats),
            sends.eq(
                self.valid[0]
                & (is_begun | this.extent.last)
                & (this.extent.last | is_next_begun | self.valid[1])
            ),
            begins_next.eq(
                is_begun & ~is_next_begun & self.valid[1] & (~this.extent.last | is_end)
            ),
            mask.eq(this.mask.word_select(beat, lanes)),
            self.leaves.eq(self.enable & sends & is_end),
            self.o_valid.eq(begins | sends),
            self.o.control.eq(Mux(is_begun, following, this)),
            self.o.has_control.eq(begins | begins_next),
            self.o.is_after.eq(is_begun & this.extent.last),
            self.o.block.eq(this),
            self.o.mask.eq(Mux(sends, mask | (this.kind == RAW).replicate(lanes), 0)),
            self.o.has_payload.eq(sends),
            self.o.words.eq(Mux(is_end & this.extent.last, this.extent.words, lanes)),
            self.o.last.eq(sends & is_end & this.extent.last),
        ]
        with m.If(self.enable):
            with m.If(sends & is_end):
                m.d.sync += [
                    beat.eq(0),
                    is_begun.eq(is_next_begun | begins_next),
                    is_next_begun.eq(0),
                ]
            with m.Else():
                m.d.sync += [
                    beat.eq(beat + sends),
                    is_begun.eq(is_begun | begins),
                    is_next_begun.eq(is_next_begun | begins_next),
                ]
        return m
