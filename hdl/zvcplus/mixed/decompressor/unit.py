"""The ZVC+ decompressor of several types."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.delay import DelayLine
from cdma.hdl.lib.queue import Queue
from cdma.hdl.lib.signals import any_of, one_of
from cdma.hdl.zvc.beat import COUNT_BITS, Beat, DecompressorStatus
from cdma.hdl.zvcplus.decompressor import Decompressor
from cdma.hdl.zvcplus.decompressor.check import METER_CYCLES
from cdma.hdl.zvcplus.decompressor.ends import PacketEnds
from cdma.hdl.zvcplus.decompressor.layouts import PayloadPlace
from cdma.hdl.zvcplus.decompressor.output import BeatOutput
from cdma.hdl.zvcplus.decompressor.payload.placer import BeatPlacer
from cdma.hdl.zvcplus.decompressor.payload.reader import PayloadReader
from cdma.hdl.zvcplus.decompressor.payload.unpacker import FieldUnpacker
from cdma.hdl.zvcplus.decompressor.rows import RowRing
from cdma.hdl.zvcplus.decompressor.steps import PHASES
from cdma.hdl.zvcplus.mixed.config import MixedConfig, checked
from cdma.hdl.zvcplus.mixed.decompressor.fetcher import TypeFetcher
from cdma.hdl.zvcplus.mixed.decompressor.records import ByteRows, TypedTags, byte_places
from cdma.hdl.zvcplus.mixed.decompressor.words import TypedWords
from cdma.hdl.zvcplus.mixed.lanes import LANE_BITS
from cdma.hdl.zvcplus.mixed.records import TypedCommand, select_of


class MixedDecompressor(wiring.Component):
    """Turn packets of ZVC+ streams of several types back into packets of words.

    A :class:`~cdma.hdl.zvcplus.mixed.decompressor.fetcher.TypeFetcher` per type reads controls and
    sizes beats. The ring of rows, the reader, the network and the output are there once; they are
    as in a :class:`~cdma.hdl.zvcplus.decompressor.unit.Decompressor`.

    Throughput one beat a cycle on the side that has more of them, block by block. Packets of one
    type overlap; a packet behind one of another type starts when that is read and checked. Latency
    see :meth:`latency`. Commands wait in a queue of two; rows may come before their command. With
    three statuses unread, the output stalls. No path runs from ``o.ready`` to ``i.ready``, from
    ``i`` to ``o`` or from ``i_command`` to ``i``, in a cycle.

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
        """Cycles that a packet may take beyond its beats before the next can flow: behind one of
        another type, all of its latency, and those of the check of that packet's end."""
        checks = 2 * PHASES + METER_CYCLES
        return MixedDecompressor.latency(config) + checks

    @staticmethod
    def rows(config: MixedConfig) -> int:
        """Rows of the ring."""
        return max(Decompressor.rows(part) for part in config.parts.values())

    @staticmethod
    def latency(config: MixedConfig) -> int:
        """The most by which a packet takes longer than its beats: as of the slowest type."""
        return max(Decompressor.latency(part) for part in config.parts.values())

    def elaborate(self, platform):
        m = Module()
        size, depth = ByteRows(self.config), self.rows(self.config)
        m.submodules.rows = rows = RowRing(size, depth)
        m.submodules.ends = ends = PacketEnds(size, depth)
        m.submodules.fronts = fronts = Queue(PayloadPlace(size, depth), 2)
        m.submodules.placer = placer = BeatPlacer(size, depth)
        m.submodules.reader = reader = PayloadReader(size, depth)
        m.submodules.unpacker = unpacker = FieldUnpacker(size.lanes, LANE_BITS)
        m.submodules.beside = beside = DelayLine(TypedTags(size), FieldUnpacker.LATENCY)
        m.submodules.words = words = TypedWords(size)
        m.submodules.output = output = BeatOutput(size)
        wiring.connect(m, wiring.flipped(self.i), rows.i)
        wiring.connect(m, fronts.o, placer.i_front)
        wiring.connect(m, placer.o, reader.i)
        wiring.connect(m, wiring.flipped(self.o), output.o)
        wiring.connect(m, wiring.flipped(self.o_status), output.o_status)
        fetchers = self._fetchers(m, size, depth, rows, ends)
        self._join(m, fetchers, fronts, placer, output, ends)
        self._follow_packets(m, rows, ends, fetchers, reader)
        enable = Signal()
        m.d.comb += [
            enable.eq(~words.o_valid | output.ready),
            reader.rows.eq(rows.rows),
            reader.pairs.eq(rows.pairs),
            rows.free.eq(reader.free),
            rows.free_parity.eq(reader.free_parity),
            # Bring the bits to their bytes, and out.
            reader.enable.eq(enable),
            unpacker.enable.eq(enable),
            unpacker.bits.eq(reader.bits),
            *(
                place.eq(start)
                for place, start in zip(
                    unpacker.starts,
                    byte_places(reader.starts, reader.tags.select, size),
                    strict=True,
                )
            ),
            unpacker.crossing.eq(reader.crossing),
            beside.enable.eq(enable),
            beside.i_valid.eq(reader.o_valid),
            beside.i.eq(reader.tags),
            words.enable.eq(enable),
            words.i_valid.eq(beside.o_valid),
            words.tags.eq(beside.o),
            words.fields.eq(Value.cast(unpacker.words)),
            words.take.eq(words.o_valid & output.ready),
            output.valid.eq(words.o_valid),
            output.tags.eq(words.o_tags),
            Value.cast(output.words).eq(words.words),
            output.is_past.eq(words.is_past),
        ]
        return m

    def _fetchers(self, m, size, depth, rows, ends):
        """A fetcher for each type. The next packet gets its command when no packet of another type
        is in the unit."""
        parts = list(size.parts.values())
        m.submodules.commands = commands = Queue(_Words(len(parts)), 2)
        command, given = self.i_command.payload, commands.o.payload
        active, begun, is_idle = Signal(len(parts)), Signal(), Signal()
        fetchers = []
        for number, part in enumerate(parts):
            fetcher = m.submodules[part.type] = TypeFetcher(part, size, depth, 1 << number)
            may_start = given.select[number] & (is_idle | active[number])
            m.d.comb += [
                fetcher.i_command.valid.eq(commands.o.valid & may_start),
                fetcher.i_command.payload.words.eq(given.words),
                fetcher.rows.eq(rows.rows),
                fetcher.come.eq(rows.row),
                fetcher.start_row.eq(ends.row),
                *(getattr(fetcher, name).eq(getattr(ends, name)) for name in _FOLLOWED),
            ]
            fetchers.append(fetcher)
        starts = any_of(fetcher.start for fetcher in fetchers)
        m.d.comb += [
            self.i_command.ready.eq(commands.i.ready),
            commands.i.valid.eq(self.i_command.valid),
            commands.i.payload.words.eq(command.words),
            commands.i.payload.select.eq(select_of(command.type, self.config)),
            commands.o.ready.eq(any_of(fetcher.i_command.ready for fetcher in fetchers)),
            # None, one or two packets are in the unit, each of another parity than the one before.
            is_idle.eq((begun == ends.parity) & ~ends.has_two),
        ]
        with m.If(starts):
            m.d.sync += [active.eq(given.select), begun.eq(~begun)]
        return fetchers

    def _join(self, m, fetchers, fronts, placer, output, ends):
        """What the fetcher of the packet at hand gives; the others give nothing."""
        for given, sink in (
            ([fetcher.o for fetcher in fetchers], placer.i),
            ([fetcher.o_front for fetcher in fetchers], fronts.i),
            ([fetcher.o_end for fetcher in fetchers], output.i_end),
        ):
            valid = [each.valid for each in given]
            payloads = [Value.cast(each.payload) for each in given]
            m.d.comb += [
                sink.valid.eq(Cat(valid).any()),
                Value.cast(sink.payload).eq(one_of(valid, payloads)),
                *(each.ready.eq(sink.ready) for each in given),
            ]

    def _follow_packets(self, m, rows, ends, fetchers, reader):
        """The ends of packets: from their last rows to their checks and last payloads."""
        fails = [fetcher.fails for fetcher in fetchers]
        m.d.comb += [
            ends.arrives.eq(rows.arrives),
            ends.end.eq(rows.end),
            ends.start.eq(any_of(fetcher.start for fetcher in fetchers)),
            ends.checked.eq(any_of(fetcher.checked for fetcher in fetchers)),
            ends.read.eq(reader.read),
            ends.fails.eq(Cat(fails).any()),
            ends.failing.eq(one_of(fails, [fetcher.failing for fetcher in fetchers])),
            rows.accept.eq(ends.accept),
            reader.has_ended.eq(ends.has_ended),
            reader.parity.eq(ends.parity),
        ]
        if self.config.repeats != "none":
            # The packet that the reader drops may come behind one that is still drained.
            m.d.comb += [
                rows.drain.eq(ends.drain | reader.drops),
                rows.parity.eq(Mux(ends.drain, ends.parity, reader.tags.parity)),
            ]
        else:
            m.d.comb += [rows.drain.eq(ends.drain), rows.parity.eq(ends.parity)]


class _Words(data.StructLayout):
    """The words that a packet is to have, and its type."""

    def __init__(self, ways: int):
        super().__init__({"words": COUNT_BITS, "select": ways})


#: What fetchers follow of the ends of packets.
_FOLLOWED = ("can_start", "has_two", "ended", "failed", "current", "first", "parity")
