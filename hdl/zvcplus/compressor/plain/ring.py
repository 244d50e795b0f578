"""Bits of controls and payloads become rows."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.signals import any_of, duplicates, wire
from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.hdl.zvcplus.compressor.plain.records import (
    WINDOW_WORD,
    Landing,
    Window,
    body_window,
    heading_window,
)
from cdma.hdl.zvcplus.compressor.records import (
    BitRow,
)
from cdma.hdl.zvcplus.config import Config

#: Rows that are held.
ROWS = 4


class PlainRing(wiring.Component):
    """Collect controls and payloads in a ring of rows.

    One row is being filled, behind at most three that are left behind and wait for the output. An
    item adds bits to it and to the two rows behind it. It is taken if these are free: whether they
    will be is known a cycle before, so that ``ready`` comes from registers.

    The last row of only one packet is in the ring at a time.

    Throughput one item and one row a cycle: a row that leaves in this cycle counts as free in the
    next. ``o`` comes from registers, ``o.payload.bits`` through one multiplexer.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    next_valid, next : In, ``valid`` and ``landing`` of the item that comes next, in the cycle after
        one with ``ready``
    next_passes : In, it leaves at least one row behind, and at least two, a packet's last row aside
    ready : Out, array of equal bits: the item is taken, if there is one
    valid : In, there is an item
    landing : In, its :class:`~cdma.hdl.zvcplus.compressor.plain.records.Landing`
    words : In, words of the packet up to the item
    payload : In, its fields at their places modulo a row, zero elsewhere
    heading, body : In, :class:`~cdma.hdl.zvcplus.compressor.plain.records.Window`: both parts of
        the control
    o : Out stream of :class:`~cdma.hdl.zvcplus.compressor.records.BitRow`
    """

    next_valid: Signal
    next: data.View
    next_passes: Signal
    ready: Signal
    valid: Signal
    landing: data.View
    words: Signal
    payload: Signal
    heading: data.View
    body: data.View
    o: stream.Interface

    #: Equal registers of ``ready``, to divide its fan-out.
    COPIES = 3

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "next_valid": In(1),
                "next": In(Landing(config)),
                "next_passes": In(2),
                "ready": Out(self.COPIES),
                "valid": In(1),
                "landing": In(Landing(config)),
                "words": In(COUNT_BITS),
                "payload": In(config.beat_bits),
                "heading": In(Window(*heading_window(config))),
                "body": In(Window(*body_window(config))),
                "o": Out(stream.Signature(BitRow(config, COUNT_BITS))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        row, landing = self.o.payload, self.landing
        holds = Signal()  # the inverse of ready in a register of its own, to divide the fan-out
        head, tail, next_tail = Signal(ROWS, init=1), Signal(ROWS, init=1), Signal(ROWS)  # one-hot
        # Rows that are left behind: how many, which, and which of them ends its packet.
        count, is_waiting = Signal(2), Signal()
        waits, ends_packet, next_waits = Signal(ROWS), Signal(ROWS), Signal(ROWS)
        next_head, next_ends, is_last = Signal(ROWS), Signal(ROWS), Signal()
        takes, leaves, ends = Signal(), Signal(), Signal()
        passed = [takes & (landing.rows > back) for back in range(2)]
        m.d.comb += [
            takes.eq(self.valid & ~holds),
            leaves.eq(is_waiting & self.o.ready),
            ends.eq(takes & landing.last),
            next_tail.eq(Mux(takes, rotated(tail, landing.rows), tail)),
            next_waits.eq(
                (waits & ~(head & leaves.replicate(ROWS)))
                | (tail & passed[0].replicate(ROWS))
                | (tail.rotate_left(1) & passed[1].replicate(ROWS))
            ),
            next_head.eq(Mux(leaves, head.rotate_left(1), head)),
            # The row in front of the one that is being filled next.
            next_ends.eq(
                Mux(ends, next_tail.rotate_right(1), ends_packet & ~(head & leaves.replicate(ROWS)))
            ),
            self.o.valid.eq(is_waiting),
            row.last.eq(is_last),
        ]
        next_count = Signal(range(ROWS + 1))
        m.d.comb += next_count.eq(count - leaves + Mux(takes, landing.rows, 0))
        m.d.sync += [
            count.eq(next_count),
            is_waiting.eq(next_count.any()),
            waits.eq(next_waits),
            tail.eq(next_tail),
            head.eq(next_head),
            ends_packet.eq(next_ends),
            is_last.eq((next_head & next_ends).any()),
        ]
        selected = self._select(m, holds, tail, next_tail, next_waits)
        self._hold_rows(m, takes, leaves, head, tail, selected)
        self._decide(m, holds, next_count, self._end(m, ends, leaves & row.last))
        return m

    def _end(self, m, ends, leaves):
        """Hold what belongs to a packet's last row; whether there is one in the next cycle."""
        row, has_last, next_has_last = self.o.payload, Signal(), Signal()
        held = Signal.like(Cat(row.bytes, row.words), name="kept", reset_less=True)
        with m.If(ends):
            m.d.sync += held.eq(Cat(self.landing.bytes, self.words))
        m.d.comb += [
            Cat(row.bytes, row.words).eq(held),
            next_has_last.eq((has_last & ~leaves) | ends),
        ]
        m.d.sync += has_last.eq(next_has_last)
        return next_has_last

    def _decide(self, m, holds, next_count, next_has_last):
        """Whether the item of the next cycle fits. The rows of one that comes are known late: what
        there is room for is known before."""
        landing, ends, stays = self.landing, Signal(), Signal()
        passes = self.next_passes
        m.d.comb += [
            ends.eq(self.next_valid & self.next.last),
            stays.eq(
                ~self.valid | ((next_count + landing.rows < ROWS) & ~(landing.last & next_has_last))
            ),
        ]
        room = [next_count + ends + more < ROWS for more in range(3)]
        comes = ~self.next_valid | (
            (room[1] | ~passes[0]) & (room[2] | ~passes[1]) & room[0] & ~(ends & next_has_last)
        )
        fits = Mux(holds, stays, comes)
        m.d.comb += self.ready.eq(Cat(duplicates(m, fits, "fits")))
        m.d.sync += holds.eq(~fits)

    def _select(self, m, holds, tail, next_tail, next_waits):
        """Registers: of payload and control, the rows in which the item of the next cycle begins,
        and those behind; without those that wait, to which an item that does not fit adds nothing.
        """
        item = data.View(Landing(self.config), Mux(holds, self.landing, self.next))
        is_valid = Mux(holds, self.valid, self.next_valid)
        # A control behind a packet's last row: of an item that comes, that row is known late.
        ways = [next_tail.rotate_left(rows) for rows in range(1, 4)]
        passes = self.next_passes
        coming = Mux(passes[1], ways[2], Mux(passes[0], ways[1], ways[0]))
        after = Mux(holds, rotated(tail, self.landing.rows), coming)
        control = Mux(item.is_after, after, rotated(next_tail, item.control_row))
        found = []
        for name, row in (
            ("payload", rotated(next_tail, item.start_row)),
            # Of a control that begins a row, nothing is in the row behind.
            ("control", control),
        ):
            first = row & is_valid.replicate(ROWS)
            for kind, rows in (("here", first), ("behind", first.rotate_left(1))):
                selected = Signal(ROWS, name=f"{name}_{kind}")
                m.d.sync += selected.eq(rows & ~next_waits)
                found.append(selected)
        return found

    def _hold_rows(self, m, takes, leaves, head, tail, selected):
        """The ring of rows, and the bits of the row at its head."""
        size, landing = self.config.beat_bits, self.landing
        from_start = Cat(
            below | (here & low)
            for below, here in zip(landing.below, landing.here, strict=True)
            for low in landing.from_low
        )
        from_start = wire(m, from_start, "from_start")
        added = [self.payload & from_start, self.payload & ~from_start, *self._control()]
        given = Const(0, size)
        for number in range(ROWS):
            held = Signal(size, name=f"row{number}", reset_less=True)
            is_held = Signal(name=f"is_held{number}")
            bits = held & is_held.replicate(size)
            for part, rows in zip(added, selected, strict=True):
                bits = bits | (part & rows[number].replicate(size))
            reached = any_of(
                (landing.reach >= back) & tail[(number - back) % ROWS] for back in range(3)
            )
            m.d.sync += [
                held.eq(bits),
                is_held.eq((is_held & ~(leaves & head[number])) | (takes & reached)),
            ]
            given = given | (held & head[number].replicate(size))
        m.d.comb += self.o.payload.bits.eq(given)

    def _control(self):
        """The control in the row of its first bit, and in the row behind."""
        parts = self.config.beat_bits // WINDOW_WORD
        places = [Const(0, WINDOW_WORD)] * (2 * parts)
        for window in (self.heading, self.body):
            words = -(-len(window.bits) // WINDOW_WORD)
            bits = Cat(window.bits, Const(0, words * WINDOW_WORD - len(window.bits)))
            for part, is_here in enumerate(window.at):
                for word in range(words):
                    chosen = bits.word_select(word, WINDOW_WORD) & is_here.replicate(WINDOW_WORD)
                    places[part + word] = places[part + word] | chosen
        return Cat(*places[:parts]), Cat(*places[parts:])


def rotated(one_hot, number):
    """A one-hot number of a row, so many rows behind."""
    if isinstance(number, int):
        return one_hot.rotate_left(number)
    for bit in range(len(number)):
        one_hot = Mux(number[bit], one_hot.rotate_left(1 << bit), one_hot)
    return one_hot
