"""The output of the decompressor: beats and statuses."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.queue import Queue
from cdma.hdl.zvc.beat import Beat, DecompressorStatus, thermometer
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.layouts import PacketEnd, tags_of
from cdma.zvcplus import ErrorCode


class BeatOutput(wiring.Component):
    """Give out beats, and a status after each packet's last.

    Beats that are not given only bring errors. Beats pass combinationally, one a cycle. Two ends of
    packets are queued until their final beats have passed, and two final beats until the ends of
    their packets are known; a third waits behind it, and a fourth does not pass.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    valid : In, there is a beat
    tags : In, its :class:`~cdma.hdl.zvcplus.decompressor.layouts.BeatTags`
    words : In, its words
    is_past : In, it has a raw word past the packet's end
    ready : Out, the beat leaves
    i_end : In stream of :class:`~cdma.hdl.zvcplus.decompressor.layouts.PacketEnd`
    o : Out stream of :class:`~cdma.hdl.zvc.beat.Beat`
    o_status : Out stream of :class:`~cdma.hdl.zvc.beat.DecompressorStatus`
    """

    valid: Signal
    tags: data.View
    words: data.View
    is_past: Signal
    ready: Signal
    i_end: stream.Interface
    o: stream.Interface
    o_status: stream.Interface

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "valid": In(1),
                "tags": In(tags_of(config)),
                "words": In(data.ArrayLayout(config.word.bits, config.lanes)),
                "is_past": In(1),
                "ready": Out(1),
                "i_end": In(stream.Signature(PacketEnd())),
                "o": Out(stream.Signature(Beat(config))),
                "o_status": Out(stream.Signature(DecompressorStatus())),
            }
        )

    def elaborate(self, platform):
        m = Module()
        tags, beat, status = self.tags, self.o.payload, self.o_status
        m.submodules.ends = ends = Queue(PacketEnd(), 2)
        # Of packets whose final beat has passed: a raw word was past the end.
        m.submodules.finals = finals = Queue(1, 2)
        # Of the packet whose final beat has just passed.
        is_due = Signal()
        is_wrong = Signal()
        flows = Signal()
        size = self.config.beat_bytes // self.config.lanes
        kept = thermometer(tags.words, self.config.lanes)
        wiring.connect(m, wiring.flipped(self.i_end), ends.i)
        m.d.comb += [
            flows.eq(~(tags.final & is_due)),
            self.o.valid.eq(self.valid & tags.given & flows),
            self.ready.eq((self.o.ready | ~tags.given) & flows),
            beat.words.eq(self.words),
            *(
                beat.keep[lane * size :][:size].eq(bit.replicate(size))
                for lane, bit in enumerate(kept)
            ),
            beat.last.eq(tags.last),
            finals.i.valid.eq(is_due),
            finals.i.payload.eq(is_wrong),
        ]
        leaves = self.valid & self.ready
        is_final = leaves & tags.final
        m.d.sync += is_due.eq(is_final | (is_due & ~finals.i.ready))
        # Until its final beat, the flag is the packet's own; then it is the queue's.
        started = Signal()
        with m.If(leaves):
            m.d.sync += started.eq((started | self.is_past) & ~tags.final)
        with m.If(is_final):
            m.d.sync += is_wrong.eq(started | self.is_past)

        end = ends.o.payload
        is_other = (end.error != ErrorCode.NONE) & (end.error != ErrorCode.TRAILING)
        m.d.comb += [
            status.valid.eq(ends.o.valid & finals.o.valid),
            ends.o.ready.eq(status.ready & finals.o.valid),
            finals.o.ready.eq(status.ready & ends.o.valid),
            status.payload.bytes.eq(end.bytes),
            status.payload.error.eq(
                Mux(finals.o.payload & ~is_other, ErrorCode.MASK_PAST_END, end.error)
            ),
        ]
        return m
