"""The compressor of several types: what belongs to a packet stays together."""

from unittest import mock

from amaranth.hdl import Array, Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib.wiring import Out

from cdma.hdl.lib.queue import Queue
from cdma.hdl.zvc.beat import thermometer
from cdma.hdl.zvc.output import PacketOutput
from cdma.hdl.zvcplus.compressor.fields import FloatFields
from cdma.hdl.zvcplus.compressor.line import ElasticLine
from cdma.hdl.zvcplus.mixed.compressor import unit
from cdma.hdl.zvcplus.mixed.compressor.front import TypeFront
from cdma.hdl.zvcplus.mixed.compressor.rows import ItemRows
from cdma.hdl.zvcplus.mixed.compressor.unit import MixedCompressor
from cdma.hdl.zvcplus.mixed.config import MixedConfig
from cdma.hdl.zvcplus.mixed.records import select_of
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.stream_rules import anything, is_one_at_most, leave_ports_open, offer
from cdma.verify.proofs.parts import with_parts
from cdma.verify.proofs.proof import PDR, Proof, faults
from cdma.verify.proofs.zvcplus.places import delayed

#: Parts whose ports the models look at.
PARTS = ("PacketSteer", "Queue", "ElasticLine", "ItemRows", "PacketOutput", "StreamReport")
#: Beats that wait, and commands.
BEATS, PACKETS = 3, 3
#: Lowest bits of a beat, which say what front it is for.
_TAG = 2


class ShortLine(ElasticLine):
    """A line of a few beats, of which the lowest bits are kept; the others are anything."""

    def elaborate(self, platform):
        m = Module()
        m.submodules.tags = tags = Queue(_TAG, BEATS)
        others = anything(m, self.shape, "others")
        m.d.comb += [
            tags.i.valid.eq(self.i.valid),
            tags.i.payload.eq(self.i.payload),
            self.i.ready.eq(tags.i.ready),
            self.o.valid.eq(tags.o.valid),
            self.o.payload.eq(Cat(tags.o.payload, others[_TAG:])),
            tags.o.ready.eq(self.o.ready),
        ]
        return m


class AnyRows(ItemRows):
    """Takes items and gives rows at any time."""

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.enable.eq(anything(m, 1, "enable"))
        offer(m, self.o, "row")
        return m


class AnyOutput(PacketOutput):
    """Takes rows at any time."""

    def elaborate(self, platform):
        m = Module()
        leave_ports_open(m, self, Out, "i")
        m.d.comb += self.i.ready.eq(anything(m, 1, "takes_row"))
        return m


class AnyFront(TypeFront):
    """Takes beats at any time. In its turn, it gives an item for each of them, and others, at any
    time. Without, it gives nothing.

    Members
    -------
    number : its type's, in the unit; beats have it in their lowest bits
    mark : bit of an item, which its fields and its control have as their lowest
    """

    def __init__(self, config, size, number: int):
        super().__init__(config, size)
        self.number, self.mark = number, Signal(name="mark")

    def elaborate(self, platform):
        m = Module()
        item, beat = self.item, self.i.payload
        count, ends = Signal(range(BEATS + 1)), Signal(BEATS)
        can_plan = anything(m, 1, "can_plan")
        comes, sends, left, kept = Signal(), Signal(), Signal.like(count), Signal.like(ends)
        m.d.comb += [
            self.i.ready.eq(self.has_room & can_plan),
            self.enters.eq(self.i.valid & can_plan),
            comes.eq(self.i.valid & self.i.ready),
            self.keep.eq(anything(m, len(self.keep), "keep")),
            Assume(self.keep[0]),
            Assume(~self.i.valid | (Value.cast(beat.words)[:_TAG] == self.number)),
            self.has_payload.eq(self.turn & self.has_beat & (count != 0) & anything(m, 1, "gives")),
            sends.eq(self.has_payload & self.enable),
            left.eq(count - sends),
            kept.eq(Mux(sends, ends >> 1, ends)),
            self.mark.eq(anything(m, 1, "any_mark") & item.valid),
        ]
        m.d.sync += [count.eq(left + comes), ends.eq(kept | (comes & beat.last) << left)]
        any_item = anything(m, len(Value.cast(item)), "any_item")
        with m.If(self.turn):
            m.d.comb += [
                Value.cast(item).eq(any_item),
                item.valid.eq(self.has_payload | any_item[0]),
                item.last.eq(self.has_payload & ends[0]),
            ]
        late_field, _ = delayed(m, self.enable, self.mark, FloatFields.LATENCY)
        late_control, _ = delayed(m, self.enable, self.mark, self.control_latency(self.config))
        m.d.comb += [self.fields.eq(late_field), self.control.eq(late_control)]
        return m


class _Compressor(Elaboratable):
    """A compressor between any commands, beats and takers; its parts are any that do what their
    proofs say."""

    def __init__(self, config):
        self.config = config

    def elaborate(self, platform):
        m = Module()
        self.fronts, self.dut = [], MixedCompressor(self.config)
        instead = {
            "ElasticLine": ShortLine,
            "ItemRows": AnyRows,
            "PacketOutput": AnyOutput,
        }

        def front(part, size):
            self.fronts.append(AnyFront(part, size, len(self.fronts)))
            return self.fronts[-1]

        with mock.patch.multiple(unit, PACKETS=PACKETS, TypeFront=self._kept(front)):
            m.submodules.dut, self.parts = with_parts(self.dut, platform, (unit,), PARTS, instead)
        self.begins = offer(m, self.dut.i_command, "command")
        self.enters = offer(m, self.dut.i, "i")
        self._check(m)
        return m

    @staticmethod
    def _kept(make):
        """A class whose static methods are those of the front, and that makes stubs."""

        class Front:
            control_latency = staticmethod(TypeFront.control_latency)

            def __new__(cls, *args):
                return make(*args)

        return Front


class KeepsPackets(_Compressor):
    """A beat enters the line and its front at once, and leaves the line with an item of that
    front. Each command gives its packet one turn, up to the packet's last item. Fronts whose turn
    it is not have no part in an item.
    """

    def _check(self, m):
        steer, turns, line, rows, _, _ = (self.parts[name] for name in PARTS)
        select = select_of(self.dut.i_command.payload.type, self.config)
        way = Cat(each.valid & each.ready for each in steer.o)
        sends = Cat(front.has_payload for front in self.fronts)
        tag, turn = line.o.payload[:_TAG], Cat(front.turn for front in self.fronts)
        latest = max(front.control_latency(front.config) for front in self.fronts)
        mark = Signal(name="any_front")
        m.d.comb += mark.eq(Cat(front.mark for front in self.fronts).any())
        fields, _ = delayed(m, rows.enable, mark, FloatFields.LATENCY)
        control, has_come = delayed(m, rows.enable, mark, latest)
        leaves = line.o.valid & line.o.ready
        ends = rows.enable & rows.item.valid & rows.item.last
        m.d.comb += [
            # Each command goes to both queues.
            Assert((turns.i.valid & turns.i.ready) == self.begins),
            Assert((steer.i_select.valid & steer.i_select.ready) == self.begins),
            Assert(~self.begins | (turns.i.payload == select)),
            Assert(~self.begins | (steer.i_select.payload == select)),
            # Each beat enters the line once, and one front.
            Assert((line.i.valid & line.i.ready) == self.enters),
            Assert(way.any() == self.enters),
            Assert(is_one_at_most(way)),
            Assert(is_one_at_most(Cat(each.valid for each in steer.o))),
            # It leaves with an item of that front.
            Assert(leaves == (rows.enable & sends.any())),
            Assert(is_one_at_most(sends)),
            Assert(~leaves | (Array(sends)[tag])),
            Assert(rows.fields[0] == fields),
            Assert(~has_come | (rows.control[0] == control)),
            # A turn ends with the packet.
            Assert(is_one_at_most(turn)),
            Assert((turns.o.valid & turns.o.ready) == ends),
            Assert(~ends | turns.o.valid),
            Cover(ends & self.fronts[1].turn & turns.valid[1]),
            Cover(leaves & ~ends & (tag == 1)),
        ]
        for number, front in enumerate(self.fronts):
            m.d.comb += [
                Assert(front.turn == (turns.o.valid & turns.o.payload[number])),
                Assert(front.may_follow == (turns.valid[1] & turns.entries[1][number])),
            ]


class JoinsFronts(_Compressor):
    """The rows take the item of the front that has the turn. A beat enters the line with zeros in
    place of the words that its front does not keep. Rows become beats, and are counted as they
    leave.
    """

    def _check(self, m):
        steer, _, line, rows, output, report = (self.parts[name] for name in PARTS)
        comes = Cat(each.valid for each in steer.o)
        row, taken, size = rows.o.payload, output.i.payload, self.config.beat_bytes
        words = Value.cast(self.dut.i.payload.words)
        m.d.comb += Assume(is_one_at_most(comes))  # see KeepsPackets
        turn = Cat(front.turn for front in self.fronts)
        m.d.comb += Assume(is_one_at_most(turn))
        for number, front in enumerate(self.fronts):
            with m.If(turn[number]):
                m.d.comb += Assert(Value.cast(rows.item) == Value.cast(front.item))
            with m.If(front.enters):
                kept = Cat(bit.replicate(8) for bit in front.keep)
                m.d.comb += Assert(line.i.payload == words & kept)
        m.d.comb += [
            Assert(turn.any() | (Value.cast(rows.item) == 0)),
            Assert(output.i.valid == rows.o.valid),
            Assert(rows.o.ready == output.i.ready),
            Assert(Value.cast(taken.words) == row.bits),
            Assert(taken.last == row.last),
            Assert(taken.keep == Mux(row.last, thermometer(row.bytes, size), (1 << size) - 1)),
            Assert(report.enable == (rows.o.valid & output.i.ready)),
            Assert(Value.cast(report.row) == Value.cast(row)),
            Assert(Value.cast(output.i_status) == Value.cast(report.status)),
            Cover(rows.item.valid & turn[1]),
        ]


SIZES = {"fp32, bf16": MixedConfig(("fp32", "bf16"))}
LEFT = {"bf16, int8, left": MixedConfig(("bf16", "int8"), "left")}
PROOFS = (
    Proof(
        name="mixed_compressor",
        promise="Beats of a packet leave the line with the items of its front, in the order of the "
        "commands; fields and controls of all types come as late as each other",
        components=(MixedCompressor,),
        design=KeepsPackets,
        sizes=SIZES | LEFT,
        mode=PDR,
        depth=3,
        broken=faults(
            SIZES["fp32, bf16"],
            12,
            stuck_at(1, "dut.turns.i__valid"),
            late("dut.turn"),
            stuck_at(0, "dut.may_follow"),
            late("dut.fields", 0),
        ),
    ),
    Proof(
        name="mixed_compressor_joins",
        promise="Rows take the item of the packet whose turn it is, words outside of a packet are "
        "zero in the line, and rows become beats",
        components=(MixedCompressor,),
        design=JoinsFronts,
        sizes=SIZES | LEFT,
        depth=1,
        broken=faults(
            SIZES["fp32, bf16"],
            8,
            late("dut.item"),
        ),
    ),
)
