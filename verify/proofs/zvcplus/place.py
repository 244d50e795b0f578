"""Where controls and payloads land in the stream, compared with a running number of bits."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Const, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.zvcplus.compressor.place import BitPlacer
from cdma.hdl.zvcplus.config import Config
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import leave_open
from cdma.verify.proofs.proof import Proof, faults
from cdma.verify.proofs.zvcplus.places import delayed

#: Bits of a packet that the model counts, modulo rows.
SIZE_BITS = 11
ROW = 256


class PlacesItems(Elaboratable):
    """An item lands behind all bits of its packet, and a packet's first item begins a row.

    The model counts a packet's bits from its first row that is not full yet.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        config = dut.config
        names = ("enable", "valid", "control_bits", "is_after", "total", "behind", "words", "last")
        names += ("is_behind",) * config.has_late_controls
        leave_open(m, dut, *names)
        behind = dut.is_behind if config.has_late_controls else Const(0, 1)
        lane = Signal(range(config.lanes))
        used = Signal(SIZE_BITS)  # bits in the row that is being filled
        is_empty = Signal(init=1)  # the packet has no bit
        own, next_own, tail = Signal(SIZE_BITS), Signal(SIZE_BITS), Signal(SIZE_BITS)
        first, end = Signal(SIZE_BITS), Signal(SIZE_BITS)
        has_none = Signal()
        m.d.comb += [
            lane.eq(AnyConst(len(lane))),
            Assume(dut.control_bits <= config.front_bits),
            Assume(dut.total <= ROW),
            # Only an item that ends its packet has the next one's control.
            Assume(~dut.is_after | dut.last),
            # A control behind the payload is of the same packet, which goes on.
            Assume(~behind | ~dut.last),
            own.eq(Mux(dut.is_after | behind, 0, dut.control_bits)),
            tail.eq(Mux(behind, dut.control_bits, 0)),
            next_own.eq(Mux(dut.is_after, dut.control_bits, 0)),
            first.eq(used + own),
            end.eq(first + dut.total + tail),
            has_none.eq(is_empty & (own + tail + dut.total == 0)),
        ]
        with m.If(dut.enable & dut.valid):
            m.d.sync += [
                used.eq(Mux(dut.last, next_own, end[:8])),
                is_empty.eq(Mux(dut.last, next_own == 0, has_none)),
            ]
        # Rows of the packet: full ones, and at its end the rest, or one without a byte.
        full, rest = end[8:], end[:8]
        closes = Signal()
        m.d.comb += closes.eq(dut.last & ((rest != 0) | has_none))
        rows = Signal(3)
        m.d.comb += rows.eq(full + closes)
        self._keep_to_rows(m, used, is_empty, own + tail, end, rows)
        place = Signal.like(dut.place, name="expected")
        start = Signal(8)
        m.d.comb += [
            place.at.eq(Mux(dut.is_after, 0, Mux(behind, first + dut.total, used))),
            place.control_row.eq(Mux(dut.is_after, rows, Mux(behind, (first + dut.total) >> 8, 0))),
            place.start.eq(first),
            place.start_row.eq(first >> 8),
            place.rows.eq(rows),
            place.is_open.eq(~dut.last & (rest == 0) & ~has_none),
            place.last.eq(dut.last),
            place.bytes.eq(Mux(closes, (rest + 7) >> 3, ROW // 8)),
            place.words.eq(dut.words),
            start.eq(first + dut.behind[lane]),
        ]
        held, was_valid = Signal.like(place.as_value(), name="held"), Signal()
        m.d.comb += [held.eq(place.as_value()), was_valid.eq(dut.valid)]
        late_place, known = delayed(m, dut.enable, held, dut.LATENCY)
        late_start, _ = delayed(m, dut.enable, start, dut.LATENCY)
        late_valid, _ = delayed(m, dut.enable, was_valid, dut.LATENCY)
        with m.If(known):
            m.d.comb += Assert(dut.o_valid == late_valid)
        with m.If(known & late_valid):
            m.d.comb += [
                Assert(dut.place.as_value() == late_place),
                Assert(dut.starts[lane] == late_start),
                Cover(dut.place.last & (dut.place.bytes == 0)),
                Cover(dut.place.control_row == 2),
                Cover(dut.place.is_open & (dut.place.rows == 1)),
            ]
        m.d.comb += [
            Assert(used < ROW),
            Assert(probe(m, "dut.at", 8) == used),
            Assert(probe(m, "dut.is_fresh", 1) == is_empty),
        ]
        return m

    def _keep_to_rows(self, m, used, is_empty, own, end, rows):
        """What the assembler's proof assumes of items."""
        dut, waits, is_open = self.dut, Signal(name="waits"), Signal(name="is_open")
        m.d.comb += is_open.eq(~dut.last & (end[:8] == 0) & ~(is_empty & (end == 0)))
        with m.If(dut.enable & dut.valid):
            m.d.sync += waits.eq(is_open)
        m.d.comb += [
            # A packet's last item has no control in front, only at most as many bits as a row.
            Assert((rows <= 2) | (dut.last & (own + dut.total > ROW))),
            # A row waits to be its packet's last: full, and without bits behind it.
            Assert(waits == ((used == 0) & ~is_empty)),
            # Only with such a row does an item without a row end its packet, or wait.
            Assert(~(dut.last | is_open) | (rows != 0) | waits),
            # Bits lie in rows that are filled, or in the one behind, if that is begun.
            Assert((own == 0) | ((((used + own - 1) >> 8) + is_open) <= rows)),
            Assert((dut.total == 0) | ((((end - 1) >> 8) + is_open) <= rows)),
            Cover(waits & dut.valid & dut.last & (rows == 0)),
        ]


PROOFS = (
    Proof(
        name="bit_placer",
        promise="Controls and words land behind all bits of their packet, which begins a row",
        components=(BitPlacer,),
        design=lambda config: PlacesItems(BitPlacer(config)),
        sizes={
            "fp32": Config("fp32"),
            "int8": Config("int8"),
            "bf16-left": Config("bf16", "left"),
            "int8-left": Config("int8", "left"),
        },
        depth=3,
        broken=faults(
            Config("fp32"),
            6,
            late("dut.at"),
            stuck_at(0, "dut.is_fresh"),
            stuck_at(0, "dut.has_end"),
        ),
    ),
)
