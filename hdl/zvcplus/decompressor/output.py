"""The output of the decompressor: beats and statuses."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.queue import Queue
from cdma.hdl.zvc.beat import Beat, DecompressorStatus, thermometer
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.layouts import BeatTags, PacketEnd
from cdma.zvcplus import ErrorCode


class BeatOutput(wiring.Component):
    """Give out beats, and a status after each packet's last.

    Beats that are not given only bring errors. Beats pass combinationally, one a cycle. A packet's
    final beat waits until the status of the packet before has been queued; two are queued. A raw
    word past the end must not come before that: the blocks of a packet wait for it.

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
                "tags": In(BeatTags(config)),
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
        tags, beat, end = self.tags, self.o.payload, self.i_end.payload
        m.submodules.statuses = statuses = Queue(DecompressorStatus(), 2)
        is_due = Signal()  # a status
        is_wrong = Signal()  # a raw word was past the end
        flows = Signal()
        size = self.config.beat_bytes // self.config.lanes
        kept = thermometer(tags.words, self.config.lanes)
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
            statuses.i.valid.eq(is_due & self.i_end.valid),
            self.i_end.ready.eq(is_due & statuses.i.ready),
            statuses.i.payload.bytes.eq(end.bytes),
        ]
        is_other = (end.error != ErrorCode.NONE) & (end.error != ErrorCode.TRAILING)
        m.d.comb += statuses.i.payload.error.eq(
            Mux(is_wrong & ~is_other, ErrorCode.MASK_PAST_END, end.error)
        )
        with m.If(statuses.i.valid & statuses.i.ready):
            m.d.sync += [is_due.eq(0), is_wrong.eq(0)]
        with m.If(self.valid & self.ready):
            with m.If(self.is_past):
                m.d.sync += is_wrong.eq(1)
            with m.If(tags.final):
                m.d.sync += is_due.eq(1)
        wiring.connect(m, statuses.o, wiring.flipped(self.o_status))
        return m
