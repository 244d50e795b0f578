"""Reading the payload of each beat from the ring."""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.signals import copies_of, one_of, wire
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.layouts import (
    BIT_BITS,
    PlacedBeat,
    most_crossed,
    most_passed,
    tags_of,
)
from cdma.hdl.zvcplus.decompressor.payload.unpacker import Crossing, halves_of
from cdma.hdl.zvcplus.network import exceeded

#: Bits of a place that are compared with those of a bit in one tree.
LOW_BITS = 4
#: Registers of the choice of rows, each for a part of a row: its fan-out is large.
COPIES = 6


class PayloadReader(wiring.Component):
    """Read a row's worth of bits for each beat, when its rows have come.

    A bit keeps its place in a row: a beat's bits begin at its place and go around, from its row to
    the one behind it. One of both rows is in a slot with an even number, so that each is a choice
    of half of the slots.

    A beat waits until its row and the one behind it have come, or its packet has ended or failed;
    without payload it does not wait. With each beat, the rows in front of it are given back.

    Throughput one beat a cycle; latency one cycle from a beat to its bits. ``bits`` is
    combinational from ``rows``, all others of a beat come from registers. ``i.ready`` and ``free``
    follow ``enable`` through a gate.

    Parameters
    ----------
    config : Config
        Element type.
    depth : int
        Slots of the ring.

    Members
    -------
    i : In stream of :class:`~cdma.hdl.zvcplus.decompressor.layouts.PlacedBeat`
    enable : In, the bits of a beat are taken
    rows, pairs : In, see :class:`~cdma.hdl.zvcplus.decompressor.rows.RowRing`
    has_ended, parity : In, see :class:`~cdma.hdl.zvcplus.decompressor.ends.PacketEnds`
    free : Out, a bit per slot: rows that are given back, of the packet with parity ``free_parity``
    read : Out, the last payload of a packet is taken
    drops : Out, with repeats: no row is needed any more of the packet with the parity of ``tags``,
        which has failed
    o_valid : Out, there is a beat whose rows have come
    bits : Out, its bits
    starts : Out, per lane, place of its word in them
    crossing : Out, :class:`~cdma.hdl.zvcplus.decompressor.payload.unpacker.Crossing` of the first
        word of the upper half
    tags : Out, :class:`~cdma.hdl.zvcplus.decompressor.layouts.BeatTags`
    """

    i: stream.Interface
    enable: Signal
    rows: data.View
    pairs: data.View
    has_ended: Signal
    parity: Signal
    free: Signal
    free_parity: Signal
    read: Signal
    o_valid: Signal
    bits: Signal
    starts: data.View
    crossing: data.View
    tags: data.View

    def __init__(self, config: Config, depth: int):
        self.config = config
        self.depth = depth
        super().__init__(
            {
                "i": In(stream.Signature(PlacedBeat(config, depth))),
                "enable": In(1),
                "rows": In(data.ArrayLayout(config.beat_bits, depth)),
                "pairs": In(data.ArrayLayout(depth, 2)),
                "has_ended": In(2),
                "parity": In(1),
                "free": Out(depth),
                "free_parity": Out(1),
                "read": Out(1),
                **({"drops": Out(1)} if config.has_repeats else {}),
                "o_valid": Out(1),
                "bits": Out(config.beat_bits),
                "starts": Out(data.ArrayLayout(BIT_BITS, config.lanes)),
                "crossing": Out(Crossing(BIT_BITS)),
                "tags": Out(tags_of(config)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        beat = self.i.payload
        tags = Signal.like(self.tags, reset_less=True)
        starts = Signal.like(self.starts, reset_less=True)
        crossing = Signal.like(self.crossing, reset_less=True)
        slot = Signal(self.depth)  # of the last beat that was loaded
        is_empty, is_loaded, has_come = Signal(reset_less=True), Signal(), Signal()
        moves = Signal()  # the next beat is loaded, if there is one
        m.d.comb += [
            self.o_valid.eq(is_loaded & has_come),
            moves.eq(self.enable & (~is_loaded | has_come)),
            self.i.ready.eq(moves),
            self.read.eq(self.enable & self.o_valid & tags.final),
            self.tags.eq(tags),
            self.starts.eq(starts),
            self.crossing.eq(crossing),
        ]
        # Whether the rows have come: of the beat that waits, and of the next.
        waiting = self._has_come(m, slot, is_empty, tags)
        coming = self._has_come(m, beat.slot, beat.is_empty, beat.tags)
        m.d.sync += [
            is_loaded.eq(Mux(moves, self.i.valid, is_loaded)),
            has_come.eq(Mux(moves, coming, waiting)),
        ]
        with m.If(moves):
            m.d.sync += [
                tags.eq(beat.tags),
                is_empty.eq(beat.is_empty),
                starts.eq(beat.starts),
                crossing.eq(halves_of(beat.starts[self.config.lanes // 2])),
            ]
        if self.config.has_repeats:
            with m.If(moves & self.i.valid):
                m.d.sync += self.drops.eq(beat.tags.failed & ~beat.tags.final)
        self._free(m, slot, moves)
        self._read(m, moves)
        return m

    def _has_come(self, m, slot, is_empty, tags):
        """The rows of a beat have come, not those of the packet before that are still in their
        slots. A packet is read when the packet before is done with."""
        even, odd = ((slot & pairs).any() for pairs in self.pairs)
        come = Mux(tags.parity, odd, even) | is_empty
        ended = Mux(tags.parity, self.has_ended[1], self.has_ended[0])
        return (come | ended) & (~tags.final | (tags.parity == self.parity))

    def _free(self, m, slot, moves):
        """Give back the rows in front of a beat that is loaded: at most two since the beat before,
        with repeats of int8 three. The first rows of a packet follow those of the packet before."""
        beat = self.i.payload
        is_new = Signal(init=1)  # the next beat is the first of a packet
        one, two, passed = Signal(), Signal(), Signal(self.depth)
        crosses, has_two = beat.crosses, most_crossed(self.config) > 1
        first = beat.slot.rotate_right(1) & (crosses.any() if has_two else crosses).replicate(
            self.depth
        )
        if has_two:
            first |= beat.slot.rotate_right(2) & crosses[1].replicate(self.depth)
        m.d.comb += [
            one.eq((beat.slot & slot.rotate_left(1)).any()),
            two.eq((beat.slot & slot.rotate_left(2)).any()),
        ]
        steps = [one, two]
        if most_passed(self.config) > 2:
            three = Signal()
            m.d.comb += three.eq((beat.slot & slot.rotate_left(3)).any())
            steps.append(three)
        following = [
            (slot.rotate_left(k) if k else slot) & reduce(or_, steps[k:]).replicate(self.depth)
            for k in range(len(steps))
        ]
        m.d.comb += [
            passed.eq(Mux(is_new, first, reduce(or_, following))),
            self.free.eq(passed & (moves & self.i.valid).replicate(self.depth)),
            self.free_parity.eq(beat.tags.parity),
        ]
        with m.If(moves & self.i.valid):
            m.d.sync += [slot.eq(beat.slot), is_new.eq(beat.tags.final)]

    def _read(self, m, moves):
        """Choose two rows, and from which of them each bit comes."""
        beat, size = self.i.payload, self.config.beat_bits
        is_odd = beat.is_odd
        # Bits below the place are of the row behind. Both halves of the place are decoded ahead.
        low, high = beat.bit[:LOW_BITS], beat.bit[LOW_BITS:]
        # The place exceeds a bit, in its part of a row: for each half of the row.
        exceeds = copies_of(m, Cat(exceeded(low)), "exceeds", 2, enable=moves)
        # Per part, and behind the last: bits in front of it are of the odd row.
        is_odd_up_to = Signal((1 << len(high)) + 1, reset_less=True)
        with m.If(moves):
            m.d.sync += is_odd_up_to.eq(Cat(~is_odd, *(each ^ is_odd for each in exceeded(high))))
        # Each copy of the selects drives a part of the bits.
        choices = {
            "even": (beat.slot[::2] | beat.slot[1::2].rotate_left(1), list(self.rows)[::2]),
            "odd": (beat.slot[::2] | beat.slot[1::2], list(self.rows)[1::2]),
        }
        pair = []
        for name, (chosen, rows) in choices.items():
            copies = copies_of(m, chosen, name, COPIES, enable=moves)
            part = -(-size // len(copies))
            row_bits = Cat(
                one_of(copy, [row[k * part :][:part] for row in rows])
                for k, copy in enumerate(copies)
            )
            pair.append(wire(m, row_bits, f"{name}_row"))
        chosen = [
            Mux(is_below, is_odd_up_to[part], is_odd_up_to[part + 1])
            for part in range(1 << len(high))
            for is_below in exceeds[part >> (len(high) - 1)]
        ]
        m.d.comb += self.bits.eq(
            Cat(Mux(*each) for each in zip(chosen, pair[1], pair[0], strict=True))
        )
