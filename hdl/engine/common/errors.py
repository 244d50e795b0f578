"""The error that a job reports, out of those that its parts meet."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import Status
from cdma.hdl.axi.full import Response
from cdma.hdl.engine.common.records import (
    JOB_BITS,
    NUMBER_BITS,
    OFFSET_BITS,
    ErrorReport,
    Halt,
    Tag,
)
from cdma.hdl.lib.parts import is_below
from cdma.hdl.lib.signals import one_of

#: Parts of a comparison of two stripes' places.
_PARTS = 8


def is_error(resp) -> Signal:
    """A response is SLVERR or DECERR."""
    return (resp == Response.SLVERR) | (resp == Response.DECERR)


def status_of(resp, slverr: Status):
    """Status of an error response; ``slverr`` is that of SLVERR, DECERR's follows."""
    return Mux(resp == Response.DECERR, Const(slverr + 1, 8), Const(slverr, 8))


class ReadError(enum.IntEnum, shape=2):
    """How a stripe of the device was read, in few bits: it waits with each stripe."""

    NONE = 0
    SLVERR = 1
    DECERR = 2
    TIMEOUT = 3


def status_of_read(error):
    """Status of a :class:`ReadError` but ``NONE``."""
    is_timeout = error == ReadError.TIMEOUT
    found = Mux(error == ReadError.DECERR, Status.DEVICE_DECERR, Status.DEVICE_SLVERR)
    return Mux(is_timeout, Const(Status.TIMEOUT, 8), found)


class ErrorCollector(wiring.Component):
    """Keep the error of the oldest job, of its lowest stripe, and in that the one of highest rank.

    The order within a stripe is INDEX, host, device, CRC, decompressor, OVERFLOW. Takes a report in
    three cycles, sources of low number first: it picks one, compares it, and takes it. Its outputs
    are registered, but for ages.

    Parameters
    ----------
    sources : int
        Number of sources.

    Members
    -------
    clear : In, forget all
    oldest : In, number of the oldest job in work
    i : In streams of :class:`~cdma.hdl.engine.common.records.ErrorReport`, an array
    found : Out, there was an error
    error : Out, the one to report
    halt : Out, :class:`~cdma.hdl.engine.common.records.Halt`: jobs behind that of the error, and
        stripes above the lowest error that halts
    halt_offset : Out, offset of that error's stripe in the stream
    waits : Out, a report waits to be taken
    """

    clear: Signal
    oldest: Signal
    found: Signal
    error: data.View
    halt: data.View
    halt_offset: Signal
    waits: Signal

    def __init__(self, sources: int):
        self.sources = sources
        super().__init__(
            {
                "clear": In(1),
                "oldest": In(JOB_BITS),
                "i": In(stream.Signature(ErrorReport())).array(sources),
                "found": Out(1),
                "error": Out(ErrorReport()),
                "halt": Out(Halt()),
                "halt_offset": Out(OFFSET_BITS),
                "waits": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        report, halt = Signal(ErrorReport()), self.halt
        above, lowest = Signal(), Signal(Tag())  # the lowest error that halts
        # Reports are wide, and so is what is kept: neither waits for a comparison in its cycle.
        compares, takes = Signal(name="compares"), Signal(name="takes")
        picked = Signal(self.sources)
        valid = Cat(port.valid for port in self.i)
        m.d.sync += [
            compares.eq(self.waits & ~compares & ~takes & ~self.clear),
            takes.eq(compares & ~self.clear),
        ]
        with m.If(~compares & ~takes):
            m.d.sync += picked.eq(valid & -valid)  # the lowest one
        m.d.comb += [
            self.waits.eq(valid.any()),
            report.as_value().eq(one_of(picked, [port.payload.as_value() for port in self.i])),
            *(port.ready.eq(takes & picked[k]) for k, port in enumerate(self.i)),
        ]
        rank, best_rank = Signal(3, name="rank"), Signal(3, name="best_rank")
        key = Signal(JOB_BITS + NUMBER_BITS + 3)
        best_key = Signal.like(key)
        place, halt_place = Signal(JOB_BITS + NUMBER_BITS), Signal(JOB_BITS + NUMBER_BITS)
        m.d.comb += [
            rank.eq(rank_of(report.status)),
            place.eq(self._place(report.tag.number, report.tag.job)),
            halt_place.eq(self._place(lowest.number, lowest.job)),
            key.eq(place << 3 | rank),
            best_key.eq(self._place(self.error.tag.number, self.error.tag.job) << 3 | best_rank),
            halt.younger.eq(self.found),
            halt.oldest.eq(self.oldest),
            halt.age.eq(self.error.tag.job - self.oldest),
            halt.above.eq(above),
            halt.job.eq(lowest.job),
            halt.number.eq(lowest.number),
            self.halt_offset.eq(lowest.offset),
        ]
        is_best, is_lowest = Signal(name="is_best"), Signal(name="is_lowest")
        is_lower = is_below(m, place, halt_place, "place", parts=_PARTS)
        m.d.sync += [
            is_best.eq(~self.found | is_below(m, key, best_key, "key", parts=_PARTS)),
            is_lowest.eq(report.halts & (~above | is_lower)),
        ]
        with m.If(self.clear):
            m.d.sync += [self.found.eq(0), above.eq(0)]
        with m.Elif(takes):
            m.d.sync += [self.found.eq(1), above.eq(above | is_lowest)]
        # Without errors these are not looked at.
        with m.If(takes & is_best):
            m.d.sync += [self.error.eq(report), best_rank.eq(rank)]
        with m.If(takes & is_lowest):
            m.d.sync += lowest.eq(report.tag)
        return m

    def _place(self, number, job):
        """A stripe's place in all jobs, as an unsigned number."""
        return Cat(number, (job - self.oldest)[:JOB_BITS])


def rank_of(status):
    """Place of a status in the order of a stripe's errors; the lowest is reported."""
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

    Parameters
    ----------
    shape : StructLayout or None
        Of a report; ``None`` is :class:`~cdma.hdl.engine.common.records.ErrorReport`.

    Members
    -------
    valid, report : In, an error in this cycle
    o : Out stream of reports
    """

    valid: Signal
    report: data.View
    o: stream.Interface

    def __init__(self, shape=None):
        shape = ErrorReport() if shape is None else shape
        super().__init__({"valid": In(1), "report": In(shape), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform):
        m = Module()
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(self.valid & ~self.o.valid):
            m.d.sync += [self.o.valid.eq(1), self.o.payload.eq(self.report)]
        return m
