"""Writing beats in bursts."""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import Status
from cdma.engine_config import BURST_BYTES
from cdma.hdl.axi.full import Attributes
from cdma.hdl.engine.common.bursts import beats_to_boundary
from cdma.hdl.engine.common.errors import ErrorSlot, is_error, status_of
from cdma.hdl.engine.common.records import ErrorReport, Halt, Tag, is_halted
from cdma.hdl.engine.job import WriteClient
from cdma.hdl.lib.fifo import Fifo
from cdma.hdl.lib.queue import Queue
from cdma.hdl.lib.signals import assert_ready


class PlacedBeat(data.StructLayout):
    """A beat on its way to memory.

    Members
    -------
    address : of its byte 0, whole beats
    data, strobe : the bytes, and those to be written
    tag : where in the job it belongs
    last : no burst continues after this beat
    """

    def __init__(self, address_bits: int, data_bytes: int):
        super().__init__(
            {
                "address": unsigned(address_bits),
                "data": unsigned(8 * data_bytes),
                "strobe": unsigned(data_bytes),
                "tag": Tag(),
                "last": unsigned(1),
            }
        )


class _Burst(data.StructLayout):
    def __init__(self, address_bits: int, most_beats: int):
        super().__init__(
            {
                "address": unsigned(address_bits),
                "beats": unsigned(most_beats.bit_length()),
                "last": unsigned(1),
                "tag": Tag(),
            }
        )


class _Waiting(data.StructLayout):
    def __init__(self, address_bits: int):
        super().__init__({"tag": Tag(), "address": unsigned(address_bits), "last": unsigned(1)})


class BurstWriter(wiring.Component):
    """Collect beats of rising addresses to bursts and write these.

    A burst ends at a multiple of its most bytes, with ``last``, or with ``flush``. Its address is
    issued when all of its beats are in the buffer. Throughput one beat a cycle, and a burst in two
    cycles; ``i.ready`` comes from registers and the beat's place, ``client.b`` is always ready.

    Parameters
    ----------
    address_bits, data_bytes : int
    depth : int
        Beats of the buffer, a power of two, at least two bursts.
    slverr : Status
        Status of an error response SLVERR; that of DECERR follows.
    outstanding : int
        Most bursts that are issued and not answered, a power of two. Full throughput needs as many
        as cover the latency of the memory.
    burst_bytes : int
        Most bytes of a burst, a power of two up to a page.

    Members
    -------
    i : In stream of :class:`PlacedBeat`
    flush : In, no beat will come: end the burst
    halt : In, bursts that are dropped unless their address was issued already, by their first beat
    discard : In, drop all that comes and all that was not issued
    hold : In, issue no address in this cycle
    attr, channel : In, attributes of the addresses, and channel for error reports
    client : Out, :class:`~cdma.hdl.engine.job.WriteClient`
    o_error : Out stream of :class:`~cdma.hdl.engine.common.records.ErrorReport`
    idle : Out, nothing is in the buffer or outstanding
    is_open : Out, a burst was begun and has not ended
    collects : Out, one cycle: a burst has ended and will be issued or dropped
    answers, ends : Out, one cycle: the oldest burst was answered; and it ended with ``last``
    outstanding : Out, bursts that are issued and not answered
    oldest : Out, ``tag`` and ``address`` of the oldest of them, and whether it ends with ``last``
    issued : Out, beats of the burst whose address is issued in this cycle, or 0
    is_ready : Out, a burst waits to be issued
    """

    def __init__(
        self,
        address_bits: int,
        data_bytes: int,
        depth: int,
        slverr: Status,
        outstanding: int = 16,
        burst_bytes: int = BURST_BYTES,
    ):
        self.address_bits = address_bits
        self.data_bytes = data_bytes
        self.depth = depth
        self.slverr = slverr
        self.most = outstanding
        self.burst_bytes = burst_bytes
        burst = _Burst(address_bits, burst_bytes // data_bytes)
        super().__init__(
            {
                "i": In(stream.Signature(PlacedBeat(address_bits, data_bytes))),
                "flush": In(1),
                "halt": In(Halt()),
                "discard": In(1),
                "hold": In(1),
                "attr": In(Attributes()),
                "channel": In(7),
                "client": Out(WriteClient(address_bits, data_bytes)),
                "o_error": Out(stream.Signature(ErrorReport())),
                "idle": Out(1),
                "is_open": Out(1),
                "collects": Out(1),
                "answers": Out(1),
                "ends": Out(1),
                "outstanding": Out(range(outstanding + 1)),
                "oldest": Out(_Waiting(address_bits)),
                "issued": Out(burst["beats"].shape),
                "is_ready": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        size = self.data_bytes
        burst = _Burst(self.address_bits, self.burst_bytes // size)
        stored = data.StructLayout({"data": unsigned(8 * size), "strobe": unsigned(size)})
        m.submodules.beats = beats = Fifo(stored, self.depth)
        m.submodules.bursts = bursts = Queue(burst, 1)
        m.submodules.addresses = issued = Queue(
            data.StructLayout({"beats": burst["beats"].shape, "dropped": unsigned(1)}), 4
        )
        self._collect(m, beats, bursts, burst)
        aw = self._issue(m, bursts, issued)
        self._send(m, beats, issued)
        errors = self._answer(m, platform, aw)
        m.d.comb += self.idle.eq(
            (beats.level == 0)
            & ~bursts.o.valid
            & ~issued.o.valid
            & (self.outstanding == 0)
            & ~errors.o.valid
        )
        return m

    def _collect(self, m, beats, bursts, burst):
        """Put beats into the buffer, and note a burst when it ends."""
        opened, is_open = Signal(burst), self.is_open
        current = Signal(burst)  # the open burst with the beat that is offered
        beat = self.i.payload
        with m.If(is_open):
            m.d.comb += [current.eq(opened), current.beats.eq(opened.beats + 1)]
        with m.Else():
            m.d.comb += [
                current.address.eq(beat.address),
                current.beats.eq(1),
                current.tag.eq(beat.tag),
            ]
        m.d.comb += current.last.eq(beat.last)
        takes, ends, flushes, has_room = Signal(), Signal(), Signal(), Signal()
        reach = beats_to_boundary(beat.address, self.data_bytes, self.burst_bytes)
        is_last = beat.last | (reach == 1)
        m.d.comb += [
            has_room.eq(beats.i.ready & (bursts.i.ready | ~is_last)),
            self.i.ready.eq(has_room | self.discard),
            takes.eq(self.i.valid & has_room & ~self.discard),
            ends.eq(takes & is_last),
            flushes.eq(is_open & (self.flush | self.discard) & ~takes),
            beats.i.valid.eq(takes),
            beats.i.payload.data.eq(beat.data),
            beats.i.payload.strobe.eq(beat.strobe),
            bursts.i.valid.eq(ends | flushes),
            bursts.i.payload.eq(Mux(takes, current, opened)),
            self.collects.eq(bursts.i.valid & bursts.i.ready),
        ]
        with m.If(takes):
            m.d.sync += [opened.eq(current), is_open.eq(~ends)]
        with m.Elif(flushes & bursts.i.ready):
            m.d.sync += is_open.eq(0)

    def _issue(self, m, bursts, issued):
        """Issue or drop the oldest burst; gives whether an address is issued."""
        aw, head = self.client.aw, bursts.o.payload
        drops, goes, issues = Signal(), Signal(), Signal()
        m.d.comb += [
            drops.eq(self.discard | is_halted(self.halt, head.tag.job, head.tag.number)),
            goes.eq((~aw.valid | aw.ready) & (self.outstanding != self.most) & ~self.hold | drops),
            bursts.o.ready.eq(goes & issued.i.ready),
            issued.i.valid.eq(goes & bursts.o.valid),
            issued.i.payload.beats.eq(head.beats),
            issued.i.payload.dropped.eq(drops),
            issues.eq(bursts.o.valid & bursts.o.ready & ~drops),
            self.is_ready.eq(bursts.o.valid),
            self.issued.eq(Mux(issues, head.beats, 0)),
        ]
        with m.If(aw.ready):
            m.d.sync += aw.valid.eq(0)
        with m.If(issues):
            m.d.sync += [
                aw.valid.eq(1),
                aw.payload.address.eq(head.address),
                aw.payload.beats.eq(head.beats),
                aw.payload.attr.eq(self.attr),
            ]
        # Its latency of two cycles is over before a response can come.
        m.submodules.waiting = waiting = Fifo(_Waiting(self.address_bits), self.most)
        m.d.comb += [
            waiting.i.valid.eq(issues),
            waiting.i.payload.tag.eq(head.tag),
            waiting.i.payload.address.eq(head.address),
            waiting.i.payload.last.eq(head.last),
        ]
        return issues, waiting

    def _send(self, m, beats, issued):
        """Send the beats of issued bursts, drop those of dropped ones."""
        w, head = self.client.w, issued.o.payload
        sent, moves = Signal.like(head.beats), Signal()
        is_last = sent + 1 == head.beats
        m.d.comb += [
            w.valid.eq(beats.o.valid & issued.o.valid & ~head.dropped),
            w.payload.data.eq(beats.o.payload.data),
            w.payload.strobe.eq(beats.o.payload.strobe),
            w.payload.last.eq(is_last),
            beats.o.ready.eq(issued.o.valid & (head.dropped | w.ready)),
            moves.eq(beats.o.valid & beats.o.ready),
            issued.o.ready.eq(moves & is_last),
        ]
        with m.If(moves):
            m.d.sync += sent.eq(Mux(is_last, 0, sent + 1))

    def _answer(self, m, platform, aw):
        """Take the responses, report errors."""
        issues, waiting = aw
        b = self.client.b
        m.submodules.errors = errors = ErrorSlot()
        assert_ready(m, platform, waiting.i)  # `outstanding` counts its entries
        m.d.comb += [
            b.ready.eq(1),
            waiting.o.ready.eq(b.valid),
            self.oldest.eq(waiting.o.payload),
            self.answers.eq(b.valid),
            self.ends.eq(b.valid & waiting.o.payload.last),
            errors.valid.eq(b.valid & is_error(b.payload)),
            errors.report.tag.eq(waiting.o.payload.tag),
            errors.report.status.eq(status_of(b.payload, self.slverr)),
            errors.report.where.eq(waiting.o.payload.address),
            errors.report.channel.eq(self.channel),
            errors.report.halts.eq(1),
        ]
        m.d.sync += self.outstanding.eq(self.outstanding + issues - b.valid)
        wiring.connect(m, errors.o, wiring.flipped(self.o_error))
        return errors
