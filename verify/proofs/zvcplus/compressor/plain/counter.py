"""Beats that get the coding of their block, and are counted: any word of a beat."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.lib.prefix import popcount
from cdma.hdl.lib.queue import Queue
from cdma.hdl.zvcplus.compressor.plain.counter import (
    CodedBeat,
    FieldCounter,
    _SizedCoding,
)
from cdma.hdl.zvcplus.compressor.plain.records import BlockCoding, Payload
from cdma.hdl.zvcplus.compressor.records import SENT
from cdma.hdl.zvcplus.config import Config
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import offer, take
from cdma.verify.proofs.proof import Proof, faults

#: What of a beat, and of its payload, is the same in the model. Of the numbers of words, and of
#: the places, the model has those of one word.
BEAT = ("words", "mask", "coding", "width", "triple", "total", "count", "end", "final")
PAYLOAD = ("total", "words", "end", "final")


class CountsFields(Elaboratable):
    """A beat leaves with the coding of its block, in order; a word's place is the number of words
    that are sent before it, times their width.

    The model has the registers of the component, and multiplies.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        config = dut.config
        lanes = config.lanes
        block, line = dut.i_coding.payload, dut.i_beat.payload
        coding_enters = offer(m, dut.i_coding, "coding")
        beat_enters = offer(m, dut.i_beat, "beat")
        take(m, dut.o, "o")
        k = block.coding.k
        m.d.comb += Assume((k == SENT) | (k <= config.word.exponent))
        m.submodules.codings = codings = Queue(BlockCoding(config), 1, pipe=True)
        m.submodules.coded = coded = Queue(CodedBeat(config), 1, pipe=True)
        m.submodules.payloads = payloads = Queue(Payload(config), 1, pipe=True)
        m.d.comb += [
            codings.i.valid.eq(coding_enters),
            codings.i.payload.eq(block),
            coded.i.valid.eq(beat_enters),
            codings.o.ready.eq(beat_enters & line.end),
            coded.o.ready.eq(payloads.i.ready),
            payloads.i.valid.eq(coded.o.valid),
            payloads.o.ready.eq(dut.o.ready),
            # A beat waits for the coding of its block, and both for room.
            Assert(dut.i_coding.ready == codings.i.ready),
            Assert(dut.i_beat.ready == (codings.o.valid & coded.i.ready)),
            Assert(dut.loads == payloads.i.ready),
            Assert(dut.o.valid == payloads.o.valid),
            Assert(probe(m, "dut.codings.o__valid", 1) == codings.o.valid),
            Assert(probe(m, "dut.payloads.i__valid", 1) == coded.o.valid),
        ]
        lane = Signal(range(lanes), name="lane")
        m.d.comb += lane.eq(AnyConst(len(lane)))
        own = codings.o.payload
        rank = self._beat(m, own, line, coded.i.payload, lane)
        held_rank, behind = Signal.like(rank, name="held_rank"), Signal(8, name="held_behind")
        beat, payload = coded.o.payload, payloads.i.payload
        with m.If(coded.i.ready):
            m.d.sync += held_rank.eq(rank)
        with m.If(payloads.i.ready):
            m.d.sync += behind.eq(held_rank * beat.width)
        m.d.comb += [
            payload.total.eq(beat.total * beat.width),
            payload.words.eq(beat.count),
            payload.end.eq(beat.end),
            payload.final.eq(beat.final),
        ]
        self._compare_coding(m, codings)
        with m.If(coded.o.valid):
            m.d.comb += [
                *(Assert(_same(dut.beat, beat, name)) for name in BEAT),
                Assert(dut.beat.ranks[lane] == held_rank),
                Assert(beat.total <= lanes),
                Assert(beat.width <= config.word.bits),
                Assert(beat.triple == 3 * beat.width),
            ]
        with m.If(payloads.o.valid):
            m.d.comb += [
                *(Assert(_same(dut.o.payload, payloads.o.payload, name)) for name in PAYLOAD),
                Assert(dut.o.payload.behind[lane] == behind),
                Cover(dut.o.payload.total == config.beat_bits),
                Cover((behind != 0) & dut.o.payload.end & ~dut.o.payload.final),
            ]
        self._look_ahead(m, dut)
        return m

    def _beat(self, m, own, line, beat, lane):
        """What becomes of a beat behind its coding; the words that are sent before one of them."""
        config = self.dut.config
        lanes, word, coding = config.lanes, config.word, own.coding
        sent, rank = Signal(lanes, name="sent"), Signal(range(lanes), name="rank")
        is_whole = own.is_raw | (coding.k == SENT)  # exponents are sent as they are
        bits = Cat(is_whole | (coding.k > bit) for bit in range(word.exponent))
        m.d.comb += [
            sent.eq(line.mask | own.is_raw.replicate(lanes)),
            rank.eq(popcount(m, sent & ((1 << lane) - 1)[:lanes])),
            beat.words.eq(line.words),
            beat.mask.eq(line.mask),
            beat.coding.changes.eq(Mux(is_whole, 0, line.mask)),
            beat.coding.base.eq(Mux(is_whole, 0, coding.base)),
            beat.coding.sent.eq(bits),
            beat.coding.is_wide.eq(coding.is_wide),
            beat.width.eq(_width(word, coding)),
            beat.triple.eq(3 * _width(word, coding)),
            beat.total.eq(popcount(m, sent)),
            beat.count.eq(own.words),
            beat.end.eq(line.end),
            beat.final.eq(own.last),
        ]
        return rank

    def _compare_coding(self, m, codings):
        """The coding that is held is that of the model, with what follows from it."""
        dut, own = self.dut, codings.o.payload
        sized = Signal(_SizedCoding(dut.config), name="sized")
        coding, word = own.coding, dut.config.word
        is_whole = own.is_raw | (coding.k == SENT)
        m.d.comb += sized.eq(probe(m, "dut.codings.entry0", len(sized.as_value())))
        with m.If(codings.o.valid):
            m.d.comb += [
                Assert((coding.k == SENT) | (coding.k <= word.exponent)),
                Assert(sized.block.as_value() == own.as_value()),
                Assert(sized.width == _width(word, coding)),
                Assert(sized.triple == 3 * _width(word, coding)),
                Assert(sized.field.changes == (~is_whole).replicate(dut.config.lanes)),
                Assert(sized.field.base == Mux(is_whole, 0, coding.base)),
                Assert(sized.field.is_wide == coding.is_wide),
                *(
                    Assert(sized.field.sent[bit] == (is_whole | (coding.k > bit)))
                    for bit in range(word.exponent)
                ),
            ]

    def _look_ahead(self, m, dut):
        """What is said of the next cycle comes true."""
        will_be, will_end = Signal(name="will_be"), Signal(name="will_end")
        is_due = Signal(name="is_due")
        m.d.sync += [will_be.eq(dut.next_valid), will_end.eq(dut.next_end), is_due.eq(1)]
        with m.If(is_due):
            m.d.comb += [
                Assert(dut.o.valid == will_be),
                Assert(~dut.o.valid | (dut.o.payload.end == will_end)),
            ]


def _same(one, other, name):
    values = (getattr(each, name) for each in (one, other))
    first, second = (each.as_value() if hasattr(each, "as_value") else each for each in values)
    return first == second


def _width(word, coding):
    """Bits of a word that is sent."""
    return word.mantissa + Mux(coding.k == SENT, word.exponent, coding.k) + coding.is_wide


PROOFS = (
    Proof(
        name="field_counter",
        promise="A beat has the coding of its block, and each word lies behind those before it",
        components=(FieldCounter,),
        design=lambda name: CountsFields(FieldCounter(Config(name))),
        sizes={name: name for name in ("fp32", "fp16", "bf16")},
        slow=("fp16", "bf16"),
        # Whether beats move on whatever leaves follows from the cycle before.
        depth=2,
        broken=faults(
            "fp32",
            8,
            late("dut.is_open"),
            stuck_at(0, "dut.beat", 9),
            inverted("dut.o__payload", 3),
        ),
    ),
)
