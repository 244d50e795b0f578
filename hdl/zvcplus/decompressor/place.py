"""The places of controls and payloads in the ring."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.prefix import carry_of
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
from cdma.hdl.zvcplus.decompressor.window import chunk_bits


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
    chunk : Out, the upper bits of that bit, decoded, for
        :class:`~cdma.hdl.zvcplus.decompressor.window.ControlWindow`
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
    chunk: Signal
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
                "chunk": Out(
                    config.beat_bits // chunk_bits(config.beat_bits, reach(config)), init=1
                ),
                "here": Out(1),
                "tail": Out(place_bits(depth)),
                "behind": Out(place_bits(depth)),
                "front": Out(PayloadPlace(config, depth)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        bits = BIT_BITS
        # A packet's start sets all of them.
        tail, behind, bit, chunk, row, slot = (
            self._register(m, port)
            for port in (self.tail, self.behind, self.bit, self.chunk, self.row, self.slot)
        )
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
        after, carry, rows = self._after(m, bits)
        length = Cat(self.length, Const(0, bits))[:bits]
        with m.If(self.advance & self.is_first & ~self.is_tail):
            m.d.sync += tail.eq(Cat(length, row))
        with m.Elif(self.advance):
            m.d.sync += tail.eq(after)
        with m.Elif(self.follow & ~self.is_first):
            m.d.sync += tail.eq(Cat(bit, row))
        # A packet's first control stands at the start of a row, and no payload is behind it.
        with m.If(self.start):
            m.d.sync += [bit.eq(0), chunk.eq(1)]
        with m.Elif(self.advance):
            next_bit = Mux(self.is_first, length, after[:bits])
            m.d.sync += [bit.eq(next_bit), chunk.eq(self._chunk_of(next_bit))]
        # Both next rows are there before the carry, which only selects.
        advances = ~self.start & self.advance & ~self.is_first
        start = Cat(self.start_row, slot_of(self.start_row, self.depth))
        stays = Mux(self.start, start, Cat(row, slot))
        following = []
        for name, new in zip(("same", "next"), rows, strict=True):
            each = kept_apart(f"{name}_row", len(stays))
            m.d.comb += each.eq(Mux(advances, Cat(new, slot_of(new, self.depth)), stays))
            following.append(each)
        m.d.sync += Cat(row, slot).eq(Mux(carry, following[1], following[0]))
        self._behind(m, bits, behind)
        return m

    def _register(self, m, port):
        register = Signal.like(port, name=f"held_{port.name}", reset_less=True)
        m.d.comb += port.eq(register)
        return register

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
        return Cat(added[:-1], Mux(added[-1], rows[1], rows[0])), added[-1], rows

    def _chunk_of(self, bit):
        """The chunk of a bit, decoded."""
        count = len(self.chunk)
        upper = bit[BIT_BITS - (count.bit_length() - 1) :]
        return Cat(upper == k for k in range(count)) if count > 1 else Const(1, 1)

    def _behind(self, m, bits, behind):
        """Behind the control alone, and behind bits of repeats there."""
        end = Signal(bits + 1)
        control = Cat(self.control, Const(0, bits))[:bits]
        # The carry in a tree of its own.
        m.d.comb += end.eq(
            Cat((self.tail[:bits] + control)[:bits], carry_of(self.tail[:bits], control))
        )
        following = kept_apart("following", row_bits(self.depth))
        m.d.comb += following.eq(self.tail[bits:] + 1)
        with m.If(self.advance & self.is_first):
            m.d.sync += behind.eq(Cat(self.length, Const(0, bits))[:bits])
            m.d.sync += behind[bits:].eq(self.row)
        with m.Elif(self.advance):
            m.d.sync += behind.eq(Cat(end[:-1], Mux(end[-1], following, self.tail[bits:])))
        words, row, crosses = end, self.tail[bits:], end[-1]
        if self.config.has_repeats:
            skipped = Signal(place_bits(self.depth))
            words = Signal(bits + 1)
            m.d.sync += skipped.eq(self.tail + self.skip)
            m.d.comb += words.eq(skipped[:bits] + self.control)
            row, crosses = skipped[bits:], words[-1]
            if most_crossed(self.config) > 1:  # the bits of repeats can end in another row
                crosses += registered(m, (self.tail[:bits] + self.skip)[bits], "passed")
        m.d.comb += [
            self.front.bit.eq(words),
            self.front.slot.eq(slot_of(row, self.depth)),
            self.front.wraps.eq(words[-1]),
            self.front.crosses.eq(crosses),
        ]
