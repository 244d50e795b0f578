"""The decompressor."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.delay import DelayLine
from cdma.hdl.lib.queue import Queue
from cdma.hdl.lib.skid import Skid
from cdma.hdl.zvc.beat import Beat, DecompressorCommand, DecompressorStatus, thermometer
from cdma.hdl.zvcplus.config import Config, checked
from cdma.hdl.zvcplus.decompressor.fetcher import ControlFetcher
from cdma.hdl.zvcplus.decompressor.layouts import BeatTags, Block, skip_bits
from cdma.hdl.zvcplus.decompressor.output import BeatOutput
from cdma.hdl.zvcplus.decompressor.payload.beats import BlockBeats
from cdma.hdl.zvcplus.decompressor.payload.copy import LeftCopy
from cdma.hdl.zvcplus.decompressor.payload.placer import BeatPlacer
from cdma.hdl.zvcplus.decompressor.payload.reader import PayloadReader
from cdma.hdl.zvcplus.decompressor.payload.words import WordBuilder
from cdma.hdl.zvcplus.decompressor.rows import RowQueue
from cdma.hdl.zvcplus.decompressor.steps import PHASES
from cdma.hdl.zvcplus.network import BitUnpacker


class Decompressor(wiring.Component):
    """Turn packets of a ZVC+ stream back into packets of words.

    The rows of the stream wait in a queue. The fetcher runs ahead from control to control
    (:class:`~cdma.hdl.zvcplus.decompressor.fetcher.ControlFetcher`); the reader takes the payload
    of one beat a cycle (:class:`~cdma.hdl.zvcplus.decompressor.payload.reader.PayloadReader`), and
    a bit network brings each word's bits to its lane.

    Throughput one beat a cycle on the side that has more of them, block by block, for any data.
    Latency see :meth:`latency`. Packets do not overlap: the next begins when the last beat of the
    one before has been read.

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
    i : In stream of :class:`~cdma.hdl.zvc.beat.Beat`, packets of the stream's bytes; ``keep`` by
        bytes
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
        """Cycles that a packet may take beyond its beats before the next can flow: its latency,
        since packets do not overlap."""
        return Decompressor.latency(config)

    @staticmethod
    def rows(config: Config) -> int:
        """Rows of the queue, the same for all types. Bits of repeats are read a block later."""
        return 14 if config.has_repeats else 9

    @staticmethod
    def latency(config: Config) -> int:
        """Cycles from a packet's first beat in to its first beat out, both included, when that beat
        has its first two controls; and the most by which a packet takes longer than its beats."""
        steps = 2 * PHASES
        beats = 3  # through cutter, placer and reader
        network = BitUnpacker.latency(config.lanes, config.word.bits)
        # Repeats take a step to be read, a cycle to be spread to their words, and one to be copied.
        repeats = PHASES + 2 if config.has_repeats else 0
        return RowQueue.LATENCY + steps + repeats + beats + network

    def elaborate(self, platform):
        m = Module()
        config, depth = self.config, self.rows(self.config)
        m.submodules.rows = rows = RowQueue(config, depth)
        m.submodules.fetcher = fetcher = ControlFetcher(config, depth)
        ahead = 3 if config.has_repeats else 2
        m.submodules.blocks = blocks = Queue(Block(config), ahead)
        m.submodules.skips = skips = Queue(range(skip_bits(config) + 1), ahead)
        m.submodules.beats = beats = BlockBeats(config)
        m.submodules.placer = placer = BeatPlacer(config)
        m.submodules.reader = reader = PayloadReader(config, depth)
        m.submodules.unpacker = unpacker = BitUnpacker(config.lanes, config.word.bits)
        stages = BitUnpacker.latency(config.lanes, config.word.bits)
        m.submodules.beside = beside = DelayLine(BeatTags(config), stages)
        m.submodules.builder = builder = WordBuilder(config)
        m.submodules.output = output = BeatOutput(config)
        wiring.connect(m, wiring.flipped(self.i), rows.i)
        wiring.connect(m, wiring.flipped(self.i_command), fetcher.i_command)
        wiring.connect(m, fetcher.o, blocks.i)
        wiring.connect(m, fetcher.o_skip, skips.i)
        wiring.connect(m, fetcher.o_end, output.i_end)
        wiring.connect(m, blocks.o, beats.i)
        wiring.connect(m, beats.o, placer.i)
        wiring.connect(m, skips.o, placer.i_skip)
        wiring.connect(m, placer.o, reader.i)
        wiring.connect(m, wiring.flipped(self.o), output.o)
        wiring.connect(m, wiring.flipped(self.o_status), output.o_status)
        self._sequence(m, rows, fetcher, reader)

        enable = Signal()
        m.d.comb += [
            fetcher.rows.eq(rows.rows),
            fetcher.valid.eq(rows.valid),
            fetcher.ended.eq(rows.ended),
            fetcher.end_row.eq(rows.end_row),
            fetcher.end_byte.eq(rows.end_byte),
            fetcher.passes.eq(reader.passes),
            placer.start.eq(fetcher.start),
            placer.start_bits.eq(fetcher.start_bits),
            reader.valid.eq(rows.valid),
            reader.ended.eq(rows.ended),
            reader.row0.eq(rows.rows[0]),
            reader.row1.eq(rows.rows[1]),
            rows.passes.eq(reader.passes),
            # Bring the bits to their lanes, and out.
            reader.enable.eq(enable),
            unpacker.enable.eq(enable),
            unpacker.bits.eq(reader.bits),
            unpacker.starts.eq(reader.starts),
            beside.enable.eq(enable),
            beside.i_valid.eq(reader.o_valid),
            beside.i.eq(reader.tags),
            builder.fields.eq(unpacker.words),
            builder.tags.eq(beside.o),
        ]
        if config.has_repeats:
            m.submodules.repeats = repeats = Skid(config.word.block_words)
            wiring.connect(m, fetcher.o_repeats, repeats.i)
            wiring.connect(m, repeats.o, beats.i_repeats)
            self._copy(m, enable, beside, builder, output)
        else:
            m.d.comb += [
                enable.eq(~beside.o_valid | output.ready),
                output.valid.eq(beside.o_valid),
                output.tags.eq(beside.o),
                output.words.eq(builder.words),
                output.is_past.eq(builder.is_past),
            ]
        return m

    def _copy(self, m, enable, beside, builder, output):
        """A register for the words, and copies of them."""
        config = self.config
        m.submodules.held = held = DelayLine(_Built(config), 1)
        m.submodules.copy = copy = LeftCopy(config)
        m.d.comb += [
            enable.eq(~held.o_valid | output.ready),
            held.enable.eq(enable),
            held.i_valid.eq(beside.o_valid),
            held.i.tags.eq(beside.o),
            # Words past the packet's end stay zero.
            held.i.tags.repeated.eq(beside.o.repeated & thermometer(beside.o.words, config.lanes)),
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

    def _sequence(self, m, rows, fetcher, reader):
        """The next packet begins when this one is fetched and read, and its input has ended."""
        is_fetched, is_read = Signal(), Signal()
        restart = Signal()
        m.d.comb += [
            # The last beat's bits are still in the rows until the network takes them.
            restart.eq(is_fetched & is_read & rows.ended & (~reader.o_valid | reader.enable)),
            rows.restart.eq(restart),
            rows.drain.eq(is_fetched & is_read),
            fetcher.restart.eq(restart),
            fetcher.enable.eq(~is_fetched),
        ]
        m.d.sync += [
            is_fetched.eq((is_fetched | fetcher.done) & ~restart),
            is_read.eq((is_read | (reader.issued & reader.i.payload.tags.final)) & ~restart),
        ]


class _Built(data.StructLayout):
    """Words of a beat, before repeated words are copied."""

    def __init__(self, config: Config):
        words = data.ArrayLayout(config.word.bits, config.lanes)
        super().__init__({"tags": BeatTags(config), "words": words, "is_past": 1})
