"""The decompressor."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.delay import DelayLine
from cdma.hdl.lib.queue import Queue
from cdma.hdl.zvc.beat import Beat, DecompressorCommand, DecompressorStatus
from cdma.hdl.zvcplus.config import Config, checked
from cdma.hdl.zvcplus.decompressor.beats import BlockBeats
from cdma.hdl.zvcplus.decompressor.fetcher import ControlFetcher
from cdma.hdl.zvcplus.decompressor.layouts import BeatTags, Block, window_bits
from cdma.hdl.zvcplus.decompressor.output import BeatOutput
from cdma.hdl.zvcplus.decompressor.placer import BeatPlacer
from cdma.hdl.zvcplus.decompressor.reader import PayloadReader
from cdma.hdl.zvcplus.decompressor.rows import RowQueue
from cdma.hdl.zvcplus.decompressor.steps import PHASES
from cdma.hdl.zvcplus.decompressor.words import WordBuilder
from cdma.hdl.zvcplus.network import BitUnpacker


class Decompressor(wiring.Component):
    """Turn packets of a ZVC+ stream back into packets of words.

    The rows of the stream wait in a queue. The fetcher runs ahead from control to control
    (:class:`~cdma.hdl.zvcplus.decompressor.fetcher.ControlFetcher`); the reader takes the payload
    of one beat a cycle (:class:`~cdma.hdl.zvcplus.decompressor.reader.PayloadReader`), and a bit
    network brings each word's bits to its lane.

    Throughput one beat a cycle on the side that has more of them, block by block, for any data.
    Latency see :meth:`latency`. Packets do not overlap: the next begins when the last beat of the
    one before has been read.

    On an error the output packet still has the commanded number of words, the input is drained to
    ``last``, the status names the first error, and the next packet is decoded as usual. Words from
    the block with the error on are anything.

    Parameters
    ----------
    config : Config
        Element type, without repeats.

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

    #: Rows of the queue.
    ROWS = 9

    @staticmethod
    def pause(config: Config) -> int:
        """Cycles that a packet may take beyond its beats before the next can flow: its latency,
        since packets do not overlap."""
        return Decompressor.latency(config)

    @staticmethod
    def rows(config: Config) -> int:
        """Rows of the queue, the same for all types."""
        return Decompressor.ROWS

    @staticmethod
    def latency(config: Config) -> int:
        """Cycles from a packet's first beat in to its first beat out, both included, when that beat
        has its first two controls; and the most by which a packet takes longer than its beats."""
        steps = 2 * PHASES
        beats = 3  # through cutter, placer and reader
        network = BitUnpacker.latency(config.lanes, config.word.bits)
        return RowQueue.LATENCY + steps + beats + network

    def elaborate(self, platform):
        m = Module()
        config, depth = self.config, self.ROWS
        m.submodules.rows = rows = RowQueue(config, depth)
        m.submodules.fetcher = fetcher = ControlFetcher(config, depth)
        m.submodules.blocks = blocks = Queue(Block(config), 2)
        m.submodules.skips = skips = Queue(range(window_bits(config) + 1), 2)
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
            enable.eq(~beside.o_valid | output.ready),
            reader.enable.eq(enable),
            unpacker.enable.eq(enable),
            unpacker.bits.eq(reader.bits),
            unpacker.starts.eq(reader.starts),
            beside.enable.eq(enable),
            beside.i_valid.eq(reader.o_valid),
            beside.i.eq(reader.tags),
            builder.fields.eq(unpacker.words),
            builder.tags.eq(beside.o),
            output.valid.eq(beside.o_valid),
            output.tags.eq(beside.o),
            output.words.eq(builder.words),
            output.is_past.eq(builder.is_past),
        ]
        return m

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
