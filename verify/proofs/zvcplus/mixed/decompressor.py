"""The decompressor of several types: at any time one type gives beats, places and ends."""

from unittest import mock

from amaranth.hdl import Assert, Cat, Cover, Elaboratable, Module, Signal, Value
from amaranth.lib.wiring import Out

from cdma.hdl.zvcplus.decompressor.output import BeatOutput
from cdma.hdl.zvcplus.decompressor.payload.placer import BeatPlacer
from cdma.hdl.zvcplus.decompressor.payload.reader import PayloadReader
from cdma.hdl.zvcplus.decompressor.payload.unpacker import FieldUnpacker
from cdma.hdl.zvcplus.decompressor.rows import RowRing
from cdma.hdl.zvcplus.mixed.config import MixedConfig
from cdma.hdl.zvcplus.mixed.decompressor import unit
from cdma.hdl.zvcplus.mixed.decompressor.fetcher import TypeFetcher
from cdma.hdl.zvcplus.mixed.decompressor.unit import MixedDecompressor
from cdma.hdl.zvcplus.mixed.decompressor.words import TypedWords
from cdma.hdl.zvcplus.mixed.records import select_of
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.stream_rules import anything, is_one_at_most, leave_ports_open, offer
from cdma.verify.proofs.parts import AnyOutputs, with_parts
from cdma.verify.proofs.proof import PDR, Proof, faults
from cdma.verify.proofs.zvcplus.decompressor.fetch.fetcher import CHECK_CYCLES


class AnyUnpacker(AnyOutputs, FieldUnpacker):
    """Gives any bits."""


class AnyWords(AnyOutputs, TypedWords):
    """Gives any words."""


class AnyOutput(AnyOutputs, BeatOutput):
    """Takes beats and ends at any time."""


class AnyRows(RowRing):
    """Rows come at any time, and ends of packets where one may come."""

    def elaborate(self, platform):
        m = Module()
        accepts = Signal()
        leave_ports_open(m, self, Out, "arrives")
        m.d.sync += accepts.eq(self.accept)
        m.d.comb += self.arrives.eq(accepts & anything(m, 1, "arrives"))
        return m


class AnyPlacer(BeatPlacer):
    """Beats pass at any time, each with its tags."""

    def elaborate(self, platform):
        m = Module()
        passes = anything(m, 1, "passes")
        leave_ports_open(m, self, Out, "o", "i")
        m.d.comb += [
            self.o.valid.eq(self.i.valid & passes),
            self.i.ready.eq(self.o.ready & passes),
            self.o.payload.tags.eq(self.i.payload.tags),
        ]
        return m


class AnyReader(PayloadReader):
    """Takes beats at any time. The last payload of a packet is read at any time behind it, but not
    before the packet is the first one in the unit."""

    def elaborate(self, platform):
        m = Module()
        waits, parity = Signal(), Signal()  # a final beat is loaded, and of what packet
        leave_ports_open(m, self, Out, "i", "read")
        m.d.comb += [
            self.read.eq(waits & (parity == self.parity) & anything(m, 1, "reads")),
            self.i.ready.eq((~waits | self.read) & anything(m, 1, "takes")),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [
                waits.eq(self.i.payload.tags.final),
                parity.eq(self.i.payload.tags.parity),
            ]
        with m.Elif(self.read):
            m.d.sync += waits.eq(0)
        return m


class AnyFetcher(TypeFetcher):
    """Starts packets with their commands, two at most. Of each it gives beats up to a final one,
    and places, and then it is checked; its end comes some cycles behind the check.

    Members
    -------
    beats, checks : packets whose final beat is not given, and that are not checked
    number : of the packet whose beats come next, its lowest bit
    """

    def __init__(self, *args):
        super().__init__(*args)
        self.beats, self.checks = (Signal(2, name=name) for name in ("beats", "checks"))
        self.number = Signal(name="number")

    def elaborate(self, platform):
        m = Module()
        command, o = self.i_command, self.o
        has_started, gives, final = Signal(), Signal(), Signal()
        leave_ports_open(m, self, Out, "start", "checked", "i_command", "o", "o_front", "o_end")
        for port in (o, self.o_front, self.o_end):
            value = Value.cast(port.payload)
            m.d.comb += value.eq(anything(m, len(value), "any_payload"))
        m.d.comb += [
            # The command is taken behind the start.
            self.start.eq(self.can_start & command.valid & ~has_started & anything(m, 1, "starts")),
            command.ready.eq(has_started & anything(m, 1, "takes_command")),
            Assert(~has_started | command.valid),
            o.valid.eq((self.beats != 0) & anything(m, 1, "gives_beat")),
            o.payload.tags.parity.eq(self.number),
            o.payload.tags.select.eq(self.select),
            self.o_front.valid.eq((self.beats != 0) & anything(m, 1, "gives_front")),
            gives.eq(o.valid & o.ready),
            final.eq(gives & o.payload.tags.final),
            # The end of the first of two has come, else the second would not have started.
            self.checked.eq(
                ((self.checks == 2) | ((self.checks == 1) & self.ended & ~self.has_two))
                & anything(m, 1, "checks")
            ),
            Assert(~self.start | (self.checks != 2)),
        ]
        m.d.sync += [
            self.beats.eq(self.beats + self.start - final),
            self.checks.eq(self.checks + self.start - self.checked),
        ]
        with m.If(self.start):
            m.d.sync += has_started.eq(1)
        with m.Elif(command.ready):
            m.d.sync += has_started.eq(0)
        end = self.checked
        for cycle in range(CHECK_CYCLES):
            following = Signal(name=f"end{cycle}")
            m.d.sync += following.eq(end)
            end = following
        m.d.comb += self.o_end.valid.eq(end)
        return m


class OneAtATime(Elaboratable):
    """Each command goes to the fetcher of its type, once, in order. While a packet of a type is in
    the unit, no fetcher of another type starts one, or gives anything but the end of one before. So
    beats, places and ends come to the shared parts from one fetcher at a time, as it gives them.

    Fetchers and shared parts are any that do what their proofs say; the ends of packets are those
    of the unit.
    """

    def __init__(self, config):
        self.config = config

    def elaborate(self, platform):
        m = Module()
        dut, fetchers = MixedDecompressor(self.config), []

        def fetcher(*args):
            fetchers.append(AnyFetcher(*args))
            return fetchers[-1]

        instead = {
            "RowRing": AnyRows,
            "BeatPlacer": AnyPlacer,
            "PayloadReader": AnyReader,
            "FieldUnpacker": AnyUnpacker,
            "TypedWords": AnyWords,
            "BeatOutput": AnyOutput,
        }
        with mock.patch.object(unit, "TypeFetcher", fetcher):
            m.submodules.dut, parts = with_parts(
                dut, platform, (unit,), (*instead, "PacketEnds"), instead
            )
        _, placer, _, _, _, output, ends = (parts[name] for name in (*instead, "PacketEnds"))
        offer(m, dut.i_command, "command")
        self._start(m, dut, fetchers)
        self._join(m, fetchers, placer, output)
        self._follow(m, ends, fetchers)
        return m

    def _start(self, m, dut, fetchers):
        """Commands: a model of those that wait."""
        start = Cat(each.start for each in fetchers)
        taken = Cat(each.i_command.valid & each.i_command.ready for each in fetchers)
        comes = dut.i_command.valid & dut.i_command.ready
        select = select_of(dut.i_command.payload.type, self.config)
        level, first, second = Signal(2), Signal(len(start)), Signal(len(start))
        m.d.sync += level.eq(level + comes - taken.any())
        with m.If(taken.any()):
            m.d.sync += first.eq(second)
        with m.If(comes):
            behind = level - taken.any()
            with m.If(behind == 0):
                m.d.sync += first.eq(select)
            with m.Else():
                m.d.sync += second.eq(select)
        m.d.comb += [
            Assert(level <= 2),
            Assert(is_one_at_most(start)),
            Assert(is_one_at_most(taken)),
            Assert(~taken.any() | ((level != 0) & (taken == first))),
            Assert(~start.any() | ((level != 0) & (start == first))),
            Cover(start[1] & (level == 2)),
        ]
        for each in fetchers:
            others = [other for other in fetchers if other is not each]
            with m.If(each.start):
                m.d.comb += [Assert((other.beats == 0) & (other.checks == 0)) for other in others]
            m.d.comb += Cover(each.start & (each.checks == 1))

    def _join(self, m, fetchers, placer, output):
        """What one fetcher gives comes to the shared parts, and is taken once."""
        for name, sink in (("o", placer.i), ("o_end", output.i_end)):
            given = [getattr(each, name) for each in fetchers]
            valid = Cat(each.valid for each in given)
            m.d.comb += [Assert(is_one_at_most(valid)), Assert(sink.valid == valid.any())]
            for each in given:
                with m.If(each.valid):
                    m.d.comb += [
                        Assert(Value.cast(sink.payload) == Value.cast(each.payload)),
                        Assert(each.ready == sink.ready),
                    ]
        m.d.comb += Assert(is_one_at_most(Cat(each.o_front.valid for each in fetchers)))
        number = Signal(name="number")
        m.d.sync += number.eq(
            number ^ (placer.i.valid & placer.i.ready & placer.i.payload.tags.final)
        )
        m.d.comb += [each.number.eq(number) for each in fetchers]

    def _follow(self, m, ends, fetchers):
        """What the ends of packets need, see the proof of ``PacketEnds``."""
        m.d.comb += [
            Assert(ends.start == Cat(each.start for each in fetchers).any()),
            Assert(ends.checked == Cat(each.checked for each in fetchers).any()),
            Assert(ends.can_start | ~ends.start),
            Assert(~ends.read | ~ends.drain),
        ]


SIZES = {
    "fp32, bf16": MixedConfig(("fp32", "bf16")),
    "bf16, int8, left": MixedConfig(("bf16", "int8"), "left"),
}
PROOFS = (
    Proof(
        name="mixed_decompressor",
        promise="Each packet starts with its command in the fetcher of its type; beats, places "
        "and ends come from one type at a time",
        components=(MixedDecompressor,),
        design=OneAtATime,
        sizes=SIZES,
        mode=PDR,
        depth=3,
        broken=faults(
            SIZES["fp32, bf16"],
            20,
            stuck_at(1, "dut.is_idle"),
            late("dut.begun"),
            stuck_at(0, "dut.active"),
        ),
    ),
)
