"""The stripes of a job, in order."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_config import EngineConfig
from cdma.hdl.engine.common.records import JOB_BITS, Stripe
from cdma.hdl.engine.job import Job


class StripeSequencer(wiring.Component):
    """Walk over the rows of a job and give its stripes in order.

    Throughput one stripe a cycle; the first stripe is offered in the cycle after ``start``. All
    outputs come from registers, ``bytes`` through a multiplexer.

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
        row_start, next_start = Signal(bits), Signal(bits)
        left = Signal(bits + 1)  # of the row, this stripe included; no row is longer
        rows = Signal.like(job.rows)
        ends_row, is_last_row = Signal(), Signal()  # of the offered stripe
        m.d.comb += [
            self.o.valid.eq(self.busy),
            stripe.job.eq(self.number),
            stripe.bytes.eq(Mux(ends_row, left, size)),
            self.last.eq(ends_row & is_last_row),
            next_start.eq(row_start + job.pitch),
        ]
        advances = self.busy & self.o.ready
        with m.If(self.start):
            m.d.sync += self.busy.eq(1)
        with m.Elif(advances):
            m.d.sync += self.busy.eq(~self.last & ~self.stop)
        with m.If(self.load):
            m.d.sync += [
                row_start.eq(first.device),
                stripe.address.eq(first.device),
                stripe.number.eq(0),
                left.eq(first.row_bytes),
                ends_row.eq(first.row_bytes <= size),
                rows.eq(first.rows),
                is_last_row.eq(first.rows == 1),
            ]
        with m.Elif(advances):
            m.d.sync += stripe.number.eq(stripe.number + 1)
            with m.If(ends_row):
                m.d.sync += [
                    rows.eq(rows - 1),
                    is_last_row.eq(rows == 2),
                    row_start.eq(next_start),
                    stripe.address.eq(next_start),
                    left.eq(job.row_bytes),
                    ends_row.eq(job.row_bytes <= size),
                ]
            with m.Else():
                m.d.sync += [
                    stripe.address.eq(stripe.address + size),
                    left[shift:].eq(left[shift:] - 1),
                    ends_row.eq(left <= 2 * size),
                ]
        return m
