"""Checks descriptors: the rules of ``golden.engine.rules``, before any access to a tensor."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import RING_OPS, Op, Raw
from cdma.engine_config import HOST_ALIGNMENT, INDEX_BYTES, EngineConfig
from cdma.hdl.engine.front.records import Descriptor
from cdma.hdl.engine.front.ring.multiply import Multiplier
from cdma.hdl.lib.lookahead import exceeds_later
from cdma.hdl.lib.signals import any_of

STRIPE_COUNT_BITS = 32


class _State(enum.Enum, shape=3):
    IDLE = 0
    FIRST = 1  # what one row says
    # From here on, the product is used: the bit says so.
    SPAN = 4  # multiply the pitch by the rows
    MIDDLE = 5  # the tensor
    STRIPES = 6  # multiply the stripes of a row by the rows
    LAST = 7  # the index


class Window(wiring.Signature):
    """Windows of a ring: ``device_base`` and ``host_base``, and their excluded ends."""

    def __init__(self, address_bits: int):
        super().__init__(
            {
                "device_base": Out(address_bits),
                "device_end": Out(address_bits + 1),
                "host_base": Out(address_bits),
                "host_end": Out(address_bits + 1),
            }
        )


class Checker(wiring.Component):
    """Says whether a descriptor of either ring is bad.

    Sums and comparisons take two cycles, in parts whose carries are in registers between the two.
    ``done`` comes in the cycle after ``start`` for one row, and the results are valid from the next
    cycle on. With more rows, the span of the tensor and then its stripes are multiplied first, a
    bit of the rows in a cycle. All inputs are stable from ``start`` to ``done``.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    idle : In, nothing is checked: what ``start`` will begin with may be loaded
    start : In, one cycle, the last of ``idle``
    abandon : In, forget what was started
    ring : In
    descriptor : In, as it was fetched
    host, limit : In, address and bytes of the stream; with APPEND those in the arena
    window : In, :class:`Window`
    is_below, is_past : Out, in the cycle before, ``host`` was below the host's window, or ``host``
        and ``limit`` together past its end
    done : Out, one cycle
    is_bad : Out, the descriptor breaks a rule
    is_empty : Out, it is a NOP or has no bytes
    stripes : Out, whole stripes of all rows; valid until ``idle``
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        bits = config.address_bits
        super().__init__(
            {
                "idle": In(1),
                "start": In(1),
                "abandon": In(1),
                "ring": In(1),
                "descriptor": In(Descriptor()),
                "host": In(max(64, bits + 1)),
                "limit": In(max(64, bits + 1)),
                "window": In(Window(bits)),
                "is_below": Out(1),
                "is_past": Out(1),
                "done": Out(1),
                "is_bad": Out(1),
                "is_empty": Out(1),
                "stripes": Out(STRIPE_COUNT_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        d, state = self.descriptor, Signal(_State)
        # What one look at the descriptor says, in the cycle after it. It stays as the inputs do.
        has_rows, is_empty, is_wrong, is_wide, is_long, has_stream, is_bad = (
            Signal(name=name, reset_less=True)
            for name in (
                *("has_rows", "is_empty", "is_wrong", "is_wide", "is_long", "has_stream"),
                "is_bad",
            )
        )
        whole, partial = self._row_stripes()
        m.d.comb += [self.is_empty.eq(is_empty), self.is_bad.eq(is_bad)]
        m.d.sync += [
            has_rows.eq(d.rows[1:].any()),
            is_empty.eq((d.op == Op.NOP) | (d.row_bytes == 0)),
            is_wrong.eq(any_of(self._wrong(d.rows[1:].any()))),
            is_wide.eq(any_of(self._wide())),
            is_long.eq(
                whole[STRIPE_COUNT_BITS:].any() | (whole[:STRIPE_COUNT_BITS].all() & partial)
            ),
            has_stream.eq(_uses_stream(d) & (self.limit != 0)),
        ]
        product, is_far, is_many, is_multiplied = self._multiply(m, state, whole)
        uses_product = state.as_value()[-1]
        device, stream, index = self._ranges(m, uses_product, product, whole, partial)
        m.d.comb += self.stripes.eq(Mux(has_rows, product, whole))
        with m.If(self.abandon):
            m.d.sync += state.eq(_State.IDLE)
        with m.Else():
            self._step(m, state, has_rows, is_multiplied)
        outside = Signal()
        with m.If(state == _State.FIRST):
            one_row = ~has_rows & (device | index)
            m.d.comb += outside.eq(is_wide | is_long | (has_stream & stream) | one_row)
            m.d.sync += is_bad.eq(is_wrong | (~is_empty & outside))
        with m.Elif(state == _State.MIDDLE):
            m.d.sync += is_bad.eq(is_bad | (~is_empty & (device | is_far)))
        with m.Elif(state == _State.LAST):
            m.d.sync += is_bad.eq(is_bad | (~is_empty & (index | is_many)))
        return m

    def _step(self, m, state, has_rows, is_multiplied):
        with m.If(self.start):
            m.d.sync += state.eq(_State.FIRST)
        for now, then, goes in (
            (_State.SPAN, _State.MIDDLE, is_multiplied),
            (_State.MIDDLE, _State.STRIPES, 1),
            (_State.STRIPES, _State.LAST, is_multiplied),
            (_State.LAST, _State.IDLE, 1),
        ):
            with m.If((state == now) & goes):
                m.d.sync += state.eq(then)
        with m.If(state == _State.FIRST):
            m.d.sync += state.eq(Mux(has_rows, _State.SPAN, _State.IDLE))
        m.d.comb += self.done.eq(((state == _State.FIRST) & ~has_rows) | (state == _State.LAST))

    def _row_stripes(self):
        """Stripes of a row: whole ones, and whether there is a partial one."""
        shift = self.config.stripe_bytes.bit_length() - 1
        row_bytes = self.descriptor.row_bytes
        return row_bytes[shift:], row_bytes[:shift].any()

    def _wrong(self, has_rows):
        """Rules that one look at the descriptor decides."""
        d, config = self.descriptor, self.config
        stripe_bits = config.stripe_bytes.bit_length() - 1
        word_bits = config.word_bytes.bit_length() - 1
        is_op = {op: d.op == op for op in Op}
        is_known = [any_of(is_op[op] for op in ops) for ops in RING_OPS]
        is_coded = any_of(is_op[op] for op in (Op.OFFLOAD, Op.PREFETCH, Op.MEASURE, Op.VERIFY))
        has_raw = d.raw != Raw.NEVER
        reads_index = is_op[Op.PREFETCH] | is_op[Op.VERIFY]
        writes_stream = is_op[Op.OFFLOAD] | is_op[Op.COPY_OUT]
        uses_stream = _uses_stream(d) & ~d.append
        control = [
            d.codec != 0,
            d.reserved != 0,
            ~Mux(self.ring, is_known[1], is_known[0]),
            ~is_coded & (d.index | d.crc),
            d.raw == 3,
            has_raw & ~(is_op[Op.OFFLOAD] | is_op[Op.MEASURE]),
            ~d.index & (reads_index | (is_op[Op.OFFLOAD] & has_raw)),
            d.append & ~is_op[Op.OFFLOAD],
        ]
        fields = [
            d.word != word_bits,
            d.device[: config.alignment.bit_length() - 1] != 0,
            uses_stream & (d.host[:word_bits] != 0),
            uses_stream & writes_stream & (d.host[: HOST_ALIGNMENT.bit_length() - 1] != 0),
            d.index & (d.index_address[: INDEX_BYTES.bit_length() - 1] != 0),
            d.row_bytes[:word_bits] != 0,
            _uses_stream(d) & (d.limit[:word_bits] != 0),
            has_rows & (d.row_bytes[:stripe_bits] != 0),
            has_rows & (d.pitch.as_unsigned()[:stripe_bits] != 0),
        ]
        return [*control, ~is_op[Op.NOP] & any_of(fields)]

    def _wide(self):
        """Numbers that are beyond all addresses, whatever the windows are."""
        d, bits = self.descriptor, self.config.address_bits
        host = self.host[: bits + 1]
        beyond = [
            self.host[bits + 1 :].any(),
            self.limit[bits + 1 :].any(),
            host[-1] & host[:-1].any(),
        ]
        return [
            d.device[bits:].any() | d.row_bytes[bits + 1 :].any(),
            _uses_stream(d) & any_of(beyond),
            d.index & d.index_address[bits:].any(),
        ]

    def _multiply(self, m, state, whole):
        """Stripes from the first byte of the tensor to that of the last row, or up to the end of
        this row where the pitch is positive; then stripes of all rows.

        Gives the product, whether the former is beyond all addresses and the latter are 2**32 or
        more, both in the cycle after that in which the product is valid, and that cycle.
        """
        d, bits = self.descriptor, self.config.address_bits
        shift = self.config.stripe_bytes.bit_length() - 1
        span_bits = bits + 1 - shift
        m.submodules.multiplier = multiplier = Multiplier(max(span_bits, STRIPE_COUNT_BITS + 1))
        pitch = d.pitch >> shift
        is_down = d.pitch < 0
        product, is_multiplied = multiplier.product, Signal()
        is_far, is_many = Signal(reset_less=True), Signal(reset_less=True)
        # More rows have whole stripes, so the bits of a pitch that are cut off are its sign.
        upper = pitch[multiplier.bits :]
        is_cut = (upper ^ is_down.replicate(len(upper))).any()
        m.d.comb += [
            is_multiplied.eq(~multiplier.busy),
            multiplier.load.eq(self.idle | ((state == _State.SPAN) & is_multiplied)),
            multiplier.rows.eq(d.rows),
            multiplier.is_less.eq(self.idle),
            multiplier.factor.eq(Mux(self.idle, pitch, whole)),
            multiplier.is_negative.eq(self.idle & is_down),
            multiplier.first.eq(Mux(self.idle & ~is_down, whole, 0)),
        ]
        m.d.sync += [
            is_far.eq(multiplier.over | product[span_bits:].any() | is_cut),
            is_many.eq(multiplier.over | product[STRIPE_COUNT_BITS:].any()),
        ]
        return product, is_far, is_many, is_multiplied

    def _ranges(self, m, uses_product, product, whole, partial):
        """Whether tensor, stream and index left their windows in the cycle before.

        The tensor is that of one row at first.
        """
        d, bits, window = self.descriptor, self.config.address_bits, self.window
        shift = self.config.stripe_bytes.bit_length() - 1
        index_bits = INDEX_BYTES.bit_length() - 1
        device, index = d.device[:bits], d.index_address[:bits]
        host, limit = self.host[: bits + 1], self.limit[: bits + 1]
        device_end, host_end = self._end(m, "device"), self._end(m, "host")
        is_down = Signal(name="is_down", reset_less=True)
        span, down, up = Signal(bits + 1), Signal(bits + 1), Signal(bits + 1)
        count = Signal(STRIPE_COUNT_BITS + 1)
        m.d.sync += is_down.eq(d.pitch < 0)
        m.d.comb += [
            span.eq(product << shift),
            down.eq(Mux(uses_product & is_down, span, 0)),
            up.eq(Mux(uses_product & ~is_down, span, d.row_bytes)),
            count.eq(Mux(uses_product, product, whole[:STRIPE_COUNT_BITS])),
            self.is_below.eq(exceeds_later(m, window.host_base, None, host, "below")),
            self.is_past.eq(exceeds_later(m, host, limit, host_end, "past")),
        ]
        # The window's end is cut off below, for whole entries.
        entries_end, place = host_end[index_bits:], index[index_bits:]
        return (
            exceeds_later(m, window.device_base, down, device, "least")
            | exceeds_later(m, device, up, device_end, "last"),
            self.is_below | self.is_past,
            d.index
            & (
                exceeds_later(m, window.host_base, None, index, "index_least")
                | exceeds_later(m, place, count, entries_end, "index_last", first=partial)
            ),
        )

    def _end(self, m, name):
        """End of a window, at most that of all addresses."""
        bits, value = self.config.address_bits, getattr(self.window, f"{name}_end")
        end = Signal(bits + 1, name=f"{name}_end_cut")
        m.d.comb += end.eq(Mux(value[-1], 1 << bits, value))
        return end


def _uses_stream(descriptor):
    return descriptor.op != Op.MEASURE
