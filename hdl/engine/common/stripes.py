"""The stripes of a job, in order."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_config import EngineConfig
from cdma.hdl.engine.common.records import Stripe
from cdma.hdl.engine.job import Job


class StripeSequencer(wiring.Component):
    """Walk over the rows of a job and give its stripes in order.

    Throughput one stripe a cycle; the first stripe is offered in the cycle after ``start``. All
    outputs come from registers, ``bytes`` through a comparison.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    start : In, begin with ``job``
    job : In, :class:`~cdma.hdl.engine.job.Job`; must stay while ``busy``
    stop : In, give no further stripe, but for the one that is offered
    o : Out stream of :class:`~cdma.hdl.engine.common.records.Stripe`, ``raw`` is 0
    last : Out, the offered stripe is the job's last
    busy : Out, stripes are left
    """

    start: Signal
    job: data.View
    stop: Signal
    o: stream.Interface
    last: Signal
    busy: Signal

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "start": In(1),
                "job": In(Job(config.address_bits)),
                "stop": In(1),
                "o": Out(stream.Signature(Stripe(config))),
                "last": Out(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        job, stripe, size = self.job, self.o.payload, self.config.stripe_bytes
        row_start = Signal.like(job.device)
        left = Signal.like(job.row_bytes)  # of the row, this stripe included
        rows = Signal.like(job.rows)
        ends_row, next_start = Signal(), Signal.like(job.device)
        m.d.comb += [
            self.o.valid.eq(self.busy),
            ends_row.eq(left <= size),
            stripe.bytes.eq(Mux(ends_row, left, size)),
            self.last.eq(ends_row & (rows == 1)),
            next_start.eq(row_start + job.pitch),
        ]
        with m.If(self.start):
            m.d.sync += [
                self.busy.eq(1),
                row_start.eq(job.device),
                stripe.address.eq(job.device),
                stripe.number.eq(0),
                left.eq(job.row_bytes),
                rows.eq(job.rows),
            ]
        with m.Elif(self.busy & self.o.ready):
            m.d.sync += [
                self.busy.eq(~self.last & ~self.stop),
                stripe.number.eq(stripe.number + 1),
            ]
            with m.If(ends_row):
                m.d.sync += [
                    rows.eq(rows - 1),
                    row_start.eq(next_start),
                    stripe.address.eq(next_start),
                    left.eq(job.row_bytes),
                ]
            with m.Else():
                m.d.sync += [stripe.address.eq(stripe.address + size), left.eq(left - size)]
        return m
