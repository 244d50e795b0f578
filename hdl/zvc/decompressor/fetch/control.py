"""From block to block and from packet to packet."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.countdown import Countdown
from cdma.hdl.zvc.beat import COUNT_BITS, DecompressorCommand
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.fetch.block import Block


class FetchControl(wiring.Component):
    """Count down the words of a packet, and decide when a mask is fetched and a packet is done.

    A packet is done when its last mask has been fetched and its last row is in the ring. Registered
    are the conditions that do not depend on the ring.

    Parameters
    ----------
    config : Config
        Lanes and format.

    Members
    -------
    i_command : In stream of :class:`~cdma.hdl.zvc.beat.DecompressorCommand`
    is_there : In, the row in which the mask ends is in the ring
    is_complete : In, and the mask is in the packet
    end_known : In, the packet's last row is in the ring
    is_last_read : In, the read that completes the mask
    can_read : In, the next stage has room for the mask, or there are further reads
    next_free : In, the next stage has room in the next cycle
    is_busy : In, in the next cycle the place of the next mask is not known
    fetch : Out, the mask is read
    done : Out, its last read: the block is handed on
    moves_on : Out, and the packet has a further mask
    switch : Out, proceed to the next packet
    block : Out, :class:`~cdma.hdl.zvc.decompressor.fetch.block.Block` but for its mask
    """

    i_command: stream.Interface
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
        super().__init__(
            {
                "i_command": In(stream.Signature(DecompressorCommand())),
                "is_there": In(1),
                "is_complete": In(1),
                "end_known": In(1),
                "is_last_read": In(1),
                "can_read": In(1),
                "next_free": In(1),
                "is_busy": In(1),
                "fetch": Out(1),
                "done": Out(1),
                "moves_on": Out(1),
                "switch": Out(1),
                "block": Out(Block(config)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        active = Signal()  # there is a command
        awaiting_end = Signal()  # all masks are fetched, the packet's last row has not come
        may_fetch = Signal()  # active, not awaiting the end, and the place is known
        goes = Signal()  # that, and the next stage accepts the block
        m.submodules.left = left = Countdown(COUNT_BITS, self.config.format.block_words)
        void, last = left.is_zero, left.is_last
        # After the end of a packet, missing words never arrive.
        is_decided = self.is_there | void | self.end_known
        m.d.comb += [
            self.fetch.eq(may_fetch & self.can_read & is_decided),
            self.done.eq(goes & self.is_last_read & is_decided),
            self.moves_on.eq(self.done & ~last & self.is_complete),
            self.switch.eq(self.end_known & (awaiting_end | (goes & self.is_last_read & last))),
            self.i_command.ready.eq(self.switch | ~active),
            left.load.eq(self.i_command.valid & self.i_command.ready),
            left.load_words.eq(self.i_command.payload.words),
            left.step.eq(self.done),
        ]
        next_active = Mux(self.i_command.ready, self.i_command.valid, active)
        next_awaiting = ~self.switch & (awaiting_end | (self.done & last))
        next_may_fetch = next_active & ~next_awaiting & ~self.is_busy
        m.d.sync += [
            active.eq(next_active),
            awaiting_end.eq(next_awaiting),
            may_fetch.eq(next_may_fetch),
            goes.eq(next_may_fetch & self.next_free),
        ]
        self._describe(m, left)
        return m

    def _describe(self, m, left):
        block, lanes, fmt = self.block, self.config.lanes, self.config.format
        lane_bits = lanes.bit_length() - 1
        void, last, is_one_beat = left.is_zero, left.is_last, self.config.block_beats == 1
        ending_words = left.words[: fmt.block_words.bit_length()]
        rest, whole_beats = ending_words[:lane_bits], ending_words[lane_bits:]
        last_beats = Mux(last, whole_beats - (rest == 0), self.config.block_beats - 1)
        m.d.comb += [
            block.beats.eq(Mux(void, 0, last_beats)),
            # Not from `beats`, which is the result of a subtraction.
            block.single.eq(void | (last & (ending_words <= lanes)) | is_one_beat),
            block.words.eq(Mux(void | last & (rest != 0), rest, lanes)),
            block.last.eq(last),
            block.void.eq(void),
            block.truncated.eq(~self.is_complete & ~void),
        ]
