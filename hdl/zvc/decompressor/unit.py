"""The decompressor."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.delay import DelayLine
from cdma.hdl.zvc.beat import (
    Beat,
    CountedStatus,
    DecompressorCommand,
    DecompressorStatus,
    kept_words,
    thermometer,
)
from cdma.hdl.zvc.config import COUNTED_BEATS, Config, checked
from cdma.hdl.zvc.decompressor.beats.block_beats import BlockBeats
from cdma.hdl.zvc.decompressor.fetch import fetcher_of
from cdma.hdl.zvc.decompressor.reader.place import rows_of_beat
from cdma.hdl.zvc.decompressor.reader.reader import PayloadReader, ReadBeat
from cdma.hdl.zvc.decompressor.report import DecompressorReport
from cdma.hdl.zvc.decompressor.ring import StreamRing
from cdma.hdl.zvc.decompressor.tail.report import TailReport
from cdma.hdl.zvc.decompressor.tail.stage import TailStage
from cdma.hdl.zvc.network import Expander
from cdma.hdl.zvc.output import PacketOutput


class Decompressor(wiring.Component):
    """Turn packets of a zero-value-compressed stream back into packets of words.

    The ring stores the beats of the stream as they come. One reader runs ahead through the masks
    (:mod:`~cdma.hdl.zvc.decompressor.fetch`), another takes the words of one output beat a cycle
    (:class:`~cdma.hdl.zvc.decompressor.reader.PayloadReader`) and sends them through the expander.

    Throughput one beat a cycle on the side that has more of them, for any data, as for the
    :class:`~cdma.hdl.zvc.compressor.Compressor`. Latency see :meth:`latency`. ``i.ready`` comes
    from a register, the output beat from registers through the expander's last switches.

    On an error the output packet still has the commanded number of words (a word that did not
    arrive is zero), the input is drained to ``last``, the status names the first error, and the
    next packet is decoded as usual.

    With a tail of ones there are no commands: a packet ends where its stream ends, and the status
    has its number of words. A beat leaves when the next is read. The rest of a partial last block,
    and the end of the packet, cost a cycle for each beat, after the packet's last beat.

    Parameters
    ----------
    config : Config
        Lanes and format.

    Members
    -------
    i_command : In stream of :class:`~cdma.hdl.zvc.beat.DecompressorCommand`, one for each packet;
        none with a tail of ones
    zero : In, with ``config.zero_port``: the word that is omitted; it must not change while the
        unit has a packet
    i : In stream of :class:`~cdma.hdl.zvc.beat.Beat`, packets of the stream's bytes; ``keep`` by
        bytes
    o : Out stream of :class:`~cdma.hdl.zvc.beat.Beat`, packets of words
    o_status : Out stream of :class:`~cdma.hdl.zvc.beat.DecompressorStatus`, with a tail of ones of
        :class:`~cdma.hdl.zvc.beat.CountedStatus`, one after each packet's last beat
    """

    i_command: stream.Interface
    i: stream.Interface
    o: stream.Interface
    o_status: stream.Interface
    zero: Signal

    def __init__(self, config: Config):
        self.config = checked(config)
        ends_itself = config.format.ends_itself
        command = {"i_command": In(stream.Signature(DecompressorCommand()))}
        self.status = CountedStatus() if ends_itself else DecompressorStatus()
        super().__init__(
            {
                **({} if ends_itself else command),
                **({"zero": In(config.format.word_bits)} if config.zero_port else {}),
                "i": In(stream.Signature(Beat(config))),
                "o": Out(stream.Signature(Beat(config))),
                "o_status": Out(stream.Signature(self.status)),
            }
        )

    @staticmethod
    def pause(config: Config) -> int:
        """Cycles that a packet may take beyond its beats before the next can flow: none."""
        return 0

    @staticmethod
    def latency(config: Config) -> int:
        """Cycles from a packet's first beat in to its first beat out, both included, when its first
        words are in that beat; and the most by which a packet takes longer than its beats. In
        standard cells one cycle less from beat to beat, and two less when the command is there
        before."""
        path = Decompressor._wait(config) + Expander.latency(config.lanes) + 1
        if config.format.ends_itself:
            return path + 1  # a beat leaves when the next is read
        # Where masks are read as they arrive, a command that comes with the first beat is a cycle
        # late, and the ring has no row for that cycle.
        return path + (2 if fetcher_of(config).sees_arrivals(config) else 0)

    @staticmethod
    def _wait(config: Config) -> int:
        """Cycles that a row of words waits in the ring for its mask to be fetched and counted."""
        fetch = fetcher_of(config).latency(config)
        return StreamRing.LATENCY + fetch + BlockBeats.latency(config)

    @staticmethod
    def rows(config: Config) -> int:
        """Rows of the ring: those that arrive while a mask is fetched and counted, and those that a
        beat and its mask may touch."""
        # Two lanes whose masks are counted in just the beats of a block wait for a row once more.
        is_short = config.lanes == 2 and config.block_beats == COUNTED_BEATS
        tight = is_short and config.is_asic and not config.format.ends_itself
        return Decompressor._wait(config) + rows_of_beat(config) + tight

    def elaborate(self, platform):
        m = Module()
        config, lanes, rows = self.config, self.config.lanes, self.rows(self.config)
        m.submodules.ring = ring = StreamRing(config, rows)
        m.submodules.fetcher = fetcher = fetcher_of(config)(config, rows)
        m.submodules.beats = beats = BlockBeats(config)
        m.submodules.reader = reader = PayloadReader(config, rows)
        ends_itself = config.format.ends_itself
        m.submodules.expander = expander = Expander(
            lanes, config.format.word_bits, reports_missing=ends_itself, fills=config.fills
        )
        if config.fills:
            zero = self.zero if config.zero_port else config.format.zero_value
            m.d.comb += expander.fill.eq(zero)
        m.submodules.beside = beside = DelayLine(ReadBeat(config), expander.latency(lanes) - 1)
        m.submodules.output = output = PacketOutput(config, self.status)
        if ends_itself:
            m.submodules.packet_end = tail = TailStage(config)
        m.submodules.report = report = (TailReport if ends_itself else DecompressorReport)(config)
        wiring.connect(m, wiring.flipped(self.i), ring.i)
        if not ends_itself:
            wiring.connect(m, wiring.flipped(self.i_command), fetcher.i_command)
        wiring.connect(m, fetcher.o, beats.i)
        wiring.connect(m, beats.o, reader.i)
        wiring.connect(m, wiring.flipped(self.o), output.o)
        wiring.connect(m, wiring.flipped(self.o_status), output.o_status)

        # Both readers see the rows that the ring accepts, and each reads a word per bank.
        m.d.comb += [
            fetcher.accept.eq(ring.accept),
            fetcher.tail.eq(ring.tail),
            fetcher.info.eq(ring.info),
            fetcher.beat_words.eq(self.i.payload.words),
            ring.rows_a.eq(fetcher.bank_rows),
            fetcher.bank_words.eq(ring.words_a),
            fetcher.next_ready.eq(beats.next_ready),
            fetcher.mask.eq(beats.mask),
            reader.accept.eq(ring.accept),
            reader.info.eq(ring.info),
            ring.has_room.eq(reader.has_room),
            ring.rows_b.eq(reader.bank_rows),
        ]

        # Bring the words to their lanes, and out.
        enable = Signal()
        taken = tail.ready if ends_itself else output.i.ready
        m.d.comb += [
            enable.eq((~beside.o_valid | taken) & ~reader.drains),
            reader.enable.eq(enable),
            expander.enable.eq(enable),
            expander.bank_words.eq(ring.words_b),
            expander.has_word.eq(reader.has_word),
            expander.mask.eq(reader.mask),
            expander.routes.eq(reader.routes),
            beside.enable.eq(enable),
            beside.i_valid.eq(reader.o_valid),
            beside.i.eq(reader.o),
        ]
        beat = beside.o, beside.o_valid & ~reader.drains, expander
        if ends_itself:
            self._find_end(m, *beat, tail, output, report)
        else:
            self._leave(m, *beat, output, report)
        return m

    def _leave(self, m, read, valid, expander, output, report):
        """The beats go to the output; the command decides which is a packet's last."""
        lanes = self.config.lanes
        words = expander.words
        if self.config.fills:
            words = kept_words(words, output.i.payload.keep)
        m.d.comb += [
            output.i.valid.eq(valid),
            output.i.payload.words.eq(words),
            output.i.payload.keep.eq(
                thermometer(read.tags.words, lanes) | (~read.tags.last).replicate(lanes)
            ),
            output.i.payload.last.eq(read.tags.last),
            report.enable.eq(output.i.valid & output.i.ready),
            report.read.eq(read),
            output.i_status.eq(report.status),
        ]

    def _find_end(self, m, read, valid, expander, tail, output, report):
        """The beats go to the output up to the last for which the stream has a word."""
        wiring.connect(m, tail.o, output.i)
        m.d.comb += [
            tail.valid.eq(valid),
            tail.read.eq(read),
            tail.words.eq(expander.words),
            tail.missing.eq(expander.missing),
            report.enable.eq(output.i.valid & output.i.ready),
            report.row.eq(output.i.payload),
            report.tags.eq(tail.tags),
            output.i_status.eq(report.status),
        ]
