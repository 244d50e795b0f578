"""The stripes of a job, in order."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_config import EngineConfig
from cdma.hdl.engine.common.records import JOB_BITS, Stripe
from cdma.hdl.engine.job import Job
from cdma.hdl.lib.adder import advance_in_two, sum_in_halves


class StripeSequencer(wiring.Component):
    """Walk over the rows of a job and give its stripes in order.

    Throughput one stripe in two cycles, of a new row in four; the first stripe is offered in the
    cycle after ``start``. All outputs come from registers, ``bytes`` through a multiplexer.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    load : In, take the first row's place and size from ``first``
    first : In, :class:`~cdma.hdl.engine.job.Job`, whose pitch is not looked at
    start : In, begin with what was loaded, in this cycle or before
    job, number : In, the same job, which must stay while ``busy``, and its number
    stop : In, give no further stripe, but for the one that is offered
    o : Out stream of :class:`~cdma.hdl.engine.common.records.Stripe`, ``raw`` is 0
    last : Out, the offered stripe is the job's last
    busy : Out, stripes are left
    """

    load: Signal
    first: data.View
    start: Signal
    job: data.View
    number: Signal
    stop: Signal
    o: stream.Interface
    last: Signal
    busy: Signal

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "load": In(1),
                "first": In(Job(config.address_bits)),
                "start": In(1),
                "job": In(Job(config.address_bits)),
                "number": In(JOB_BITS),
                "stop": In(1),
                "o": Out(stream.Signature(Stripe(config))),
                "last": Out(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        first, job, stripe = self.first, self.job, self.o.payload
        size = self.config.stripe_bytes
        shift = size.bit_length() - 1
        bits = len(job.device)
        left = Signal(bits + 1)  # of the row, this stripe included; no row is longer
        rows = Signal.like(job.rows)
        ends_row, is_last_row = Signal(), Signal()  # of the offered stripe
        moves, turns, settles = Signal(), Signal(), Signal()
        has_ended = Signal()
        following, is_known = self._next_row(m, turns & ~settles)
        m.d.comb += [
            self.o.valid.eq(self.busy & ~settles & ~turns),
            stripe.job.eq(self.number),
            stripe.bytes.eq(Mux(ends_row, left, size)),
            self.last.eq(ends_row & is_last_row),
            moves.eq(self.o.valid & self.o.ready),
        ]
        with m.If(self.start):
            m.d.sync += self.busy.eq(1)
        with m.Elif(moves):
            m.d.sync += self.busy.eq(~self.last & ~self.stop)
        # A cycle after a stripe, the carries of these sums have passed. Rows are counted a cycle
        # later: theirs have passed before the first stripe of the next row.
        carries = [
            advance_in_two(m, stripe.number, moves, _half(stripe.number), "number"),
            advance_in_two(m, stripe.address[shift:], moves, _half(stripe.address), "address"),
            advance_in_two(m, left[shift:], moves, _half(left), "left", down=True),
            advance_in_two(m, rows, has_ended, _half(rows), "rows", down=True),
        ]
        m.d.sync += [settles.eq(moves), has_ended.eq(moves & ends_row)]
        with m.If(moves):
            m.d.sync += [
                turns.eq(ends_row & ~is_last_row),
                is_last_row.eq(Mux(ends_row, rows == 2, is_last_row)),
                ends_row.eq(left <= 2 * size),
            ]
        with m.Elif(turns & ~settles & is_known):
            m.d.sync += [
                turns.eq(0),
                stripe.address.eq(following),
                left.eq(job.row_bytes),
                ends_row.eq(job.row_bytes <= size),
            ]
        with m.If(self.load):
            m.d.sync += [
                turns.eq(0),
                settles.eq(0),
                has_ended.eq(0),
                *(carry.eq(0) for carry in carries),
                stripe.address.eq(first.device),
                stripe.number.eq(0),
                left.eq(first.row_bytes),
                ends_row.eq(first.row_bytes <= size),
                rows.eq(first.rows),
                is_last_row.eq(first.rows == 1),
            ]
        return m

    def _next_row(self, m, turns):
        """Start of the next row, and whether it is known; ``turns`` goes to that row."""
        first, job = self.first, self.job
        start, carry = Signal(len(job.device)), Signal()
        half = _half(start)
        adds, carries = Signal(init=1), Signal()  # the low half, and then the high one
        m.d.sync += [adds.eq(0), carries.eq(adds)]
        with m.If(adds):
            m.d.sync += Cat(start[:half], carry).eq(sum_in_halves(start[:half], job.pitch[:half]))
        with m.If(carries):
            m.d.sync += start[half:].eq(sum_in_halves(start[half:], job.pitch[half:], carry))
        is_known = ~adds & ~carries
        with m.If(turns & is_known):
            m.d.sync += adds.eq(1)
        with m.If(self.load):
            m.d.sync += [start.eq(first.device), adds.eq(1), carries.eq(0)]
        return start, is_known


def _half(value):
    return len(value) // 2
