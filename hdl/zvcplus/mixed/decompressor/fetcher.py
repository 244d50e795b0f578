"""What a decompressor of several types has for each of them: from controls to sized beats."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.skid import Skid
from cdma.hdl.zvc.beat import DecompressorCommand
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.fetcher import ControlFetcher
from cdma.hdl.zvcplus.decompressor.layouts import (
    PacketEnd,
    PayloadPlace,
    SizedBeat,
    StreamEnd,
    row_bits,
)
from cdma.hdl.zvcplus.decompressor.payload.beats import BlockBeats
from cdma.hdl.zvcplus.mixed.decompressor.records import ByteRows, typed
from cdma.hdl.zvcplus.mixed.lanes import LANE_BITS


class TypeFetcher(wiring.Component):
    """Fetch the controls of packets of one type, and cut their blocks into beats.

    A :class:`~cdma.hdl.zvcplus.decompressor.fetcher.ControlFetcher` on the rows that all types
    share. It starts a packet only with its command. Between packets it gives nothing.

    Throughput one beat a cycle, as of its type. All bytes of a word have the place of the word.

    Parameters
    ----------
    config : Config
        Element type, and repeats.
    size : ByteRows
        Size of what the types share.
    depth : int
        Slots of the ring.
    select : int
        Its type, as a bit that is set.

    Members
    -------
    i_command : In stream of :class:`~cdma.hdl.zvc.beat.DecompressorCommand`
    rows, come : In, see :class:`~cdma.hdl.zvcplus.decompressor.rows.RowRing`
    can_start, start_row, has_two, ended, failed, current, first, parity : In, see
        :class:`~cdma.hdl.zvcplus.decompressor.ends.PacketEnds`
    start, checked, fails, failing : Out, as of the fetcher
    o : Out stream of :class:`~cdma.hdl.zvcplus.decompressor.layouts.SizedBeat`
    o_front : Out stream of :class:`~cdma.hdl.zvcplus.decompressor.layouts.PayloadPlace`
    o_end : Out stream of :class:`~cdma.hdl.zvcplus.decompressor.layouts.PacketEnd`
    """

    i_command: stream.Interface
    rows: data.View
    come: Signal
    start: Signal
    checked: Signal
    fails: Signal
    failing: Signal
    o: stream.Interface
    o_front: stream.Interface
    o_end: stream.Interface

    def __init__(self, config: Config, size: ByteRows, depth: int, select: int):
        self.config = config
        self.size = size
        self.depth = depth
        self.select = select
        end = StreamEnd(config, depth)
        super().__init__(
            {
                "i_command": In(stream.Signature(DecompressorCommand())),
                "rows": In(data.ArrayLayout(config.beat_bits, depth)),
                "come": In(row_bits(depth)),
                **dict.fromkeys(("can_start", "has_two", "ended", "failed", "parity"), In(1)),
                "start_row": In(row_bits(depth)),
                "current": In(end),
                "first": In(end),
                **dict.fromkeys(("start", "checked", "fails", "failing"), Out(1)),
                "o": Out(stream.Signature(SizedBeat(size))),
                "o_front": Out(stream.Signature(PayloadPlace(size, depth))),
                "o_end": Out(stream.Signature(PacketEnd())),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.fetcher = fetcher = ControlFetcher(config, self.depth)
        m.submodules.beats = beats = BlockBeats(config)
        wiring.connect(m, wiring.flipped(self.i_command), fetcher.i_command)
        wiring.connect(m, fetcher.o, beats.i)
        wiring.connect(m, fetcher.o_end, wiring.flipped(self.o_end))
        if config.has_repeats:
            m.submodules.repeats = repeats = Skid(config.word.block_words)
            wiring.connect(m, fetcher.o_repeats, repeats.i)
            wiring.connect(m, repeats.o, beats.i_repeats)
        front, beat, own = self.o_front.payload, self.o.payload, beats.o.payload
        word_bytes = config.word.bits // LANE_BITS
        m.d.comb += [
            *(getattr(fetcher, name).eq(getattr(self, name)) for name in TAKEN),
            *(getattr(self, name).eq(getattr(fetcher, name)) for name in GIVEN),
            self.o_front.valid.eq(fetcher.o_front.valid),
            fetcher.o_front.ready.eq(self.o_front.ready),
            *(
                front[name].eq(fetcher.o_front.payload[name])
                for name in dict(PayloadPlace(config, self.depth))
            ),
            self.o.valid.eq(beats.o.valid),
            beats.o.ready.eq(self.o.ready),
            *(beat[name].eq(own[name]) for name in ("length", "first", "begins")),
            *(start.eq(own.starts[lane // word_bytes]) for lane, start in enumerate(beat.starts)),
            typed(beat.tags, own.tags, config, self.select),
        ]
        return m


#: Members that the fetcher has too.
TAKEN = ("rows", "come", "can_start", "start_row", "has_two", "ended", "failed")
TAKEN += ("current", "first", "parity")
GIVEN = ("start", "checked", "fails", "failing")
