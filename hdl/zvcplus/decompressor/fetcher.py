"""Fetching the controls of a packet ahead of its payload."""

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.delay import DelayLine
from cdma.hdl.lib.prefix import popcount
from cdma.hdl.lib.signals import select
from cdma.hdl.zvc.beat import DecompressorCommand, thermometer
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.check import StreamCheck
from cdma.hdl.zvcplus.decompressor.header import HeaderReader
from cdma.hdl.zvcplus.decompressor.layouts import (
    MOST_PASSED,
    Block,
    PacketEnd,
    skip_bits,
    window_bits,
)
from cdma.hdl.zvcplus.decompressor.length import PayloadLength
from cdma.hdl.zvcplus.decompressor.mask import MaskDecoder
from cdma.hdl.zvcplus.decompressor.payload.words import AS_IS
from cdma.hdl.zvcplus.decompressor.place import ControlPlace
from cdma.hdl.zvcplus.decompressor.rows import ROW_BITS
from cdma.hdl.zvcplus.decompressor.steps import ControlSteps
from cdma.hdl.zvcplus.decompressor.window import ControlWindow

START_DIFFERENCE = 3  # of bases, for d = 0: the base is 3 lower


class ControlFetcher(wiring.Component):
    """Follow a packet's stream from control to control, and give out its blocks.

    A step takes four cycles and has a control of its own in its registers; the mask and the length
    of the block before are worked out at the same time:

    ======  =====================================  ======================================
    phase   this step                              the block of the step before
    ======  =====================================  ======================================
    0       row and chunk of the control           mask from its spread nibbles
    1       its bits                               number of its words; the block leaves
    2       its header and length                  length of the payload
    3       nibbles spread; base, width            skip leaves; place of the next control
    ======  =====================================  ======================================

    With repeats, the window goes on in phases 1 and 2. It reads the bits of repeats of the block of
    two steps before, behind the control of the step before. Ones among them are counted in phase 3,
    and they leave in the next step's phase 0. If their number of repeated words is wrong, others
    leave, so that the payload has the length of its control.

    Throughput one block in four cycles; a step waits in its first phase for its rows, and for room
    behind it.

    Parameters
    ----------
    config : Config
        Element type.
    depth : int
        Rows of the queue.

    Members
    -------
    i_command : In stream of :class:`~cdma.hdl.zvc.beat.DecompressorCommand`
    rows, valid, ended, end_row, end_byte, passes : the rows, see
        :class:`~cdma.hdl.zvcplus.decompressor.rows.RowQueue`
    enable : In, the rows are those of the next packet
    restart : In, the next packet begins
    o : Out stream of :class:`~cdma.hdl.zvcplus.decompressor.layouts.Block`
    o_skip : Out stream of bits between the words of each block and those of the block before
    o_repeats : Out stream, with repeats: the bits of repeats of each block that uses them
    start : Out, the packet begins, with ``start_bits``
    start_bits : Out, bits of its first control
    o_end : Out stream of :class:`~cdma.hdl.zvcplus.decompressor.layouts.PacketEnd`
    done : Out, the packet's last step ends
    """

    i_command: stream.Interface
    rows: data.View
    valid: Signal
    ended: Signal
    end_row: Signal
    end_byte: Signal
    passes: Signal
    enable: Signal
    restart: Signal
    o: stream.Interface
    o_skip: stream.Interface
    start: Signal
    start_bits: Signal
    o_end: stream.Interface
    done: Signal

    def __init__(self, config: Config, depth: int):
        self.config = config
        self.depth = depth
        control = range(window_bits(config) + 1)
        super().__init__(
            {
                "i_command": In(stream.Signature(DecompressorCommand())),
                "rows": In(data.ArrayLayout(config.beat_bits, depth)),
                "valid": In(depth),
                "ended": In(1),
                "end_row": In(signed(ROW_BITS)),
                "end_byte": In(range(config.beat_bytes)),
                "passes": In(range(MOST_PASSED + 1)),
                "enable": In(1),
                "restart": In(1),
                "o": Out(stream.Signature(Block(config))),
                "o_skip": Out(stream.Signature(range(skip_bits(config) + 1))),
                **(
                    {"o_repeats": Out(stream.Signature(config.word.block_words))}
                    if config.has_repeats
                    else {}
                ),
                "start": Out(1),
                "start_bits": Out(control),
                "o_end": Out(stream.Signature(PacketEnd())),
                "done": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, depth, word = self.config, self.depth, self.config.word
        m.submodules.steps = steps = ControlSteps(config)
        m.submodules.place = place = ControlPlace(config, depth)
        m.submodules.window = window = ControlWindow(config.beat_bits, depth, window_bits(config))
        m.submodules.header = reader = HeaderReader(config)
        m.submodules.mask = mask = MaskDecoder(word.flags)
        groups = config.block_groups
        m.submodules.payload = payload = PayloadLength(
            word.block_words, word.bits, groups, has_repeats=config.has_repeats
        )
        m.submodules.check = check = StreamCheck(config)
        wiring.connect(m, wiring.flipped(self.i_command), steps.i_command)
        header, phase = reader.header, steps.phase
        is_past = Signal()  # the stream has ended before this step
        has_block = Signal()  # of the step before
        block = Signal(Block(config))
        control = Signal(range(window_bits(config) + 1))  # its control's bits
        coded = Signal(3)  # whether it has a mask, and how it is coded
        is_reserved = Signal()

        self._connect_rows(m, place, window)
        skipped = 0
        if config.has_repeats:
            skipped = payload.repeat_bits
            self._read_repeats(m, phase, place, window, header, payload, check, has_block, block)
        else:
            m.d.comb += [
                window.row.eq(place.row),
                window.bit.eq(place.bit),
                window.load.eq(phase[1]),
            ]
        m.d.comb += [
            steps.proceed.eq(
                self.enable
                & (place.here | self.ended | is_past)
                & (self.o.ready & self.o_skip.ready & ~(steps.is_second & self.o_end.valid))
                & (~self.o_repeats.valid | self.o_repeats.ready if config.has_repeats else 1)
            ),
            place.restart.eq(self.restart),
            place.judge.eq(steps.starts),
            place.measure.eq(phase[1]),
            place.advance.eq(phase[3] & ~is_past & ~place.is_cut),
            place.control.eq(header.length),
            place.payload.eq(payload.length),
            reader.bits.eq(window.bits),
            reader.load.eq(phase[2]),
            reader.nothing.eq(~steps.is_control | is_past),
            mask.flags.eq(header.flags),
            mask.body.eq(header.body),
            mask.load_spread.eq(phase[3]),
            mask.differences.eq(coded[1]),
            mask.dense.eq(coded[2]),
            mask.load_mask.eq(phase[0]),
            payload.mask.eq(mask.mask),
            payload.widths.eq(block.widths),
            payload.load_count.eq(phase[1]),
            payload.load_length.eq(phase[2]),
            self.o.valid.eq(phase[1] & has_block),
            self.o.payload.eq(block),
            self.o.payload.mask.eq(mask.mask),
            self.o_skip.valid.eq(phase[3] & has_block),
            self.o_skip.payload.eq(header.length + skipped),
            self.start.eq(phase[3] & steps.is_first),
            self.start_bits.eq(header.length),
            self.done.eq(phase[3] & steps.is_end),
        ]
        with m.If(phase[3]):
            m.d.sync += [
                is_past.eq(is_past | place.is_cut),
                has_block.eq(steps.is_control | (steps.is_first & steps.is_empty)),
                control.eq(header.length),
                coded.eq(header.coded | header.differences << 1 | (header.dense | header.raw) << 2),
                is_reserved.eq(header.reserved),
            ]
        with m.If(self.restart):
            m.d.sync += [is_past.eq(0), has_block.eq(0)]
        self._describe(m, steps, header, block)
        self._check(m, steps, place, window, check)
        past_end = Signal()
        with m.If(phase[1]):
            past = mask.mask & ~thermometer(block.words, word.block_words)
            m.d.sync += past_end.eq(coded[0] & block.last & past.any())
        m.d.comb += [
            check.is_reserved.eq(has_block & is_reserved),
            check.is_past.eq(has_block & past_end),
            check.is_long.eq(has_block & (control + payload.length > config.block_bits)),
        ]
        return m

    def _read_repeats(self, m, phase, place, window, header, payload, check, has_block, block):
        """The window reads the bits of repeats of the block of two steps before, behind the
        control of the step before, and gives them out; the number of repeated words of this
        step's."""
        word = self.config.word
        count = Signal(range(word.block_words + 1))
        sources = [header.body[4 * k :][: word.count_bits] for k in range(word.flags + 1)]
        # Of the payload that begins behind the control of the step before. Its bits stay in the
        # window until the next step's phase 1.
        had_repeats, has_repeats = Signal(), Signal()
        number, most = Signal.like(count), Signal.like(count)
        bits = window.bits[: word.block_words]
        ones, is_wrong, is_due = Signal.like(count), Signal(), Signal()
        m.d.comb += [
            window.row.eq(Mux(phase[1], place.front_row, place.row)),
            window.bit.eq(Mux(phase[1], place.front_bit, place.bit)),
            window.load.eq(phase[1] | phase[2]),
            payload.has_repeats.eq(block.has_repeats),
            payload.repeats.eq(count),
            check.is_many.eq(has_block & payload.is_many),
            is_wrong.eq(ones != number),
            check.is_miscounted.eq(has_repeats & is_wrong),
            self.o_repeats.valid.eq(is_due),
            # So many repeated words in any case: the payload's length depends on their number.
            self.o_repeats.payload.eq(Mux(is_wrong, thermometer(number, word.block_words), bits)),
        ]
        with m.If(phase[1]):
            m.d.sync += [
                has_repeats.eq(had_repeats),
                number.eq(payload.repeated),
                most.eq(payload.count),
            ]
        with m.If(phase[3]):
            m.d.sync += [
                block.has_repeats.eq(header.has_repeats),
                count.eq(select(m, header.nibbles, sources, "sent_count") + 1),
                had_repeats.eq(has_block & block.has_repeats),
                ones.eq(popcount(m, bits & thermometer(most, word.block_words))),
                is_due.eq(has_repeats),
            ]
        with m.Elif(self.o_repeats.ready):
            m.d.sync += is_due.eq(0)
        with m.If(self.restart):
            m.d.sync += [had_repeats.eq(0), has_repeats.eq(0)]

    def _connect_rows(self, m, place, window):
        m.d.comb += [
            place.valid.eq(self.valid),
            place.ended.eq(self.ended),
            place.end_row.eq(self.end_row),
            place.end_byte.eq(self.end_byte),
            place.passes.eq(self.passes),
            window.rows.eq(self.rows),
            window.valid.eq(self.valid),
        ]

    def _describe(self, m, steps, header, block):
        """Registers of the step's block, but for its mask."""
        word, code = self.config.word, block.code
        with m.If(steps.phase[3]):
            m.d.sync += [
                code.raw.eq(header.raw),
                block.last.eq(steps.is_last | steps.is_empty),
                block.words.eq(Mux(steps.is_empty, 0, steps.words)),
            ]
        if word.is_float:
            self._describe_floats(m, steps, header, block)
            return
        for width, sent in zip(block.widths, header.widths, strict=True):
            with m.If(steps.phase[3]):
                m.d.sync += width.eq(Mux(header.raw, word.bits, sent + header.wide))

    def _describe_floats(self, m, steps, header, block):
        """Base, exponents and signs."""
        word, code = self.config.word, block.code
        exponent_bits = Mux(header.k == AS_IS, word.exponent, header.k)
        with m.If(steps.phase[3]):
            m.d.sync += [
                code.wide.eq(header.wide),
                code.k.eq(header.k),
                block.widths[0].eq(
                    Mux(header.raw, word.bits, word.mantissa + exponent_bits + header.wide)
                ),
            ]
            with m.If(header.coded):
                follows = header.d == 7
                m.d.sync += code.base.eq(
                    Mux(follows, header.base, code.base + header.d - START_DIFFERENCE)
                )
        with m.If(self.restart):
            m.d.sync += code.base.eq(0)

    def _check(self, m, steps, place, window, check):
        """The first error, and the packet's end."""
        # Of a step that reads no control: what fills the last byte.
        filling = window.bits[:7] & thermometer((-place.bit)[:3], 7)
        is_filled = filling.any()
        if self.config.has_repeats:  # the window goes on
            is_filled = Signal()
            with m.If(steps.phase[2]):
                m.d.sync += is_filled.eq(filling.any())
        m.d.comb += [
            check.step.eq(steps.phase[3]),
            check.is_first.eq(steps.is_first),
            check.is_second.eq(steps.is_second),
            check.is_end.eq(steps.is_end),
            check.is_over.eq(place.is_over),
            check.is_cut.eq(place.is_cut),
            check.is_trailing.eq(~place.judged | place.left | is_filled),
            check.bit.eq(place.bit),
            check.rows.eq(place.step),
            self.o_end.payload.eq(check.end),
        ]
        # As late as the last step's check.
        m.submodules.checked = checked = DelayLine(0, 2)
        m.d.comb += [checked.enable.eq(1), checked.i_valid.eq(self.done)]
        with m.If(checked.o_valid):
            m.d.sync += self.o_end.valid.eq(1)
        with m.Elif(self.o_end.ready):
            m.d.sync += self.o_end.valid.eq(0)
