"""The ZVC+ decompressor of several types."""

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.queue import Queue
from cdma.hdl.zvc.beat import COUNT_BITS, Beat, DecompressorStatus
from cdma.hdl.zvcplus.decompressor import Decompressor
from cdma.hdl.zvcplus.mixed.config import MixedConfig, checked
from cdma.hdl.zvcplus.mixed.records import TypedCommand, select_of
from cdma.hdl.zvcplus.mixed.steer import PacketMerge, PacketSteer

#: Packets in the unit, at most, the two whose commands wait included.
PACKETS = 12
#: Statuses that are buffered; with as many unread, no beat leaves.
STATUSES = 3


class MixedDecompressor(wiring.Component):
    """Turn packets of ZVC+ streams of several types back into packets of words.

    There is a :class:`~cdma.hdl.zvcplus.decompressor.unit.Decompressor` per type. Each packet and
    its command go to that of its type. Beats and statuses are taken in the order of the packets.

    Throughput one beat a cycle on the side that has more of them, as of each type. Latency see
    :meth:`latency`. Commands wait in a queue of two, and beats are taken from the cycle behind
    their command on. The unit holds up to three statuses; with three unread, its output stalls.
    No path runs from ``o.ready`` to ``i.ready``, from ``i`` to ``o`` or from ``i_command`` to
    ``i``, in a cycle.

    Errors, and what follows them, are as of a unit of one type.

    Parameters
    ----------
    config : MixedConfig
        Element types, and repeats.

    Members
    -------
    i_command : In stream of :class:`~cdma.hdl.zvcplus.mixed.records.TypedCommand`, one per packet
    i : In stream of :class:`~cdma.hdl.zvc.beat.Beat` of bytes, packets of the stream's bytes;
        ``keep`` by bytes
    o : Out stream of :class:`~cdma.hdl.zvc.beat.Beat` of bytes, packets of words
    o_status : Out stream of :class:`~cdma.hdl.zvc.beat.DecompressorStatus`, one after each
        packet's last beat
    """

    i_command: stream.Interface
    i: stream.Interface
    o: stream.Interface
    o_status: stream.Interface

    def __init__(self, config: MixedConfig):
        self.config = checked(config)
        # Refuses a type that has no unit.
        self._units = {part.type: Decompressor(part) for part in config.parts.values()}
        super().__init__(
            {
                "i_command": In(stream.Signature(TypedCommand())),
                "i": In(stream.Signature(Beat(config.stream_side))),
                "o": Out(stream.Signature(Beat(config.stream_side))),
                "o_status": Out(stream.Signature(DecompressorStatus())),
            }
        )

    @staticmethod
    def pause(config: MixedConfig) -> int:
        """Cycles that a packet may take beyond its beats before the next can flow: as of the type
        that takes most; and a packet that passes a shorter unit than the packet before may wait for
        that, and hold up the one behind."""
        longest = [Decompressor.latency(part) for part in config.parts.values()]
        own = max(Decompressor.pause(part) for part in config.parts.values())
        return own + max(longest) - min(longest)

    @staticmethod
    def rows(config: MixedConfig) -> int:
        """Rows of each type's ring."""
        return min(Decompressor.rows(part) for part in config.parts.values())

    @staticmethod
    def latency(config: MixedConfig) -> int:
        """The most by which a packet takes longer than its beats: as of the slowest type."""
        return max(Decompressor.latency(part) for part in config.parts.values())

    def elaborate(self, platform):
        m = Module()
        beat, ways = Beat(self.config.stream_side), len(self._units)
        m.submodules.steer = steer = PacketSteer(beat, ways)
        m.submodules.merge = merge = PacketMerge(beat, ways, PACKETS)
        statuses = PacketMerge(DecompressorStatus(), ways, STATUSES, is_framed=False)
        m.submodules.statuses = statuses
        m.submodules.commands = commands = Queue(_Words(ways), 2)
        wiring.connect(m, wiring.flipped(self.i), steer.i)
        wiring.connect(m, wiring.flipped(self.o_status), statuses.o)
        self._take_command(m, commands.i, steer.i_select, merge.i_select)
        ready = []
        for way, (type_, unit) in enumerate(self._units.items()):
            m.submodules[type_] = unit
            _connect_bits(m, steer.o[way], unit.i)
            _connect_bits(m, unit.o, merge.i[way])
            wiring.connect(m, unit.o_status, statuses.i[way])
            command, chosen = commands.o.payload, commands.o.payload.select[way]
            m.d.comb += [
                unit.i_command.valid.eq(commands.o.valid & chosen),
                unit.i_command.payload.words.eq(command.words),
            ]
            ready.append(unit.i_command.ready & chosen)
        # The status of a packet needs a place before its last beat leaves.
        flows = statuses.i_select.ready
        m.d.comb += [
            commands.o.ready.eq(Cat(ready).any()),
            self.o.valid.eq(merge.o.valid & flows),
            self.o.payload.eq(merge.o.payload),
            merge.o.ready.eq(self.o.ready & flows),
            statuses.i_select.valid.eq(merge.o.valid & self.o.ready & merge.o.payload.last),
            statuses.i_select.payload.eq(merge.select),
        ]
        return m

    def _take_command(self, m, command, *selects):
        """Give a command on when all that need a part of it have space."""
        select = select_of(self.i_command.payload.type, self.config)
        takers = (command, *selects)
        m.d.comb += [
            self.i_command.ready.eq(Cat(taker.ready for taker in takers).all()),
            command.payload.words.eq(self.i_command.payload.words),
            command.payload.select.eq(select),
            *(taker.payload.eq(select) for taker in selects),
            *(taker.valid.eq(self.i_command.valid & self.i_command.ready) for taker in takers),
        ]


class _Words(data.StructLayout):
    """The words that a unit is to give out, and which unit."""

    def __init__(self, ways: int):
        super().__init__({"words": COUNT_BITS, "select": ways})


def _connect_bits(m, source, sink):
    """Connect two streams of beats whose words differ in size."""
    m.d.comb += [
        sink.valid.eq(source.valid),
        source.ready.eq(sink.ready),
        Value.cast(sink.payload).eq(Value.cast(source.payload)),
    ]
