"""Prefetch: a stream of the host, split and written to all channels."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import Op
from cdma.engine_config import EngineConfig
from cdma.hdl.engine.common.bursts import RangeReader
from cdma.hdl.engine.common.control import JobControl
from cdma.hdl.engine.common.records import is_job_stopped
from cdma.hdl.engine.common.stripes import StripeSequencer
from cdma.hdl.engine.job import Events, JobPort, ReadClient, WriteClient
from cdma.hdl.engine.prefetch.channel import PrefetchChannel
from cdma.hdl.engine.prefetch.check import CrcCheck
from cdma.hdl.engine.prefetch.entries import EntryReader
from cdma.hdl.engine.prefetch.errors import Source, StripeErrors
from cdma.hdl.engine.prefetch.records import StripeHalt
from cdma.hdl.engine.prefetch.rows import size_bits
from cdma.hdl.engine.prefetch.split import Split
from cdma.hdl.engine.prefetch.table import StripeTable
from cdma.hdl.engine.prefetch.tasks import TaskMaker
from cdma.hdl.lib.signals import registered

_STAGES = ("made", "read", "parted")


class _Stage:
    """A stage that works on one job after the other.

    Attributes
    ----------
    view, job
        Its :class:`~cdma.hdl.engine.common.control.JobView` and its job.
    start, running, ends : Signal
        The job begins, was begun, and is left in this cycle.
    stopped : Signal
        The job gives no further stripe; known two cycles after the job is.
    """

    def __init__(self, m, view, halt, name: str):
        self.view, self.job = view, view.job
        self.start, self.running, self.ends = (
            Signal(name=f"{name}_{part}") for part in ("start", "running", "ends")
        )
        self.stopped = registered(m, is_job_stopped(halt, view.number), f"{name}_stopped")

    def follow(self, m, starts, ends):
        """Begin the next job when ``starts``, leave it when ``ends``, from the next cycle on."""
        m.d.comb += [
            self.start.eq(self.view.valid & ~self.running & starts),
            self.ends.eq(self.running & ends),
            self.view.next.eq(self.ends),
        ]
        m.d.sync += self.running.eq(self.start | (self.running & ~self.ends))


class PrefetchUnit(wiring.Component):
    """Take tensors from compressed streams in host memory to device memory.

    The index is read ahead and joined with the stripes of the job. The stream is read once, in
    order, split at the borders of stripes, and each channel decompresses and writes its own. Jobs
    overlap: index, tasks, stream and split have a job each, and more jobs are in the channels.

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
        m.submodules.control = control = JobControl(config, 3, halt=StripeHalt(config))
        m.submodules.table = table = StripeTable(config)
        wiring.connect(m, wiring.flipped(self.port.job), control.i)
        wiring.connect(m, control.o, wiring.flipped(self.port.done))
        m.d.comb += [
            control.abort.eq(self.port.abort),
            self.port.busy.eq(control.busy),
            self.port.failing.eq(control.failing),
        ]
        made, read, parted = (
            _Stage(m, view, control.halt, name)
            for view, name in zip(control.views, _STAGES, strict=True)
        )
        for k, channel in enumerate(self.channels):
            m.submodules[f"channel{k}"] = channel
        # Reports of tasks, splitter and check, then those of the channels.
        sources = [Source(), Source(halts=True), Source(at_offset=True)]
        for k in range(config.channels):
            sources += [Source(k, at_offset=True), Source(k, halts=True)]
        m.submodules.errors = errors = StripeErrors(config, sources)

        entries, tasks = self._make_tasks(m, control, table, made, errors)
        reader = self._read(m, table, made, read, tasks)
        split, check = self._split(m, reader, table, parted)
        self._connect_channels(m, control)
        self._report(m, control, table, made, tasks, errors, (split, check))
        channels = self.channels
        m.d.comb += [
            table.clear.eq(control.clear),
            table.decoded.eq(Cat(channel.decoded for channel in channels)),
            table.written.eq(Cat(channel.written for channel in channels)),
            table.checked.eq(check.done),
            table.discards.eq(control.alone),
            table.waits.eq(control.drains | errors.waits | tasks.failing),
            control.ended.eq(table.ended),
            # What was halted is never done.
            control.finished.eq(
                tasks.idle
                & ~errors.waits
                & entries.idle
                & reader.idle
                & table.idle
                & (table.empty | control.drains)
                & split.idle
                & check.idle
                & Cat(channel.idle for channel in channels).all()
            ),
        ]
        return m

    def _report(self, m, control, table, made, tasks, errors, parts):
        """Collect the errors of all parts; give results to the control."""
        failure, slot = errors.i[0], Signal.like(table.slot)
        with m.If(table.push):
            m.d.sync += slot.eq(table.slot)  # of the job's end, when a failure comes
        m.d.comb += [
            failure.valid.eq(tasks.o_failure.valid),
            failure.payload.tag.job.eq(made.view.number),
            failure.payload.tag.slot.eq(slot),
            failure.payload.status.eq(tasks.o_failure.payload.status),
            failure.payload.where.eq(tasks.o_failure.payload.where),
            tasks.o_failure.ready.eq(failure.ready),
        ]
        ports = [part.o_error for part in parts]
        ports += [port for channel in self.channels for port in channel.o_error]
        for port, sink in zip(ports, list(errors.i)[1:], strict=True):
            wiring.connect(m, port, sink)
        result = control.result
        m.d.comb += [
            errors.clear.eq(control.clear),
            errors.oldest.eq(control.oldest),
            errors.slot.eq(table.slot),
            errors.place.eq(table.place),
            table.look.eq(errors.look),
            control.halt_errors.eq(errors.halt),
            control.found.eq(errors.found),
            control.error.eq(errors.error),
            control.error_bytes.eq(errors.error.tag.offset),
            result.valid.eq(table.push & tasks.o.payload.end),
            result.payload.stripes.eq(tasks.count),
            result.payload.raw_stripes.eq(tasks.raw_stripes),
            result.payload.stream_bytes.eq(tasks.end),
        ]

    def _make_tasks(self, m, control, table, made, errors):
        """Read the index ahead; join the stripes of a job with their entries, and give them out.

        Gives the reader of entries and the joiner.
        """
        config, job = self.config, made.job
        m.submodules.sequencer = sequencer = StripeSequencer(config)
        m.submodules.entries = entries = EntryReader(config)
        m.submodules.tasks = tasks = TaskMaker(config)
        wiring.connect(m, sequencer.o, tasks.i)
        wiring.connect(m, entries.o, tasks.i_entry)
        wiring.connect(m, entries.client, wiring.flipped(self.index))
        is_copy = job.op == Op.COPY_IN
        # Behind a failure of a job the next one is halted: it does not begin before that is known.
        made.follow(
            m,
            starts=(is_copy | entries.begun) & ~errors.waits,
            ends=~sequencer.busy & tasks.idle,
        )
        m.d.comb += [
            # A copy, which has no index, begins when the first stage does not wait.
            entries.start.eq(control.begins & control.waits),
            entries.job.eq(control.next),
            entries.attr.eq(control.attr),
            control.leaves.eq(entries.asked),
            entries.next.eq(made.start & ~is_copy),
            entries.address.eq(job.index_address),
            entries.last.eq(sequencer.last),
            # What is left then belongs to jobs that are halted.
            entries.stop.eq(
                registered(m, control.drains & tasks.ended, "entries_stop", is_reset=True)
            ),
            entries.clear.eq(control.clear),
            sequencer.load.eq(made.start),
            sequencer.first.eq(job),
            sequencer.start.eq(made.start),
            sequencer.job.eq(job),
            sequencer.number.eq(made.view.number),
            sequencer.stop.eq(tasks.ended),
            tasks.start.eq(made.start),
            tasks.job.eq(job),
            tasks.stop.eq(made.stopped),
            tasks.i_last.eq(sequencer.last),
        ]
        self._dispatch(m, table, tasks, made)
        return entries, tasks

    def _dispatch(self, m, table, tasks, made):
        """Give each task to the table and to its channel, and ends of jobs to the table."""
        config = self.config
        task, number, has_room, drops = tasks.o.payload, Signal(3), Signal(), Signal()
        low, word = (size.bit_length() - 1 for size in (config.stripe_bytes, config.word_bytes))
        entry = table.entry
        m.d.comb += [
            number.eq(task.address[low:] & (config.channels - 1)),
            # A task of a stopped job must not wait: the table gets no room before all has ended.
            drops.eq(made.stopped & ~task.end),
            tasks.o.ready.eq(task.end | drops | (has_room & table.has_room)),
            table.push.eq(tasks.o.valid & tasks.o.ready & ~drops),
            *(entry[name].eq(task[name]) for name in ("end", "size", "has_crc")),
            entry.job.eq(made.view.number),
            entry.channel.eq(number),
            entry.crc.eq(made.job.crc),
            entry.value.eq(task.crc),
            entry.place.number.eq(task.number),
            entry.place.offset.eq(task.offset),
        ]
        for k, channel in enumerate(self.channels):
            with m.If(number == k):
                m.d.comb += [
                    has_room.eq(channel.has_room),
                    channel.push.eq(table.push & ~task.end),
                ]
            m.d.comb += [
                channel.task.address.eq(task.address),
                channel.task.words.eq(task.bytes >> word),
                channel.task.number.eq(task.number),
                channel.task.raw.eq(task.raw),
                channel.task.tag.job.eq(made.view.number),
                channel.task.tag.slot.eq(table.slot),
            ]

    def _read(self, m, table, made, read, tasks):
        """Read the streams as far as tasks cover them; gives the reader."""
        config = self.config
        bits, link = config.address_bits, config.link_bytes
        depth = config.link_fifo_bytes // link
        m.submodules.reader = reader = RangeReader(bits, link, depth, size_bits(config))
        wiring.connect(m, reader.client, wiring.flipped(self.data))
        wiring.connect(m, table.o_size, reader.i)
        started = registered(m, read.start, "read_started", is_reset=True)
        read.follow(m, starts=made.running | table.o_size.valid, ends=reader.asked & ~started)
        m.d.comb += [
            reader.start.eq(read.start),
            reader.address.eq(read.job.host),
            # A task that waits for room does not come before data has.
            reader.final.eq(registered(m, tasks.o.valid & ~tasks.o.ready, "is_blocked")),
            reader.stop.eq(read.stopped),
            reader.attr.eq(read.job.attr),
        ]
        return reader

    def _split(self, m, reader, table, parted):
        """Split the streams, and compute CRCs beside; gives the splitter and the check."""
        config, job = self.config, parted.job
        m.submodules.split = split = Split(config)
        m.submodules.check = check = CrcCheck(config)
        wiring.connect(m, table.o_crc, check.i_expected)
        wiring.connect(m, reader.o, split.i)
        cut, row = table.o_cut, split.o.payload
        is_end = cut.valid & cut.payload.end
        parted.follow(m, starts=cut.valid, ends=is_end & split.idle)
        m.d.comb += [
            split.start.eq(parted.start),
            split.address.eq(job.host),
            split.i_cut.payload.eq(cut.payload),
            split.i_cut.valid.eq(cut.valid & ~cut.payload.end & parted.running),
            cut.ready.eq(parted.ends | (split.i_cut.valid & split.i_cut.ready)),
            check.i.payload.eq(row.row),
        ]
        # The check takes some cycles for a row, also before the row's channel is ready.
        is_checked, has_check, moves = Signal(), Signal(), Signal()
        m.d.comb += [
            has_check.eq(~job.crc | is_checked | check.i.ready),
            check.i.valid.eq(split.o.valid & job.crc & ~is_checked),
            moves.eq(split.o.valid & split.o.ready),
        ]
        m.d.sync += is_checked.eq(~moves & (is_checked | (check.i.valid & check.i.ready)))
        for k, channel in enumerate(self.channels):
            m.d.comb += channel.i.payload.eq(row.row)
            with m.If(row.channel == k):
                m.d.comb += [
                    channel.i.valid.eq(split.o.valid & has_check),
                    split.o.ready.eq(channel.i.ready & has_check),
                ]
        return split, check

    def _connect_channels(self, m, control):
        """Control of the channels, and their ports."""
        for k, channel in enumerate(self.channels):
            wiring.connect(m, channel.client, wiring.flipped(self.device[k]))
            m.d.comb += [
                channel.halt.eq(control.halt),
                channel.discard.eq(control.alone),
                channel.lost.eq(self.lost[k]),
                channel.hold.eq(self.hold[k]),
                channel.attr.eq(control.attr),
                self.outstanding[k].eq(channel.outstanding),
                self.issued[k].eq(channel.issued),
                self.drained[k].eq(channel.drained),
                self.active[k].eq(~channel.idle),
                self.events[k].eq(channel.events),
            ]
