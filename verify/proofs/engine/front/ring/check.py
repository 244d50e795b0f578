"""No descriptor passes whose buffers leave the windows of its ring, and no good one is refused."""

from dataclasses import replace
from unittest import mock

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Cat, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.engine_codes import CODED_OPS, RING_OPS, Op, Raw
from cdma.engine_config import HOST_ALIGNMENT, INDEX_BYTES
from cdma.hdl.engine.front.records import Descriptor
from cdma.hdl.engine.front.ring import check
from cdma.hdl.engine.front.ring.check import STRIPE_COUNT_BITS, Checker, _State
from cdma.hdl.engine.front.ring.multiply import Multiplier
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.proof import Proof, faults


class AnyProduct(Multiplier):
    """In place of :class:`~cdma.hdl.engine.front.ring.multiply.Multiplier`: any product, after any
    number of cycles. It stays until the next load."""

    def __init__(self, bits):
        super().__init__(bits)
        self.is_kept = Signal()

    def elaborate(self, platform):
        m = Module()
        is_kept = self.is_kept
        kept = Signal(self.bits + 1)
        result = Cat(self.product, self.over)
        m.d.comb += [
            self.busy.eq(anything(m, 1, "any_busy") & ~is_kept),
            result.eq(Mux(is_kept, kept, anything(m, self.bits + 1, "any_product"))),
        ]
        m.d.sync += [is_kept.eq(~self.busy & ~self.load), kept.eq(result)]
        return m


class RefusesBad(Elaboratable):
    """One descriptor of either ring, in any windows, at any time after any others.

    Products are any numbers, of what the checker asks for: the proof of the multiplier. Sums and
    comparisons are those of whole numbers here.
    """

    def __init__(self, config):
        self.config, self.dut = config, Checker(config)

    def elaborate(self, platform):
        m = Module()
        dut, config = self.dut, self.config
        self.inputs = {}
        shift = config.stripe_bytes.bit_length() - 1
        bits = max(config.address_bits + 1 - shift, STRIPE_COUNT_BITS + 1)
        self.multiplier = AnyProduct(bits)
        with mock.patch.object(check, "Multiplier", return_value=self.multiplier) as made:
            m.submodules.dut = elaborated(dut, platform)
        made.assert_called_once_with(bits)
        state = probe(m, "dut.state", 3)
        starts, runs, is_known = Signal(), Signal(), Signal()  # is_known: the result is there
        m.d.comb += [
            dut.idle.eq(~runs & ~is_known),
            starts.eq(anything(m, 1, "starts") & dut.idle),
            dut.start.eq(starts),
            dut.abandon.eq(anything(m, 1, "abandons")),
        ]
        m.d.sync += [
            runs.eq((runs | starts) & ~dut.done & ~dut.abandon),
            is_known.eq((dut.done | (is_known & anything(m, 1, "keeps"))) & ~dut.abandon),
        ]
        window = dut.window
        for name, port in (
            ("ring", dut.ring),
            ("descriptor", dut.descriptor),
            ("host", dut.host),
            ("limit", dut.limit),
            *((each, getattr(window, each)) for each in ("device_base", "device_end")),
            *((each, getattr(window, each)) for each in ("host_base", "host_end")),
        ):
            value, kept = Value.cast(port), Signal(len(Value.cast(port)), name=f"{name}_kept")
            m.d.comb += [
                kept.eq(AnyConst(len(value))),
                value.eq(
                    Mux(starts | runs | is_known, kept, anything(m, len(value), f"any_{name}"))
                ),
            ]
            self.inputs[name] = kept
        self.d = Signal(Descriptor(), name="d")
        m.d.comb += Value.cast(self.d).eq(self.inputs["descriptor"])
        self._products(m, state, starts)
        self._verdict(m, state, starts, runs, is_known)
        return m

    def _products(self, m, state, starts):
        """What is multiplied, and the results: the span of the tensor, and its stripes."""
        d, config = self.d, self.config
        shift = config.stripe_bytes.bit_length() - 1
        made = self.multiplier
        bits, product, rows = made.bits, made.product, made.rows
        factor, first = made.factor, made.first
        over, less, negative = made.over, made.is_less, made.is_negative
        busy, load = made.busy, made.load
        whole, pitch = d.row_bytes >> shift, d.pitch >> shift
        is_down = d.pitch < 0
        is_span, is_count = state == _State.SPAN.value, state == _State.STRIPES.value
        with m.If(starts):
            m.d.comb += [
                Assert(load & less & (rows == d.rows) & (negative == is_down)),
                Assert(factor == pitch[:bits]),
                Assert(first == Mux(is_down, 0, whole)[:bits]),
            ]
        with m.If(is_span & ~busy):
            m.d.comb += [
                Assert(load & ~less & (rows == d.rows) & ~negative),
                Assert((factor == whole[:bits]) & (first == 0)),
            ]
        with m.If(load):
            m.d.comb += Assert(starts | self.dut.idle | (is_span & ~busy))
        self.span, self.count = Signal(bits + 1, name="span"), Signal(bits + 1, name="count")
        with m.If(is_span & ~busy):
            m.d.sync += self.span.eq(Cat(product, over))
        with m.If(is_count & ~busy):
            m.d.sync += self.count.eq(Cat(product, over))
        # A pitch of more bits than the product has reaches beyond all addresses.
        self.is_cut = (pitch >= 1 << bits) | (pitch < -(1 << bits))
        self.busy, self.product, self.shift = busy, product, shift

    def _wrong(self):
        """Rules about single fields."""
        d, config, ring = self.d, self.config, self.inputs["ring"]

        def is_odd(value, unit):
            return value[: unit.bit_length() - 1] != 0

        def is_one(ops):
            return Cat(d.op == op for op in sorted(ops)).any()

        takes_stream = is_one(set(Op) - {Op.MEASURE, Op.NOP})
        to_host = is_one({Op.OFFLOAD, Op.COPY_OUT})
        may_raw = is_one({Op.OFFLOAD, Op.MEASURE})
        needs_index = is_one({Op.PREFETCH, Op.VERIFY}) | ((d.op == Op.OFFLOAD) & (d.raw != 0))
        word, many = config.word_bytes, d.rows > 1
        control = [
            d.codec != 0,
            d.reserved != 0,
            Mux(ring, ~is_one(RING_OPS[1]), ~is_one(RING_OPS[0])),
            (d.index | d.crc) & ~is_one(CODED_OPS),
            (d.raw > max(Raw)) | ((d.raw != Raw.NEVER) & ~may_raw),
            needs_index & ~d.index,
            d.append & (d.op != Op.OFFLOAD),
        ]
        fields = [
            (1 << d.word) != word,
            is_odd(d.device, config.alignment),
            takes_stream & ~d.append & is_odd(d.host, word),
            to_host & ~d.append & is_odd(d.host, HOST_ALIGNMENT),
            d.index & is_odd(d.index_address, INDEX_BYTES),
            is_odd(d.row_bytes, word),
            takes_stream & is_odd(d.limit, word),
            many & is_odd(d.row_bytes, config.stripe_bytes),
            many & is_odd(d.pitch.as_unsigned(), config.stripe_bytes),
        ]
        return Cat(control).any() | ((d.op != Op.NOP) & Cat(fields).any())

    def _verdict(self, m, state, starts, runs, is_known):
        """The verdict is that of the rules; parts of it are known on the way."""
        dut, d, bits = self.dut, self.d, self.config.address_bits
        given, top = self.inputs, 1 << bits
        host, limit, base = given["host"], given["limit"], given["host_base"]
        wide = 66

        def end_of(name):
            return Mux(given[name] > top, top, given[name])

        def number(name, value):
            signal = Signal(wide, name=name)
            m.d.comb += signal.eq(value)
            return signal

        device_end, host_end = end_of("device_end"), end_of("host_end")
        takes_stream = d.op != Op.MEASURE
        many, is_down = d.rows > 1, d.pitch < 0
        span = number("span_bytes", self.span << self.shift)
        whole = d.row_bytes >> self.shift
        partial = (d.row_bytes & (self.config.stripe_bytes - 1)) != 0
        is_far = (span >= 2 * top) | self.is_cut
        wrong, empty, apart, outside, stream_out, index_out = (
            Signal(name=f"is_{name}")
            for name in ("wrong", "empty", "apart", "outside", "stream_out", "index_out")
        )
        # The tensor, of which a single row is no span.
        lowest = given["device_base"] > d.device
        below = given["device_base"] + span > d.device
        past = d.device + Mux(many & ~is_down, span, d.row_bytes) > device_end
        tensor_out = Mux(many & is_down, below, lowest) | past | (many & is_far)
        stripes = number("stripes", Mux(many, self.count, whole + partial))
        entries_end = host_end >> (INDEX_BYTES.bit_length() - 1)
        place = d.index_address >> (INDEX_BYTES.bit_length() - 1)
        m.d.comb += [
            wrong.eq(self._wrong()),
            empty.eq((d.op == Op.NOP) | (d.row_bytes == 0)),
            stream_out.eq(
                takes_stream
                & (
                    (host > top)
                    | (limit >= 2 * top)
                    | ((limit != 0) & ((host < base) | (host + limit > host_end)))
                )
            ),
            apart.eq(
                stream_out
                | (d.device >= top)
                | (d.row_bytes >= 2 * top)
                | (d.index & (d.index_address >= top))
                | (whole + partial >= 1 << STRIPE_COUNT_BITS)
            ),
            index_out.eq(d.index & ((d.index_address < base) | (place + stripes > entries_end))),
            outside.eq(apart | tensor_out | index_out | (stripes >= 1 << STRIPE_COUNT_BITS)),
        ]
        was_first, is_many = Signal(), state.bit_select(2, 1)
        m.d.sync += was_first.eq(starts & ~dut.abandon)
        m.d.comb += [
            Assert((state == _State.FIRST.value) == was_first),
            Assert(runs == (state != _State.IDLE.value)),
            Assert((state == _State.IDLE.value) | (state == _State.FIRST.value) | is_many),
            Assert(~is_many | many),
            Assert(~(runs & is_known)),
        ]
        with m.If(runs):
            m.d.comb += [
                Assert(dut.is_empty == empty),
                Assert(probe(m, "dut.is_down", 1) == is_down),
                Assert(probe(m, "dut.has_rows", 1) == many),
            ]
        begins = (state == _State.SPAN.value) | (state == _State.MIDDLE.value)
        with m.If(begins):
            m.d.comb += Assert(dut.is_bad == (wrong | (~empty & apart)))
        with m.If((state == _State.STRIPES.value) | (state == _State.LAST.value)):
            m.d.comb += Assert(dut.is_bad == (wrong | (~empty & (apart | tensor_out))))
        with m.If(state == _State.LAST.value):
            m.d.comb += [Assert(self.product == self.count[:-1]), Assert(self.multiplier.is_kept)]
        with m.If(is_known):
            m.d.comb += [
                Assert(dut.is_bad == (wrong | (~empty & outside))),
                Assert(dut.is_empty == empty),
                Assert(~many | (self.product == self.count[:-1])),
                Assert(~many | self.multiplier.is_kept),
                Assert(probe(m, "dut.has_rows", 1) == many),
                Assert(dut.is_bad | dut.is_empty | (dut.stripes == Mux(many, self.count, whole))),
                Cover(~dut.is_bad & ~empty & many & is_down & d.index),
                Cover(~dut.is_bad & ~empty & ~many & d.index & partial),
                Cover(dut.is_bad & ~wrong & ~apart & ~tensor_out),
            ]


PROOFS = (
    Proof(
        name="checker",
        promise="A descriptor is bad just when it breaks a rule: none passes whose buffers leave "
        "the windows of its ring",
        components=(Checker,),
        design=RefusesBad,
        sizes={
            "8 bits of address": small(),
            "40 bits of address, 2 channels": replace(small(2), address_bits=40),
            "33 bits of address, stripes of 1 KiB": replace(
                small(2), address_bits=33, word_bits=32, stripe_bytes=1024
            ),
        },
        slow=("33 bits of address, stripes of 1 KiB",),
        depth=2,
        broken=faults(
            small(),
            10,
            stuck_at(0, "dut.is_far"),
            stuck_at(0, "dut.is_wide"),
            stuck_at(0, "dut.past_gives1"),
            stuck_at(0, "dut.is_many"),
            late("dut.has_rows"),
        ),
    ),
)
