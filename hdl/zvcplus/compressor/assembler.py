"""Bits of controls and payloads become rows."""

from itertools import pairwise

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.hdl.zvcplus.compressor.records import BitRow, Place
from cdma.hdl.zvcplus.config import Config


class Landing(data.StructLayout):
    """A place, and the bits of a row from ``place.start`` on, decoded half.

    Place ``16 * h + l`` is at or behind the start if ``below[h]``, or if ``here[h]`` and
    ``from_low[l]``.

    Members
    -------
    place : :class:`~cdma.hdl.zvcplus.compressor.records.Place`
    below : a bit per 16 places, all behind the start's
    here : a bit per 16 places, with the start among them
    from_low : a bit per place of 16, at or behind the start's
    """

    def __init__(self, config: Config):
        super().__init__({"place": Place(config), "below": 16, "here": 16, "from_low": 16})


def land(landing, place):
    """Assign a place to a landing."""
    low, high = place.start[:4], place.start[4:]
    return [
        landing.place.eq(place),
        # No place is below 0; comparing with it would be a constant that tools warn of.
        landing.below.eq(Cat(Const(0), *(high < number for number in range(1, 16)))),
        landing.here.eq(Cat(high == number for number in range(16))),
        landing.from_low.eq(Cat(low <= number for number in range(16))),
    ]


class BitAssembler(wiring.Component):
    """Append controls and payloads to the row that is being filled.

    Two rows are held, and an item adds to them and to a third. A row leaves when it is full and
    more follows, or its packet has ended. So at the start of a cycle at most the first is full; an
    item that fills two more has to wait for it.

    Throughput one item and one row a cycle. ``o`` is combinational from the item and registers;
    ``ready`` follows ``o.ready`` through a gate.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    valid : In, there is an item
    ready : Out, the item is taken, if there is one
    landing : In, its :class:`Landing`
    words : In, words of the packet up to the item
    payload : In, its fields at their places modulo a row, zero elsewhere
    control : In, the control at its place modulo a row, zero elsewhere
    o : Out stream of :class:`~cdma.hdl.zvcplus.compressor.records.BitRow`
    """

    valid: Signal
    ready: Signal
    landing: data.View
    words: Signal
    payload: Signal
    control: Signal
    o: stream.Interface

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "valid": In(1),
                "ready": Out(1),
                "landing": In(Landing(config)),
                "words": In(COUNT_BITS),
                "payload": In(config.beat_bits),
                "control": In(config.beat_bits),
                "o": Out(stream.Signature(BitRow(config, COUNT_BITS))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, place, row = self.config, self.landing.place, self.o.payload
        held = [Signal(config.beat_bits, name=f"held{k}") for k in range(2)]
        has_full = Signal()  # the first row is full
        is_open = Signal()  # more may follow or not
        has_last = Signal()  # the packet ends with the first row
        kept = Signal(range(config.beat_bytes + 1), reset_less=True)
        words = Signal(COUNT_BITS, reset_less=True)
        takes, ends = Signal(), Signal()
        full, next_open = Signal(2), Signal()  # rows that are full, with the item
        parts = self._parts(m, takes, has_full)
        m.d.comb += [
            takes.eq(self.valid & ~(has_full & place.rows[1])),
            self.ready.eq(self.o.ready & ~(self.valid & has_full & place.rows[1])),
            ends.eq(takes & place.last),
            full.eq(has_full + Mux(takes, place.rows, 0)),
            next_open.eq(Mux(takes, place.is_open, is_open)),
            self.o.valid.eq(full[1] | (full[0] & ~next_open)),
            row.bits.eq(held[0] | parts[0]),
            row.last.eq(has_last | (ends & ~full[1])),
            row.bytes.eq(Mux(has_last, kept, place.bytes)),
            row.words.eq(Mux(has_last, words, self.words)),
        ]
        with m.If(self.o.ready):
            m.d.sync += [
                held[0].eq(Mux(self.o.valid, held[1] | parts[1], row.bits)),
                held[1].eq(parts[2]),
                has_full.eq(full[1] | (full[0] & next_open)),
                is_open.eq(next_open),
                has_last.eq(ends & full[1]),
                kept.eq(place.bytes),
                words.eq(self.words),
            ]
        return m

    def _parts(self, m, takes, has_full):
        """The bits of an item in the row that leaves next, and in the two behind."""
        size, place = self.config.beat_bits, self.landing.place
        longest = self.config.front_bits
        from_start = Signal(size)
        first_row, start_row = Signal(2), Signal(2)
        m.d.comb += [
            from_start.eq(
                Cat(
                    below | (here & low)
                    for below, here in zip(self.landing.below, self.landing.here, strict=True)
                    for low in self.landing.from_low
                )
            ),
            first_row.eq(place.control_row + has_full),
            start_row.eq(place.start_row + has_full),
        ]
        # The lowest places are in the next row if a control begins so far up that it can wrap; of a
        # control longer than half a row, the others only if it begins behind them.
        first = size - longest + 1
        cuts = [0, min(first, longest), longest] if first < longest else [0, longest]
        here, wrapped = [], []
        for low, high in pairwise(cuts):
            part, wraps = self.control[low:high], Signal(name=f"wraps{low}")
            m.d.comb += wraps.eq(place.at >= max(first, high))
            here.append(part & ~wraps.replicate(len(part)))
            wrapped.append(part & wraps.replicate(len(part)))
        high = self.control[longest:]
        controls = (Cat(*here, high), Cat(*wrapped, high & 0))
        payloads = (self.payload & from_start, self.payload & ~from_start)
        parts = [Signal(size, name=f"part{row}") for row in range(3)]
        for number, part in enumerate(parts):
            terms = [
                bits & (takes & (first == number - later)).replicate(size)
                for pair, first in ((controls, first_row), (payloads, start_row))
                for later, bits in enumerate(pair)
                if number >= later
            ]
            together = terms[0]
            for term in terms[1:]:
                together = together | term
            m.d.comb += part.eq(together)
        return parts
