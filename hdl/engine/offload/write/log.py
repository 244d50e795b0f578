"""Bursts that wait for their answers, and the error of one."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import LINK, Status
from cdma.hdl.axi.full import Response
from cdma.hdl.engine.common.errors import is_error, status_of
from cdma.hdl.engine.common.records import ErrorReport, Tag


class BurstLog(wiring.Component):
    """Remember tag and address of each burst until it is answered, and report the first error.

    A burst's tag is given first, some time after it began, then its address as it is issued. Both
    wait in memories: no burst has registers for them. While a report waits, its burst stays at the
    memories' outputs, and the answers that come are only counted: an error among them is one of a
    later burst, and never counts. Latency of a report one cycle.

    Parameters
    ----------
    address_bits : int
    depth : int
        Bursts, a power of two from 2 on. A tag needs a place from when it is given until two cycles
        after the burst's answer, or longer while a report waits.
    slverr : Status
        Status of an error response SLVERR; that of DECERR follows.

    Members
    -------
    clear : In, drop all
    tags, tag : In, a burst's :class:`~cdma.hdl.engine.common.records.Tag`, with ``tags``
    issues, address : In, its address, with ``issues``, two cycles before its answer
    answers, resp : In, the oldest burst is answered
    o_error : Out stream of :class:`~cdma.hdl.engine.common.records.ErrorReport`, of the link
    is_behind : Out, answers are counted and not yet done with
    """

    def __init__(self, address_bits: int, depth: int, slverr: Status):
        self.address_bits = address_bits
        self.depth = depth
        self.slverr = slverr
        super().__init__(
            {
                "clear": In(1),
                "tags": In(1),
                "tag": In(Tag()),
                "issues": In(1),
                "address": In(address_bits),
                "answers": In(1),
                "resp": In(Response),
                "o_error": Out(stream.Signature(ErrorReport())),
                "is_behind": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.tag_memory = tag_memory = Memory(shape=Tag(), depth=self.depth, init=[])
        m.submodules.places = places = Memory(shape=self.address_bits, depth=self.depth, init=[])
        tagged, issued, first, following = (
            Signal(range(self.depth), name=name)
            for name in ("tagged", "issued", "first", "following")
        )
        behind, ends, fails = Signal(range(self.depth + 1)), Signal(), Signal()
        report, status = self.o_error.payload, Signal(8)
        m.d.comb += [
            self.is_behind.eq(behind != 0),
            fails.eq(self.answers & ~self.is_behind & is_error(self.resp)),
            # The oldest burst is done with.
            ends.eq((self.answers | self.is_behind) & ~self.o_error.valid & ~fails),
            following.eq(first + ends),
        ]
        for memory, place, enable, value in (
            (tag_memory, tagged, self.tags, self.tag.as_value()),
            (places, issued, self.issues, self.address),
        ):
            write, read = memory.write_port(), memory.read_port()
            m.d.comb += [
                write.addr.eq(place),
                write.en.eq(enable),
                write.data.eq(value),
                read.addr.eq(following),
                read.en.eq(1),
            ]
            m.d.sync += place.eq(place + enable)
            target = report.tag if memory is tag_memory else report.where
            m.d.comb += target.eq(read.data)
        m.d.sync += [
            first.eq(following),
            behind.eq(behind + self.answers - ends),
            self.o_error.valid.eq(fails | (self.o_error.valid & ~self.o_error.ready)),
        ]
        with m.If(fails):
            m.d.sync += status.eq(status_of(self.resp, self.slverr))
        with m.If(self.clear):
            m.d.sync += [place.eq(0) for place in (tagged, issued, first, behind)]
        m.d.comb += [
            report.status.eq(status),
            report.channel.eq(LINK),
            report.halts.eq(1),
        ]
        return m
