"""Reading the stripes of one channel."""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_config import EngineConfig
from cdma.hdl.axi.full import Attributes, Response
from cdma.hdl.engine.common.bursts import beats_to_boundary
from cdma.hdl.engine.common.errors import ReadError, is_error
from cdma.hdl.engine.common.records import Halt, Stripe, is_halted
from cdma.hdl.engine.job import ReadClient
from cdma.hdl.lib.fifo import Fifo
from cdma.hdl.lib.lookahead import incremented
from cdma.hdl.zvc.beat import thermometer


class DeviceBeat(data.StructLayout):
    """A beat of a stripe, as read.

    Members
    -------
    words : array of ``lanes`` words; those from ``count`` on are zero
    count : words that count
    last : the stripe ends with this beat
    raw : the stripe is not to be compressed
    error : with ``last``: the stripe's first error, a
        :class:`~cdma.hdl.engine.common.errors.ReadError`
    """

    def __init__(self, config: EngineConfig):
        super().__init__(
            {
                "words": data.ArrayLayout(config.word_bits, config.lanes),
                "count": unsigned(config.lanes.bit_length()),
                "last": unsigned(1),
                "raw": unsigned(1),
                "error": ReadError,
            }
        )


class _Burst(data.StructLayout):
    """A burst that was asked for, ``single`` of one beat; a ``phantom`` was not, it gives zeros."""

    def __init__(self, config: EngineConfig):
        super().__init__(
            {
                "address": unsigned(config.address_bits),
                "beats": unsigned((config.burst_bytes // config.beat_bytes).bit_length()),
                "single": unsigned(1),
                "count": unsigned(config.lanes.bit_length()),
                "last": unsigned(1),
                "raw": unsigned(1),
                "phantom": unsigned(1),
                "lost": unsigned(1),
            }
        )


class StripeReader(wiring.Component):
    """Read stripes in bursts, as far as credits go.

    A burst is charged before it is asked for: its beats and the masks of the blocks that begin in
    it, and with a stripe's first burst a row more, for the last row that may be partial. Raw
    stripes are not charged for masks. With a codec that counts late, bursts are charged for their
    beats, and a stripe's first burst for the rows by which a stripe can grow. Every stripe gives
    all of its beats: those of bursts that are halted or whose channel is lost are zeros.

    Throughput one beat a cycle, and one burst in two cycles, in three when credits are short; the
    first address is valid 2 cycles after its stripe was offered.
    ``client.r.ready`` follows ``o.ready`` through a gate.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    i : In stream of :class:`~cdma.hdl.engine.common.records.Stripe`
    clear : In, forget ``where``
    halt : In, stripes that get no new address from the next cycle on
    lost : In, the channel is in quarantine: what is owed is given as zeros, with status TIMEOUT
    hold : In, issue no address in this cycle
    has_slot : In, room for one more stripe's status
    free : In, credits in words
    charges, charge : Out, in this cycle a burst takes so many credits; ``charge`` is a register
    opens : Out, a stripe's first burst is issued in this cycle
    attr : In, attributes of the addresses
    client : Out, :class:`~cdma.hdl.engine.job.ReadClient`
    o : Out stream of :class:`DeviceBeat`
    where : Out, address of the first error since ``clear``; any address before that
    outstanding : Out, bursts that are asked for and not complete
    issued : Out, beats of the burst whose address is issued in this cycle, or 0
    waits_credit : Out, a burst waits for credits or a slot
    is_ready : Out, a burst waits for neither
    drained : Out, all beats of bursts that were asked for, or that were not, have been given: a
        quarantine does not end before
    idle : Out, no stripe is read
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        self.most = config.channel_reads
        burst_beats = config.burst_bytes // config.beat_bytes
        if config.counts_early:
            self.most_charge = (burst_beats + 1) * config.lanes + (
                max(1, config.burst_bytes // config.block_bytes) * config.format.mask_words
            )
        else:
            self.most_charge = (burst_beats + config.growth_beats) * config.lanes
        super().__init__(
            {
                "i": In(stream.Signature(Stripe(config))),
                "clear": In(1),
                "halt": In(Halt()),
                "lost": In(1),
                "hold": In(1),
                "has_slot": In(1),
                "free": In(range(config.stage_bytes // config.word_bytes + 1)),
                "charges": Out(1),
                "charge": Out(range(self.most_charge + 1)),
                "opens": Out(1),
                "attr": In(Attributes()),
                "client": Out(ReadClient(config.address_bits, config.beat_bytes)),
                "o": Out(stream.Signature(DeviceBeat(config))),
                "where": Out(config.address_bits),
                "outstanding": Out(range(self.most + 2)),
                "issued": Out(range(burst_beats + 1)),
                "waits_credit": Out(1),
                "is_ready": Out(1),
                "drained": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.bursts = bursts = Fifo(_Burst(self.config), self.most)
        active = self._issue(m, bursts)
        self._receive(m, bursts)
        m.d.comb += [
            self.drained.eq(bursts.empty),
            self.idle.eq(~active & self.drained & ((self.outstanding == 0) | self.lost)),
        ]
        return m

    def _issue(self, m, bursts):
        """Cut stripes into bursts and ask for them; gives whether a stripe is at hand."""
        config, ar = self.config, self.client.ar
        low = config.beat_bytes.bit_length() - 1
        active, stripe = Signal(), Signal(Stripe(config))
        done = Signal(range(config.stripe_beats + 1))  # beats of the stripe that are asked for
        left = Signal.like(done)
        beats, charge, is_planned = Signal.like(self.issued), self.charge, Signal()
        loads = self.i.ready
        # Where stripes are aligned, the next burst's address has the upper bits of the stripe's.
        is_aligned = config.alignment == config.stripe_bytes
        high = config.stripe_bytes.bit_length() - 1 if is_aligned else config.address_bits
        border = config.burst_bytes.bit_length() - 1  # the next burst begins at one
        upper = stripe.address[border:high]
        offered, offered_left = self.i.payload, Signal.like(done)
        m.d.comb += offered_left.eq((offered.bytes + (config.beat_bytes - 1)) >> low)
        # A stripe's first burst is planned as the stripe is taken, each further one in a cycle. The
        # stripe is late, so the first burst has sums of its own.
        replans = active & ~is_planned
        first = self._plan(m, offered, offered_left, None)
        further = self._plan(m, stripe, left, done)
        phantom, can, goes, asks = Signal(), Signal(), Signal(), Signal()
        # Halts are compared a cycle ahead, for the stripe that is taken and for the one at hand.
        halted = Signal()
        halts = [is_halted(self.halt, each.job, each.number) for each in (offered, stripe)]
        m.d.sync += halted.eq(Mux(loads, *halts))
        # Whether credits are enough is known from registers: there are more than any burst costs,
        # after a burst in this cycle too, or the burst that waits was compared a cycle before.
        plenty = self.free >> (self.most_charge - 1).bit_length()
        has_plenty, is_covered = Signal(), Signal()
        m.d.sync += [
            has_plenty.eq(Mux(goes, plenty[1:].any(), plenty.any())),
            is_covered.eq(active & is_planned & ~goes & (self.free >= charge)),
        ]
        m.d.comb += [
            phantom.eq(halted | self.lost),
            can.eq((has_plenty | is_covered) & ((done != 0) | self.has_slot)),
            self.waits_credit.eq(active & is_planned & ~can),
            self.is_ready.eq(active & is_planned & can),
            goes.eq(
                self.is_ready & bursts.i.ready & (phantom | ((~ar.valid | ar.ready) & ~self.hold))
            ),
            asks.eq(goes & ~phantom),
            self.charges.eq(goes),
            self.opens.eq(goes & (done == 0)),
            self.issued.eq(Mux(asks, beats, 0)),
            bursts.i.valid.eq(goes),
            bursts.i.payload.address.eq(stripe.address),
            bursts.i.payload.beats.eq(beats),
            bursts.i.payload.single.eq(beats == 1),
            bursts.i.payload.last.eq(beats == left),
            bursts.i.payload.count.eq(_last_count(config, stripe.bytes)),
            bursts.i.payload.raw.eq(stripe.raw),
            bursts.i.payload.phantom.eq(phantom),
            bursts.i.payload.lost.eq(self.lost & ~halted),
            self.i.ready.eq(~active | (goes & (beats == left))),
        ]
        with m.If(ar.ready):
            m.d.sync += ar.valid.eq(0)
        with m.If(asks):
            m.d.sync += [
                ar.valid.eq(1),
                ar.payload.address.eq(stripe.address),
                ar.payload.beats.eq(beats),
                ar.payload.attr.eq(self.attr),
            ]
        with m.If(loads | replans):
            m.d.sync += [
                beats.eq(Mux(replans, further[0], first[0])),
                charge.eq(Mux(replans, further[1], first[1])),
            ]
        m.d.sync += is_planned.eq(loads | ~goes)
        with m.If(loads):
            m.d.sync += [
                active.eq(self.i.valid),
                stripe.eq(offered),
                done.eq(0),
                left.eq(offered_left),
            ]
        with m.Elif(goes):
            m.d.sync += [
                stripe.address[low:border].eq(0),
                upper.eq(incremented(upper, 1)),
                done.eq(done + beats),
                left.eq(left - beats),
            ]
        answered = self.client.r.valid & self.client.r.ready & self.client.r.payload.last
        # Whether a burst is issued is known late.
        unanswered = self.outstanding - answered
        m.d.sync += self.outstanding.eq(Mux(asks, unanswered + 1, unanswered))
        return active

    def _plan(self, m, stripe, left, done):
        """Beats of the next burst, and the words that it is charged.

        ``done`` is ``None`` for a stripe's first burst, and not 0 for the others.
        """
        config, lanes = self.config, self.config.lanes
        block_beats = config.block_words // lanes
        is_first = done is None
        name = "first" if is_first else "next"
        reach, beats = (Signal.like(self.issued, name=f"{name}_{k}") for k in ("reach", "beats"))
        after = Signal(range(config.stripe_beats + 1), name=f"{name}_after")
        m.d.comb += [
            # Each burst but a stripe's last one ends at a border.
            reach.eq(
                beats_to_boundary(stripe.address, config.beat_bytes, config.burst_bytes)
                if is_first
                else config.burst_bytes // config.beat_bytes
            ),
            beats.eq(Mux(left < reach, left, reach)),
            after.eq(beats if is_first else done + beats),
        ]
        if not config.counts_early:
            return beats, (beats + (config.growth_beats if is_first else 0)) * lanes
        blocks = -(-config.stripe_beats // block_beats)
        begun, begun_after = (
            Signal(range(blocks + 1), name=f"{name}_{k}") for k in ("begun", "begun_after")
        )
        words, masks, charge = (
            Signal.like(self.charge, name=f"{name}_{k}") for k in ("words", "masks", "cost")
        )
        m.d.comb += [
            begun.eq(0 if is_first else (done + (block_beats - 1)) // block_beats),
            begun_after.eq((after + (block_beats - 1)) // block_beats),
            words.eq((beats + is_first) * lanes),
            masks.eq(Mux(stripe.raw, 0, (begun_after - begun) * config.format.mask_words)),
            charge.eq(words + masks),
        ]
        return beats, charge

    def _receive(self, m, bursts):
        """Give the beats of the oldest burst."""
        config, r, o = self.config, self.client.r, self.o
        burst, lanes = bursts.o.payload, config.lanes
        given = Signal.like(burst.beats)  # beats of the burst
        has_begun, next_is_last = Signal(), Signal()  # of the beats that are given
        is_zero, is_last, moves = Signal(), Signal(), Signal()
        m.d.comb += [
            is_zero.eq(burst.phantom | self.lost),
            is_last.eq(Mux(has_begun, next_is_last, burst.single)),
            o.valid.eq(bursts.o.valid & (is_zero | r.valid)),
            r.ready.eq(Mux(self.lost, 1, bursts.o.valid & ~burst.phantom & o.ready)),
            moves.eq(o.valid & o.ready),
            bursts.o.ready.eq(moves & is_last),
            o.payload.last.eq(burst.last & is_last),
            o.payload.count.eq(Mux(o.payload.last, burst.count, lanes)),
            o.payload.raw.eq(burst.raw),
        ]
        # All words count but for those of a stripe's last beat: which that is, is known late.
        kept = thermometer(burst.count, lanes) | (~o.payload.last).replicate(lanes)
        for k, word in enumerate(_split(r.payload.data, lanes)):
            m.d.comb += o.payload.words[k].eq(Mux(kept[k] & ~is_zero, word, 0))
        with m.If(moves):
            m.d.sync += [
                given.eq(Mux(is_last, 0, given + 1)),
                has_begun.eq(~is_last),
                next_is_last.eq(given + 2 == burst.beats),
            ]
        self._note_error(m, burst, given, moves)

    def _note_error(self, m, burst, given, moves):
        """The first error of the stripe, and where the first of all was."""
        config, r = self.config, self.client.r
        low, high = (size.bit_length() - 1 for size in (config.beat_bytes, config.burst_bytes))
        where = Signal.like(self.where)
        earlier, error, has_where = Signal(ReadError), Signal(ReadError), Signal()
        with m.If(earlier != ReadError.NONE):
            m.d.comb += error.eq(earlier)
        with m.Elif(burst.lost | (self.lost & ~burst.phantom)):
            m.d.comb += error.eq(ReadError.TIMEOUT)
        with m.Elif(~burst.phantom & is_error(r.payload.resp)):
            is_decerr = r.payload.resp == Response.DECERR
            m.d.comb += error.eq(Mux(is_decerr, ReadError.DECERR, ReadError.SLVERR))
        # A burst does not go past a multiple of its most bytes.
        place = burst.address[low:high] + given
        m.d.comb += [
            self.o.payload.error.eq(error),
            where.eq(Cat(burst.address[:low], place[: high - low], burst.address[high:])),
        ]
        with m.If(moves):
            m.d.sync += earlier.eq(Mux(self.o.payload.last, ReadError.NONE, error))
        with m.If(self.clear):
            m.d.sync += has_where.eq(0)
        with m.Elif(moves & (error != ReadError.NONE)):
            m.d.sync += has_where.eq(1)
        # Errors are known late: until the first one, the place of each beat is kept.
        with m.If(~has_where):
            m.d.sync += self.where.eq(where)


def _last_count(config, nbytes):
    """Words of the last beat of ``nbytes`` bytes."""
    low = (nbytes >> (config.word_bytes.bit_length() - 1))[: config.lanes.bit_length() - 1]
    return Mux(low == 0, config.lanes, low)


def _split(value, parts):
    bits = len(value) // parts
    return [Cat(value[k * bits : (k + 1) * bits]) for k in range(parts)]
