"""From block to block and from packet to packet, where the stream ends itself."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.fetch.block import Block
from cdma.hdl.zvc.decompressor.fetch.control import FetchControl


class EndControl(wiring.Component):
    """Decide when a mask is fetched, and where a packet without a command ends.

    For a tail of ones. A packet is done when its last row is in the ring and has no whole mask from
    the place of the next mask on. An empty block then follows the packet's blocks: ``void`` and
    ``last`` are set. Which words of the block before it are missing, and whether bytes are left,
    is found as they are read (:class:`~cdma.hdl.zvc.decompressor.tail.stage.TailStage`).

    Parameters
    ----------
    config : Config
        Lanes and format.

    Members
    -------
    is_there, is_complete, end_known, is_last_read, can_read, next_free, is_busy, fetch, done, \
    moves_on, switch, block
        As of :class:`~cdma.hdl.zvc.decompressor.fetch.control.FetchControl`.
    """

    is_there: Signal
    is_complete: Signal
    end_known: Signal
    is_last_read: Signal
    can_read: Signal
    next_free: Signal
    is_busy: Signal
    fetch: Signal
    done: Signal
    moves_on: Signal
    switch: Signal
    block: data.View

    def __init__(self, config: Config):
        self.config = config
        inputs = ("is_there", "is_complete", "end_known", "is_last_read", "can_read", "next_free")
        outputs = ("fetch", "done", "moves_on", "switch")
        super().__init__(
            {
                **dict.fromkeys((*inputs, "is_busy"), In(1)),
                **dict.fromkeys(outputs, Out(1)),
                "block": Out(Block(config)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        may_fetch = Signal()  # the place is known
        goes = Signal()  # that, and the next stage accepts the block
        # After the end of a packet, missing words never arrive.
        is_decided = self.is_there | self.end_known
        is_over = ~self.is_complete
        m.d.comb += [
            self.fetch.eq(may_fetch & self.can_read & is_decided),
            self.done.eq(goes & self.is_last_read & is_decided),
            self.moves_on.eq(self.done & ~is_over),
            self.switch.eq(self.done & is_over),
            self.block.beats.eq(Mux(is_over, 0, self.config.block_beats - 1)),
            self.block.single.eq(is_over | (self.config.block_beats == 1)),
            self.block.last.eq(is_over),
            self.block.void.eq(is_over),
        ]
        m.d.sync += [may_fetch.eq(~self.is_busy), goes.eq(~self.is_busy & self.next_free)]
        return m


def control_of(config: Config) -> FetchControl | EndControl:
    """The control of a mask fetcher for a size."""
    return EndControl(config) if config.format.ends_itself else FetchControl(config)
