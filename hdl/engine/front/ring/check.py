"""Checks descriptors: the rules of ``golden.engine.rules``, before any access to a tensor."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import RING_OPS, Op, Raw
from cdma.engine_config import INDEX_BYTES, EngineConfig
from cdma.hdl.engine.common.product import RowsProduct
from cdma.hdl.engine.front.records import Descriptor
from cdma.hdl.lib.adder import SplitSum, is_below
from cdma.hdl.lib.signals import any_of

HOST_ALIGNMENT = 64
STRIPE_COUNT_BITS = 32


class Checker(wiring.Component):
    """Says whether a descriptor is bad.

    ``done`` comes two cycles after ``start`` for one row. More rows take a cycle more, and one for
    each bit of their number and for carries, because one adder multiplies. All inputs are stable
    from ``start`` to ``done``.

    Parameters
    ----------
    config : EngineConfig
    ring : int
        Number of the ring, which says what operations there are.

    Members
    -------
    start : In, one cycle
    abandon : In, forget what was started
    descriptor : In, as it was fetched
    host, limit : In, address and bytes of the stream; with APPEND those in the arena
    device_base, device_end, host_base, host_end : In, windows; the ends are excluded
    done : Out, one cycle; ``is_bad``, ``is_empty`` and ``stripes`` are valid from
        then to the next start
    is_bad : Out, the descriptor breaks a rule
    is_empty : Out, it is a NOP or has no bytes
    stripes : Out, whole stripes of all rows
    """

    def __init__(self, config: EngineConfig, ring: int):
        self.config, self.ring = config, ring
        bits = config.address_bits
        super().__init__(
            {
                "start": In(1),
                "abandon": In(1),
                "descriptor": In(Descriptor()),
                "host": In(64),
                "limit": In(64),
                "device_base": In(bits),
                "device_end": In(bits + 1),
                "host_base": In(bits),
                "host_end": In(bits + 1),
                "done": Out(1),
                "is_bad": Out(1),
                "is_empty": Out(1),
                "stripes": Out(STRIPE_COUNT_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        has_rows, is_multiplied, multiplies = Signal(), Signal(), Signal()
        compares = Signal()
        m.d.comb += has_rows.eq(self.descriptor.rows > 1)
        stripes, span, is_far = self._multiply(m, is_multiplied, multiplies)
        is_wrong = Signal()
        with m.If(self.start):
            m.d.sync += is_wrong.eq(any_of(self._wrong(has_rows)))
            is_nop = self.descriptor.op == Op.NOP
            m.d.sync += self.is_empty.eq(is_nop | (self.descriptor.row_bytes == 0))
        with m.If(self.abandon):
            m.d.sync += [multiplies.eq(0), compares.eq(0)]
        with m.Else():
            m.d.sync += compares.eq((self.start & ~has_rows) | is_multiplied)
            m.d.sync += multiplies.eq((self.start & has_rows) | (multiplies & ~is_multiplied))
        leaves = self._ranges(m, stripes, span, is_multiplied)
        m.d.comb += self.stripes.eq(Mux(has_rows, stripes, self._row_stripes()[0]))
        m.d.sync += self.done.eq(compares & ~self.abandon)
        with m.If(compares):
            outside = ~self.is_empty & (any_of(leaves) | (is_far & has_rows))
            too_many = self._too_many(has_rows)
            m.d.sync += self.is_bad.eq(is_wrong | (~self._is_nop & (outside | too_many)))
        return m

    @property
    def _is_nop(self):
        return self.descriptor.op == Op.NOP

    def _wrong(self, has_rows):
        """Rules that one look at the descriptor decides."""
        d, config = self.descriptor, self.config
        stripe_bits = config.stripe_bytes.bit_length() - 1
        word_bits = config.word_bytes.bit_length() - 1
        is_op = {op: d.op == op for op in RING_OPS[self.ring]}
        is_coded = any_of(is_op[op] for op in is_op if op in (Op.OFFLOAD, Op.PREFETCH, *_SIZED))
        has_raw = d.raw != Raw.NEVER
        may_raw = any_of(is_op[op] for op in is_op if op in (Op.OFFLOAD, Op.MEASURE))
        is_offload = is_op.get(Op.OFFLOAD, Const(0))
        reads_index = any_of(is_op[op] for op in is_op if op in (Op.PREFETCH, Op.VERIFY))
        is_measure = is_op.get(Op.MEASURE, Const(0))
        writes_stream = any_of(is_op[op] for op in is_op if op in (Op.OFFLOAD, Op.COPY_OUT))
        uses_stream = ~is_measure & ~d.append
        control = [
            d.codec != 0,
            d.reserved != 0,
            ~any_of(is_op.values()),
            ~is_coded & (d.index | d.crc),
            d.raw == 3,
            has_raw & ~may_raw,
            ~d.index & (reads_index | (is_offload & has_raw)),
            d.append & ~is_offload,
        ]
        fields = [
            d.word != word_bits,
            d.device[: config.alignment.bit_length() - 1] != 0,
            uses_stream & (d.host[:word_bits] != 0),
            uses_stream & writes_stream & (d.host[: HOST_ALIGNMENT.bit_length() - 1] != 0),
            d.index & (d.index_address[: INDEX_BYTES.bit_length() - 1] != 0),
            d.row_bytes[:word_bits] != 0,
            ~is_measure & (d.limit[:word_bits] != 0),
            has_rows & (d.row_bytes[:stripe_bits] != 0),
            has_rows & (d.pitch.as_unsigned()[:stripe_bits] != 0),
        ]
        return [*control, *(~self._is_nop & each for each in fields)]

    def _row_stripes(self):
        """Stripes of a row: whole ones, and whether there is a partial one."""
        stripe_bits = self.config.stripe_bytes.bit_length() - 1
        return self.descriptor.row_bytes[stripe_bits:], self.descriptor.row_bytes[
            :stripe_bits
        ].any()

    def _too_many(self, has_rows):
        """2**32 stripes or more."""
        whole, partial = self._row_stripes()
        is_most = whole[:STRIPE_COUNT_BITS].all() & partial
        return whole[STRIPE_COUNT_BITS:].any() | is_most | (has_rows & self._too_many_rows)

    def _multiply(self, m, is_multiplied, multiplies):
        """Stripes of all rows, and bytes from the start of the first row to that of the last.

        Gives both, the latter in stripes, and whether it is too much for any address.
        """
        d, config = self.descriptor, self.config
        shift = config.stripe_bytes.bit_length() - 1
        bits = config.address_bits - shift
        m.submodules.stripes = stripes = RowsProduct(STRIPE_COUNT_BITS)
        m.submodules.span = span = RowsProduct(bits)
        whole, _ = self._row_stripes()
        is_down = d.pitch < 0
        # The magnitude of a negative pitch is that of its complement and one more.
        pitch = (d.pitch.as_unsigned() ^ is_down.replicate(64))[shift:]
        steps, is_far = Signal(32), Signal()
        m.d.comb += [
            steps.eq(d.rows - 1),
            stripes.start.eq(self.start),
            stripes.rows.eq(d.rows),
            stripes.factor.eq(whole),
            span.start.eq(self.start),
            span.rows.eq(steps),
            span.factor.eq(pitch),
            span.first.eq(Mux(is_down, steps, 0)),
            is_multiplied.eq(multiplies & ~stripes.busy & ~span.busy),
        ]
        with m.If(self.start):
            m.d.sync += is_far.eq(pitch[bits:].any())
        self._too_many_rows = stripes.over
        return stripes.product, span.product << shift, is_far | span.over

    def _ranges(self, m, stripes, span, is_multiplied):
        """Whether tensor, stream or index leave their windows; the sums are a cycle earlier.

        The tensor is first that of one row; ``span`` is added when it is known.
        """
        d, bits = self.descriptor, self.config.address_bits
        index_bits = INDEX_BYTES.bit_length() - 1
        is_down = d.pitch < 0
        device, index = d.device[:bits], d.index_address[:bits]
        host, limit = self.host[: bits + 1], self.limit[: bits + 1]
        whole, partial = self._row_stripes()
        device_end, host_end = self._end(m, "device"), self._end(m, "host")
        # The first byte is below the window when the window and ``span`` end above it.
        least, last = SplitSum(bits + 2, "least"), SplitSum(bits + 2, "last")
        stream_last, index_last = SplitSum(bits + 2, "stream"), SplitSum(bits, "index")
        place = index[index_bits:]
        with m.If(self.start):
            m.d.sync += [
                *least.set(self.device_base, Const(0, bits)),
                *last.set(device, d.row_bytes[: bits + 1]),
                *stream_last.set(host, limit),
                *index_last.set(place, whole[:STRIPE_COUNT_BITS], partial),
            ]
        with m.Elif(is_multiplied):
            m.d.sync += index_last.set(place, stripes)
            with m.If(is_down):
                m.d.sync += least.set(self.device_base, span)
            with m.Else():
                m.d.sync += last.add(span)
        with m.Else():
            m.d.sync += last.join()  # while rows are multiplied; one row is compared at once
        uses_stream = d.op != Op.MEASURE if self.ring == 0 else Const(1)
        has_stream = self.limit != 0
        is_outside = is_below(host, Cat(self.host_base, 0)) | stream_last.is_above(host_end)
        # The window's end is cut off below, for whole entries.
        is_index_outside = is_below(index, self.host_base) | index_last.is_above(
            host_end[index_bits:]
        )
        return [
            d.device[bits:].any() | d.row_bytes[bits + 1 :].any(),
            least.is_above(device) | last.is_above(device_end),
            uses_stream & (self.host[bits + 1 :].any() | self.limit[bits + 1 :].any()),
            uses_stream & host[-1] & host[:-1].any(),
            uses_stream & has_stream & is_outside,
            d.index & (d.index_address[bits:].any() | is_index_outside),
        ]

    def _end(self, m, name):
        """End of a window, at most that of all addresses."""
        bits, value = self.config.address_bits, getattr(self, f"{name}_end")
        end = Signal(bits + 1, name=f"{name}_end_cut")
        m.d.comb += end.eq(Mux(value[-1], 1 << bits, value))
        return end


_SIZED = (Op.MEASURE, Op.VERIFY)
