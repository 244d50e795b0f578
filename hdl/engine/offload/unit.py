"""Offload: all channels, gathered and written to the host."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import Op, Raw
from cdma.engine_config import EngineConfig
from cdma.hdl.engine.common.control import JobControl
from cdma.hdl.engine.common.ends import JobEnds
from cdma.hdl.engine.common.errors import ErrorCollector
from cdma.hdl.engine.common.records import JOB_BITS, is_job_stopped
from cdma.hdl.engine.common.stripes import StripeSequencer
from cdma.hdl.engine.job import Events, JobPort, ReadClient, WriteClient
from cdma.hdl.engine.offload.channel import OffloadChannel
from cdma.hdl.engine.offload.host import HostWriter, Turn
from cdma.hdl.engine.offload.policy import RawDecision
from cdma.hdl.lib.fifo import Fifo


class OffloadUnit(wiring.Component):
    """Take tensors from device memory, compressed, to host memory.

    Stripes are given out to their channels in order. Each channel reads and compresses on its own;
    the gatherer restores the order. Jobs overlap: stripes of one are read while rows of an earlier
    one are written, and while the last writes of others are answered.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    port : In, :class:`~cdma.hdl.engine.job.JobPort`
    device : Out, a :class:`~cdma.hdl.engine.job.ReadClient` for each channel
    data, index : Out, :class:`~cdma.hdl.engine.job.WriteClient` of the link
    lost, hold : In, arrays: a channel is in quarantine; it issues no address in this cycle
    outstanding, issued : Out, arrays: bursts that are not complete; beats issued in this cycle
    drained : Out, array: all beats of the channel's bursts were given
    active : Out, array: the channel has something to do
    events : Out, array of :class:`~cdma.hdl.engine.job.Events`
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        self.channels = [OffloadChannel(config) for _ in range(config.channels)]
        channel, count = self.channels[0], config.channels
        bits, link = config.address_bits, config.link_bytes
        super().__init__(
            {
                "port": In(JobPort(bits)),
                "device": Out(ReadClient(bits, config.beat_bytes)).array(count),
                "data": Out(WriteClient(bits, link)),
                "index": Out(WriteClient(bits, link)),
                "lost": In(1).array(count),
                "hold": In(1).array(count),
                "outstanding": Out(channel.outstanding.shape()).array(count),
                "issued": Out(channel.issued.shape()).array(count),
                "drained": Out(1).array(count),
                "active": Out(1).array(count),
                "events": Out(Events()).array(count),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.control = control = JobControl(config)
        wiring.connect(m, wiring.flipped(self.port.job), control.i)
        wiring.connect(m, control.o, wiring.flipped(self.port.done))
        m.d.comb += [
            control.abort.eq(self.port.abort),
            self.port.busy.eq(control.busy),
            self.port.failing.eq(control.failing),
        ]

        order, decision = self._dispatch(m, control)
        host, accounted = self._write(m, control, order, decision)
        m.submodules.errors = errors = ErrorCollector(len(host.o_error))
        for source, sink in zip(host.o_error, errors.i, strict=True):
            wiring.connect(m, source, sink)
        result, offset = control.result, control.oldest_result.stream_bytes
        is_last_halt = errors.halt.above & (errors.halt.job == control.oldest)
        m.d.comb += [
            errors.clear.eq(control.clear),
            errors.oldest.eq(control.oldest),
            control.halt_errors.eq(errors.halt),
            control.found.eq(errors.found),
            control.error.eq(errors.error),
            control.error_bytes.eq(Mux(is_last_halt, errors.halt_offset, offset)),
            result.valid.eq(host.ends),
            result.payload.stream_bytes.eq(host.offset),
            result.payload.stripes.eq(host.stripes),
            result.payload.raw_stripes.eq(Mux(accounted.op == Op.COPY_OUT, 0, host.raw_stripes)),
        ]
        m.submodules.job_ends = ends = JobEnds(writer.depth for writer in host.writers)
        m.d.comb += [
            ends.clear.eq(control.clear),
            ends.begins.eq(host.collects),
            ends.done.eq(host.answers),
            ends.mark.eq(host.ends),
            ends.waits.eq(control.drains | errors.waits),
            control.ended.eq(ends.ended),
        ]
        is_idle = host.idle & ~errors.waits
        for channel in self.channels:
            is_idle = is_idle & channel.idle
        m.d.comb += control.finished.eq(is_idle)
        return m

    def _write(self, m, control, order, decision):
        """Write what the channels give, job after job; gives the writer, and the job in work."""
        m.submodules.host = host = HostWriter(self.config)
        view = control.views[0]
        running, age = Signal(), Signal(JOB_BITS)
        wiring.connect(m, order.o, host.order)
        wiring.connect(m, host.data, wiring.flipped(self.data))
        wiring.connect(m, host.index, wiring.flipped(self.index))
        for k, channel in enumerate(self.channels):
            wiring.connect(m, channel.o, host.i[k])
            wiring.connect(m, channel.o_status, host.i_status[k])
            m.d.comb += host.where[k].eq(channel.where)
        m.d.comb += [
            host.start.eq(view.valid & ~running),
            host.running.eq(running),
            host.job.eq(view.job),
            host.number.eq(view.number),
            host.clear.eq(control.clear),
            host.discard.eq(control.halt.all),
            host.attr.eq(control.attr),
            view.next.eq(host.ends),
            decision.known.eq(host.known),
            decision.exceeds.eq(host.exceeds),
        ]
        m.d.sync += running.eq(host.start | (running & ~host.ends))
        # Stripes are gathered in order, so no error is of a stripe behind the one that is gathered:
        # one that halts makes all that follows void.
        halt = control.halt
        m.d.comb += age.eq(view.number - halt.oldest)
        m.d.sync += host.drops.eq(halt.all | halt.above | (halt.younger & (age > halt.age)))
        return host, view.job

    def _dispatch(self, m, control):
        """Give each stripe to its channel, and its channel to the gatherer; then the job's end."""
        config = self.config
        m.submodules.sequencer = sequencer = StripeSequencer(config)
        slots = sum(channel.slots for channel in self.channels)
        depth = 1 << (slots - 1).bit_length()
        m.submodules.decision = decision = RawDecision(config, 2 * depth)
        m.submodules.order = order = Fifo(Turn(), depth)
        wiring.connect(m, sequencer.o, decision.i)
        is_copy = control.job.op == Op.COPY_OUT
        low = config.stripe_bytes.bit_length() - 1
        number = Signal(3)
        stripe = decision.o
        is_turn = [order.o.valid & (order.o.payload.channel == k) for k in range(config.channels)]
        m.d.comb += [
            # A job that is not a copy gives its first stripe in the cycle of `control.start`.
            sequencer.load.eq(control.waits),
            sequencer.first.eq(control.next),
            sequencer.start.eq(control.begins),
            sequencer.job.eq(control.job),
            sequencer.number.eq(control.number),
            sequencer.stop.eq(is_job_stopped(control.halt, control.number)),
            decision.clear.eq(control.begins),
            decision.policy.eq(Mux(is_copy, Raw.ALWAYS, control.job.raw)),
            number.eq(stripe.payload.address[low:] & (config.channels - 1)),
            order.i.payload.channel.eq(number),
            order.i.payload.end.eq(~sequencer.busy),
            control.leaves.eq(~sequencer.busy & order.i.ready),
        ]
        place, bits = (size.bit_length() - 1 for size in (config.alignment, config.channels))
        for k, channel in enumerate(self.channels):
            m.submodules[f"channel{k}"] = channel
            address = Cat(Const(0, place), Const(k, bits), stripe.payload.address[place + bits :])
            m.d.comb += [
                channel.i.payload.eq(stripe.payload),
                channel.i.payload.address.eq(address),  # without what each of its stripes has
                channel.clear.eq(control.clear),
                channel.halt.eq(control.halt),
                channel.lost.eq(self.lost[k]),
                channel.hold.eq(self.hold[k]),
                channel.attr.eq(control.attr),
                self.outstanding[k].eq(channel.outstanding),
                self.issued[k].eq(channel.issued),
                self.drained[k].eq(channel.drained),
                self.active[k].eq(~channel.idle),
                self.events[k].eq(channel.events),
                # Rows wait for those of other channels, or for the link.
                self.events[k].turn.eq(channel.o.valid & ~channel.o.ready & ~is_turn[k]),
                self.events[k].link.eq(channel.o.valid & ~channel.o.ready & is_turn[k]),
            ]
            wiring.connect(m, channel.client, wiring.flipped(self.device[k]))
            with m.If(number == k):
                m.d.comb += [
                    channel.i.valid.eq(stripe.valid & order.i.ready),
                    order.i.valid.eq(stripe.valid & channel.i.ready),
                    stripe.ready.eq(order.i.ready & channel.i.ready),
                ]
        with m.If(control.running & ~sequencer.busy):
            m.d.comb += order.i.valid.eq(1)
        return order, decision
