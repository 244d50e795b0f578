"""No stripe of a prefetch is lost in silence when its channel is in quarantine."""

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
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut = self.dut
        m.submodules.dut = all_named(dut, platform)
        client, beat = dut.client, dut.i.payload
        offer(m, dut.i_place, "place")
        beats = offer(m, dut.i, "i")
        stays, unanswered = Signal(), Signal(4)
        ended, written, reported = Signal(4), Signal(4), Signal()
        quiet = Signal(range(_QUIET + 1))
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
        ]
        m.d.sync += [
            stays.eq(dut.lost & ~dut.drained),
            unanswered.eq(unanswered + (client.w.valid & client.w.payload.last) - client.b.valid),
            ended.eq(ended + (beats & beat.last)),
            written.eq(written + dut.written),
            reported.eq(reported | dut.o_error.valid),
            quiet.eq(Mux(is_quiet, quiet + (quiet != _QUIET), 0)),
        ]
        with m.If((quiet == _QUIET) & dut.drained & ~reported):
            m.d.comb += Assert(ended == written)
        m.d.comb += [Cover(written == 1), Cover(reported & ~dut.lost & (ended == 1))]
        return m


class NeedsBeat(StripeWriter):
    """Reports a stripe in quarantine only with a beat of it."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        with m.If(self.has_place & ~self.i.valid & (self.outstanding == 0)):
            m.d.comb += m.submodules.errors.valid.eq(0)
        return m


PROOFS = (
    Proof(
        name="stripe_writer_reports",
        promise="A stripe of a prefetch that the quarantine drops is reported, whenever its beats "
        "come; for 20 cycles from reset",
        components=(StripeWriter,),
        design=lambda config: ReportsAll(StripeWriter(config)),
        sizes={"bursts of 2": sized(1), "aligned stripes": sized(2)},
        mode=BOUNDED,
        depth=20,
        broken=(
            *faults(sized(1), 20, stuck_at(0, "dut.is_stuck")),
            *swapped(20, {"needs a beat": lambda: ReportsAll(NeedsBeat(sized(1)))}),
        ),
    ),
)
