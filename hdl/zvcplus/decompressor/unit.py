"""The decompressor."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.delay import DelayLine
from cdma.hdl.lib.queue import Queue
from cdma.hdl.lib.skid import Skid
from cdma.hdl.zvc.beat import Beat, DecompressorCommand, DecompressorStatus, thermometer
from cdma.hdl.zvcplus.config import Config, checked
from cdma.hdl.zvcplus.decompressor.ends import PacketEnds
from cdma.hdl.zvcplus.decompressor.fetcher import ControlFetcher
from cdma.hdl.zvcplus.decompressor.layouts import BeatTags, PayloadPlace, reach
from cdma.hdl.zvcplus.decompressor.output import BeatOutput
from cdma.hdl.zvcplus.decompressor.payload.beats import BlockBeats
from cdma.hdl.zvcplus.decompressor.payload.copy import LeftCopy
from cdma.hdl.zvcplus.decompressor.payload.placer import BeatPlacer
from cdma.hdl.zvcplus.decompressor.payload.reader import PayloadReader
from cdma.hdl.zvcplus.decompressor.payload.unpacker import FieldUnpacker
from cdma.hdl.zvcplus.decompressor.payload.words import WordBuilder
from cdma.hdl.zvcplus.decompressor.rows import RowRing
from cdma.hdl.zvcplus.decompressor.steps import PHASES


class Decompressor(wiring.Component):
    """Turn packets of a ZVC+ stream back into packets of words.

    The rows of the stream wait in a ring. The fetcher runs ahead from control to control
    (:class:`~cdma.hdl.zvcplus.decompressor.fetcher.ControlFetcher`); the reader takes the payload
    of one beat a cycle (:class:`~cdma.hdl.zvcplus.decompressor.payload.reader.PayloadReader`), and
    a bit network brings each word's bits to its lane.

    Throughput one beat a cycle on the side that has more of them, block by block, for any data.
    Latency see :meth:`latency`. Packets overlap: the fetcher starts the next as soon as it has read
    the last control of the one before, if its first row is there.

    A command is taken before the rows of its packet, if no other command waits.

    On an error the output packet still has the commanded number of words, the input is drained to
    ``last``, the status names the first error, and the next packet is decoded as usual. Words from
    the block with the error on are anything.

    Parameters
    ----------
    config : Config
        Element type, and repeats.

    Members
    -------
    i_command : In stream of :class:`~cdma.hdl.zvc.beat.DecompressorCommand`, one for each packet
    i : In stream of :class:`~cdma.hdl.zvc.beat.Beat`, packets of the stream's bytes, of which
        ``words`` has ``lanes`` together; ``keep`` by bytes
    o : Out stream of :class:`~cdma.hdl.zvc.beat.Beat`, packets of words
    o_status : Out stream of :class:`~cdma.hdl.zvc.beat.DecompressorStatus`, one after each
        packet's last beat
    """

    i_command: stream.Interface
    i: stream.Interface
    o: stream.Interface
    o_status: stream.Interface

    def __init__(self, config: Config):
        self.config = checked(config)
        super().__init__(
            {
                "i_command": In(stream.Signature(DecompressorCommand())),
                "i": In(stream.Signature(Beat(config))),
                "o": Out(stream.Signature(Beat(config))),
                "o_status": Out(stream.Signature(DecompressorStatus())),
            }
        )

    @staticmethod
    def pause(config: Config) -> int:
        """Cycles that a packet may take beyond its beats before the next can flow: a step for the
        next packet's first control, which comes behind the last row, and another with repeats."""
        return (2 + config.has_repeats) * PHASES

    @staticmethod
    def rows(config: Config) -> int:
        """Rows of the ring, the same for all types. Bits of repeats are read before the words."""
        return 16 if config.has_repeats else 8

    @staticmethod
    def latency(config: Config) -> int:
        """Cycles from a packet's first beat in to its first beat out, both included, when that beat
        has its first two controls; and the most by which a packet takes longer than its beats."""
        steps = 2 * PHASES
        beats = 2  # through placer and reader
        network = FieldUnpacker.LATENCY + WordBuilder.LATENCY
        # Repeats take a cycle to be spread to their words, and one to be copied.
        repeats = 3 if config.has_repeats else 0
        # The first control of int8 and its repeats reach into a second row.
        rows = reach(config) > config.beat_bits
        return RowRing.LATENCY + steps + repeats + rows + beats + network

    def elaborate(self, platform):
        m = Module()
        config, depth = self.config, self.rows(self.config)
        m.submodules.rows = rows = RowRing(config, depth)
        m.submodules.ends = ends = PacketEnds(config, depth)
        m.submodules.fetcher = fetcher = ControlFetcher(config, depth)
        m.submodules.fronts = fronts = Queue(PayloadPlace(config, depth), 2)
        m.submodules.beats = beats = BlockBeats(config)
        m.submodules.placer = placer = BeatPlacer(config, depth)
        m.submodules.reader = reader = PayloadReader(config, depth)
        m.submodules.unpacker = unpacker = FieldUnpacker(config.lanes, config.word.bits)
        m.submodules.beside = beside = DelayLine(BeatTags(config), FieldUnpacker.LATENCY)
        m.submodules.builder = builder = WordBuilder(config)
        m.submodules.built = built = DelayLine(BeatTags(config), WordBuilder.LATENCY)
        m.submodules.output = output = BeatOutput(config)
        wiring.connect(m, wiring.flipped(self.i), rows.i)
        # A command is taken before its rows come: who sends it may wait for that.
        m.submodules.commands = commands = Queue(DecompressorCommand(), 1)
        wiring.connect(m, wiring.flipped(self.i_command), commands.i)
        wiring.connect(m, commands.o, fetcher.i_command)
        wiring.connect(m, fetcher.o, beats.i)
        wiring.connect(m, fetcher.o_front, fronts.i)
        wiring.connect(m, fetcher.o_end, output.i_end)
        wiring.connect(m, beats.o, placer.i)
        wiring.connect(m, fronts.o, placer.i_front)
        wiring.connect(m, placer.o, reader.i)
        wiring.connect(m, wiring.flipped(self.o), output.o)
        wiring.connect(m, wiring.flipped(self.o_status), output.o_status)
        self._follow_packets(m, rows, ends, fetcher, reader)

        enable = Signal()
        m.d.comb += [
            fetcher.rows.eq(rows.rows),
            fetcher.come.eq(rows.row),
            reader.rows.eq(rows.rows),
            reader.pairs.eq(rows.pairs),
            rows.free.eq(reader.free),
            rows.free_parity.eq(reader.free_parity),
            # Bring the bits to their lanes, and out.
            reader.enable.eq(enable),
            unpacker.enable.eq(enable),
            unpacker.bits.eq(reader.bits),
            unpacker.starts.eq(reader.starts),
            unpacker.crossing.eq(reader.crossing),
            beside.enable.eq(enable),
            beside.i_valid.eq(reader.o_valid),
            beside.i.eq(reader.tags),
            builder.enable.eq(enable),
            builder.fields.eq(unpacker.words),
            builder.tags.eq(beside.o),
            built.enable.eq(enable),
            built.i_valid.eq(beside.o_valid),
            built.i.eq(beside.o),
            builder.o_tags.eq(built.o),
        ]
        if config.has_repeats:
            m.submodules.repeats = repeats = Skid(config.word.block_words)
            wiring.connect(m, fetcher.o_repeats, repeats.i)
            wiring.connect(m, repeats.o, beats.i_repeats)
            self._copy(m, enable, built, builder, output)
        else:
            m.d.comb += [
                enable.eq(~built.o_valid | output.ready),
                output.valid.eq(built.o_valid),
                output.tags.eq(built.o),
                output.words.eq(builder.words),
                output.is_past.eq(builder.is_past),
            ]
        return m

    def _copy(self, m, enable, built, builder, output):
        """A register for the words, and copies of them."""
        config = self.config
        m.submodules.held = held = DelayLine(_Built(config), 1)
        m.submodules.copy = copy = LeftCopy(config)
        m.d.comb += [
            enable.eq(~held.o_valid | output.ready),
            held.enable.eq(enable),
            held.i_valid.eq(built.o_valid),
            held.i.tags.eq(built.o),
            # Words past the packet's end stay zero.
            held.i.tags.repeated.eq(built.o.repeated & thermometer(built.o.words, config.lanes)),
            held.i.words.eq(builder.words),
            held.i.is_past.eq(builder.is_past),
            copy.words.eq(held.o.words),
            copy.repeated.eq(held.o.tags.repeated),
            copy.final.eq(held.o.tags.final),
            copy.take.eq(held.o_valid & output.ready),
            output.valid.eq(held.o_valid),
            output.tags.eq(held.o.tags),
            output.words.eq(copy.o),
            output.is_past.eq(held.o.is_past),
        ]

    def _follow_packets(self, m, rows, ends, fetcher, reader):
        """The ends of packets: from their last rows to their checks and last payloads."""
        m.d.comb += [
            ends.arrives.eq(rows.arrives),
            ends.end.eq(rows.end),
            ends.start.eq(fetcher.start),
            ends.checked.eq(fetcher.checked),
            ends.read.eq(reader.read),
            ends.fails.eq(fetcher.fails),
            ends.failing.eq(fetcher.failing),
            rows.accept.eq(ends.accept),
            fetcher.can_start.eq(ends.can_start),
            fetcher.start_row.eq(ends.row),
            fetcher.has_two.eq(ends.has_two),
            fetcher.ended.eq(ends.ended),
            fetcher.failed.eq(ends.failed),
            fetcher.current.eq(ends.current),
            fetcher.first.eq(ends.first),
            fetcher.parity.eq(ends.parity),
            reader.has_ended.eq(ends.has_ended),
            reader.parity.eq(ends.parity),
        ]
        if self.config.has_repeats:
            # The packet that the reader drops may come behind one that is still drained.
            m.d.comb += [
                rows.drain.eq(ends.drain | reader.drops),
                rows.parity.eq(Mux(ends.drain, ends.parity, reader.tags.parity)),
            ]
        else:
            m.d.comb += [rows.drain.eq(ends.drain), rows.parity.eq(ends.parity)]


class _Built(data.StructLayout):
    """Words of a beat, before repeated words are copied."""

    def __init__(self, config: Config):
        words = data.ArrayLayout(config.word.bits, config.lanes)
        super().__init__({"tags": BeatTags(config), "words": words, "is_past": 1})
