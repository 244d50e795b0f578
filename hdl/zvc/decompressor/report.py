"""The status of the decompressor."""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.format import ErrorCode
from cdma.hdl.lib.counter import Counter
from cdma.hdl.zvc.beat import COUNT_BITS, DecompressorStatus
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.reader.reader import ReadBeat


class DecompressorReport(wiring.Component):
    """Count the words of a packet's stream as its beats leave, and remember its first error.

    Parameters
    ----------
    config : Config
        Lanes and format.

    Members
    -------
    enable : In, a beat leaves
    read : In, its :class:`~cdma.hdl.zvc.decompressor.reader.reader.ReadBeat`
    status : Out, :class:`DecompressorStatus` of the packet whose last beat left in the cycle before
    """

    enable: Signal
    read: data.View
    status: data.View

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {"enable": In(1), "read": In(ReadBeat(config)), "status": Out(DecompressorStatus())}
        )

    def elaborate(self, platform):
        m = Module()
        read, tags = self.read, self.read.tags
        is_truncated = tags.truncated | (read.has_words & (read.behind > read.there))
        is_trailing = tags.last & ((read.behind < read.there) | read.has_more)
        is_fresh = Signal(init=1)  # the beat begins a packet
        # The same for the counter, which is at zero after reset: a register of its own.
        restarts = Signal()
        error = Signal(unsigned(2))
        is_here = Signal()  # the error is in this block
        block_start = Signal(COUNT_BITS, reset_less=True)
        m.submodules.used = used = Counter(
            COUNT_BITS, len(read.used), for_cells=self.config.is_asic
        )
        m.d.comb += [
            used.enable.eq(self.enable),
            used.restart.eq(restarts),
            used.step.eq(read.used),
        ]
        known = Signal.like(error)
        known_here = Signal()
        m.d.comb += [
            known.eq(Mux(is_fresh, ErrorCode.NONE, error)),
            known_here.eq(is_here & ~tags.first & ~is_fresh),
        ]
        with m.If(self.enable):
            m.d.sync += [is_fresh.eq(tags.last), restarts.eq(tags.last), is_here.eq(known_here)]
            with m.If(is_fresh | (tags.first & (known == ErrorCode.NONE))):
                m.d.sync += block_start.eq(Mux(is_fresh, 0, used.value))
            # A mask bit past the end shows at the last beat, but the mask was wrong from its start.
            with m.If(tags.past_end & ((known == ErrorCode.NONE) | known_here)):
                m.d.sync += error.eq(ErrorCode.MASK_PAST_END)
            with m.Elif(known != ErrorCode.NONE):
                m.d.sync += error.eq(known)
            with m.Elif(is_truncated):
                m.d.sync += [error.eq(ErrorCode.TRUNCATED), is_here.eq(1)]
            with m.Else():
                m.d.sync += error.eq(Mux(is_trailing, ErrorCode.TRAILING, ErrorCode.NONE))
        is_in_block = (error == ErrorCode.TRUNCATED) | (error == ErrorCode.MASK_PAST_END)
        offset = Mux(is_in_block, block_start, used.value)
        m.d.comb += [
            self.status.error.eq(error),
            self.status.bytes.eq(offset * self.config.format.word_bytes),
        ]
        return m
