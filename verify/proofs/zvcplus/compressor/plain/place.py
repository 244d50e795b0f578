"""Where items land, added in two steps: compared with a running number of bits."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal
from amaranth.lib import data

from cdma.hdl.zvcplus.compressor.plain.place import HIGH, LOW, SplitPlacer, _Begun
from cdma.hdl.zvcplus.compressor.plain.records import Landing
from cdma.hdl.zvcplus.config import Config
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import leave_open
from cdma.verify.proofs.proof import Proof, faults

#: Bits of a packet that the model counts, modulo rows.
SIZE_BITS = 11
ROW = 256


class PlacesItems(Elaboratable):
    """An item lands behind all bits of its packet, and a packet's first item begins a row.

    The model counts the bits of the row that is being filled, which may be full. It keeps the item
    of the first step with the bits before it, and the landing of the second.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        config = dut.config
        names = ("has_front", "has_after", "has_payload", "control_bits", "total", "behind")
        leave_open(m, dut, "enable", "words", "last", *names)
        self.lane = lane = Signal(range(config.lanes))
        item, valid = Signal(_Item(config), name="item"), Signal(name="valid")
        used, stage = Signal(9, name="used"), Signal(_Item(config), name="stage")
        stage_valid, has_words = Signal(name="stage_valid"), Signal()
        m.d.comb += [
            lane.eq(AnyConst(len(lane))),
            valid.eq(dut.has_front | dut.has_after | dut.has_payload),
            dut.lacks_front.eq(~dut.has_front),
            Assume(dut.control_bits <= config.control_bits),
            Assume(dut.total <= ROW),
            Assume(~dut.has_front | ~dut.has_after),
            Assume(~dut.has_after | dut.last),
            Assume(~dut.last | (dut.has_payload & ~dut.has_front)),
            item.used.eq(used),
            item.own.eq(Mux(dut.has_front, dut.control_bits, 0)),
            item.next_own.eq(Mux(dut.has_after, dut.control_bits, 0)),
            item.is_after.eq(dut.has_after),
            item.total.eq(Mux(dut.has_payload, dut.total, 0)),
            item.behind.eq(dut.behind[lane]),
            item.words.eq(dut.words),
            item.last.eq(dut.last),
            Assert(dut.at_low == Mux(dut.has_after, 0, used[:LOW])),
        ]
        with m.If(dut.enable):
            m.d.sync += [stage.eq(item), stage_valid.eq(valid), has_words.eq(dut.has_payload)]
            with m.If(valid):
                m.d.sync += used.eq(self._following(m, item, "item"))
        m.d.comb += [
            Assert(used <= ROW),
            Assert(probe(m, "dut.at", LOW) == used[:LOW]),
            Assert(dut.next_valid == stage_valid),
            Assert(dut.counts == has_words),
        ]
        self._check_stage(m, stage, stage_valid, used)
        return m

    def _following(self, m, item, name):
        """Bits of the row that is being filled, behind an item."""
        end, rows = self._end(m, item, name)
        return Mux(item.last, item.next_own, end - (rows << 8))[:9]

    def _end(self, m, item, name):
        """Bits behind an item, from the row that was being filled before; rows that it leaves
        behind, without the last of its packet."""
        end, rows = Signal(SIZE_BITS, name=f"{name}_end"), Signal(3, name=f"{name}_rows")
        m.d.comb += [
            end.eq(item.used + item.own + item.total),
            rows.eq(Mux(end == 0, 0, (end - 1)[:SIZE_BITS] >> 8)),
        ]
        return end, rows

    def _check_stage(self, m, stage, valid, used):
        """The item of the first step, and what becomes of it."""
        dut, config, lane = self.dut, self.dut.config, self.lane
        layout = _Begun(config)
        begun = data.View(layout, probe(m, "dut.begun.value0", layout.size))
        # The upper bits of the place, and whether the row is full, as the outputs show them.
        shown, upper = Signal(HIGH, name="shown"), Signal(HIGH, name="upper_bits")
        before = Mux(valid, stage.used, used)
        m.d.comb += [
            upper.eq(begun.behind[lane] + begun.low[lane][LOW]),
            shown.eq(dut.starts[lane][LOW:] - upper),
            Assert(shown == before[LOW:8]),
            Assert(dut.next.control_row == before[8]),
            Assert(~before[8] | (before[:8] == 0)),
        ]
        end, rows = self._end(m, stage, "stage")
        first = Signal(SIZE_BITS, name="first")
        both = Signal(LOW + 1, name="both")
        expected = Signal(Landing(config), name="expected")
        high, low = first[4:8], first[:4]
        m.d.comb += [
            first.eq(stage.used + stage.own),
            both.eq(stage.own[:LOW] + stage.total[:LOW]),
            *(expected.below[h].eq(high < h) for h in range(16)),
            *(expected.here[h].eq(high == h) for h in range(16)),
            *(expected.from_low[k].eq(low <= k) for k in range(16)),
            expected.start_row.eq(first >> 8),
            expected.control_row.eq(stage.used >> 8),
            expected.is_after.eq(stage.is_after),
            expected.rows.eq(rows + stage.last),
            expected.reach.eq(rows + stage.is_after),
            expected.last.eq(stage.last),
            expected.bytes.eq(Mux((end != 0) & (end[:8] == 0), ROW // 8, (end[:8] + 7) >> 3)),
            expected.words.eq(stage.words),
        ]
        with m.If(valid):
            m.d.comb += [
                Assert(used == self._following(m, stage, "begun")),
                Assert(~stage.is_after | stage.last),
                Assert(~stage.last | (stage.own == 0)),
                Assert(stage.own <= config.control_bits),
                Assert(stage.next_own <= config.control_bits),
                Assert(stage.total <= ROW),
                Assert(stage.used <= ROW),
                Assert(begun.start == stage.used[:LOW] + stage.own[:LOW]),
                Assert(begun.end == stage.used[:LOW] + both[:LOW]),
                Assert(begun.front == stage.own >> LOW),
                Assert(begun.bits == (stage.own >> LOW) + (stage.total >> LOW) + both[LOW]),
                Assert(begun.next_front == stage.next_own >> LOW),
                Assert(begun.is_after == stage.is_after),
                Assert(begun.last == stage.last),
                Assert(begun.words == stage.words),
                Assert(begun.low[lane][:LOW] == (first + stage.behind)[:LOW]),
                Assert(upper == ((stage.used[:LOW] + stage.own + stage.behind) >> LOW)[:HIGH]),
                Assert(dut.next.as_value() == expected.as_value()),
                Assert(dut.next_passes[0] == (rows >= 1)),
                Assert(dut.next_passes[1] == (rows >= 2)),
                Assert(rows + stage.last <= 2),
                Assert(dut.starts[lane] == (first + stage.behind)[:8]),
                Assert(dut.at_high == Mux(stage.is_after, 0, stage.used[LOW:8])),
                Cover(stage.is_after & (rows == 1)),
                Cover((rows == 2) & (stage.used == ROW)),
                Cover(stage.last & (end == 0)),
            ]
        held, held_valid = Signal(Landing(config), name="held"), Signal(name="held_valid")
        with m.If(dut.enable):
            m.d.sync += [held.eq(expected), held_valid.eq(valid)]
        m.d.comb += Assert(dut.o_valid == held_valid)
        with m.If(held_valid):
            m.d.comb += Assert(dut.landing.as_value() == held.as_value())


class _Item(data.StructLayout):
    """An item, the bits before it in its row, and the place of one of its words."""

    def __init__(self, config: Config):
        control = range(config.control_bits + 1)
        super().__init__(
            {
                "used": 9,
                "own": control,
                "next_own": control,
                "is_after": 1,
                "total": 9,
                "behind": 8,
                "words": range(config.lanes + 1),
                "last": 1,
            }
        )


PROOFS = (
    Proof(
        name="split_placer",
        promise="Controls and words land behind all bits of their packet, which begins a row",
        components=(SplitPlacer,),
        design=lambda name: PlacesItems(SplitPlacer(Config(name))),
        sizes={name: name for name in ("fp32", "bf16")},
        slow=("fp32", "bf16"),
        broken=faults(
            "fp32",
            6,
            late("dut.at"),
            stuck_at(0, "dut.at_high", 2),
            inverted("dut.upper3", 1),
            late("dut.counts"),
        ),
    ),
)
