"""Fetching the controls of packets ahead of their payload."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.zvc.beat import DecompressorCommand
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.check import StreamCheck
from cdma.hdl.zvcplus.decompressor.describe import BlockDescriber
from cdma.hdl.zvcplus.decompressor.header import HeaderReader
from cdma.hdl.zvcplus.decompressor.layouts import (
    Block,
    PacketEnd,
    PayloadPlace,
    StreamEnd,
    place_bits,
    reach,
    row_bits,
)
from cdma.hdl.zvcplus.decompressor.length import PayloadLength
from cdma.hdl.zvcplus.decompressor.mask import MaskDecoder
from cdma.hdl.zvcplus.decompressor.payload.meter import PayloadMeter
from cdma.hdl.zvcplus.decompressor.place import ControlPlace
from cdma.hdl.zvcplus.decompressor.repeats import RepeatReader
from cdma.hdl.zvcplus.decompressor.steps import ControlSteps
from cdma.hdl.zvcplus.decompressor.window import ControlWindow


class ControlFetcher(wiring.Component):
    """Follow the stream from control to control, and give out the blocks of packets.

    A step takes four cycles and has a control of its own. The mask and the length of the block
    before are worked out at the same time:

    ======  ==========================  ==========================================================
    phase   this step                   the block of the step before
    ======  ==========================  ==========================================================
    0       chunks with the control     its nibbles are spread and their ones counted
    1       its bits                    number of its words; the block is kept, and leaves
    2       its header and length       place behind its payload, in two parts
    3       widths; nibbles, and their  its payload's place leaves; place of the next control
            ranks
    ======  ==========================  ==========================================================

    The bits of a control are a register that is loaded in phase 1. All that follows from them
    comes cycle by cycle, without an enable, and stays until three phases before it comes again. So
    only the place and the bits have to wait, in phase 0: for the rows of the control, and for room
    behind.

    With repeats, the window shows the bits behind the control too, where the payload of the step
    before begins with its bits of repeats; they leave behind phase 3.

    Throughput one block in four cycles.

    Parameters
    ----------
    config : Config
        Element type.
    depth : int
        Slots of the ring.

    Members
    -------
    i_command : In stream of :class:`~cdma.hdl.zvc.beat.DecompressorCommand`
    rows, come : In, rows and number of rows, see
        :class:`~cdma.hdl.zvcplus.decompressor.rows.RowRing`
    can_start, start_row, has_two, ended, failed, current, first, parity : In, see
        :class:`~cdma.hdl.zvcplus.decompressor.ends.PacketEnds`
    start : Out, a packet is started
    checked : Out, the end of the first packet is checked
    fails, failing : Out, with repeats: see
        :class:`~cdma.hdl.zvcplus.decompressor.check.StreamCheck`
    o : Out stream of :class:`~cdma.hdl.zvcplus.decompressor.layouts.Block`
    o_front : Out stream of :class:`~cdma.hdl.zvcplus.decompressor.layouts.PayloadPlace`, one for
        each block; there must be room for one when a step begins
    o_repeats : Out stream, with repeats: the bits of repeats of each block that uses them
    o_end : Out stream of :class:`~cdma.hdl.zvcplus.decompressor.layouts.PacketEnd`
    """

    i_command: stream.Interface
    rows: data.View
    come: Signal
    can_start: Signal
    start_row: Signal
    has_two: Signal
    ended: Signal
    failed: Signal
    current: data.View
    first: data.View
    parity: Signal
    start: Signal
    checked: Signal
    fails: Signal
    failing: Signal
    o: stream.Interface
    o_front: stream.Interface
    o_end: stream.Interface

    def __init__(self, config: Config, depth: int):
        self.config = config
        self.depth = depth
        end = StreamEnd(config, depth)
        repeats = {"o_repeats": Out(stream.Signature(config.word.block_words))}
        super().__init__(
            {
                "i_command": In(stream.Signature(DecompressorCommand())),
                "rows": In(data.ArrayLayout(config.beat_bits, depth)),
                "come": In(row_bits(depth)),
                **dict.fromkeys(("can_start", "has_two", "ended", "failed", "parity"), In(1)),
                "start_row": In(row_bits(depth)),
                "current": In(end),
                "first": In(end),
                **dict.fromkeys(("start", "checked", "fails", "failing"), Out(1)),
                "o": Out(stream.Signature(Block(config))),
                "o_front": Out(stream.Signature(PayloadPlace(config, depth))),
                **(repeats if config.has_repeats else {}),
                "o_end": Out(stream.Signature(PacketEnd())),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, depth, word = self.config, self.depth, self.config.word
        m.submodules.steps = steps = ControlSteps(config)
        m.submodules.place = place = ControlPlace(config, depth)
        m.submodules.window = window = ControlWindow(config.beat_bits, depth, reach(config))
        m.submodules.header = reader = HeaderReader(config)
        m.submodules.mask = mask = MaskDecoder(word.flags)
        m.submodules.payload = payload = PayloadLength(
            word.block_words,
            word.bits,
            config.block_groups,
            place_bits=place_bits(depth),
            has_repeats=config.has_repeats,
        )
        m.submodules.describe = describe = BlockDescriber(config)
        m.submodules.check = check = StreamCheck(config, depth)
        wiring.connect(m, wiring.flipped(self.i_command), steps.i_command)
        header, phase = reader.header, steps.phase
        is_first = steps.has_control & steps.is_first
        is_due = Signal()  # the block has not left
        is_idle = phase[0] & ~steps.is_tail & ~steps.is_end
        m.d.comb += [
            # Steps of the packet before must not wait for rows of the next: the ring may be full.
            steps.can_start.eq(self.can_start & ((self.come != self.start_row) | is_idle)),
            self.start.eq(steps.starts),
            place.come.eq(self.come),
            place.start.eq(steps.starts),
            place.start_row.eq(self.start_row),
            place.is_first.eq(is_first),
            place.is_tail.eq(steps.is_tail),
            place.follow.eq(phase[1]),
            place.advance.eq(phase[3]),
            place.length.eq(header.length),
            place.control.eq(reader.control),
            place.sum.eq(payload.sum),
            place.carry.eq(payload.carry),
            window.rows.eq(self.rows),
            window.slot.eq(place.slot),
            window.bit.eq(place.bit),
            window.chunk.eq(place.chunk),
            window.load.eq(phase[1]),
            reader.bits.eq(window.bits),
            reader.nothing.eq(steps.is_empty),
            reader.skip.eq(is_first | ~steps.has_control),
            mask.flags.eq(header.flags),
            mask.body.eq(header.body),
            mask.differences.eq(header.differences),
            mask.dense.eq(header.dense | header.raw),
            mask.load.eq(phase[1]),
            payload.counts.eq(mask.counts),
            payload.widths.eq(describe.widths),
            # In the cycle behind, the sum is the payload's length alone.
            payload.base.eq(Mux(phase[3], 0, place.tail)),
            describe.header.eq(header),
            describe.follow.eq(phase[3] & steps.has_control),
            describe.start.eq(phase[1] & is_first),
            describe.keep.eq(phase[1]),
            describe.mask.eq(mask.mask),
            describe.last.eq(steps.is_last),
            describe.words.eq(steps.words),
            describe.parity.eq(self.parity ^ (self.has_two & ~steps.shares_tail)),
            self.o.valid.eq(is_due),
            self.o.payload.eq(describe.block),
            self.o_front.valid.eq(phase[3] & steps.has_block),
            self.o_front.payload.eq(place.front),
        ]
        with m.If(phase[1]):
            m.d.sync += is_due.eq(steps.has_block)
        with m.Elif(self.o.ready):
            m.d.sync += is_due.eq(0)
        room = ~is_due & self.o_front.ready
        if config.has_repeats:
            room = room & self._read_repeats(
                m, steps, place, window, reader, payload, describe, check
            )
        self._check(m, steps, place, payload, describe, check)
        self._wait(m, steps, place, check, room)
        return m

    def _wait(self, m, steps, place, check, room):
        """A step waits for its rows, and at a packet's end until all rows have come."""
        is_pending = Signal()  # the end of a packet, which is being checked
        has_rows = ~(steps.has_control | steps.is_tail) | place.here | self.ended | self.failed
        has_end = steps.shares_end | (self.ended & ~self.has_two)
        can_end = ~steps.is_end | (has_end & self.o_end.ready & ~is_pending)
        is_step = steps.has_control | steps.is_tail | steps.is_end
        m.d.comb += steps.proceed.eq(is_step & has_rows & can_end & room)
        with m.If(check.o_valid):
            m.d.sync += is_pending.eq(0)
        with m.Elif(steps.phase[1] & steps.is_end):
            m.d.sync += is_pending.eq(1)

    def _check(self, m, steps, place, payload, describe, check):
        """The first error, and the packet's end."""
        names = ("phase", "has_block", "is_second", "is_end", "shares_tail", "shares_end", "starts")
        m.d.comb += [
            *(getattr(check, name).eq(getattr(steps, name)) for name in names),
            *(getattr(check, name).eq(getattr(self, name)) for name in ("current", "ended")),
            check.first.eq(self.first),
            check.parity.eq(describe.block.parity),
            check.tail.eq(place.tail),
            check.behind.eq(place.behind),
            check.is_reserved.eq(describe.is_reserved),
            check.is_past.eq(describe.is_past),
            check.is_long.eq(describe.length + payload.length > self.config.block_bits),
            self.checked.eq(check.checked),
            self.o_end.valid.eq(check.o_valid),
            self.o_end.payload.eq(check.end),
        ]

    def _read_repeats(self, m, steps, place, window, reader, payload, describe, check):
        """The bits of repeats; gives whether there is room for others."""
        m.submodules.repeats = repeats = RepeatReader(self.config)
        header, phase, block = reader.header, steps.phase, describe.block
        wiring.connect(m, repeats.o, wiring.flipped(self.o_repeats))
        m.d.comb += [
            repeats.header.eq(header),
            repeats.bits.eq(window.bits),
            repeats.shift.eq(reader.control),
            repeats.load.eq(phase[3]),
            repeats.uses.eq(steps.has_block & block.has_repeats),
            payload.has_repeats.eq(repeats.used),
            payload.repeats.eq(repeats.sent),
            place.skip.eq(payload.repeat_bits),
            # A wrong number of repeated words: the payload is not as long as its beats. With a
            # shared tail, the block of the packet before is its last.
            describe.failed.eq(self.failed & ~steps.shares_tail),
            self.fails.eq(check.fails),
            self.failing.eq(check.failing),
        ]
        if self.config.word.is_float:
            m.d.comb += [
                repeats.count.eq(payload.repeat_bits),
                repeats.repeated.eq(payload.repeated),
                check.is_many.eq(payload.is_many),
                check.is_miscounted.eq(repeats.is_wrong),
            ]
        else:
            m.submodules.meter = meter = PayloadMeter(self.config)
            m.d.comb += [
                meter.load.eq(phase[3]),
                meter.uses.eq(repeats.uses),
                meter.words.eq(payload.ones),
                meter.widths.eq(block.widths),
                meter.length.eq(repeats.sent),
                meter.repeated.eq(repeats.o.payload),
                check.is_miscounted.eq(meter.is_wrong),
            ]
        return repeats.has_room
