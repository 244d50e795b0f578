"""No word passes the limit of a stream."""

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.engine.offload.limit import Limit
from cdma.hdl.lib.counter import PART_BITS
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import Proof, faults

SETTLED = 3  # cycles after a start


class CountsDown(Elaboratable):
    """Of each row those words pass that are left of the limit, which is one wide number here.

    Rows come at any time from three cycles after the start on.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut = self.dut
        m.submodules.dut = elaborated(dut, platform)
        total, age = Signal(dut.width), Signal(range(SETTLED + 1))
        count = anything(m, range(dut.most + 1), "any_count")
        m.d.comb += [
            dut.start.eq(anything(m, 1, "start")),
            dut.limit.eq(anything(m, dut.width, "any_limit")),
            dut.takes.eq(anything(m, 1, "takes") & (age == SETTLED) & (count <= dut.most)),
            dut.count.eq(count),
        ]
        kept = Signal(range(dut.most + 1))
        m.d.comb += kept.eq(Mux(total < count, total, count))
        with m.If(dut.start):
            m.d.sync += [total.eq(dut.limit), age.eq(1)]
        with m.Else():
            m.d.sync += total.eq(total - Mux(dut.takes, kept, 0))
            m.d.sync += age.eq(Mux((age == 0) | (age == SETTLED), age, age + 1))
        with m.If(dut.takes):
            m.d.comb += [
                Assert(dut.kept == kept),
                Assert(dut.cut == (kept != count)),
                Cover(dut.cut & (kept != 0)),
            ]
        self._invariants(m, total, age)
        return m

    def _invariants(self, m, total, age):
        """The upper bits are the model's, or one more for a cycle, and then many words are left."""
        dut = self.dut
        low = (8 * dut.most - 1).bit_length()
        bits = dut.width - low
        left, borrows = probe(m, "dut.left", low), probe(m, "dut.borrows", 1)
        upper, is_end = probe(m, "dut.upper.value", bits), probe(m, "dut.upper.is_end", 1)
        exact, since = Signal(bits), Signal(range(8), init=0)  # cycles since the upper bits changed
        m.d.comb += exact.eq(upper - borrows)
        m.d.sync += since.eq(Mux(dut.start | borrows, 0, Mux(since == 7, 7, since + 1)))
        m.d.comb += Assert(age <= SETTLED)
        with m.If(age != 0):
            m.d.comb += [
                Assert((total >> low) == exact),
                Assert(total[:low] == left),
                Assert(~borrows | (upper != 0)),
                Assert(~borrows | (left >= (1 << low) - dut.most)),
                Assert((since < 2) | (is_end == (upper == 0))),
                Assert((age != SETTLED) | ~borrows | (since >= 2)),
                Assert((age >= SETTLED) | ((since + 1 == age) & ~borrows)),
                # Since it borrowed.
                Assert(
                    (since >= 2) | (age != SETTLED) | (left >= (1 << low) - (since + 2) * dut.most)
                ),
            ]
            for start in range(0, bits, PART_BITS):
                part = upper[start : start + PART_BITS]
                ends = probe(m, f"dut.upper.is_end{start}", 1)
                m.d.comb += Assert((since == 0) | (ends == ~part.any()))


PROOFS = (
    Proof(
        name="limit",
        promise="Words up to the limit of a stream pass, and none behind",
        components=(Limit,),
        design=lambda size: CountsDown(Limit(*size)),
        sizes={
            "20 bits, rows of 4 words": (20, 4),
            "32 bits, rows of 2": (32, 2),
            "47 bits, rows of 8": (47, 8),
        },
        broken=faults(
            (20, 4),
            10,
            late("dut.kept"),
            stuck_at(0, "dut.borrows"),
            stuck_at(1, "dut.upper.is_end"),
        ),
    ),
)
