"""The places of controls and payloads in the ring."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.signals import kept_apart, registered
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.layouts import (
    BIT_BITS,
    PayloadPlace,
    most_crossed,
    place_bits,
    reach,
    row_bits,
    window_bits,
)
from cdma.hdl.zvcplus.decompressor.rows import slot_of


class ControlPlace(wiring.Component):
    """Follow the place of the next control, and of the payload behind it.

    A place is the number of a row, modulo ``2**row_bits``, and a bit of it. The *tail* is the place
    behind the payloads of its packet so far. A packet's next control stands there. But where the
    steps behind a packet's last control are also the first of the next packet, the tail stays with
    the packet before, and both places differ.

    All outputs come from registers, but for ``here`` and ``front``.

    Parameters
    ----------
    config : Config
        Element type.
    depth : int
        Slots of the ring.

    Members
    -------
    come : In, number of rows that have come
    start : In, the next packet's first control stands at the start of row ``start_row``
    is_first : In, the step has a packet's first control
    is_tail : In, the step is behind a packet's last control
    follow : In, the tail goes to the place of the control, unless that ``is_first``
    advance : In, the step ends: move behind its control, and behind the payload in front of the
        next
    length : In, bits of the control
    control : In, the same; 0 when the control is its packet's first, or when there is none
    sum, carry : In, with ``advance``, a number in two parts: the tail and that payload
    skip : In, with repeats: bits of repeats at the start of the payload behind the control, in the
        cycle before ``advance``
    slot, row, bit : Out, place of the control, with the slot of its row, a bit per slot
    here : Out, the rows of the control have come
    tail : Out, the tail
    behind : Out, the place behind the control of the step before
    front : Out, with ``advance``: :class:`~cdma.hdl.zvcplus.decompressor.layouts.PayloadPlace` of
        the words behind the control
    """

    come: Signal
    start: Signal
    start_row: Signal
    is_first: Signal
    is_tail: Signal
    follow: Signal
    advance: Signal
    length: Signal
    control: Signal
    sum: Signal
    carry: Signal
    slot: Signal
    row: Signal
    bit: Signal
    here: Signal
    tail: Signal
    behind: Signal
    front: data.View

    def __init__(self, config: Config, depth: int):
        self.config = config
        self.depth = depth
        length = range(window_bits(config) + 1)
        repeats = {"skip": In(range(config.word.block_words + 1))}
        super().__init__(
            {
                "come": In(row_bits(depth)),
                **dict.fromkeys(("start", "is_first", "is_tail", "follow", "advance"), In(1)),
                "start_row": In(row_bits(depth)),
                "length": In(length),
                "control": In(length),
                "sum": In(place_bits(depth)),
                "carry": In(place_bits(depth)),
                **(repeats if config.has_repeats else {}),
                "slot": Out(depth, init=1),
                "row": Out(row_bits(depth)),
                "bit": Out(BIT_BITS),
                "here": Out(1),
                "tail": Out(place_bits(depth)),
                "behind": Out(place_bits(depth)),
                "front": Out(PayloadPlace(config, depth)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        bits = BIT_BITS
        ahead = Signal(row_bits(self.depth))  # rows that have come, from that of the control on
        # Near its row's end, a control may need another row; that of int8 and its repeats need two
        # rows at least.
        more = (reach(self.config) - 1) >> bits
        fits = self.bit <= (self.config.beat_bits << more) - reach(self.config)
        enough = ahead[1] & (ahead[0] | fits) if more else ahead[0] & fits
        m.d.comb += [
            ahead.eq(self.come - self.row),
            self.here.eq(~ahead[-1] & (ahead[1 + more : -1].any() | enough)),
        ]
        after, slot = self._after(m, bits)
        length = Cat(self.length, Const(0, bits))[:bits]
        with m.If(self.advance & self.is_first & ~self.is_tail):
            m.d.sync += self.tail.eq(Cat(length, self.row))
        with m.Elif(self.advance):
            m.d.sync += self.tail.eq(after)
        with m.Elif(self.follow & ~self.is_first):
            m.d.sync += self.tail.eq(Cat(self.bit, self.row))
        # A packet's first control stands at the start of a row, and no payload is behind it.
        with m.If(self.start):
            m.d.sync += [
                self.bit.eq(0),
                self.row.eq(self.start_row),
                self.slot.eq(slot_of(self.start_row, self.depth)),
            ]
        with m.Elif(self.advance & self.is_first):
            m.d.sync += self.bit.eq(self.length)
        with m.Elif(self.advance):
            m.d.sync += [self.bit.eq(after), self.row.eq(after[bits:]), self.slot.eq(slot)]
        self._behind(m, bits)
        return m

    def _after(self, m, bits):
        """Behind the control and the payload. The bits carry into the row late: both rows are there
        by then."""
        low = Cat(self.control, Const(0, bits))[:bits]
        one, two = self.sum[:bits], self.carry[:bits]
        ones, twos = Signal(bits), Signal(bits)  # of three numbers, two
        added = Signal(bits + 1, name="added")
        rows = [kept_apart(f"rows{carry}", row_bits(self.depth)) for carry in range(2)]
        half = bits // 2
        parts = [Signal(half + 1, name=f"part{k}") for k in range(3)]
        shifted = Cat(0, twos[:-1])
        gives, passes = kept_apart("gives"), kept_apart("passes")
        m.d.comb += [
            ones.eq(one ^ two ^ low),
            twos.eq(one & two | one & low | two & low),
            # The upper half of the bits is there with a carry and without.
            parts[0].eq(ones[:half] + shifted[:half]),
            parts[1].eq(ones[half:] + shifted[half:]),
            parts[2].eq(ones[half:] + shifted[half:] + 1),
            gives.eq(parts[1][-1]),
            passes.eq((ones[half:] ^ shifted[half:]).all()),
            added.eq(
                Cat(
                    parts[0][:-1],
                    Mux(parts[0][-1], parts[2][:-1], parts[1][:-1]),
                    gives | (passes & parts[0][-1]),
                )
            ),
            *(
                each.eq(self.sum[bits:] + self.carry[bits:] + twos[-1] + carry)
                for carry, each in enumerate(rows)
            ),
        ]
        chosen = Mux(added[-1], *(Cat(row, slot_of(row, self.depth)) for row in reversed(rows)))
        row = len(self.row)
        return Cat(added[:-1], chosen[:row]), chosen[row:]

    def _behind(self, m, bits):
        """Behind the control alone, and behind bits of repeats there."""
        end = Signal(bits + 1)
        m.d.comb += end.eq(self.tail[:bits] + self.control)
        following = kept_apart("following", row_bits(self.depth))
        m.d.comb += following.eq(self.tail[bits:] + 1)
        with m.If(self.advance & self.is_first):
            m.d.sync += self.behind.eq(Cat(self.length, Const(0, bits))[:bits])
            m.d.sync += self.behind[bits:].eq(self.row)
        with m.Elif(self.advance):
            m.d.sync += self.behind.eq(Cat(end[:-1], Mux(end[-1], following, self.tail[bits:])))
        words, row, crosses = end, self.tail[bits:], end[-1]
        if self.config.has_repeats:
            skipped = Signal(place_bits(self.depth))
            words = Signal(bits + 1)
            m.d.sync += skipped.eq(self.tail + self.skip)
            m.d.comb += words.eq(skipped[:bits] + self.control)
            row, crosses = skipped[bits:], words[-1]
            if most_crossed(self.config) > 1:  # the bits of repeats can end in another row
                crosses += registered(m, (self.tail[:bits] + self.skip)[bits], "passed")
        rows = [slot_of(row, self.depth), slot_of(row, self.depth).rotate_left(1)]
        m.d.comb += [
            self.front.bit.eq(words),
            self.front.slot.eq(Mux(words[-1], rows[1], rows[0])),
            self.front.crosses.eq(crosses),
        ]
