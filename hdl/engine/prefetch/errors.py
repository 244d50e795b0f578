"""The error that a job reports, out of those that the parts of a prefetch meet."""

from collections.abc import Sequence
from dataclasses import dataclass

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import LINK
from cdma.engine_config import EngineConfig
from cdma.hdl.engine.common.errors import rank_of
from cdma.hdl.engine.common.records import JOB_BITS, ErrorReport
from cdma.hdl.engine.prefetch.records import StripeError, StripeHalt, is_later
from cdma.hdl.engine.prefetch.table import Place
from cdma.hdl.lib.parts import advance_in_parts
from cdma.hdl.lib.signals import any_of, select

_PARTS = 5  # of the sum of offset and place


@dataclass(frozen=True)
class Source:
    """A part that reports errors.

    Parameters
    ----------
    channel : int
        Channel of its errors, or ``LINK``.
    halts : bool
        Stripes behind one of its errors get no new address.
    at_offset : bool
        ``where`` counts from the stripe's offset in the stream.
    """

    channel: int = LINK
    halts: bool = False
    at_offset: bool = False


class StripeErrors(wiring.Component):
    """Keep the error of the first stripe, and in that stripe the one of highest rank.

    Stripes are in the order of their slots, so of their jobs. The order within a stripe is INDEX,
    host, device, CRC, decompressor. One report is taken in four cycles, or in ten when it is the
    first so far; sources of low number go first. All outputs come from registers, but ``waits``,
    which comes from these and from ``valid`` of the sources.

    Parameters
    ----------
    config : EngineConfig
    sources : sequence of Source

    Members
    -------
    clear : In, forget all
    oldest : In, number of the oldest job in work
    slot : In, slot that the next stripe will get
    i : In streams of :class:`~cdma.hdl.engine.prefetch.records.StripeError`, an array
    look : Out, slot of a report
    place : In, a cycle later: its :class:`~cdma.hdl.engine.prefetch.table.Place`
    found : Out, there was an error
    error : Out, :class:`~cdma.hdl.engine.common.records.ErrorReport`, the one to report, valid
        while nothing ``waits``
    halt : Out, :class:`~cdma.hdl.engine.prefetch.records.StripeHalt`: jobs behind that of the
        error, and stripes behind the first with an error that halts
    waits : Out, a report waits to be taken
    """

    def __init__(self, config: EngineConfig, sources: Sequence[Source]):
        self.config, self.sources = config, tuple(sources)
        halt = StripeHalt(config)
        super().__init__(
            {
                "clear": In(1),
                "oldest": In(JOB_BITS),
                "slot": In(halt["slot"].shape),
                "i": In(stream.Signature(StripeError(config))).array(len(self.sources)),
                "look": Out(halt["slot"].shape),
                "place": In(Place()),
                "found": Out(1),
                "error": Out(ErrorReport()),
                "halt": Out(halt),
                "waits": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        number = Signal(range(max(len(self.sources), 2)))  # of the source that is looked at
        # The number's load is high, so the report is chosen in a cycle of its own.
        report, rank, best_rank = Signal(StripeError(self.config)), Signal(3), Signal(3)
        is_first, is_same, is_first_halt = Signal(), Signal(), Signal()
        is_old = Signal()  # the first stripe with an error is not in work any more
        takes, wins = Signal(), Signal()
        best, error, halt = Signal.like(self.slot, name="best"), self.error, self.halt
        channel, halts, at_offset = (
            self._chosen(m, number, [getattr(source, name) for source in self.sources], name)
            for name in ("channel", "halts", "at_offset")
        )
        ports = list(self.i)
        m.d.comb += [
            self.waits.eq(any_of([port.valid for port in ports])),
            self.look.eq(report.tag.slot),
            wins.eq(~self.found | (~is_old & (is_first | (is_same & (rank < best_rank))))),
            *(port.ready.eq(takes & (number == k)) for k, port in enumerate(ports)),
        ]
        m.d.sync += report.eq(
            select(m, number, [port.payload.as_value() for port in ports], "chosen")
        )
        where = Signal(len(report.where), name="where")
        adds, wait = Signal(), Signal(range(_PARTS))
        carries = advance_in_parts(m, where, Mux(adds, report.where, 0), "where", parts=_PARTS)
        behind = Signal.like(self.slot)
        m.d.comb += behind.eq(self.slot - best)
        m.d.sync += [
            is_old.eq(is_old | behind[-1]),
            # An error is known a cycle before its age is.
            halt.younger.eq(self.found),
            halt.oldest.eq(self.oldest),
            halt.age.eq(error.tag.job - self.oldest),
        ]
        with m.FSM():
            with m.State("WAIT"):
                for k, port in reversed(list(enumerate(ports))):
                    with m.If(port.valid):
                        m.d.sync += number.eq(k)
                with m.If(self.waits):
                    m.next = "CHOOSE"
            with m.State("CHOOSE"):
                m.next = "COMPARE"
            with m.State("COMPARE"):
                m.d.sync += [
                    rank.eq(rank_of(report.status)),
                    is_first.eq(is_later(m, best, report.tag.slot, "best_ahead")),
                    is_same.eq(best == report.tag.slot),
                    is_first_halt.eq(is_later(m, halt.slot, report.tag.slot, "halt_ahead")),
                ]
                m.next = "KEEP"
            with m.State("KEEP"):
                with m.If(halts & (~halt.above | is_first_halt)):
                    m.d.sync += [
                        halt.above.eq(1),
                        halt.job.eq(report.tag.job),
                        halt.slot.eq(report.tag.slot),
                    ]
                m.next = "TAKE"
                with m.If(wins):
                    m.d.sync += [
                        self.found.eq(1),
                        is_old.eq(0),
                        best.eq(report.tag.slot),
                        best_rank.eq(rank),
                        error.tag.job.eq(report.tag.job),
                        error.tag.number.eq(self.place.number),
                        error.tag.offset.eq(self.place.offset),
                        error.status.eq(report.status),
                        error.channel.eq(channel),
                        where.eq(Mux(at_offset, self.place.offset, report.where)),
                        carries.eq(0),
                    ]
                    with m.If(at_offset):
                        m.next = "ADD"
            with m.State("ADD"):
                m.d.comb += adds.eq(1)
                m.d.sync += wait.eq(_PARTS - 1)
                m.next = "SUM"
            with m.State("SUM"):
                m.d.sync += wait.eq(wait - 1)
                with m.If(wait == 0):
                    m.next = "TAKE"
            with m.State("TAKE"):
                m.d.comb += takes.eq(1)
                m.next = "WAIT"
        m.d.comb += error.where.eq(where)
        with m.If(self.clear):
            m.d.sync += [self.found.eq(0), halt.above.eq(0), is_old.eq(0)]
        return m

    def _chosen(self, m, number, values, name):
        """What is constant of a source."""
        bits = 7 if name == "channel" else 1
        return select(m, number, [Const(value, bits) for value in values], name)
