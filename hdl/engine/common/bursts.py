"""Bursts: where they end, and how they are read."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_config import BURST_BYTES
from cdma.hdl.axi.full import Attributes, Response
from cdma.hdl.engine.job import ReadClient
from cdma.hdl.lib.counter import Counter
from cdma.hdl.lib.fifo import Fifo
from cdma.hdl.lib.parts import advance_in_parts

#: Parts of the sums here: all carries have passed when the next burst is planned, or asked for.
_PLACE_PARTS, _LEFT_PARTS, _TOTAL_PARTS = 4, 2, 2


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


class Piece(data.StructLayout):
    """A piece of a range: its ``size`` in bytes, and whether it is the ``last``; may be empty."""

    def __init__(self, size_bits: int):
        super().__init__({"size": unsigned(size_bits), "last": unsigned(1)})


class RangeReader(wiring.Component):
    """Read ranges of memory, which grow by pieces.

    A burst is asked for when room for all of it is reserved, and when it ends at a multiple of
    ``burst_bytes``, or the range has ended, or no piece is at hand and ``final``. Bytes of the
    range's first and last beats that are outside of it are read along. The beats of ranges that
    follow each other wait in one buffer, one range behind the other.

    Throughput one beat a cycle, and one burst in five cycles or more; a piece takes two cycles.
    With bytes of a whole burst at hand, no piece is taken. An address is valid five cycles after
    the piece that it waited for; ``client.ar`` comes from registers.
    ``client.r`` is always ready.

    With ``at_once`` an address is valid two cycles after the start, if the first piece is at hand
    in the cycle between, its burst waits for no other piece, and the whole buffer is free.

    Parameters
    ----------
    address_bits, data_bytes : int
    depth : int
        Beats of the buffer, a power of two, at least a burst.
    size_bits : int
        Of a piece.
    burst_bytes : int
        Most bytes of a burst, a power of two up to a page.
    at_once : bool
        First pieces come right behind the start.

    Members
    -------
    start : In, a range begins at ``address``; only when ``asked``
    address : In, first byte
    i : In stream of :class:`Piece`
    final : In, do not wait for pieces
    stop : In, until the next start: ask for no further burst, and give beats of any data without
        error in their place, those of a burst one a cycle, with five cycles between bursts
    abandon : In, ask for no further burst, the range has ended; pieces are not taken
    attr : In, attributes of the addresses
    client : Out, :class:`~cdma.hdl.engine.job.ReadClient`
    o : Out stream of :class:`ReadData`
    asked : Out, all of the range is asked for; a register
    idle : Out, and no beat is owed by the memory or waits in the buffer
    """

    def __init__(
        self,
        address_bits: int,
        data_bytes: int,
        depth: int,
        size_bits: int,
        burst_bytes: int = BURST_BYTES,
        at_once: bool = False,
    ):
        self.address_bits = address_bits
        self.data_bytes = data_bytes
        self.depth = depth
        self.at_once = at_once
        self.burst_bytes = burst_bytes
        super().__init__(
            {
                "start": In(1),
                "address": In(address_bits),
                "i": In(stream.Signature(Piece(size_bits))),
                "final": In(1),
                "stop": In(1),
                "abandon": In(1),
                "attr": In(Attributes()),
                "client": Out(ReadClient(address_bits, data_bytes)),
                "o": Out(stream.Signature(ReadData(data_bytes))),
                "asked": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        size, low = self.data_bytes, self.data_bytes.bit_length() - 1
        piece, ar = self.i.payload, self.client.ar
        place = Signal(self.address_bits - low)  # the next beat to be asked for
        # Bytes from there to the end of what the range has so far, and ``size - 1``: the upper bits
        # are beats.
        left = Signal(range(self.burst_bytes + (1 << len(piece.size)) + size))
        beats = Signal(range(self.burst_bytes // size + 1))
        is_last, is_empty, can_take, is_small = Signal(), Signal(), Signal(), Signal()
        # A burst is planned, and then was issued: the memory's ready reaches no sum.
        takes, plans, was_issued, skips = (
            Signal(name=name) for name in ("takes", "plans", "was_issued", "skips")
        )
        used, step = Signal.like(left), Signal.like(left)
        m.d.comb += [
            is_small.eq(left < self.burst_bytes),
            self.i.ready.eq(can_take & is_small & ~is_last),
            takes.eq(self.i.valid & self.i.ready),
            used.eq(Mux(plans | skips, beats, 0) << low),
            step.eq(Mux(takes, piece.size, -used)),
            ar.payload.address.eq(place << low),
            ar.payload.beats.eq(beats),
            ar.payload.attr.eq(self.attr),
        ]
        carries = [
            advance_in_parts(m, place, Mux(was_issued, beats, 0), "place", parts=_PLACE_PARTS),
            advance_in_parts(m, left, step, "left", parts=_LEFT_PARTS),
        ]
        with m.If(takes):
            m.d.sync += [is_last.eq(piece.last), is_empty.eq(is_empty & (piece.size == 0))]
        with m.If(self.start):
            m.d.sync += [
                place.eq(self.address >> low),
                left.eq(self.address[:low] + (size - 1)),
                is_last.eq(0),
                is_empty.eq(1),  # nothing is read, wherever in its beat the range begins
                *(carry.eq(0) for carry in carries),
            ]
        free, zeros = self._buffer(m, Mux(plans, beats, 0))
        count = Mux(is_empty, 0, left[low:])
        # With the first piece; what is left before it is less than two beats.
        first = Signal((1 << len(piece.size)).bit_length())
        m.d.comb += first.eq((left[: low + 1] + piece.size) >> low)
        self._plan(
            m, place, count, first, beats, free, is_last, can_take, takes, plans, zeros, skips
        )
        m.d.sync += was_issued.eq(ar.valid & ar.ready)
        m.d.comb += self.idle.eq(self.asked & free[-1])
        return m

    def _buffer(self, m, asked):
        """Keep what is read, and count the room; gives the room, and a beat that was not read."""
        m.submodules.buffer = buffer = Fifo(ReadData(self.data_bytes), self.depth)
        zeros, r = Signal(), self.client.r
        bits = self.depth.bit_length()
        total, free = Signal(bits), Signal(bits, init=self.depth)
        m.submodules.given = given = Counter(bits, 1)  # exact in each cycle, else room is too large
        advance_in_parts(m, total, asked, "total", parts=_TOTAL_PARTS)
        m.d.sync += [
            # A cycle later: that a beat is given is known late.
            given.enable.eq(buffer.o.valid & buffer.o.ready),
            # Modulo twice the depth: the highest bit says that all is free.
            free.eq(given.value - total + self.depth),
        ]
        m.d.comb += [
            given.step.eq(1),
            buffer.i.valid.eq(r.valid),
            buffer.i.payload.data.eq(r.payload.data),
            buffer.i.payload.resp.eq(r.payload.resp),
            r.ready.eq(1),
            self.o.valid.eq(buffer.o.valid | zeros),
            buffer.o.ready.eq(self.o.ready & ~zeros),
            self.o.payload.data.eq(buffer.o.payload.data),
            self.o.payload.resp.eq(Mux(zeros, Response.OKAY, buffer.o.payload.resp)),
        ]
        return free, zeros

    def _plan(
        self, m, place, count, first, beats, free, is_last, can_take, takes, plans, zeros, skips
    ):
        """Plan the next burst in steps of a cycle: its beats, room for it, its address."""
        size, ar, piece = self.data_bytes, self.client.ar, self.i.payload
        low = size.bit_length() - 1
        reach, has_some, is_whole = Signal.like(beats), Signal(), Signal()
        is_due, fits, is_first = Signal(), Signal(), Signal()
        zeros_left = Signal.like(beats)
        stops = self.stop | self.abandon
        m.d.comb += reach.eq(beats_to_boundary(Cat(Const(0, low), place), size, self.burst_bytes))
        m.d.sync += [
            fits.eq(free >= beats),
            is_due.eq(has_some & (is_whole | is_last | (self.final & ~self.i.valid))),
        ]
        with m.FSM():
            with m.State("ENDED"):
                m.d.comb += self.asked.eq(1)
                with m.If(self.start):
                    m.next = "BEGIN" if self.at_once else "PLAN"
            if self.at_once:
                with m.State("BEGIN"):
                    m.d.comb += can_take.eq(1)
                    m.d.sync += beats.eq(Mux(first >= reach, reach, first))
                    m.next = "PLAN"
                    with m.If(takes):
                        m.next = "SETTLE"
                    due = (first >= reach) | piece.last | self.final
                    with m.If(takes & (piece.size != 0) & due & free[-1] & ~stops):
                        m.d.sync += [ar.valid.eq(1), is_first.eq(1)]
                        m.next = "ISSUE"
            with m.State("PLAN"):
                m.d.comb += can_take.eq(1)
                m.d.sync += [
                    beats.eq(Mux(count >= reach, reach, count)),
                    is_whole.eq(count >= reach),
                    has_some.eq(count != 0),
                ]
                m.next = "CHECK"
                with m.If(takes):
                    m.next = "SETTLE"
            with m.State("CHECK"):
                m.d.comb += can_take.eq(1)
                m.d.sync += zeros_left.eq(beats)
                m.next = "DECIDE"
                with m.If(takes):
                    m.next = "SETTLE"
            with m.State("DECIDE"):
                m.d.comb += can_take.eq(1)
                m.next = "PLAN"
                with m.If(takes):
                    m.next = "SETTLE"
                with m.Elif((is_last & ~has_some) | self.abandon):
                    m.next = "ENDED"
                with m.Elif(self.stop & has_some & free[-1]):
                    m.next = "ZEROS"
                with m.Elif(~self.stop & is_due & fits):
                    m.d.comb += plans.eq(1)
                    m.d.sync += ar.valid.eq(1)
                    m.next = "ISSUE"
            with m.State("ISSUE"):
                # The first burst counts here, when its beats are known.
                m.d.comb += plans.eq(is_first)
                m.d.sync += is_first.eq(0)
                with m.If(ar.ready):
                    m.d.sync += ar.valid.eq(0)
                    m.next = "SETTLE"
            with m.State("ZEROS"):
                m.d.comb += zeros.eq(1)
                with m.If(self.o.ready):
                    m.d.sync += zeros_left.eq(zeros_left - 1)
                    with m.If((zeros_left == 1) | self.abandon):
                        m.next = "SKIP"
            with m.State("SKIP"):
                m.d.comb += skips.eq(1)
                m.next = "SETTLE"
            with m.State("SETTLE"):
                m.next = "PLAN"
