"""An offload: each stripe goes to its channel, with its turn; jobs are written one by one."""

from unittest import mock

from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib.wiring import Out

from cdma.engine_codes import Op
from cdma.hdl.engine.common.control import JobControl
from cdma.hdl.engine.common.ends import JobEnds
from cdma.hdl.engine.common.errors import ErrorCollector
from cdma.hdl.engine.offload import unit
from cdma.hdl.engine.offload.channel import OffloadChannel
from cdma.hdl.engine.offload.host import HostWriter
from cdma.hdl.engine.offload.unit import OffloadUnit
from cdma.verify.formal.stream_rules import anything, is_one_at_most, leave_ports_open
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.parts import AnyOutputs, with_parts
from cdma.verify.proofs.proof import PDR, Proof, swapped

#: Parts whose ports the model looks at.
PARTS = ("JobControl", "StripeSequencer", "RawDecision", "HostWriter", "ErrorCollector", "Fifo")


class AnyChannel(AnyOutputs, OffloadChannel):
    """Takes stripes and gives rows at any time."""

    def __init__(self, config):
        super().__init__(config)
        self.reader._MustUse__silence = True


class AnyHost(AnyOutputs, HostWriter):
    """Takes turns and rows at any time, and ends jobs at any time."""

    def __init__(self, config):
        super().__init__(config)
        for part in (self._ledger, *self.writers):
            part._MustUse__silence = True

    def elaborate(self, platform):
        m = Module()
        leave_ports_open(m, self, Out, "ends")
        m.d.comb += self.ends.eq(self.running & anything(m, 1, "ends"))
        return m


class AnyErrors(AnyOutputs, ErrorCollector):
    """Finds any errors."""


class AnyEnds(AnyOutputs, JobEnds):
    """Jobs have ended at any time."""


class AnyControl(JobControl):
    """Starts jobs of any tensor at any time: a cycle after ``begins``, a copy at once. A job stays
    until the first stage leaves it.
    """

    def elaborate(self, platform):
        m = Module()
        job, is_copy = self.job, self.next.op == Op.COPY_OUT
        low = self.config.alignment - 1
        has_job, starts = Signal(), Signal()
        leave_ports_open(
            m, self, Out, "job", "next", "waits", "begins", "start", "running", "views"
        )
        view = self.views[0]
        leave_ports_open(m, view, Out, "valid")
        m.d.comb += [
            Value.cast(self.next).eq(anything(m, len(Value.cast(job)), "any_next")),
            Assume((self.next.rows != 0) & (self.next.row_bytes != 0)),
            # What a descriptor is checked for.
            Assume(((self.next.device | self.next.pitch.as_unsigned()) & low) == 0),
            self.waits.eq(~has_job),
            self.begins.eq(~has_job & anything(m, 1, "may_begin")),
            self.start.eq(Mux(has_job, starts, self.begins & is_copy)),
            view.valid.eq(anything(m, 1, "has_view")),
        ]
        m.d.sync += [
            starts.eq(self.begins & ~is_copy),
            self.running.eq(self.start | (self.running & ~self.leaves)),
        ]
        with m.If(self.begins):
            m.d.sync += [has_job.eq(1), Value.cast(job).eq(Value.cast(self.next))]
        with m.Elif(self.running & self.leaves):
            m.d.sync += has_job.eq(0)
        return m


class GivesTurns(Elaboratable):
    """Each stripe goes to the channel of its address, as it is, and its turn to the gatherer in the
    same cycle; the end of a job behind all of its stripes, once. A job that is written ends before
    the next begins. All is finished when the host's writer, the errors and all channels are. The
    result of a job is what was written of it, and all stripes of a copy are raw as it wants them:
    none is counted. With an error that halts, the job's bytes end where its stripe begins. A row
    that is not taken waits for the link if its channel has the turn, else for its turn.

    Jobs, channels, writer and errors are any that do what their proofs say.
    """

    def __init__(self, config, design=OffloadUnit):
        self.config, self.design = config, design

    def elaborate(self, platform):
        m = Module()
        with mock.patch.object(unit, "OffloadChannel", AnyChannel):
            dut = self.design(self.config)
        instead = {
            "JobControl": AnyControl,
            "HostWriter": AnyHost,
            "ErrorCollector": AnyErrors,
            "JobEnds": AnyEnds,
        }
        m.submodules.dut, parts = with_parts(dut, platform, (unit,), (*PARTS, "JobEnds"), instead)
        control, sequencer, decision, host, errors, order = (parts[name] for name in PARTS)
        self._drive(m, dut)
        self._turns(m, dut, control, sequencer, decision, order)
        self._jobs(m, dut, control, host, errors)
        self._counts(m, dut, order)
        return m

    def _drive(self, m, dut):
        """Memories and link at any time."""
        for name in ("lost", "hold"):
            for k, port in enumerate(getattr(dut, name)):
                m.d.comb += port.eq(anything(m, 1, f"{name}{k}"))

    def _turns(self, m, dut, control, sequencer, decision, order):
        gives = decision.o.valid & decision.o.ready
        stripe, low = decision.o.payload, self.config.stripe_bytes.bit_length() - 1
        number = stripe.address[low : low + (len(dut.channels) - 1).bit_length()]
        takes = Cat(each.i.valid & each.i.ready for each in dut.channels)
        pushes, turn = order.i.valid & order.i.ready, order.i.payload
        leaves = control.running & control.leaves
        m.d.comb += [
            Assert(is_one_at_most(takes)),
            Assert(takes.any() == gives),
            Assert(~gives | (takes == 1 << number)),
            # With its turn.
            Assert(pushes == (gives | leaves)),
            Assert(~gives | ((turn.channel == number) & ~turn.end)),
            # The end, when no stripe is left.
            Assert(~leaves | (turn.end & ~sequencer.busy & ~gives)),
            Assert(~gives | sequencer.busy),
            Cover(leaves & (control.job.rows == 2)),
            Cover(gives & (number == 1) & (stripe.number == 2)),
        ]
        for each in dut.channels:
            with m.If(each.i.valid):
                m.d.comb += Assert(Value.cast(each.i.payload) == Value.cast(stripe))

    def _counts(self, m, dut, order):
        """What is counted of a channel: all that the channel says, and why its rows wait."""
        for k, (channel, events) in enumerate(zip(dut.channels, dut.events, strict=True)):
            waits = channel.o.valid & ~channel.o.ready
            has_turn = order.o.valid & (order.o.payload.channel == k)
            reasons = {"turn": waits & ~has_turn, "link": waits & has_turn}
            m.d.comb += [
                Assert(events[name] == reasons.get(name, channel.events[name]))
                for name in events.shape().members
            ] + [
                Assert(dut.active[k] == ~channel.idle),
                Assert(dut.outstanding[k] == channel.outstanding),
                Assert(dut.issued[k] == channel.issued),
                Assert(dut.drained[k] == channel.drained),
                Cover(events.turn),
            ]

    def _jobs(self, m, dut, control, host, errors):
        is_open = Signal(name="is_open")  # a job is written
        view = control.views[0]
        m.d.sync += is_open.eq(host.start | (is_open & ~host.ends))
        idle = Cat(each.idle for each in dut.channels).all() & host.idle & ~errors.waits
        m.d.comb += [
            Assert(host.running == is_open),
            Assert(~host.start | (view.valid & ~is_open)),
            Assert(view.next == host.ends),
            Assert(control.result.valid == host.ends),
            Assert(control.finished == idle),
            Cover(host.ends),
        ]
        self._results(m, control, host, errors)

    def _results(self, m, control, host, errors):
        """What the control reports of a job."""
        result, is_copy = control.result.payload, control.views[0].job.op == Op.COPY_OUT
        is_last_halt = errors.halt.above & (errors.halt.job == control.oldest)
        written = control.oldest_result.stream_bytes
        m.d.comb += [
            Assert(result.stream_bytes == host.offset),
            Assert(result.stripes == host.stripes),
            Assert(result.raw_stripes == Mux(is_copy, 0, host.raw_stripes)),
            Assert(control.found == errors.found),
            Assert(Value.cast(control.error) == Value.cast(errors.error)),
            Assert(control.error_bytes == Mux(is_last_halt, errors.halt_offset, written)),
        ]


class _Crossed(OffloadUnit):
    """Gives stripes to the wrong channel."""

    def elaborate(self, platform):
        with mock.patch.object(self, "channels", self.channels[::-1]):
            return super().elaborate(platform)


class _CountsTurns(OffloadUnit):
    """A row that waits for the link is counted as one that waits for its turn."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        events = self.events[1]
        m.d.comb += events.turn.eq(self.channels[1].o.valid & ~self.channels[1].o.ready)
        return m


class _CountsCopies(OffloadUnit):
    """Counts the stripes of copies as raw ones."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        result = m.submodules.control.result.payload
        m.d.comb += result.raw_stripes.eq(m.submodules.host.raw_stripes)
        return m


CONFIG = small(channels=2)
PROOFS = (
    Proof(
        name="offload_unit",
        promise="Each stripe goes once to the channel of its address, with its turn, and the end "
        "of a job behind its last stripe",
        components=(OffloadUnit,),
        design=GivesTurns,
        sizes={"2 channels": CONFIG, "4 channels": small(channels=4)},
        mode=PDR,
        depth=3,
        broken=swapped(
            20,
            {
                "crossed channels": lambda: GivesTurns(CONFIG, _Crossed),
                "counts turns": lambda: GivesTurns(CONFIG, _CountsTurns),
                "counts copies": lambda: GivesTurns(CONFIG, _CountsCopies),
            },
        ),
    ),
)
