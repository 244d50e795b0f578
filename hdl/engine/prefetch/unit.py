"""Prefetch: a stream of the host, split and written to all channels."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import Op
from cdma.engine_config import EngineConfig
from cdma.hdl.engine.common.bursts import RangeReader
from cdma.hdl.engine.common.control import JobControl
from cdma.hdl.engine.common.errors import ErrorCollector
from cdma.hdl.engine.common.records import Stripe
from cdma.hdl.engine.common.stripes import StripeSequencer
from cdma.hdl.engine.job import Events, JobPort, ReadClient, WriteClient
from cdma.hdl.engine.prefetch.channel import TASKS, PrefetchChannel
from cdma.hdl.engine.prefetch.check import CrcCheck, Expected
from cdma.hdl.engine.prefetch.entries import EntryReader
from cdma.hdl.engine.prefetch.split import Cut, Split
from cdma.hdl.engine.prefetch.tasks import TaskMaker
from cdma.hdl.lib.buffer import RowBuffer
from cdma.hdl.lib.queue import Queue


class PrefetchUnit(wiring.Component):
    """Take tensors from compressed streams in host memory to device memory.

    The index is read ahead and joined with the stripes of the job. The stream is read once, in
    order, split at the borders of stripes, and each channel decompresses and writes its own. One
    job at a time.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    port : In, :class:`~cdma.hdl.engine.job.JobPort`
    device : Out, a :class:`~cdma.hdl.engine.job.WriteClient` for each channel
    data, index : Out, :class:`~cdma.hdl.engine.job.ReadClient` of the link
    lost, hold : In, arrays: a channel is in quarantine; it issues no address in this cycle
    outstanding, issued : Out, arrays: bursts that are not complete; beats issued in this cycle
    drained : Out, array: nothing waits to be written
    active : Out, array: the channel has something to do
    events : Out, array of :class:`~cdma.hdl.engine.job.Events`
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        self.channels = [PrefetchChannel(config) for _ in range(config.channels)]
        channel, count = self.channels[0], config.channels
        bits, link = config.address_bits, config.link_bytes
        super().__init__(
            {
                "port": In(JobPort(bits)),
                "device": Out(WriteClient(bits, config.beat_bytes)).array(count),
                "data": Out(ReadClient(bits, link)),
                "index": Out(ReadClient(bits, link)),
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

        entries, tasks, is_walked = self._make_tasks(m, control)
        cuts, expected = self._dispatch(m, control, tasks)
        reader, split, check = self._read(m, control, tasks, cuts, expected)

        sources = [tasks.o_error, split.o_error, check.o_error]
        sources += [port for channel in self.channels for port in channel.o_error]
        m.submodules.errors = errors = ErrorCollector(len(sources))
        for source, sink in zip(sources, errors.i, strict=True):
            wiring.connect(m, source, sink)
        m.d.comb += [
            errors.clear.eq(control.start),
            control.halt_errors.eq(errors.halt),
            control.found.eq(errors.found),
            control.error.eq(errors.error),
            control.error_bytes.eq(errors.error.tag.offset),
            control.stripes.eq(tasks.count),
            control.raw_stripes.eq(tasks.raw_stripes),
            control.stream_bytes.eq(tasks.end),
        ]
        is_idle = (
            is_walked
            & tasks.idle
            & ~tasks.o_error.valid
            & entries.idle
            & reader.idle
            & ~cuts.o.valid
            & ~expected.o.valid
            & split.idle
            & ~split.o_error.valid
            & check.idle
        )
        for channel in self.channels:
            is_idle = is_idle & channel.idle
        m.d.comb += control.finished.eq(is_idle & ~control.start)
        return m

    def _make_tasks(self, m, control):
        """Join the stripes with the entries of the index.

        Gives the reader of entries, the joiner, and whether no stripe waits.
        """
        config = self.config
        m.submodules.sequencer = sequencer = StripeSequencer(config)
        walked = data.StructLayout({"stripe": Stripe(config), "last": 1})
        m.submodules.walk = walk = Queue(walked, 1)
        m.submodules.entries = entries = EntryReader(config)
        m.submodules.tasks = tasks = TaskMaker(config)
        wiring.connect(m, entries.o, tasks.i_entry)
        wiring.connect(m, entries.client, wiring.flipped(self.index))
        m.d.comb += [
            sequencer.load.eq(control.start),
            sequencer.first.eq(control.job),
            sequencer.start.eq(control.start),
            sequencer.job.eq(control.job),
            sequencer.stop.eq(tasks.ended),
            entries.start.eq(control.start & (control.job.op != Op.COPY_IN)),
            entries.job.eq(control.job),
            entries.stop.eq(tasks.ended),
            tasks.start.eq(control.start),
            tasks.job.eq(control.job),
            tasks.stop.eq(control.halt.all | control.halt.above),
            walk.i.valid.eq(sequencer.o.valid),
            walk.i.payload.stripe.eq(sequencer.o.payload),
            walk.i.payload.last.eq(sequencer.last),
            sequencer.o.ready.eq(walk.i.ready),
            tasks.i.valid.eq(walk.o.valid),
            tasks.i.payload.eq(walk.o.payload.stripe),
            tasks.i_last.eq(walk.o.payload.last),
            walk.o.ready.eq(tasks.i.ready),
        ]
        return entries, tasks, ~sequencer.busy & ~walk.o.valid

    def _dispatch(self, m, control, tasks):
        """Give each task to its channel, its cut to the splitter, its CRC to the check."""
        config = self.config
        depth = TASKS * config.channels
        m.submodules.cuts = cuts = RowBuffer(Cut(), depth, pipe=False)
        m.submodules.expected = expected = RowBuffer(Expected(), depth, pipe=False)
        task, number = tasks.o.payload, Signal(3)
        low = config.stripe_bytes.bit_length() - 1
        room = cuts.i.ready & expected.i.ready
        moves = tasks.o.valid & tasks.o.ready
        m.d.comb += [
            number.eq(task.address[low:] & (config.channels - 1)),
            cuts.i.valid.eq(moves),
            cuts.i.payload.channel.eq(number),
            cuts.i.payload.tag.eq(task.tag),
            cuts.i.payload.size.eq(task.size),
            expected.i.valid.eq(moves & control.job.crc),
            expected.i.payload.tag.eq(task.tag),
            expected.i.payload.has_crc.eq(task.has_crc),
            expected.i.payload.crc.eq(task.crc),
        ]
        for k, channel in enumerate(self.channels):
            m.submodules[f"channel{k}"] = channel
            m.d.comb += [
                channel.i_task.payload.eq(task),
                channel.halt.eq(control.halt),
                channel.discard.eq(control.job.op == Op.VERIFY),
                channel.lost.eq(self.lost[k]),
                channel.hold.eq(self.hold[k]),
                channel.attr.eq(control.job.attr),
                channel.channel.eq(k),
                self.outstanding[k].eq(channel.outstanding),
                self.issued[k].eq(channel.issued),
                self.drained[k].eq(channel.drained),
                self.active[k].eq(~channel.idle),
                self.events[k].eq(channel.events),
            ]
            wiring.connect(m, channel.client, wiring.flipped(self.device[k]))
            with m.If(number == k):
                m.d.comb += [
                    channel.i_task.valid.eq(tasks.o.valid & room),
                    tasks.o.ready.eq(channel.i_task.ready & room),
                ]
        return cuts, expected

    def _read(self, m, control, tasks, cuts, expected):
        """Read the stream, split it, and compute CRCs beside."""
        config, job = self.config, control.job
        bits, link = config.address_bits, config.link_bytes
        m.submodules.reader = reader = RangeReader(bits, link, config.link_fifo_bytes // link)
        m.submodules.split = split = Split(config)
        m.submodules.check = check = CrcCheck(config)
        wiring.connect(m, reader.client, wiring.flipped(self.data))
        wiring.connect(m, reader.o, split.i)
        wiring.connect(m, cuts.o, split.i_cut)
        wiring.connect(m, expected.o, check.i_expected)
        row = split.o.payload
        m.d.comb += [
            reader.enable.eq(control.running),
            reader.start.eq(control.start),
            reader.address.eq(job.host),
            reader.end.eq(job.host + tasks.end),
            # Tasks that wait for room do not let the end move up until data has come.
            reader.final.eq(tasks.ended | (tasks.o.valid & ~tasks.o.ready)),
            reader.stop.eq(control.halt.all | control.halt.above),
            reader.attr.eq(job.attr),
            split.start.eq(control.start),
            split.address.eq(job.host),
            check.i.payload.eq(row.row),
        ]
        wants_check = Mux(job.crc, check.i.ready, 1)
        for k, channel in enumerate(self.channels):
            m.d.comb += channel.i.payload.eq(row.row)
            with m.If(row.channel == k):
                m.d.comb += [
                    channel.i.valid.eq(split.o.valid & wants_check),
                    split.o.ready.eq(channel.i.ready & wants_check),
                ]
        m.d.comb += check.i.valid.eq(split.o.valid & split.o.ready & job.crc)
        return reader, split, check
