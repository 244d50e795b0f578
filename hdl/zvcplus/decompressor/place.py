"""The place of the next control."""

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.signals import select
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.layouts import MOST_PASSED, window_bits
from cdma.hdl.zvcplus.decompressor.rows import ROW_BITS


class ControlPlace(wiring.Component):
    """Follow the place of the next control, and compare it with the end of the stream.

    The place is counted from the start of the first row. It moves down as rows are passed, and up
    by a control and the payload of the block before, which stands behind the control.

    All outputs come from registers, but for ``is_cut``, ``here`` and ``step``.

    Parameters
    ----------
    config : Config
        Element type.
    depth : int
        Rows of the queue.

    Members
    -------
    valid, ended, end_row, end_byte : In, see
        :class:`~cdma.hdl.zvcplus.decompressor.rows.RowQueue`
    passes : In, rows that are passed
    restart : In, the place is the start of the first row
    judge : In, a control is to be read: keep whether the stream has ended
    measure : In, keep what is left of the stream behind the place
    advance : In, move behind the control and the payload
    control, payload : In, their bits
    row, bit : Out, the place
    here : Out, the rows of a control have come
    judged : Out, the stream had ended at ``judge``
    is_over : Out, it ended before the place
    is_cut : Out, it ended before the place or in the control
    left : Out, whole bytes are left of it behind the place, at most 3 bits are not counted
    step : Out, rows from the place to the next
    front_row, front_bit : Out, with repeats: the place behind the control of the step before, where
        a payload begins
    """

    valid: Signal
    ended: Signal
    end_row: Signal
    end_byte: Signal
    passes: Signal
    restart: Signal
    judge: Signal
    measure: Signal
    advance: Signal
    control: Signal
    payload: Signal
    row: Signal
    bit: Signal
    here: Signal
    judged: Signal
    is_over: Signal
    is_cut: Signal
    left: Signal
    step: Signal

    def __init__(self, config: Config, depth: int):
        self.config = config
        self.depth = depth
        self.width = window_bits(config)
        super().__init__(
            {
                "valid": In(depth),
                "ended": In(1),
                "end_row": In(signed(ROW_BITS)),
                "end_byte": In(range(config.beat_bytes)),
                "passes": In(range(MOST_PASSED + 1)),
                "restart": In(1),
                "judge": In(1),
                "measure": In(1),
                "advance": In(1),
                **({"front_row": Out(ROW_BITS)} if config.has_repeats else {}),
                **({"front_bit": Out(range(config.beat_bits))} if config.has_repeats else {}),
                "control": In(range(self.width + 1)),
                "payload": In(range(4 * config.beat_bits + 1)),
                "row": Out(ROW_BITS),
                "bit": Out(range(config.beat_bits)),
                "here": Out(1),
                "judged": Out(1),
                "is_over": Out(1),
                "is_cut": Out(1),
                "left": Out(1),
                "step": Out(3),
            }
        )

    def elaborate(self, platform):
        m = Module()
        size, bits = self.config.beat_bits, len(self.bit)
        # A control in one row needs no other.
        fits = self.bit <= size - self.width
        m.d.comb += self.here.eq(
            Cat(
                (self.row == k)
                & self.valid[k]
                & (fits | (self.valid[k + 1] if k + 1 < self.depth else 0))
                for k in range(self.depth)
            ).any()
        )
        with m.If(self.judge):
            m.d.sync += self.judged.eq(self.ended)

        # Where both are counted from the same row, the difference does not change as rows pass.
        room = Signal(signed(ROW_BITS + bits))
        length_bits = len(self.control)
        near = Signal(length_bits, reset_less=True)
        is_near = Signal(reset_less=True)
        m.d.comb += room.eq(
            Cat(self.end_byte << 3, self.end_row)[: ROW_BITS + bits].as_signed()
            - Cat(self.bit, self.row).as_signed()
        )
        with m.If(self.measure):
            m.d.sync += [
                self.is_over.eq(self.judged & room[-1]),
                is_near.eq(self.judged & ~room[length_bits:].any()),
                near.eq(room),
                self.left.eq(room[3:].any()),
            ]
        m.d.comb += self.is_cut.eq(self.is_over | (is_near & (self.control > near)))

        place = Signal(bits + len(self.step), name="behind")
        m.d.comb += [
            place.eq(self.bit + self.control + self.payload),
            self.step.eq(place[bits:]),
        ]
        self._move(m, place[:bits])
        return m

    def _move(self, m, place):
        """Follow the rows. Those that are passed are known late, and so are those that the bits
        carry into: all sums with a row are there by then."""
        bits = len(place)
        near = {d: Signal(ROW_BITS, name=f"row{d % 8}") for d in range(-MOST_PASSED, 3)}
        far = {d: Signal(ROW_BITS, name=f"far_row{d % 8}") for d in near}
        low = Signal(bits + 2)  # carries into at most two rows
        m.d.comb += [
            *(near[d].eq(self.row + d) for d in near),
            *(far[d].eq(near[d] + self.payload[bits:]) for d in near),
            low.eq(self.bit + self.control + self.payload[:bits]),
        ]

        def passed(rows, d):
            return select(m, self.passes, [rows[d - count] for count in range(MOST_PASSED + 1)])

        behind = select(m, low[bits:], [passed(far, d) for d in range(3)])
        if self.config.has_repeats:
            front = Signal(bits + 1, name="front")
            m.d.comb += front.eq(self.bit + self.control)
            stays = {d: self.front_row + d for d in range(-MOST_PASSED, 1)}
            moved = Mux(front[bits], passed(near, 1), passed(near, 0))
            m.d.sync += self.front_row.eq(Mux(self.advance, moved, passed(stays, 0)))
            with m.If(self.advance):
                m.d.sync += self.front_bit.eq(front)
        with m.If(self.restart):
            m.d.sync += [self.row.eq(0), self.bit.eq(0)]
        with m.Else():
            m.d.sync += self.row.eq(Mux(self.advance, behind, passed(near, 0)))
            with m.If(self.advance):
                m.d.sync += self.bit.eq(place)
