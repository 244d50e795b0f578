"""The decompressor."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.zvc.beat import Beat, DecompressorCommand, DecompressorStatus, thermometer
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.block_beats import BlockBeats
from cdma.hdl.zvc.decompressor.fetch import MaskFetcher
from cdma.hdl.zvc.decompressor.reader import PayloadReader, rows_of_beat
from cdma.hdl.zvc.decompressor.report import Report
from cdma.hdl.zvc.decompressor.ring import StreamRing
from cdma.hdl.zvc.network import Expander
from cdma.hdl.zvc.output import PacketOutput


class Decompressor(wiring.Component):
    """Turn packets of a zero-value-compressed stream back into packets of words.

    The stream's beats go into a ring as they come. One reader runs ahead through the masks
    (:class:`MaskFetcher`), another takes the words of one output beat a cycle
    (:class:`PayloadReader`) and sends them through the expander.

    Throughput one beat a cycle on the side that has more of them, for any data, as the
    :class:`~cdma.hdl.zvc.compressor.unit.Compressor` has it. Latency see :meth:`latency`. ``i.ready`` comes
    from a register, the output beat from registers through the expander's last switches.

    On an error the output packet still has the commanded number of words (a word that did not
    arrive is zero), the input is drained to ``last``, the status names the first error, and the
    next packet is decoded as if nothing had been.

    Parameters
    ----------
    config : Config
        Lanes and format.

    Members
    -------
    i_command : In stream of :class:`DecompressorCommand`, one for each packet
    i : In stream of :class:`Beat`, packets of the stream's bytes; ``keep`` by bytes
    o : Out stream of :class:`Beat`, packets of words
    o_status : Out stream of :class:`DecompressorStatus`, one after each packet's last beat
    """

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "i_command": In(stream.Signature(DecompressorCommand())),
                "i": In(stream.Signature(Beat(config))),
                "o": Out(stream.Signature(Beat(config))),
                "o_status": Out(stream.Signature(DecompressorStatus())),
            }
        )

    @staticmethod
    def latency(config: Config) -> int:
        """Cycles from a packet's first beat in to its first beat out, both included, when its first
        words are in that beat; and the most by which a packet takes longer than its beats."""
        # The ring, the mask's reads, its beats, reading and the expander.
        arrival = 1 if MaskFetcher.is_counted(config) else 3
        beats = BlockBeats.latency(config)
        return arrival + MaskFetcher.reads(config) + beats + Expander.latency(config.lanes)

    @staticmethod
    def rows(config: Config) -> int:
        """Rows of the ring: what comes in while a mask is fetched and counted, and all but one of
        those that a beat and its mask may touch."""
        waits = Decompressor.latency(config) - Expander.latency(config.lanes)
        return waits + rows_of_beat(config) - 1

    def elaborate(self, platform):
        m = Module()
        config = self.config
        lanes = config.lanes
        rows = self.rows(config)

        m.submodules.ring = ring = StreamRing(config, rows)
        m.submodules.fetcher = fetcher = MaskFetcher(config, rows)
        m.submodules.reader = reader = PayloadReader(config, rows)
        wiring.connect(m, wiring.flipped(self.i), ring.i)
        wiring.connect(m, wiring.flipped(self.i_command), fetcher.i_command)
        m.d.comb += [
            fetcher.accept.eq(ring.accept),
            fetcher.tail.eq(ring.tail),
            fetcher.info.eq(ring.info),
            fetcher.beat_words.eq(self.i.payload.words),
            ring.rows_a.eq(fetcher.bank_rows),
            fetcher.bank_words.eq(ring.words_a),
            reader.accept.eq(ring.accept),
            reader.info.eq(ring.info),
            ring.has_room.eq(reader.has_room),
            ring.rows_b.eq(reader.bank_rows),
        ]

        # A block's beats, one after the other, are counted and handed to the reader.
        m.submodules.beats = beats = BlockBeats(config)
        wiring.connect(m, fetcher.o, beats.i)
        wiring.connect(m, beats.o, reader.i)
        m.d.comb += [fetcher.next_ready.eq(beats.next_ready), fetcher.mask.eq(beats.mask)]

        # Bring the words to their lanes, and out.
        m.submodules.expander = expander = Expander(lanes, config.format.word_bits)
        m.submodules.output = output = PacketOutput(config, DecompressorStatus())
        wiring.connect(m, wiring.flipped(self.o), output.o)
        wiring.connect(m, wiring.flipped(self.o_status), output.o_status)
        enable, leaves = Signal(), Signal()
        m.d.comb += [
            expander.enable.eq(enable),
            expander.bank_words.eq(ring.words_b),
            expander.has_word.eq(reader.has_word),
            expander.mask.eq(reader.mask),
            expander.routes.eq(reader.routes),
            reader.enable.eq(enable),
            leaves.eq(output.i.valid & output.i.ready),
        ]
        valid, read = Signal(), reader.o
        with m.If(enable):
            m.d.sync += valid.eq(reader.launch)
        for stage in range(1, expander.latency(lanes)):
            next_valid, next_read = Signal(name=f"valid{stage}"), Signal.like(read)
            with m.If(enable):
                m.d.sync += [next_valid.eq(valid), next_read.eq(read)]
            valid, read = next_valid, next_read
        m.d.comb += [
            output.i.valid.eq(valid & ~reader.drains),
            output.i.payload.words.eq(expander.words),
            output.i.payload.keep.eq(
                thermometer(read.tags.words, lanes) | (~read.tags.last).replicate(lanes)
            ),
            output.i.payload.last.eq(read.tags.last),
            enable.eq((~valid | output.i.ready) & ~reader.drains),
        ]

        m.submodules.report = report = Report(config)
        m.d.comb += [
            report.enable.eq(leaves),
            report.read.eq(read),
            output.i_status.eq(report.status),
        ]
        return m
