"""Each stripe of a prefetch that a quarantine drops is reported, and not too early."""

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.engine.prefetch.writer import StripeWriter
from cdma.verify.formal.fault import stuck_at
from cdma.verify.formal.names import all_named
from cdma.verify.formal.stream_rules import anything, offer
from cdma.verify.proofs.engine.prefetch.writer import sized
from cdma.verify.proofs.proof import BOUNDED, Proof, faults, swapped

#: Cycles from the last event to a report.
_QUIET = 3


class ReportsAll(Elaboratable):
    """Stripes, their beats, answers and holds come at any time, and so does the quarantine, which
    the port of the channel ends when nothing is outstanding.

    When all is quiet and no error was reported, each stripe whose last beat has come was written.
    A stripe is reported when a beat of it has come: all of the stripes before has been read then.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut = self.dut
        m.submodules.dut = all_named(dut, platform)
        client, beat = dut.client, dut.i.payload
        places = offer(m, dut.i_place, "place")
        beats = offer(m, dut.i, "i")
        stays, unanswered = Signal(), Signal(5)
        ended, written, reported = Signal(5), Signal(5), Signal()
        quiet, begun, is_open = Signal(range(_QUIET + 1)), Signal(5), Signal()
        placed, tag = Signal(5), dut.i_place.payload.tag
        is_quiet = dut.drained & ~dut.lost & ~dut.o_error.valid
        m.d.comb += [
            dut.hold.eq(anything(m, 1, "hold")),
            dut.lost.eq(anything(m, 1, "lost") | stays),
            dut.o_error.ready.eq(1),
            client.aw.ready.eq(1),
            client.w.ready.eq(1),
            client.b.valid.eq(anything(m, 1, "b") & (unanswered != 0)),
            # Where a stripe lies is that of another proof.
            Assume((dut.i_place.payload.address == 0) & (~dut.i.valid | beat.keep.all())),
            Assume(tag.slot == placed),
            begun.eq(ended + (is_open | dut.i.valid)),
            Assert(~dut.o_error.valid | (dut.o_error.payload.tag.slot < begun)),
        ]
        m.d.sync += [
            placed.eq(placed + places),
            is_open.eq(Mux(beats, ~beat.last, is_open)),
            stays.eq(dut.lost & ~dut.drained),
            unanswered.eq(unanswered + (client.w.valid & client.w.payload.last) - client.b.valid),
            ended.eq(ended + (beats & beat.last)),
            written.eq(written + dut.written),
            reported.eq(reported | dut.o_error.valid),
            quiet.eq(Mux(is_quiet, quiet + (quiet != _QUIET), 0)),
        ]
        with m.If((quiet == _QUIET) & is_quiet & ~reported):
            m.d.comb += Assert(ended == written)
        m.d.comb += [Cover(written == 1), Cover(reported & ~dut.lost & (ended == 1))]
        return m


class ReportsInQuarantine(StripeWriter):
    """Reports a stripe only while the quarantine lasts."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        with m.If(~self.lost & (self.outstanding == 0)):
            m.d.comb += m.submodules.errors.valid.eq(0)
        return m


class ReportsPlaces(StripeWriter):
    """Reports a stripe in quarantine when its place is taken."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        with m.If(self.lost & self.has_place):
            m.d.comb += m.submodules.errors.valid.eq(1)
        return m


PROOFS = (
    Proof(
        name="stripe_writer_reports",
        promise="A stripe of a prefetch that the quarantine drops is reported, whenever its beats "
        "come, and not before; for 20 cycles from reset",
        components=(StripeWriter,),
        design=lambda config: ReportsAll(StripeWriter(config)),
        sizes={"bursts of 2": sized(1), "aligned stripes": sized(2)},
        mode=BOUNDED,
        depth=20,
        broken=(
            *faults(sized(1), 20, stuck_at(0, "dut.is_stuck")),
            *swapped(
                20,
                {
                    "in the quarantine only": lambda: ReportsAll(ReportsInQuarantine(sized(1))),
                    "before its beats": lambda: ReportsAll(ReportsPlaces(sized(1))),
                },
            ),
        ),
    ),
)
