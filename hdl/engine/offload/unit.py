"""Offload: all channels, gathered and written to the host."""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import LINK, Op, Raw, Status
from cdma.engine_config import BURST_BYTES, EngineConfig
from cdma.hdl.engine.common.control import JobControl
from cdma.hdl.engine.common.crc import StripeCrc
from cdma.hdl.engine.common.ends import JobEnds
from cdma.hdl.engine.common.errors import ErrorCollector
from cdma.hdl.engine.common.records import is_job_stopped
from cdma.hdl.engine.common.stripes import StripeSequencer
from cdma.hdl.engine.common.writer import BurstWriter
from cdma.hdl.engine.job import Events, JobPort, ReadClient, WriteClient
from cdma.hdl.engine.offload.channel import OffloadChannel
from cdma.hdl.engine.offload.gather import Gather
from cdma.hdl.engine.offload.index import IndexPacker
from cdma.hdl.engine.offload.ledger import IndexEntry, Ledger
from cdma.hdl.engine.offload.pack import Packer
from cdma.hdl.engine.offload.policy import RawDecision
from cdma.hdl.lib.fifo import Fifo
from cdma.hdl.lib.queue import Queue


class _Turn(data.StructLayout):
    """Whose rows are gathered next: a ``channel``, or the job's ``end``."""

    def __init__(self):
        super().__init__({"channel": unsigned(3), "end": unsigned(1)})


class _Accounts:
    """The job whose rows are gathered and written.

    Attributes
    ----------
    view, job
        Its :class:`~cdma.hdl.engine.common.control.JobView` and its job.
    start, running, ends : Signal
        It begins, it has begun, all of its bursts have been collected.
    is_gathered : Signal
        No row of it will come.
    """

    def __init__(self, view):
        self.view, self.job = view, view.job
        self.start, self.running, self.ends, self.is_gathered = (
            Signal(name=f"accounts_{name}") for name in ("start", "running", "ends", "is_gathered")
        )


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
        accounts = _Accounts(control.views[0])
        gather, ledger = self._gather(m, control, order, decision, accounts)
        m.d.comb += accounts.is_gathered.eq(
            accounts.running & order.o.valid & order.o.payload.end & ~gather.o.valid
        )
        data_writer, data_idle = self._write_data(m, control, ledger, accounts)
        index_writer, index_idle = self._write_index(m, control, ledger, accounts)
        writers = (data_writer, index_writer)
        self._follow(m, accounts, data_idle & index_idle, writers)

        # Errors: of the device and OVERFLOW from the ledger, of the host from the writers.
        m.submodules.errors = errors = ErrorCollector(3)
        wiring.connect(m, ledger.o_error, errors.i[0])
        wiring.connect(m, data_writer.o_error, errors.i[1])
        wiring.connect(m, index_writer.o_error, errors.i[2])
        result, offset = control.result, control.oldest_result.stream_bytes
        is_last_halt = errors.halt.above & (errors.halt.job == control.oldest)
        m.d.comb += [
            errors.clear.eq(control.clear),
            errors.oldest.eq(control.oldest),
            control.halt_errors.eq(errors.halt),
            control.found.eq(errors.found),
            control.error.eq(errors.error),
            control.error_bytes.eq(Mux(is_last_halt, errors.halt_offset, offset)),
            result.valid.eq(accounts.ends),
            result.payload.stream_bytes.eq(ledger.offset),
            result.payload.stripes.eq(ledger.stripes),
            result.payload.raw_stripes.eq(
                Mux(accounts.job.op == Op.COPY_OUT, 0, ledger.raw_stripes)
            ),
        ]
        m.submodules.ends = ends = JobEnds(2 * (writer.most + 4) for writer in writers)
        m.d.comb += [
            ends.clear.eq(control.clear),
            ends.begins.eq(Cat(writer.collects for writer in writers)),
            ends.done.eq(Cat(writer.answers for writer in writers)),
            ends.mark.eq(accounts.ends),
            ends.waits.eq(control.drains | errors.waits),
            control.ended.eq(ends.ended),
        ]
        is_idle = data_writer.idle & index_writer.idle & ~errors.waits
        for channel in self.channels:
            is_idle = is_idle & channel.idle
        m.d.comb += control.finished.eq(is_idle)
        return m

    def _follow(self, m, accounts, is_idle, writers):
        """The job whose rows are gathered: begin, write all, end."""
        view = accounts.view
        is_closed = ~writers[0].is_open & ~writers[1].is_open
        m.d.comb += [
            accounts.start.eq(view.valid & ~accounts.running),
            accounts.ends.eq(accounts.is_gathered & is_idle & is_closed),
            view.next.eq(accounts.ends),
        ]
        with m.If(accounts.start):
            m.d.sync += accounts.running.eq(1)
        with m.Elif(accounts.ends):
            m.d.sync += accounts.running.eq(0)

    def _dispatch(self, m, control):
        """Give each stripe to its channel, and its channel to the gatherer; then the job's end."""
        config = self.config
        m.submodules.sequencer = sequencer = StripeSequencer(config)
        slots = sum(channel.slots for channel in self.channels)
        depth = 1 << (slots - 1).bit_length()
        m.submodules.decision = decision = RawDecision(config, 2 * depth)
        m.submodules.order = order = Fifo(_Turn(), depth)
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
        for k, channel in enumerate(self.channels):
            m.submodules[f"channel{k}"] = channel
            m.d.comb += [
                channel.i.payload.eq(stripe.payload),
                channel.clear.eq(control.clear),
                channel.halt.eq(control.halt),
                channel.lost.eq(self.lost[k]),
                channel.hold.eq(self.hold[k]),
                channel.attr.eq(control.attr),
                self.outstanding[k].eq(channel.outstanding),
                self.issued[k].eq(channel.issued),
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

    def _gather(self, m, control, order, decision, accounts):
        """Take the rows in order, and keep the accounts."""
        config = self.config
        m.submodules.gather = gather = Gather(config)
        m.submodules.ledger = ledger = Ledger(config)
        is_stripe = accounts.running & ~order.o.payload.end
        m.d.comb += [
            gather.order.payload.eq(order.o.payload.channel),
            gather.order.valid.eq(order.o.valid & is_stripe),
            order.o.ready.eq((gather.order.ready & is_stripe) | accounts.ends),
        ]
        for k, channel in enumerate(self.channels):
            wiring.connect(m, channel.o, gather.i[k])
            wiring.connect(m, channel.o_status, gather.i_status[k])
            m.d.comb += ledger.where[k].eq(channel.where)
        wiring.connect(m, gather.o, ledger.i)
        m.d.comb += [
            ledger.start.eq(accounts.start),
            ledger.job.eq(accounts.job),
            ledger.number.eq(accounts.view.number),
            decision.known.eq(ledger.known),
            decision.exceeds.eq(ledger.exceeds),
        ]
        return gather, ledger

    def _writer(self, m, name, control, client, outstanding):
        config = self.config
        depth = 2 * BURST_BYTES // config.link_bytes
        writer = BurstWriter(
            config.address_bits, config.link_bytes, depth, Status.HOST_SLVERR, outstanding
        )
        m.submodules[name] = writer
        wiring.connect(m, writer.client, wiring.flipped(client))
        m.d.comb += [
            writer.halt.eq(control.halt),
            writer.attr.eq(control.attr),
            writer.channel.eq(LINK),
        ]
        return writer

    def _write_data(self, m, control, ledger, accounts):
        """Pack the stream and write it; gives the writer, and whether all is packed."""
        config = self.config
        m.submodules.packer = packer = Packer(config)
        writer = self._writer(m, "data_writer", control, self.data, config.link_writes)
        wiring.connect(m, ledger.o, packer.i)
        wiring.connect(m, ledger.o_start, packer.i_start)
        wiring.connect(m, packer.o, writer.i)
        m.d.comb += [
            packer.start.eq(accounts.start),
            packer.address.eq(accounts.job.host),
            packer.flush.eq(accounts.is_gathered),
            writer.flush.eq(accounts.is_gathered & packer.idle),
        ]
        return writer, packer.idle

    def _write_index(self, m, control, ledger, accounts):
        """Write an entry for each stripe; gives as ``_write_data`` does."""
        config, job = self.config, accounts.job
        m.submodules.entries = entries = Queue(IndexEntry(), 1)
        m.submodules.crc = crc = StripeCrc(config)
        m.submodules.index_packer = packer = IndexPacker(config)
        writer = self._writer(m, "index_writer", control, self.index, 16)
        wiring.connect(m, ledger.o_crc, crc.i)
        wiring.connect(m, ledger.o_entry, entries.i)
        wiring.connect(m, entries.o, packer.i)
        wiring.connect(m, packer.o, writer.i)
        is_done = accounts.is_gathered & ~entries.o.valid & crc.idle
        m.d.comb += [
            packer.start.eq(accounts.start),
            packer.address.eq(job.index_address),
            packer.has_crc.eq(job.crc),
            packer.flush.eq(is_done),
            packer.i_crc.valid.eq(crc.o.valid & job.index),
            packer.i_crc.payload.eq(crc.o.payload),
            crc.o.ready.eq(packer.i_crc.ready | ~job.index),
            writer.flush.eq(is_done & packer.idle),
        ]
        return writer, is_done & packer.idle
