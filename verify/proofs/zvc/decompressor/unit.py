"""The decompressor: for any input bytes, each command gets its words and the unit never hangs."""

from unittest import mock

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal

from cdma.format import ErrorCode
from cdma.hdl.zvc.beat import COUNT_BITS, thermometer
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor import unit
from cdma.hdl.zvc.decompressor.unit import Decompressor
from cdma.verify.formal.fault import stuck_at
from cdma.verify.formal.stream_rules import anything, goes_on, offer, take
from cdma.verify.proofs.proof import BOUNDED, Proof, faults, named, swapped
from cdma.verify.proofs.zvc.compressor.intake import fix_zero

COUNT = 6  # bits of the counters of packets and beats: they do not overflow within the bound


class Watched(Elaboratable):
    """Base of the benches: counts commands, packets and statuses, for any bytes and any commands.

    The input is unconstrained: the kept bytes need not even be contiguous. A port for the word that
    is omitted has any value, which stays.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        fix_zero(m, dut)
        self.accept, self.commands = offer(m, dut.i, "i"), offer(m, dut.i_command, "i_command")
        self.leaves, self.reports = take(m, dut.o, "o"), take(m, dut.o_status, "o_status")
        self.commanded = self._count(m, "commanded", self.commands)
        self.came = self._count(m, "came", self.accept & dut.i.payload.last)
        self.ended = self._count(m, "ended", self.leaves & dut.o.payload.last)
        self.reported = self._count(m, "reported", self.reports)
        self.check(m)
        return m

    def _count(self, m, name, happens):
        count = Signal(COUNT, name=name)
        m.d.sync += count.eq(count + happens)
        return count


class Obeys(Watched):
    """A packet, picked at any time, has the words of its command, then its status."""

    def check(self, m):
        dut = self.dut
        lanes, size = dut.config.lanes, dut.config.format.word_bytes
        is_picked, picked, words = Signal(), Signal(COUNT), Signal(COUNT_BITS)
        with m.If(self.commands & ~is_picked & anything(m, 1, "pick")):
            m.d.sync += [
                is_picked.eq(1),
                picked.eq(self.commanded),
                words.eq(dut.i_command.payload.words),
            ]
        out, left, rest = dut.o.payload, Signal(COUNT_BITS), Signal(COUNT_BITS)
        m.d.comb += [rest.eq(words - left), Assert(~self.leaves | (self.ended != self.commanded))]
        with m.If(self.leaves & is_picked & (self.ended == picked)):
            m.d.sync += left.eq(left + lanes)
            keep = thermometer(Mux(out.last, rest[: lanes.bit_length()], lanes), lanes)
            m.d.comb += [
                Assert(out.last == (rest <= lanes)),
                Cover(out.last & (picked == 1) & (left == 2 * lanes)),
            ]
            for lane in range(lanes):
                m.d.comb += [
                    Assert(out.keep[lane * size :][:size] == keep[lane].replicate(size)),
                    Assert(keep[lane] | (out.words[lane] == 0)),
                ]

        error = dut.o_status.payload.error
        m.d.comb += Assert(~self.reports | (self.reported != self.ended))
        with m.If(self.reports):
            m.d.comb += Assert(error <= ErrorCode.MASK_PAST_END)
            m.d.comb += [
                Cover((error == code) & (self.reported == 1))
                for code in range(ErrorCode.MASK_PAST_END + 1)
            ]


class NeverHangs(Watched):
    """With its command and all its beats offered, and with the outputs ready, the oldest packet
    makes progress: a transfer at some port within the latency, plus one cycle per row to drain."""

    def check(self, m):
        dut = self.dut
        most = dut.latency(dut.config) + dut.rows(dut.config)
        idle = goes_on(
            m,
            willing=dut.o.ready
            & dut.o_status.ready
            & (dut.i_command.valid | (self.commanded != self.ended))
            & (dut.i.valid | (self.came != self.ended)),
            moves=self.accept | self.commands | self.leaves | self.reports,
            most=most,
            status=dut.o_status,
            owed=self.ended - self.reported,
        )
        m.d.comb += [Cover((idle == most // 2) & (self.came == 1)), Cover(self.reported == 3)]


#: Sizes with the full structure of the unit, small enough for a bound of a dozen cycles.
SMALL = Config.of(2, 8, 8)
SIZES = named(SMALL, Config.of(4, 8, 8), Config.parse("2x8b8-asic"))
#: Words that do not come are filled in.
OPTIONS = [Config.parse(f"2x8b8{option}") for option in ("-z80", "-zport")]


class KeepsTheFill(Decompressor):
    """Words behind the packet's last are filled in, too."""

    def elaborate(self, platform):
        with mock.patch.object(unit, "kept_words", lambda words, keep: words):
            return super().elaborate(platform)


def about(name, promise, harness, depth, *forced, options=()):
    """A proof of the whole unit. ``forced`` are the faults it must refute."""
    sizes = SIZES | named(*options)
    return Proof(
        name=name,
        promise=promise,
        components=(Decompressor,),
        design=lambda config: harness(Decompressor(config)),
        sizes=sizes,
        slow=tuple(sizes),
        mode=BOUNDED,
        depth=depth,
        broken=(
            *faults(SMALL, 22, *forced),
            *swapped(
                22,
                {
                    f"words behind the end at {config.name}": lambda config=config: harness(
                        KeepsTheFill(config)
                    )
                    for config in options
                },
            ),
        ),
    )


PROOFS = (
    about(
        "decompressor_obeys",
        "For any bytes, each command gives exactly its words, one last beat and one status",
        Obeys,
        14,
        stuck_at(1, "dut.reader.o_valid"),
        stuck_at(1, "dut.output.i__payload.keep", 1),
        stuck_at(1, "dut.beats.cutter.is_final"),
        options=OPTIONS,
    ),
    about(
        "decompressor_moves",
        "No input bytes make the unit hang",
        NeverHangs,
        22,
        stuck_at(0, "dut.reader.window.is_past"),
    ),
)
