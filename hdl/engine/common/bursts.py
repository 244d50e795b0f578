"""Bursts: where they end, and how they are read."""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_config import BURST_BYTES
from cdma.hdl.axi.full import Attributes, Response
from cdma.hdl.engine.common.records import JOB_BITS
from cdma.hdl.engine.job import ReadClient
from cdma.hdl.lib.adder import advance_in_two, difference_later
from cdma.hdl.lib.buffer import RowBuffer
from cdma.hdl.lib.fifo import Fifo

#: Cycles until the plan of a burst follows the place of the last one.
_SETTLE = 4


def beats_to_boundary(address, data_bytes: int, burst_bytes: int = BURST_BYTES):
    """Beats from a beat's address to the next multiple of the longest burst.

    Bursts that end there have at most ``burst_bytes`` and never cross a 4 KB page.
    """
    low, high = data_bytes.bit_length() - 1, burst_bytes.bit_length() - 1
    return (burst_bytes // data_bytes) - address[low:high]


class ReadData(data.StructLayout):
    """A beat that was read: ``data`` and its ``resp``."""

    def __init__(self, data_bytes: int):
        super().__init__({"data": 8 * data_bytes, "resp": Response})


class RangeReader(wiring.Component):
    """Read ranges of memory, the end of the last of which may still move up.

    A burst is asked for when room for all of it is reserved and either the next multiple of
    ``burst_bytes`` is within the range, or ``final``. Bytes of the range's first and last beats
    that are outside of it are read along. Throughput one beat a cycle, and one burst in five
    cycles; zeros after a stop are slower. ``client.r`` is always ready. The first address is valid
    7 cycles after ``start``, and 4 cycles after the ``end`` or ``final`` that a burst waits for.

    A range may begin when all of the one before is asked for. The beats of both wait in the same
    buffer: whoever takes them goes from range to range by ``next``.

    Parameters
    ----------
    address_bits, data_bytes : int
    depth : int
        Beats of the buffer, a power of two, at least a burst.
    burst_bytes : int
        Most bytes of a burst, a power of two up to a page.

    Members
    -------
    enable : In, a range was begun and is not ended; else nothing is asked for
    start : In, begin at ``address``; a range is read from the next cycle on
    address : In, first byte
    end : In, one more bit than an address: the first byte past the range, never falls; with
        ``final`` and ``last``, it may follow ``start`` by three cycles
    final : In, do not wait until ``end`` moves up
    last : In, ``end`` will not move up any more
    stop : In, until the next start: ask for no further burst; beats of zeros are given for the rest
    attr : In, attributes of the addresses
    client : Out, :class:`~cdma.hdl.engine.job.ReadClient`
    o : Out stream of :class:`ReadData`
    begun : Out, a range was begun that ``next`` has not come to
    next : In, the beats of the next range may be taken
    is_next : Out, the beat that is offered, or will be, belongs to that range
    asked : Out, all of the range is asked for
    idle : Out, no beat is owed by the memory or waits in the buffer
    """

    def __init__(
        self, address_bits: int, data_bytes: int, depth: int, burst_bytes: int = BURST_BYTES
    ):
        self.address_bits = address_bits
        self.data_bytes = data_bytes
        self.depth = depth
        self.burst_bytes = burst_bytes
        super().__init__(
            {
                "enable": In(1),
                "start": In(1),
                "address": In(address_bits),
                "end": In(address_bits + 1),
                "final": In(1),
                "last": In(1),
                "stop": In(1),
                "attr": In(Attributes()),
                "client": Out(ReadClient(address_bits, data_bytes)),
                "o": Out(stream.Signature(ReadData(data_bytes))),
                "begun": Out(1),
                "next": In(1),
                "is_next": Out(1),
                "asked": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        size, low = self.data_bytes, self.data_bytes.bit_length() - 1
        m.submodules.buffer = buffer = Fifo(ReadData(size), self.depth)
        ar, most = self.client.ar, self.burst_bytes // size
        place = Signal(self.address_bits + 1)  # the next beat to be asked for
        owed = Signal(range(self.depth + 1))  # beats asked for and not yet given
        beats, is_due = Signal(range(most + 1)), Signal()
        issue, phantom, gives = Signal(), Signal(), Signal()
        left, is_settled = self._plan(m, place, beats, is_due, issue, phantom, gives)
        self._separate(m, Mux(phantom, gives, Mux(issue, beats, 0)), gives)
        m.d.comb += [
            issue.eq(
                self.enable
                & is_settled
                & is_due
                & ~self.stop
                & (~ar.valid | ar.ready)
                & (owed + beats <= self.depth)
            ),
            self.idle.eq((owed == 0) & ~ar.valid),
            gives.eq(self.o.valid & self.o.ready),
        ]
        with m.If(ar.ready):
            m.d.sync += ar.valid.eq(0)
        with m.If(issue):
            m.d.sync += [
                ar.valid.eq(1),
                ar.payload.address.eq(place),
                ar.payload.beats.eq(beats),
                ar.payload.attr.eq(self.attr),
            ]
        m.d.sync += owed.eq(owed + Mux(issue, beats, 0) - (gives & ~phantom))
        with m.If(phantom):
            m.d.sync += phantom.eq(~gives)
        with m.Else():
            m.d.sync += phantom.eq(
                self.enable & self.stop & (owed == 0) & is_settled & (left > 0) & ~self.start
            )
        step = Mux(phantom, gives, Mux(issue, beats, 0)) << low
        carry = advance_in_two(m, place, step, (self.address_bits + 1) // 2, "place")
        with m.If(self.start):
            m.d.sync += [place.eq(self.address & -size), carry.eq(0)]
        m.d.comb += [
            buffer.i.valid.eq(self.client.r.valid),
            buffer.i.payload.data.eq(self.client.r.payload.data),
            buffer.i.payload.resp.eq(self.client.r.payload.resp),
            self.client.r.ready.eq(1),
            self.o.valid.eq(buffer.o.valid | phantom),
            buffer.o.ready.eq(self.o.ready & ~phantom),
        ]
        with m.If(~phantom):
            m.d.comb += self.o.payload.eq(buffer.o.payload)
        return m

    def _separate(self, m, asked, gives):
        """Note at which beat each range begins; ``asked`` are the beats asked for in this cycle."""
        bits = self.depth.bit_length() + 1
        m.submodules.borders = borders = RowBuffer(unsigned(bits), 1 << JOB_BITS)
        place, given = Signal(bits, name="asked_beats"), Signal(bits, name="given_beats")
        m.d.comb += [
            borders.i.valid.eq(self.start),
            borders.i.payload.eq(place),
            borders.o.ready.eq(self.next),
            self.begun.eq(borders.o.valid),
            self.is_next.eq(borders.o.valid & (borders.o.payload == given)),
        ]
        m.d.sync += [place.eq(place + asked), given.eq(given + gives)]

    def _plan(self, m, place, beats, is_due, issue, phantom, gives):
        """Plan the next burst in steps of a cycle: the range's end, what is left, the burst.

        Gives the bytes that are left, which may be negative, and whether these and the burst follow
        ``place``.
        """
        size, low = self.data_bytes, self.data_bytes.bit_length() - 1
        high = self.burst_bytes.bit_length() - 1
        finals, waits = Signal(2), Signal(range(_SETTLE + 2))
        bits = self.address_bits + 2
        left = difference_later(m, self.end, place, bits, "left").as_signed()
        reach, rest = Signal.like(beats, name="reach"), Signal.like(beats, name="rest")
        is_whole = Signal()
        lasts = Signal(2)
        m.d.sync += [
            finals.eq(Cat(self.final, finals[0])),
            lasts.eq(Cat(self.last, lasts[0])),
        ]
        m.d.comb += self.asked.eq(self.enable & (waits == 0) & (left <= 0) & lasts[1] & ~phantom)
        m.d.comb += [
            reach.eq(beats_to_boundary(place, size, self.burst_bytes)),
            rest.eq((left[:high] + (size - 1)) >> low),
            is_whole.eq(left[high:].any() | (rest >= reach)),
        ]
        m.d.sync += [
            beats.eq(Mux(is_whole, reach, rest)),
            is_due.eq((left > 0) & (is_whole | finals[1])),
        ]
        with m.If(self.start):
            m.d.sync += waits.eq(_SETTLE + 1)
        with m.Elif(issue | (phantom & gives)):
            m.d.sync += waits.eq(_SETTLE)
        with m.Elif(waits != 0):
            m.d.sync += waits.eq(waits - 1)
        return left, waits == 0
