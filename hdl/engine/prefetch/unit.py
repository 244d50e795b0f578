"""Prefetch: a stream of the host, split and written to all channels."""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import Op
from cdma.engine_config import EngineConfig
from cdma.hdl.engine.common.bursts import RangeReader
from cdma.hdl.engine.common.control import JOBS, JobControl
from cdma.hdl.engine.common.ends import JobEnds
from cdma.hdl.engine.common.errors import ErrorCollector
from cdma.hdl.engine.common.records import OFFSET_BITS, is_job_halted, is_job_stopped
from cdma.hdl.engine.common.stripes import StripeSequencer
from cdma.hdl.engine.job import Events, JobPort, ReadClient, WriteClient
from cdma.hdl.engine.prefetch.channel import TASKS, PrefetchChannel
from cdma.hdl.engine.prefetch.check import CrcCheck, Expected
from cdma.hdl.engine.prefetch.entries import EntryReader
from cdma.hdl.engine.prefetch.rows import Cut
from cdma.hdl.engine.prefetch.split import Split
from cdma.hdl.engine.prefetch.tasks import TaskMaker
from cdma.hdl.lib.adder import sum_later
from cdma.hdl.lib.buffer import RowBuffer

#: Jobs whose tasks are made and whose stream is not all asked for.
MADE = 4
_STAGES = ("made", "read", "parted")


class _Stage:
    """A stage that works on one job after the other.

    Attributes
    ----------
    view, job
        Its :class:`~cdma.hdl.engine.common.control.JobView` and its job.
    start, running, ends : Signal
        The job begins, was begun, and is left in this cycle.
    has_room : Signal
        What is left behind with the job has room.
    """

    def __init__(self, view, name: str):
        self.view, self.job = view, view.job
        self.start, self.running, self.ends = (
            Signal(name=f"{name}_{part}") for part in ("start", "running", "ends")
        )
        self.has_room = Signal(name=f"{name}_has_room")

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
        m.submodules.control = control = JobControl(config, 3)
        wiring.connect(m, wiring.flipped(self.port.job), control.i)
        wiring.connect(m, control.o, wiring.flipped(self.port.done))
        m.d.comb += [
            control.abort.eq(self.port.abort),
            self.port.busy.eq(control.busy),
            self.port.failing.eq(control.failing),
        ]

        made, read, parted = (
            _Stage(view, name) for view, name in zip(control.views, _STAGES, strict=True)
        )
        entries, tasks = self._make_tasks(m, control, made)
        cuts, expected = self._dispatch(m, control, tasks, made)
        reader = self._read(m, control, tasks, made, read)
        split, check = self._split(m, reader, cuts, expected, read, parted)

        sources = [tasks.o_error, split.o_error, check.o_error]
        sources += [port for channel in self.channels for port in channel.o_error]
        m.submodules.errors = errors = ErrorCollector(len(sources))
        for source, sink in zip(sources, errors.i, strict=True):
            wiring.connect(m, source, sink)
        result = control.result
        m.d.comb += [
            errors.clear.eq(control.clear),
            errors.oldest.eq(control.oldest),
            control.halt_errors.eq(errors.halt),
            control.found.eq(errors.found),
            control.error.eq(errors.error),
            control.error_bytes.eq(errors.error.tag.offset),
            result.valid.eq(made.ends),
            result.payload.stripes.eq(tasks.count),
            result.payload.raw_stripes.eq(tasks.raw_stripes),
            result.payload.stream_bytes.eq(tasks.end),
        ]
        self._count_ends(m, control, made, expected, check, errors)
        is_idle = (
            tasks.idle
            & ~errors.waits
            & entries.idle
            & reader.idle
            & ~cuts.o.valid
            & ~expected.o.valid
            & split.idle
            & check.idle
        )
        for channel in self.channels:
            is_idle = is_idle & channel.idle
        m.d.comb += control.finished.eq(is_idle)
        return m

    def _count_ends(self, m, control, made, expected, check, errors):
        """A job has ended when each of its stripes is decoded, written, and its CRC compared."""
        config = self.config
        beats = 2 * config.burst_bytes // config.beat_bytes
        stripes = 3 * TASKS + beats + config.channel_writes  # in a channel, at most
        kinds = [2 * TASKS * config.channels] + 2 * config.channels * [stripes]
        begins, done = [expected.i.valid & expected.i.ready], [check.done]
        for channel in self.channels:
            begins += [channel.takes, channel.takes]
            done += [channel.decoded, channel.written]
        m.submodules.ends = ends = JobEnds(kinds)
        # What VERIFY decodes is not written: such a job ends when all has ended.
        is_counted = ~control.alone
        m.d.comb += [
            ends.clear.eq(control.clear),
            ends.begins.eq(Mux(is_counted, Cat(begins), 0)),
            ends.done.eq(Mux(is_counted, Cat(done), 0)),
            ends.mark.eq(made.ends & is_counted),
            ends.waits.eq(control.drains | errors.waits),
            control.ended.eq(ends.ended),
        ]

    def _make_tasks(self, m, control, made):
        """Read the index ahead; join the stripes of a job with their entries.

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
        made.follow(
            m,
            starts=is_copy | entries.begun,
            ends=~sequencer.busy & tasks.idle & ~tasks.o_error.valid & made.has_room,
        )
        halt, number = control.halt, made.view.number
        m.d.comb += [
            entries.start.eq(control.start & (control.job.op != Op.COPY_IN)),
            entries.job.eq(control.job),
            control.leaves.eq(entries.asked),
            entries.next.eq(made.start & ~is_copy),
            entries.address.eq(job.index_address),
            entries.last.eq(sequencer.last),
            # What is left then belongs to jobs that are halted.
            entries.stop.eq((control.drains & tasks.ended) | is_job_halted(halt, number)),
            sequencer.load.eq(made.start),
            sequencer.first.eq(job),
            sequencer.start.eq(made.start),
            sequencer.job.eq(job),
            sequencer.number.eq(number),
            sequencer.stop.eq(tasks.ended),
            tasks.start.eq(made.start),
            tasks.job.eq(job),
            tasks.stop.eq(is_job_stopped(halt, number)),
            tasks.i_last.eq(sequencer.last),
        ]
        return entries, tasks

    def _dispatch(self, m, control, tasks, made):
        """Give each task to its channel, its cut to the splitter, its CRC to the check."""
        config = self.config
        depth = TASKS * config.channels
        m.submodules.cuts = cuts = RowBuffer(Cut(config), depth, pipe=False)
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
            expected.i.valid.eq(moves & made.job.crc),
            expected.i.payload.tag.eq(task.tag),
            expected.i.payload.has_crc.eq(task.has_crc),
            expected.i.payload.crc.eq(task.crc),
        ]
        for k, channel in enumerate(self.channels):
            m.submodules[f"channel{k}"] = channel
            m.d.comb += [
                channel.i_task.payload.eq(task),
                channel.halt.eq(control.halt),
                channel.discard.eq(control.alone),
                channel.lost.eq(self.lost[k]),
                channel.hold.eq(self.hold[k]),
                channel.attr.eq(control.attr),
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

    def _read(self, m, control, tasks, made, read):
        """Read the streams as far as tasks cover them; gives the reader."""
        config = self.config
        bits, link = config.address_bits, config.link_bytes
        m.submodules.reader = reader = RangeReader(bits, link, config.link_fifo_bytes // link)
        m.submodules.sizes = sizes = RowBuffer(unsigned(OFFSET_BITS), MADE, pipe=False)
        wiring.connect(m, reader.client, wiring.flipped(self.data))
        is_made = sizes.o.valid  # all tasks of the job are made
        covered = Signal(OFFSET_BITS)
        read.follow(m, starts=made.running | is_made, ends=reader.asked)
        m.d.comb += [
            made.has_room.eq(sizes.i.ready),
            sizes.i.valid.eq(made.ends),
            sizes.i.payload.eq(tasks.end),
            sizes.o.ready.eq(read.ends),
            reader.enable.eq(read.running),
            reader.start.eq(read.start),
            reader.address.eq(read.job.host),
            reader.end.eq(sum_later(m, read.job.host, covered, bits + 1, "covered_end")),
            reader.stop.eq(is_job_stopped(control.halt, read.view.number)),
            reader.attr.eq(read.job.attr),
        ]
        # Tasks that wait for room do not let the end move up until data has come.
        is_final = is_made | tasks.ended | (tasks.o.valid & ~tasks.o.ready)
        with m.If(is_made | ~tasks.settles):
            m.d.sync += covered.eq(Mux(is_made, sizes.o.payload, tasks.end))
        # Not before the sum that they belong to.
        for value, port in ((is_made, reader.last), (is_final, reader.final)):
            first, second = Signal(), Signal()
            m.d.sync += [first.eq(value), second.eq(first), port.eq(second)]
        return reader

    def _split(self, m, reader, cuts, expected, read, parted):
        """Split the streams, and compute CRCs beside; gives the splitter and the check."""
        config, job = self.config, parted.job
        m.submodules.split = split = Split(config)
        m.submodules.check = check = CrcCheck(config)
        wiring.connect(m, expected.o, check.i_expected)
        waiting = Signal(range(JOBS + 1))  # jobs that are asked for and not split
        m.d.sync += waiting.eq(waiting + read.ends - parted.ends)
        cut, has_cut = cuts.o.payload, Signal()
        parted.follow(m, starts=reader.begun, ends=(waiting != 0) & ~has_cut & split.idle)
        row = split.o.payload
        m.d.comb += [
            has_cut.eq(cuts.o.valid & (cut.tag.job == parted.view.number)),
            reader.next.eq(parted.start),
            split.start.eq(parted.start),
            split.address.eq(job.host),
            split.i_cut.payload.eq(cut),
            split.i_cut.valid.eq(has_cut & parted.running),
            cuts.o.ready.eq(split.i_cut.ready & has_cut & parted.running),
            split.i.payload.eq(reader.o.payload),
            split.i.valid.eq(reader.o.valid & ~reader.is_next),
            reader.o.ready.eq(split.i.ready & ~reader.is_next),
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
