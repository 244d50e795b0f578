"""The ZVC+ compressor of several types."""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.queue import Queue
from cdma.hdl.lib.signals import one_of, wire
from cdma.hdl.zvc.beat import Beat, CompressorStatus, thermometer
from cdma.hdl.zvc.output import PacketOutput
from cdma.hdl.zvcplus.compressor import Compressor
from cdma.hdl.zvcplus.compressor.coder import BlockCoder
from cdma.hdl.zvcplus.compressor.line import ElasticLine
from cdma.hdl.zvcplus.compressor.report import StreamReport
from cdma.hdl.zvcplus.mixed.compressor.front import TypeFront
from cdma.hdl.zvcplus.mixed.compressor.records import ByteLanes
from cdma.hdl.zvcplus.mixed.compressor.rows import ItemRows
from cdma.hdl.zvcplus.mixed.config import MixedConfig, checked
from cdma.hdl.zvcplus.mixed.records import TypeCommand, select_of
from cdma.hdl.zvcplus.mixed.steer import PacketSteer

#: Packets in the unit, at most, the two whose commands wait included: as many as one of a beat each
#: that pass the line.
PACKETS = 12


class MixedCompressor(wiring.Component):
    """Turn packets of words of several types into packets of their ZVC+ streams.

    A front per type plans blocks, and makes fields and controls of them. Beats of all types wait in
    one line meanwhile. Packets take turns in the order of their commands: the front whose turn it
    is gives items, and all items get their places, are moved there and become rows in one way. The
    rows become beats, and are counted.

    Throughput one beat a cycle on the side that has more of them, as of each type. Latency see
    :meth:`latency`. Commands wait in a queue of two, and beats are taken from the cycle behind
    their command on. No path runs from ``o.ready`` to ``i.ready``, from ``i`` to ``o`` or from
    ``i_command`` to ``i``, in a cycle; the output beat comes from registers.

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
        that takes most; and the first control behind a packet of another type comes alone."""
        return max(Compressor.pause(part) for part in config.parts.values()) + 1

    @staticmethod
    def rows(config: MixedConfig) -> int:
        """Beats that wait: as of the type that needs most."""
        return max(BlockCoder.rows(part) for part in config.parts.values())

    @staticmethod
    def latency(config: MixedConfig) -> int:
        """The most by which packets take longer than their beats: all pass the same line and the
        same rows. One more row may follow. Behind a packet of another type, one cycle more."""
        size, control = ByteLanes.of(config), _control_latency(config)
        return MixedCompressor.rows(config) + ItemRows.latency(size, control) + 2

    def elaborate(self, platform):
        m = Module()
        config, parts = self.config, self.config.parts
        size = ByteLanes.of(config)
        m.submodules.steer = steer = PacketSteer(Beat(config.stream_side), len(parts))
        m.submodules.turns = turns = Queue(len(parts), PACKETS)
        m.submodules.line = line = ElasticLine(config.beat_bits, self.rows(config))
        m.submodules.rows = rows = ItemRows(size, _control_latency(config))
        m.submodules.output = output = PacketOutput(config.stream_side, CompressorStatus())
        m.submodules.report = report = StreamReport(config)
        wiring.connect(m, wiring.flipped(self.i), steer.i)
        wiring.connect(m, wiring.flipped(self.o), output.o)
        wiring.connect(m, wiring.flipped(self.o_status), output.o_status)
        select = select_of(self.i_command.payload.type, config)
        m.d.comb += [
            self.i_command.ready.eq(steer.i_select.ready & turns.i.ready),
            steer.i_select.payload.eq(select),
            steer.i_select.valid.eq(self.i_command.valid & self.i_command.ready),
            turns.i.payload.eq(select),
            turns.i.valid.eq(self.i_command.valid & self.i_command.ready),
        ]
        fronts = self._fronts(m, size, steer, turns, line, rows)
        self._join(m, fronts, line, turns, rows)
        self._put_out(m, rows.o, output, report)
        return m

    def _fronts(self, m, size, steer, turns, line, rows):
        """A front for each type, with its turn."""
        fronts, turn = [], Signal(len(steer.o))
        m.d.comb += turn.eq(turns.o.payload & turns.o.valid.replicate(len(turn)))
        for number, (part, beats) in enumerate(
            zip(self.config.parts.values(), steer.o, strict=True)
        ):
            front = m.submodules[part.type] = TypeFront(part, size)
            m.d.comb += [
                front.i.valid.eq(beats.valid),
                beats.ready.eq(front.i.ready),
                Value.cast(front.i.payload).eq(Value.cast(beats.payload)),
                front.has_room.eq(line.i.ready),
                front.turn.eq(turn[number]),
                front.may_follow.eq(turns.valid[1] & turns.entries[1][number]),
                front.enable.eq(rows.enable),
                front.has_beat.eq(line.o.valid),
                front.words.eq(line.o.payload),
            ]
            fronts.append(front)
        return fronts

    def _join(self, m, fronts, line, turns, rows):
        """The line, and the items of all fronts, of which one at most is not zero."""
        enters = [front.enters for front in fronts]
        keep = wire(m, one_of(enters, [front.keep for front in fronts]), "keep")
        words = self.i.payload.words
        item = reduce(or_, (Value.cast(front.item) for front in fronts))
        m.d.comb += [
            line.i.valid.eq(Cat(enters).any()),
            line.i.payload.eq(
                Cat(
                    word & kept.replicate(len(word)) for word, kept in zip(words, keep, strict=True)
                )
            ),
            line.o.ready.eq(rows.enable & Cat(front.has_payload for front in fronts).any()),
            Value.cast(rows.item).eq(item),
            turns.o.ready.eq(rows.enable & rows.item.valid & rows.item.last),
            rows.fields.eq(reduce(or_, (front.fields for front in fronts))),
            rows.control.eq(self._controls(m, fronts, rows.enable)),
        ]

    def _controls(self, m, fronts, enable):
        """Controls of all types, each as late as those that take longest."""
        latest = _control_latency(self.config)
        first = min(front.control_latency(front.config) for front in fronts)
        bits = Const(0, 1)
        for cycle in range(first, latest + 1):
            own = [
                front.control for front in fronts if front.control_latency(front.config) == cycle
            ]
            bits = reduce(or_, own, bits)
            if cycle < latest:
                late = Signal(len(bits), name=f"control{cycle}", reset_less=True)
                with m.If(enable):
                    m.d.sync += late.eq(bits)
                bits = late
        return bits

    def _put_out(self, m, rows, output, report):
        """Rows as beats, counted."""
        row, size = rows.payload, self.config.beat_bytes
        m.d.comb += [
            output.i.valid.eq(rows.valid),
            rows.ready.eq(output.i.ready),
            Value.cast(output.i.payload.words).eq(row.bits),
            output.i.payload.last.eq(row.last),
            output.i.payload.keep.eq(thermometer(row.bytes, size) | (~row.last).replicate(size)),
            output.i_status.eq(report.status),
            report.enable.eq(rows.valid & rows.ready),
            report.row.eq(row),
        ]


def _control_latency(config: MixedConfig) -> int:
    """Cycles from an item to its control, of the type that takes longest."""
    return max(TypeFront.control_latency(part) for part in config.parts.values())
