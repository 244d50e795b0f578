"""Words leave a shifter in the order in which they came, as many as are needed."""

from amaranth.hdl import Array, Assert, Assume, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.engine.common.words import WordShifter
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.stream_rules import anything, offer
from cdma.verify.proofs.proof import PDR, Proof, faults


class KeepsWords(Elaboratable):
    """A word, picked at the input at any time, leaves behind exactly the earlier words.

    Transfers have any number of words, and need any number. ``clear`` drops all at any time.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        given, taken = dut.i.payload, dut.o.payload
        enters = offer(m, dut.i, "i")
        m.d.comb += [
            dut.clear.eq(anything(m, 1, "clear")),
            dut.need.eq(anything(m, len(dut.need), "need")),
            dut.o.ready.eq(anything(m, 1, "ready")),
            Assume((dut.need >= 1) & (dut.need <= dut.out_words)),
            Assume(given.count <= dut.in_words),
        ]
        for k in range(dut.in_words):
            m.d.comb += Assume((given.words[k] == 0) | (given.count > k))
        leaves = Signal()
        level, rest, following = (Signal(range(dut.capacity + 1), name=f"n{k}") for k in range(3))
        m.d.comb += [
            leaves.eq(dut.o.valid & dut.o.ready),
            rest.eq(level - Mux(leaves, dut.need, 0)),
            following.eq(rest + Mux(enters, given.count, 0)),
            Assert(dut.level == level),
            Assert(level <= dut.capacity),
            Assert(dut.o.valid == (level >= dut.need)),
            # Room for a whole transfer, whatever leaves.
            Assert(dut.i.ready == (level + dut.in_words <= dut.capacity)),
            Cover(level == dut.capacity),
        ]
        m.d.sync += level.eq(Mux(dut.clear, 0, following))
        with m.If(dut.o.valid):
            m.d.comb += Assert(taken.count == dut.need)
            for k in range(dut.out_words):
                m.d.comb += Assert((taken.words[k] == 0) | (dut.need > k))
        self._mark(m, enters, leaves, level, rest)
        return m

    def _mark(self, m, enters, leaves, level, rest):
        """Follow one word through the buffer."""
        dut = self.dut
        given, taken = dut.i.payload, dut.o.payload
        is_inside, marked = Signal(), Signal(dut.word_bits)
        ahead = Signal(range(dut.capacity + 1))
        place = anything(m, range(dut.in_words + 1), "place")
        marks = anything(m, 1, "marks") & enters & ~is_inside & (place < given.count)
        m.d.comb += Assert(~is_inside | (ahead < level))
        comes = is_inside & leaves & (ahead < dut.need)
        with m.If(dut.clear):
            m.d.sync += [is_inside.eq(0), ahead.eq(0), marked.eq(0)]
        with m.Elif(marks):
            word = Array([given.words[k] for k in range(dut.in_words)])[place]
            m.d.sync += [is_inside.eq(1), ahead.eq(rest + place), marked.eq(word)]
        with m.Elif(comes):
            m.d.sync += [is_inside.eq(0), ahead.eq(0), marked.eq(0)]
        with m.Elif(is_inside & leaves):
            m.d.sync += ahead.eq(ahead - dut.need)
        with m.If(is_inside & dut.o.valid & (ahead < dut.need)):
            found = Array([taken.words[k] for k in range(dut.out_words)])[ahead]
            m.d.comb += [Assert(found == marked), Cover((marked != 0) & (level == dut.capacity))]


PROOFS = (
    Proof(
        name="word_shifter",
        promise="A shifter gives its words in order, as many as are needed, and loses none",
        components=(WordShifter,),
        design=lambda size: KeepsWords(WordShifter(*size)),
        sizes={
            f"{bits} bits, {in_words} in, {out_words} out": (bits, in_words, out_words)
            for bits, in_words, out_words in ((4, 1, 2), (2, 2, 2), (2, 2, 4))
        },
        mode=PDR,
        depth=4,
        broken=faults(
            (2, 2, 2),
            8,
            stuck_at(1, "dut.i__ready"),
            stuck_at(0, "dut.word3", 0),
            late("dut.level"),
            stuck_at(0, "dut.taken", 0),
        ),
    ),
)
