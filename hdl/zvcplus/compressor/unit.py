"""The ZVC+ compressor."""

from amaranth.hdl import Module, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.zvc.beat import Beat, CompressorStatus, thermometer
from cdma.hdl.zvc.output import PacketOutput
from cdma.hdl.zvcplus.compressor.coder import BlockCoder
from cdma.hdl.zvcplus.compressor.plain.coder import PlainCoder
from cdma.hdl.zvcplus.compressor.report import StreamReport
from cdma.hdl.zvcplus.config import Config, checked


class Compressor(wiring.Component):
    """Turn packets of words into packets of their ZVC+ stream (``docs/zvcplus.md``).

    A coder makes rows of the words, see :meth:`coder`. The rows become beats, and are counted.

    Throughput one beat a cycle on the side that has more of them: a block costs the larger of its
    input beats and its bits over 256. Packets of one or two beats take :meth:`pause` + 1
    cycles. Latency see :meth:`latency`. No path runs from ``o.ready`` to ``i.ready``, or from ``i``
    to ``o``, in a cycle; the output beat comes from registers.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    i : In stream of :class:`~cdma.hdl.zvc.beat.Beat`, packets of words; ``keep`` by whole words
    o : Out stream of :class:`~cdma.hdl.zvc.beat.Beat` of ``config.stream_side``, packets of the
        stream's bytes
    o_status : Out stream of :class:`~cdma.hdl.zvc.beat.CompressorStatus`, one after each packet's
        last beat
    """

    i: stream.Interface
    o: stream.Interface
    o_status: stream.Interface

    def __init__(self, config: Config):
        self.config = checked(config)
        super().__init__(
            {
                "i": In(stream.Signature(Beat(config))),
                "o": Out(stream.Signature(Beat(config.stream_side))),
                "o_status": Out(stream.Signature(CompressorStatus())),
            }
        )

    @staticmethod
    def pause(config: Config) -> int:
        """Cycles that a packet may take beyond its beats before the next can flow: packets of a
        beat follow each other every three cycles, with bits of repeats every four; a late control
        takes one more."""
        return 2 + config.has_repeats + config.has_late_controls

    @staticmethod
    def coder(config: Config) -> type:
        """What makes rows: floats without repeats have shorter steps and fewer registers."""
        is_plain = config.word.is_float and not config.has_repeats
        return PlainCoder if is_plain else BlockCoder

    @staticmethod
    def latency(config: Config) -> int:
        """The most by which packets take longer than their beats."""
        return Compressor.coder(config).latency(config)

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.coder = coder = self.coder(config)(config)
        m.submodules.output = output = PacketOutput(config.stream_side, CompressorStatus())
        m.submodules.report = report = StreamReport(config)
        wiring.connect(m, wiring.flipped(self.i), coder.i)
        wiring.connect(m, wiring.flipped(self.o), output.o)
        wiring.connect(m, wiring.flipped(self.o_status), output.o_status)
        rows, row = coder.o, coder.o.payload
        keep = thermometer(row.bytes, config.beat_bytes)
        m.d.comb += [
            output.i.valid.eq(rows.valid),
            rows.ready.eq(output.i.ready),
            Value.cast(output.i.payload.words).eq(row.bits),
            output.i.payload.last.eq(row.last),
            output.i.payload.keep.eq(keep | (~row.last).replicate(config.beat_bytes)),
            output.i_status.eq(report.status),
            report.enable.eq(rows.valid & rows.ready),
            report.row.eq(row),
        ]
        return m
