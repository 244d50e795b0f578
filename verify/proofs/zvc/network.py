"""The routing networks, for all words, masks, offsets and stalls, at any lane and bank."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.lib.prefix import popcount
from cdma.hdl.zvc.network import Compactor, Expander, levels_of, routes
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import Proof, faults, swapped

WORD_BITS = 32


class Routed(Elaboratable):
    """A network with unconstrained words, mask and offset in each cycle.

    The solver picks one lane. The expected result of each beat is delayed beside the network.
    """

    def __init__(self, network, words, mask):
        self.network = network
        self.words = words
        self.mask = mask
        is_open = isinstance(network, Compactor) and not network.ends_registered
        ends = {"ends_registered": False} if is_open else {}
        self.latency = network.latency(network.lanes, **ends)

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.network
        lanes = dut.lanes
        lane_bits = levels_of(lanes)
        lane = Signal(lane_bits)
        m.d.comb += lane.eq(AnyConst(lane_bits))
        offset = anything(m, lane_bits, "offset")
        below = [popcount(m, self.mask[:index]) if index else 0 for index in range(lanes)]
        ranks = [Signal(lane_bits, name=f"rank{index}") for index in range(lanes)]
        m.d.comb += [
            dut.enable.eq(anything(m, 1, "enable")),
            self.mask.eq(anything(m, lanes, "mask")),
            self.words.as_value().eq(anything(m, lanes * WORD_BITS, "words_in")),
            *(rank.eq(count) for rank, count in zip(ranks, below, strict=True)),
            dut.routes.eq(routes(m, ranks, offset)),
        ]
        rank = Signal(lane_bits)
        is_marked = Signal()
        to = Signal(lane_bits)
        m.d.comb += [
            rank.eq(sum(Mux(index < lane, self.mask[index], 0) for index in range(lanes))),
            is_marked.eq(self.mask.bit_select(lane, 1)),
            to.eq(offset + rank),
        ]
        expected = self.expect(m, lane, is_marked, to)
        valid = 1
        for stage in range(self.latency):
            later = [Signal.like(value, name=f"expected{stage}") for value in expected]
            later_valid = Signal(name=f"valid{stage}")
            with m.If(dut.enable):
                m.d.sync += [later_valid.eq(valid)]
                m.d.sync += [a.eq(b) for a, b in zip(later, expected, strict=True)]
            expected, valid = later, later_valid
        with m.If(valid):
            self.check(m, lane, *expected)
        return m


class Collapsed(Routed):
    """Compactor: each marked word leaves at the bank of its rank plus the offset."""

    def __init__(self, network):
        super().__init__(network, network.words, Signal(network.lanes, name="mask"))

    def expect(self, m, lane, is_marked, to):
        word = Signal(WORD_BITS)
        m.d.comb += word.eq(self.network.words[lane])
        return [is_marked, to, word]

    def check(self, m, lane, is_marked, to, word):
        with m.If(is_marked):
            m.d.comb += Assert(self.network.bank_words[to] == word)
            m.d.comb += Cover((to < lane) & (word != 0))


class Spread(Routed):
    """Expander: each marked lane gets the word from the bank of its rank plus the offset, if that
    bank has a word. All other lanes are zero."""

    def __init__(self, network):
        super().__init__(network, network.bank_words, network.mask)

    def expect(self, m, lane, is_marked, to):
        word, has_word = Signal(WORD_BITS), Signal()
        m.d.comb += word.eq(self.network.bank_words[to])
        m.d.comb += [
            self.network.has_word.eq(anything(m, self.network.lanes, "has_word")),
            has_word.eq(self.network.has_word.bit_select(to, 1)),
        ]
        if self.network.fills:
            m.d.comb += self.network.fill.eq(anything(m, WORD_BITS, "fill"))
        return [is_marked, to, word, has_word]

    def _fill(self):
        """The word of all other lanes: zero, or that of the port."""
        return self.network.fill if self.network.fills else 0

    def check(self, m, lane, is_marked, to, word, has_word):
        m.d.comb += [
            Assert(self.network.words[lane] == Mux(is_marked & has_word, word, self._fill())),
            *(
                [Assert(self.network.missing.bit_select(lane, 1) == (is_marked & ~has_word))]
                if self.network.reports_missing
                else []
            ),
            Cover(is_marked & has_word & (to < lane) & (word != 0)),
            Cover(is_marked & ~has_word & (word != 0)),
            Cover(~is_marked & (word != 0)),
        ]


class FillsZeros(Expander):
    """Gives zeros to lanes without a word, and not the word of the port."""

    def elaborate(self, platform):
        self.fills = False
        return super().elaborate(platform)


def spread(size, expander=Expander):
    lanes, reports_missing, fills = size
    return Spread(expander(lanes, WORD_BITS, reports_missing=reports_missing, fills=fills))


SIZES = {"2x32": 2, "8x32": 8, "16x32": 16}

PROOFS = (
    Proof(
        name="compactor",
        promise="Each marked word reaches the bank of its rank",
        components=(Compactor,),
        design=lambda size: Collapsed(Compactor(size[0], WORD_BITS, ends_registered=size[1])),
        sizes={
            **{name: (lanes, True) for name, lanes in SIZES.items()},
            **{f"{name}, combinational end": (lanes, False) for name, lanes in SIZES.items()},
        },
        slow=("8x32", "16x32", "8x32, combinational end", "16x32, combinational end"),
        depth=4,
        broken=faults(
            (8, True),
            4,
            stuck_at(0, "dut.after0_routes", 9),
            inverted("dut.after2_3", 0),
            late("dut.after0_routes"),
        ),
    ),
    Proof(
        name="expander",
        promise="Each marked lane gets the word of its rank and other lanes get zero",
        components=(Expander,),
        design=lambda lanes: Spread(Expander(lanes, WORD_BITS)),
        sizes=SIZES,
        slow=("8x32", "16x32"),
        depth=4,
        broken=faults(8, 4, stuck_at(1, "dut.crossing1_0", 0), stuck_at(1, "dut.words", 40)),
    ),
    Proof(
        name="expander_missing",
        promise="Each marked lane without a word is reported, and filled with any word",
        components=(Expander,),
        design=spread,
        sizes={
            "2x32": (2, True, True),
            "8x32": (8, True, True),
            "8x32, reported only": (8, True, False),
            "8x32, filled only": (8, False, True),
        },
        slow=("8x32", "8x32, reported only", "8x32, filled only"),
        depth=4,
        broken=(
            *faults((8, True, True), 4, stuck_at(0, "dut.missing", 2)),
            *swapped(4, {"zeros": lambda: spread((2, False, True), FillsZeros)}),
        ),
    ),
)
