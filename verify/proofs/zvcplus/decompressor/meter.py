"""Lengths of payloads of int8 with repeats, compared with sums over their groups of words."""

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.zvcplus.config import GROUP_WORDS, Config
from cdma.hdl.zvcplus.decompressor.payload.meter import GROUPS, PayloadMeter
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import leave_open
from cdma.verify.proofs.proof import Proof, faults


class MeasuresPayloads(Elaboratable):
    """A payload has a bit for each word, and the width of its group for each that is not repeated;
    bits of a group's words follow those of the group before. The flag compares the sum with the
    length.

    Payloads come at most every fourth cycle, and a group has no more words than places.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        leave_open(m, dut, "load", "uses", "words", "widths", "length", "repeated")
        cycles = len(dut.words) // GROUPS
        since = Signal(dut.LATENCY - 1)  # payloads, one cycle ago and more
        m.d.sync += since.eq((since << 1) | dut.load)
        m.d.comb += [
            Assume(~dut.load | (since[: cycles - 1] == 0)),
            *(Assume(count <= GROUP_WORDS) for count in dut.words),
        ]
        bits = self._measure(m, since, cycles)
        total, length, kept = Signal(11), Signal.like(dut.length), Signal.like(dut.length)
        is_used, was_used, is_wrong = Signal(), Signal(), Signal()
        with m.If(dut.load):
            m.d.sync += [length.eq(dut.length), is_used.eq(dut.uses)]
        with m.If(since[2]):
            m.d.sync += total.eq(bits)
        with m.Elif(since[3 : 2 + cycles].any()):
            m.d.sync += total.eq(total + bits)
        with m.If(since[cycles - 1]):
            m.d.sync += [kept.eq(length), was_used.eq(is_used)]
        with m.If(since[-1]):
            m.d.sync += is_wrong.eq(was_used & (total != kept))
        m.d.comb += [
            Assert(dut.is_wrong == is_wrong),
            Cover(since[-1] & was_used & (total == kept) & (kept == 77)),
            Cover(is_wrong),
            # Invariants: payloads are apart; their registers, and the sum from the first groups on.
            *(Assert((since & (since >> k)) == 0) for k in range(1, cycles)),
            Assert(probe(m, "dut.own_length", len(length)) == length),
            Assert(probe(m, "dut.kept", len(kept)) == kept),
            Assert(probe(m, "dut.is_used", 1) == is_used),
            Assert(probe(m, "dut.was_used", 1) == was_used),
            *(Assert(probe(m, f"dut.loaded{k}", 1) == bit) for k, bit in enumerate(since)),
        ]
        with m.If(since[3:].any()):
            m.d.comb += Assert(probe(m, "dut.measured", len(total)) == total)
        return m

    def _measure(self, m, since, cycles):
        """Bits of two groups, two cycles after these."""
        dut = self.dut
        counts, widths = Signal.like(dut.words), Signal.like(dut.widths)
        left = Signal.like(dut.repeated)
        with m.If(dut.load):
            m.d.sync += [counts.eq(dut.words), widths.eq(dut.widths)]
        rest, passed = Signal.like(left, name="rest"), 0
        m.d.comb += rest.eq(Mux(since[0], dut.repeated, left))
        bits, terms = Signal(9), []
        for group in range(GROUPS):
            count, width, repeated = Signal(5), Signal(4), Signal(5)
            for cycle in range(cycles):
                with m.If(since[cycle]):
                    at = GROUPS * cycle + group
                    m.d.comb += [count.eq(counts[at]), width.eq(widths[at])]
            own = [rest.bit_select(passed + k, 1) & (k < count) for k in range(GROUP_WORDS)]
            m.d.comb += repeated.eq(sum(own))
            passed = passed + count
            kept = [
                Signal.like(each, name=f"{name}{group}")
                for name, each in (("words", count), ("width", width), ("repeated", repeated))
            ]
            m.d.sync += [
                one.eq(each) for one, each in zip(kept, (count, width, repeated), strict=True)
            ]
            with m.If(since[1 : 1 + cycles].any()):
                m.d.comb += [
                    Assert(probe(m, f"dut.{name}{group}", len(each)) == each)
                    for name, each in zip(("words", "width", "repeated"), kept, strict=True)
                ] + [Assert(kept[2] <= kept[0]), Assert(kept[0] <= GROUP_WORDS)]
            terms.append(kept[0] + (kept[0] - kept[2])[:5] * kept[1])
        m.d.sync += [left.eq(rest >> passed), bits.eq(sum(terms))]
        shift = Signal(range(len(dut.words) + 1))
        for cycle in range(1, cycles):
            with m.If(since[cycle]):
                m.d.comb += shift.eq(GROUPS * cycle)
        size, width = len(counts[0]), len(widths[0])
        m.d.comb += [
            *(Assert(each <= GROUP_WORDS) for each in counts),
            Assert(~since[1:cycles].any() | (probe(m, "dut.left", len(left)) == left)),
            Assert(~since[2 : 2 + cycles].any() | (probe(m, "dut.bits", len(bits)) == bits)),
        ]
        with m.If(since[:cycles].any()):
            for name, held, step in (("counts", counts, size), ("widths", widths, width)):
                whole = held.as_value()
                m.d.comb += Assert(probe(m, f"dut.own_{name}", len(whole)) == whole >> shift * step)
        return bits


SIZES = {"int8-left": Config("int8", "left")}

PROOFS = (
    Proof(
        name="payload_meter",
        promise="The length of a payload of int8 with repeats is compared with its groups' sum",
        components=(PayloadMeter,),
        design=lambda config: MeasuresPayloads(PayloadMeter(config)),
        sizes=SIZES,
        broken=faults(
            SIZES["int8-left"],
            10,
            late("dut.is_used"),
            inverted("dut.left", 3),
            stuck_at(0, "dut.repeated1", 2),
            inverted("dut.measured", 4),
        ),
    ),
)
