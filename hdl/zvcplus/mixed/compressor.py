"""The ZVC+ compressor of several types."""

from amaranth.hdl import Module, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.zvc.beat import COUNT_BITS, Beat, CompressorStatus, thermometer
from cdma.hdl.zvc.output import PacketOutput
from cdma.hdl.zvcplus.compressor import Compressor
from cdma.hdl.zvcplus.compressor.records import BitRow
from cdma.hdl.zvcplus.compressor.report import StreamReport
from cdma.hdl.zvcplus.mixed.config import MixedConfig, checked
from cdma.hdl.zvcplus.mixed.records import TypeCommand, select_of
from cdma.hdl.zvcplus.mixed.steer import PacketMerge, PacketSteer

#: Packets in the unit, at most, the two whose commands wait included: as many as one of a beat each
#: that pass the longest coder.
PACKETS = 12


class MixedCompressor(wiring.Component):
    """Turn packets of words of several types into packets of their ZVC+ streams.

    A coder per type makes rows of the words
    (:class:`~cdma.hdl.zvcplus.compressor.unit.Compressor` has the same ones). Each packet goes to
    the coder of its type, and the rows are taken in the order of the packets. The rows become
    beats, and are counted.

    Throughput one beat a cycle on the side that has more of them, as of each type. Latency see
    :meth:`latency`. Commands wait in a queue of two, and beats are taken from the cycle behind
    their command on. No path runs from ``o.ready`` to ``i.ready``, from ``i`` to ``o`` or from
    ``i_command`` to ``i``, in a cycle; the output beat comes from registers, through the
    multiplexer of the types and that of a coder.

    Parameters
    ----------
    config : MixedConfig
        Element types, and repeats.

    Members
    -------
    i_command : In stream of :class:`~cdma.hdl.zvcplus.mixed.records.TypeCommand`, one per packet
    i : In stream of :class:`~cdma.hdl.zvc.beat.Beat` of bytes, packets of words; ``keep`` by whole
        words of their type
    o : Out stream of :class:`~cdma.hdl.zvc.beat.Beat` of bytes, packets of the stream's bytes
    o_status : Out stream of :class:`~cdma.hdl.zvc.beat.CompressorStatus`, one after each packet's
        last beat
    """

    i_command: stream.Interface
    i: stream.Interface
    o: stream.Interface
    o_status: stream.Interface

    def __init__(self, config: MixedConfig):
        self.config = checked(config)
        super().__init__(
            {
                "i_command": In(stream.Signature(TypeCommand())),
                "i": In(stream.Signature(Beat(config.stream_side))),
                "o": Out(stream.Signature(Beat(config.stream_side))),
                "o_status": Out(stream.Signature(CompressorStatus())),
            }
        )

    @staticmethod
    def pause(config: MixedConfig) -> int:
        """Cycles that a packet may take beyond its beats before the next can flow: as of the type
        that takes most; and a packet that passes a shorter coder than the packet before may wait
        for that, and hold up the one behind."""
        longest = [Compressor.latency(part) for part in config.parts.values()]
        own = max(Compressor.pause(part) for part in config.parts.values())
        return own + max(longest) - min(longest)

    @staticmethod
    def latency(config: MixedConfig) -> int:
        """The most by which packets take longer than their beats: as of the slowest type."""
        return max(Compressor.latency(part) for part in config.parts.values())

    def elaborate(self, platform):
        m = Module()
        config, parts = self.config, self.config.parts
        row_shape = BitRow(config, COUNT_BITS)
        m.submodules.steer = steer = PacketSteer(Beat(config.stream_side), len(parts))
        m.submodules.merge = merge = PacketMerge(row_shape, len(parts), PACKETS)
        m.submodules.output = output = PacketOutput(config.stream_side, CompressorStatus())
        m.submodules.report = report = StreamReport(config)
        wiring.connect(m, wiring.flipped(self.i), steer.i)
        wiring.connect(m, wiring.flipped(self.o), output.o)
        wiring.connect(m, wiring.flipped(self.o_status), output.o_status)
        select = select_of(self.i_command.payload.type, config)
        m.d.comb += [
            self.i_command.ready.eq(steer.i_select.ready & merge.i_select.ready),
            steer.i_select.payload.eq(select),
            steer.i_select.valid.eq(self.i_command.valid & self.i_command.ready),
            merge.i_select.payload.eq(select),
            merge.i_select.valid.eq(self.i_command.valid & self.i_command.ready),
        ]
        for part, enters, leaves in zip(parts.values(), steer.o, merge.i, strict=True):
            coder = m.submodules[part.type] = Compressor.coder(part)(part)
            m.d.comb += [
                coder.i.valid.eq(enters.valid),
                enters.ready.eq(coder.i.ready),
                Value.cast(coder.i.payload).eq(Value.cast(enters.payload)),
            ]
            wiring.connect(m, coder.o, leaves)
        row = merge.o.payload
        keep = thermometer(row.bytes, config.beat_bytes)
        m.d.comb += [
            output.i.valid.eq(merge.o.valid),
            merge.o.ready.eq(output.i.ready),
            Value.cast(output.i.payload.words).eq(row.bits),
            output.i.payload.last.eq(row.last),
            output.i.payload.keep.eq(keep | (~row.last).replicate(config.beat_bytes)),
            output.i_status.eq(report.status),
            report.enable.eq(merge.o.valid & merge.o.ready),
            report.row.eq(row),
        ]
        return m
