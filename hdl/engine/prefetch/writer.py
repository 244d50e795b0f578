"""Writing the words of stripes."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import Status
from cdma.engine_config import EngineConfig
from cdma.hdl.axi.full import Attributes
from cdma.hdl.codecs import config_of
from cdma.hdl.engine.common.errors import ErrorSlot, is_error, status_of
from cdma.hdl.engine.job import WriteClient
from cdma.hdl.engine.prefetch.records import StripeError, StripeHalt, StripeTag, is_stripe_halted
from cdma.hdl.lib.fifo import Fifo
from cdma.hdl.lib.parts import advance_in_parts
from cdma.hdl.lib.queue import Queue
from cdma.hdl.lib.signals import assert_ready
from cdma.hdl.zvc.beat import Beat

#: Parts of an address above the longest burst.
_PARTS = 5


class Place(data.StructLayout):
    """Where a stripe goes: the ``address`` of its first byte, whole beats; and its ``tag``."""

    def __init__(self, config: EngineConfig):
        super().__init__({"address": unsigned(config.address_bits), "tag": StripeTag(config)})


class _Burst(data.StructLayout):
    """A burst: its ``address`` and ``beats``, its stripe's ``tag``, whether it is the ``last``."""

    def __init__(self, config: EngineConfig):
        most = config.burst_bytes // config.beat_bytes
        super().__init__(
            {
                "address": unsigned(config.address_bits),
                "beats": unsigned(most.bit_length()),
                "last": unsigned(1),
                "tag": StripeTag(config),
            }
        )


class _Waiting(data.StructLayout):
    """A burst that is not answered."""

    def __init__(self, config: EngineConfig):
        burst = _Burst(config)
        super().__init__({name: burst[name].shape for name in ("address", "last", "tag")})


class StripeWriter(wiring.Component):
    """Collect the beats of stripes to bursts and write these.

    A burst ends at a multiple of its most bytes, and with its stripe. Its address is issued when
    all of its beats are in the buffer. Throughput one beat a cycle, and a burst in four cycles.
    With a single channel, whose stripes may begin anywhere, the first burst of one cannot end at
    such a multiple within six cycles after its stripe began.
    ``client.aw`` comes from registers, ``client.w`` from the buffer; ``client.b`` is always ready.

    In quarantine nothing more is written. TIMEOUT is reported of the oldest burst that is not
    answered, or else not issued, when it begins; and of each stripe whose place is taken meanwhile,
    when its first beat comes, before the quarantine ends or later: its beats are dropped.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    i_place : In stream of :class:`Place`, one for each stripe
    i : In stream of :class:`~cdma.hdl.zvc.beat.Beat`
    halt : In, :class:`~cdma.hdl.engine.prefetch.records.StripeHalt`: bursts that are dropped unless
        their address was issued already; it is decided a cycle ahead
    discard : In, drop all that comes
    lost : In, the channel is in quarantine
    hold : In, issue no address in this cycle
    attr : In, attributes of the addresses
    client : Out, :class:`~cdma.hdl.engine.job.WriteClient`
    o_error : Out stream of :class:`~cdma.hdl.engine.prefetch.records.StripeError`
    written : Out, one cycle: all of the next stripe was answered
    outstanding : Out, bursts that are issued and not answered
    issued : Out, beats of the burst whose address is issued in this cycle, or 0
    has_place : Out, a stripe's place was taken, and not all of its beats
    is_ready : Out, a burst waits to be issued
    drained : Out, nothing is in the buffer or outstanding
    idle : Out, the same, or the channel is lost; and no report waits
    """

    i_place: stream.Interface
    i: stream.Interface
    o_error: stream.Interface

    def __init__(self, config: EngineConfig):
        self.config = config
        burst, bits, size = _Burst(config), config.address_bits, config.beat_bytes
        super().__init__(
            {
                "i_place": In(stream.Signature(Place(config))),
                "i": In(stream.Signature(Beat(config_of(config.format, config.lanes)))),
                "halt": In(StripeHalt(config)),
                "discard": In(1),
                "lost": In(1),
                "hold": In(1),
                "attr": In(Attributes()),
                "client": Out(WriteClient(bits, size)),
                "o_error": Out(stream.Signature(StripeError(config))),
                "written": Out(1),
                "outstanding": Out(range(config.channel_writes + 1)),
                "issued": Out(burst["beats"].shape),
                "has_place": Out(1),
                "is_ready": Out(1),
                "drained": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        most = config.burst_bytes // config.beat_bytes
        stored = data.StructLayout({"data": 8 * config.beat_bytes, "strobe": config.beat_bytes})
        m.submodules.beats = beats = Fifo(stored, max(2 * most, 4))
        m.submodules.bursts = bursts = Queue(_Burst(config), 2)
        m.submodules.waiting = waiting = Fifo(_Waiting(config), config.channel_writes)
        issued = data.StructLayout({"beats": _Burst(config)["beats"].shape, "dropped": 1})
        m.submodules.sent = sent = Queue(issued, 2)
        is_open, is_dropped = self._collect(m, beats, bursts)
        self._issue(m, bursts, sent, waiting)
        self._send(m, beats, sent)
        error, was_lost = self._answer(m, platform, waiting, bursts.o, is_dropped)
        m.d.comb += [
            self.drained.eq(
                beats.empty & ~is_open & ~bursts.o.valid & ~sent.o.valid & (self.outstanding == 0)
            ),
            # Not in the cycle in which it is lost: the report of that comes a cycle later.
            self.idle.eq((self.drained | was_lost) & ~error.o.valid),
        ]
        return m

    def _collect(self, m, beats, bursts):
        """Put beats into the buffer, and note a burst when it ends.

        Gives whether one is open, and whether what comes of the stripe is dropped.
        """
        config, beat, burst = self.config, self.i.payload, bursts.i.payload
        low, high = config.beat_bytes.bit_length() - 1, config.burst_bytes.bit_length() - 1
        place, has_place, tag = self.i_place.payload, self.has_place, Signal(StripeTag(config))
        # Of the next beat: the multiple of the longest burst, and the place in that; then the place
        # of the first beat of the open burst, and its beats.
        upper, position = Signal(config.address_bits - high), Signal(high - low)
        first, count = Signal.like(position), Signal.like(burst.beats)
        is_edge, ends, crosses, drops, is_dropped = Signal(), Signal(), Signal(), Signal(), Signal()
        takes, flushes, loads, is_open = Signal(), Signal(), Signal(), Signal()
        is_known = self._cross(m, upper, crosses, loads)
        m.d.comb += [
            is_open.eq(count != 0),
            is_edge.eq(position.all()),
            ends.eq(beat.last | is_edge),
            # What is left of a stripe is dropped, too: nobody knows its place.
            drops.eq(self.discard | self.lost | is_dropped),
            takes.eq(self.i.valid & self.i.ready & ~drops),
            crosses.eq(takes & is_edge),
            flushes.eq(drops & is_open),
            loads.eq(~has_place | (self.i.valid & self.i.ready & beat.last)),
            self.i_place.ready.eq(loads),
            # Not of the beat that is offered: it comes late.
            self.i.ready.eq(
                has_place & (drops | (beats.i.ready & bursts.i.ready & (is_known | ~is_edge)))
            ),
            beats.i.valid.eq(takes),
            beats.i.payload.data.eq(beat.words.as_value()),
            beats.i.payload.strobe.eq(beat.keep),
            bursts.i.valid.eq((takes & ends) | flushes),
            burst.address.eq(Cat(Const(0, low), Mux(is_open, first, position), upper)),
            burst.beats.eq(count + takes),
            burst.last.eq(beat.last),
            burst.tag.eq(tag),
        ]
        m.d.sync += is_dropped.eq((is_dropped & ~loads) | drops)
        with m.If(takes):
            m.d.sync += [position.eq(position + 1), count.eq(Mux(ends, 0, count + 1))]
            with m.If(~is_open):
                m.d.sync += first.eq(position)
        with m.Elif(flushes & bursts.i.ready):
            m.d.sync += count.eq(0)
        with m.If(loads):
            m.d.sync += [
                has_place.eq(self.i_place.valid),
                tag.eq(place.tag),
                position.eq(place.address[low:]),
                upper.eq(place.address[high:]),
                is_dropped.eq(self.discard | self.lost),
            ]
        self._stripe = tag, Cat(Const(0, low), position, upper)
        return is_open, is_dropped

    def _cross(self, m, upper, crosses, loads):
        """Go on to the next multiple of the longest burst; gives whether that one is known.

        ``loads`` begins with the multiple of the next stripe's place.
        """
        config, start = self.config, self.i_place.payload.address[-len(upper) :]
        if config.alignment == config.stripe_bytes:
            # So the multiple behind is in the stripe.
            inner = upper[: (config.stripe_bytes // config.burst_bytes).bit_length() - 1]
            with m.If(crosses):
                m.d.sync += inner.eq(inner + 1)
            return Const(1, 1)
        # The multiple behind, which is known some cycles after ``adds``.
        following, adds = Signal.like(upper), Signal()
        carries = advance_in_parts(m, following, adds, "following", parts=_PARTS)
        m.d.sync += adds.eq(crosses)
        with m.If(crosses):
            m.d.sync += upper.eq(following)
        with m.If(loads):
            m.d.sync += [following.eq(start), carries.eq(0), adds.eq(1)]
        return ~adds & ~carries.any()

    def _issue(self, m, bursts, sent, waiting):
        """Issue or drop the oldest burst."""
        aw, head = self.client.aw, bursts.o.payload
        is_checked, is_halted, has_credit = Signal(), Signal(), Signal()
        can, drops, issues = Signal(), Signal(), Signal()
        m.d.comb += [
            can.eq(is_checked & ~aw.valid & sent.i.ready),
            drops.eq(is_halted | self.discard | self.lost),
            issues.eq(can & ~drops & has_credit & ~self.hold),
            bursts.o.ready.eq((can & drops) | (aw.valid & aw.ready)),
            sent.i.valid.eq(issues | (can & drops)),
            sent.i.payload.beats.eq(head.beats),
            sent.i.payload.dropped.eq(drops),
            waiting.i.valid.eq(issues),
            *(waiting.i.payload[name].eq(head[name]) for name in ("address", "last", "tag")),
            self.is_ready.eq(bursts.o.valid & ~aw.valid),
            self.issued.eq(Mux(issues, head.beats, 0)),
            aw.payload.address.eq(head.address),
            aw.payload.beats.eq(head.beats),
        ]
        m.d.sync += [
            is_halted.eq(is_stripe_halted(m, self.halt, head.tag, "head")),
            is_checked.eq(bursts.o.valid & ~bursts.o.ready),
            # Two bursts are never issued in consecutive cycles.
            has_credit.eq(self.outstanding < self.config.channel_writes),
            self.outstanding.eq(self.outstanding + issues - self.client.b.valid),
        ]
        with m.If(issues):
            # An address that waits in quarantine stays while later jobs have other attributes.
            m.d.sync += [aw.valid.eq(1), aw.payload.attr.eq(self.attr)]
        with m.Elif(aw.ready):
            m.d.sync += aw.valid.eq(0)

    def _send(self, m, beats, sent):
        """Send the beats of issued bursts, drop those of dropped ones."""
        w, head = self.client.w, sent.o.payload
        number, moves = Signal.like(head.beats, init=1), Signal()
        is_last = number == head.beats
        m.d.comb += [
            w.valid.eq(beats.o.valid & sent.o.valid & ~head.dropped),
            w.payload.data.eq(beats.o.payload.data),
            w.payload.strobe.eq(beats.o.payload.strobe),
            w.payload.last.eq(is_last),
            beats.o.ready.eq(sent.o.valid & (head.dropped | w.ready)),
            moves.eq(beats.o.valid & beats.o.ready),
            sent.o.ready.eq(moves & is_last),
        ]
        with m.If(moves):
            m.d.sync += number.eq(Mux(is_last, 1, number + 1))

    def _answer(self, m, platform, waiting, bursts, is_dropped):
        """Take the responses, report errors and the quarantine.

        Gives the slot of the reports, and whether the channel was lost a cycle ago.
        """
        b, oldest, following = self.client.b, waiting.o.payload, bursts.payload
        is_out = Signal()
        tag, address = self._stripe
        slot = ErrorSlot(StripeError(self.config))
        m.submodules.errors = slot
        report, was_lost, fails, is_stuck = slot.report, Signal(), Signal(), Signal()
        assert_ready(m, platform, waiting.i)  # `outstanding` counts its entries
        m.d.sync += was_lost.eq(self.lost)
        m.d.comb += [
            b.ready.eq(1),
            # A burst that is issued is the oldest of ``bursts`` until it is here.
            is_out.eq(waiting.o.valid),
            waiting.o.ready.eq(b.valid),
            self.written.eq(b.valid & oldest.last & ~self.lost),
            # In quarantine the job is over, and a late answer is of nothing any more.
            fails.eq(b.valid & is_error(b.payload) & ~was_lost),
            # The first report counts, and no later one is of an earlier stripe.
            is_stuck.eq(self.lost & ~was_lost & (is_out | bursts.valid)),
            slot.valid.eq(fails | is_stuck),
            report.tag.eq(Mux(is_out, oldest.tag.as_value(), following.tag.as_value())),
            report.where.eq(Mux(is_out, oldest.address, following.address)),
            report.status.eq(
                Mux(fails, status_of(b.payload, Status.DEVICE_SLVERR), Status.TIMEOUT)
            ),
        ]
        with m.If(~fails & ~is_stuck):
            # Not before a beat comes: then all of the stripes before has been read. A report ends
            # the reading of its job, and stripes that are not read get beats of any data.
            comes = self.has_place & self.i.valid
            m.d.comb += [
                slot.valid.eq((self.lost | is_dropped) & comes & ~self.halt.all & ~self.discard),
                report.tag.eq(tag),
                report.where.eq(address),
            ]
        wiring.connect(m, slot.o, wiring.flipped(self.o_error))
        return slot, was_lost
