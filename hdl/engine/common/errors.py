"""The error that a job reports, out of those that its parts meet."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import Status
from cdma.hdl.axi.full import Response
from cdma.hdl.engine.common.records import NUMBER_BITS, OFFSET_BITS, ErrorReport, Halt


def is_error(resp) -> Signal:
    """A response is SLVERR or DECERR."""
    return (resp == Response.SLVERR) | (resp == Response.DECERR)


def status_of(resp, slverr: Status):
    """Status of an error response; ``slverr`` is that of SLVERR, DECERR's follows."""
    return Mux(resp == Response.DECERR, Const(slverr + 1, 8), Const(slverr, 8))


class ErrorCollector(wiring.Component):
    """Keep the error of the lowest stripe, and within a stripe the one of the highest rank.

    The order within a stripe is INDEX, host, device, CRC, decompressor, OVERFLOW. Takes one report
    a cycle, sources of low number first; its outputs are registered.

    Parameters
    ----------
    sources : int
        Number of sources.

    Members
    -------
    clear : In, forget all
    i : In streams of :class:`~cdma.hdl.engine.common.records.ErrorReport`, an array
    found : Out, there was an error
    error : Out, the one to report
    halt : Out, :class:`~cdma.hdl.engine.common.records.Halt` of the lowest error that halts
    halt_offset : Out, offset of that error's stripe in the stream
    """

    clear: Signal
    found: Signal
    error: data.View
    halt: data.View
    halt_offset: Signal

    def __init__(self, sources: int):
        self.sources = sources
        super().__init__(
            {
                "clear": In(1),
                "i": In(stream.Signature(ErrorReport())).array(sources),
                "found": Out(1),
                "error": Out(ErrorReport()),
                "halt": Out(Halt()),
                "halt_offset": Out(OFFSET_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        report, valid = Signal(ErrorReport()), Signal()
        for port in reversed(self.i):
            with m.If(port.valid):
                m.d.comb += [report.eq(port.payload), valid.eq(1)]
        taken = Const(0, 1)
        for port in self.i:
            m.d.comb += port.ready.eq(~taken)
            taken = taken | port.valid
        rank, best_rank = Signal(3), Signal(3)
        rank, best_rank = Signal(3, name="rank"), Signal(3, name="best_rank")
        key = Signal(NUMBER_BITS + 3)
        best_key = Signal(NUMBER_BITS + 3)
        m.d.comb += [
            rank.eq(_rank(report.status)),
            key.eq(report.tag.number << 3 | rank),
            best_key.eq(self.error.tag.number << 3 | best_rank),
        ]
        with m.If(self.clear):
            m.d.sync += [self.found.eq(0), self.halt.eq(0)]
        with m.Elif(valid):
            with m.If(~self.found | (key < best_key)):
                m.d.sync += [self.found.eq(1), self.error.eq(report), best_rank.eq(rank)]
            with m.If(report.halts & (~self.halt.above | (report.tag.number < self.halt.number))):
                m.d.sync += [
                    self.halt.above.eq(1),
                    self.halt.number.eq(report.tag.number),
                    self.halt_offset.eq(report.tag.offset),
                ]
        return m


def _rank(status):
    return Mux(
        status == Status.INDEX,
        0,
        Mux(
            (status == Status.HOST_SLVERR) | (status == Status.HOST_DECERR),
            1,
            Mux(
                status >= Status.DEVICE_SLVERR,
                2,
                Mux(status == Status.CRC, 3, Mux(status == Status.OVERFLOW, 5, 4)),
            ),
        ),
    )


class ErrorSlot(wiring.Component):
    """Hold a source's report until it is collected.

    A report that comes while another waits is dropped: a source meets its errors in the order of
    their stripes, so a later one never counts. Latency one cycle.

    Members
    -------
    valid, report : In, an error in this cycle
    o : Out stream of :class:`~cdma.hdl.engine.common.records.ErrorReport`
    """

    valid: In(1)
    report: In(ErrorReport())
    o: Out(stream.Signature(ErrorReport()))

    def elaborate(self, platform):
        m = Module()
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(self.valid & ~self.o.valid):
            m.d.sync += [self.o.valid.eq(1), self.o.payload.eq(self.report)]
        return m
