"""Payloads of beats, counted in a model with the same registers, of any word of a beat."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal
from amaranth.lib import data

from cdma.hdl.lib.prefix import popcount
from cdma.hdl.zvcplus.compressor.counter import PayloadCounter, _Counted
from cdma.hdl.zvcplus.compressor.records import NOTHING, RAW, SENT, BlockPlan, Payload
from cdma.hdl.zvcplus.config import Config
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import offer, take
from cdma.verify.proofs.proof import Proof, faults

#: What a payload has beside its numbers.
SHARED = ("mask", "coding", "words", "end", "final")


class CountsPayloads(Elaboratable):
    """A block gives its beats one by one; a word lies behind those of its beat that are sent.

    The model has the registers of the component. In each it compares what follows for one word.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        config = dut.config
        plan = dut.i.payload
        enters, leaves = offer(m, dut.i, "i"), take(m, dut.o, "o")
        m.d.comb += [Assume(plan.kind <= NOTHING), Assume(plan.extent.words <= config.lanes)]
        if not config.word.is_float:
            m.d.comb += [Assume(width <= config.word.bits) for width in plan.groups.widths]
        else:
            limit = (plan.coding.k == SENT) | (plan.coding.k <= config.word.exponent)
            m.d.comb += Assume(limit)
        # Registers that are full, and what moves on.
        full = Signal(3)
        moves = Signal(3)  # out of each
        is_end = Signal()
        ready = [~full[stage] | moves[stage] for stage in range(3)]
        m.d.comb += [
            moves[2].eq(leaves),
            moves[1].eq(full[1] & ready[2]),
            moves[0].eq(full[0] & ready[1] & is_end),
            Assert(dut.i.ready == ready[0]),
            Assert(dut.o.valid == full[2]),
        ]
        gives = Signal()  # a beat of the block
        m.d.comb += gives.eq(full[0] & ready[1])
        m.d.sync += [
            full[0].eq(enters | (full[0] & ~moves[0])),
            full[1].eq(gives | (full[1] & ~moves[1])),
            full[2].eq(moves[1] | (full[2] & ~moves[2])),
        ]
        block, index = Signal(BlockPlan(config), name="block"), Signal(2, name="number")
        with m.If(enters):
            m.d.sync += block.eq(plan)
        m.d.comb += is_end.eq(index == block.extent.beats)
        with m.If(gives):
            m.d.sync += index.eq(Mux(is_end, 0, index + 1))
        beat = self._beat(m, block, index, is_end)
        counted = Signal.like(beat, name="held_beat")
        with m.If(gives):
            m.d.sync += counted.eq(beat)
        payload = self._payload(m, counted)
        held = Signal.like(payload, name="held_payload")
        with m.If(moves[1]):
            m.d.sync += held.eq(payload)
        self._compare(m, full, block, index, counted, held)
        return m

    def _beat(self, m, block, index, is_end):
        """What is sent of a beat: the words before one of them in each group, and all."""
        config, lanes = self.dut.config, self.dut.config.lanes
        self.lane = lane = Signal(range(lanes), name="lane")
        groups = config.beat_groups
        size = lanes // groups
        sent = Signal(lanes, name="sent")
        mask = block.mask & ~block.repeated if config.has_repeats else block.mask
        m.d.comb += [
            lane.eq(AnyConst(len(lane))),
            sent.eq(mask.word_select(index, lanes) | (block.kind == RAW).replicate(lanes)),
        ]
        own = Signal(size.bit_length() - 1)
        beat = Signal(_Beat(config), name="beat")
        m.d.comb += [
            own.eq(lane),
            beat.mask.eq(sent),
            beat.coding.eq(block.coding),
            beat.end.eq(is_end),
            beat.final.eq(block.extent.last),
            beat.words.eq(Mux(is_end & block.extent.last, block.extent.words, lanes)),
        ]
        parts = [sent.word_select(group, size) for group in range(groups)]
        chosen = Signal(size, name="chosen")
        m.d.comb += [
            chosen.eq(parts[0] if groups == 1 else Mux(lane[-1], parts[1], parts[0])),
            beat.rank.eq(popcount(m, chosen & ((1 << own) - 1)[:size])),
        ]
        for group, part in enumerate(parts):
            m.d.comb += [
                beat.counts[group].eq(popcount(m, part)),
                beat.widths[group].eq(self._width(block, index, group)),
            ]
        return beat

    def _width(self, block, index, group):
        word, coding = self.dut.config.word, block.coding
        if word.is_float:
            exponent = Mux(coding.k == SENT, word.exponent, coding.k)
            return word.mantissa + exponent + coding.is_wide
        widths = block.groups.widths.as_value()
        groups, size = self.dut.config.beat_groups, 4
        return widths.word_select(index * groups + group, size)

    def _payload(self, m, beat):
        """Bits before the word, and of the beat."""
        config = self.dut.config
        bits = [count * width for count, width in zip(beat.counts, beat.widths, strict=True)]
        payload = Signal(_Sums(config), name="sums")
        m.d.comb += [payload[name].eq(beat[name]) for name in SHARED]
        if config.beat_groups == 1:
            m.d.comb += [
                payload.behind.eq(beat.rank * beat.widths[0]),
                payload.total.eq(bits[0]),
            ]
        else:
            is_second = self.lane[-1]
            m.d.comb += [
                payload.behind.eq(
                    Mux(
                        is_second,
                        bits[0] + beat.rank * beat.widths[1],
                        beat.rank * beat.widths[0],
                    )
                ),
                payload.total.eq(bits[0] + bits[1]),
            ]
        return payload

    def _compare(self, m, full, block, index, counted, held):
        """The registers are those of the model, and so is what is given."""
        dut, config, lane = self.dut, self.dut.config, self.lane
        m.d.comb += Assert(probe(m, "dut.index", 2) == index)
        with m.If(full[0]):
            kept = probe(m, "dut.blocks.entry0", len(block.as_value()))
            m.d.comb += Assert(kept == block.as_value())
        with m.If(full[1]):
            layout = _Counted(config)
            beat = data.View(layout, probe(m, "dut.counted.entry0", layout.size))
            m.d.comb += [
                *(Assert(beat[name] == counted[name]) for name in SHARED),
                Assert(beat.counts.as_value() == counted.counts.as_value()),
                Assert(beat.widths.as_value() == counted.widths.as_value()),
                Assert(beat.ranks[lane] == counted.rank),
            ]
        with m.If(full[2]):
            payload = dut.o.payload
            m.d.comb += [
                *(Assert(payload[name] == held[name]) for name in SHARED),
                Assert(payload.behind[lane] == held.behind),
                Assert(payload.total == held.total),
                Cover(payload.end & ~payload.final & (held.behind != 0)),
                Cover(payload.final & (payload.total == config.beat_bits)),
            ]
        for number, name in enumerate(("blocks", "counted", "multiplied")):
            m.d.comb += Assert(probe(m, f"dut.{name}.o__valid", 1) == full[number])


class _Beat(data.StructLayout):
    """A beat: the words that are sent, in each group, and of one the words before it."""

    def __init__(self, config: Config):
        groups = config.beat_groups
        size = config.lanes // groups
        super().__init__(
            {
                **_shared(config),
                "rank": range(size),
                "counts": data.ArrayLayout(range(size + 1), groups),
                "widths": data.ArrayLayout(range(config.word.bits + 1), groups),
            }
        )


class _Sums(data.StructLayout):
    """A beat: its bits, and those before one of its words."""

    def __init__(self, config: Config):
        super().__init__({**_shared(config), "behind": 8, "total": range(config.beat_bits + 1)})


def _shared(config: Config) -> dict:
    shapes = {name: field.shape for name, field in Payload(config)}
    return {name: shapes[name] for name in SHARED}


SIZES = {
    "fp32": Config("fp32"),
    "bf16-left": Config("bf16", "left"),
    "int8": Config("int8"),
}

PROOFS = (
    Proof(
        name="payload_counter",
        promise="A block gives its beats, and each word lies behind those of its beat before it",
        components=(PayloadCounter,),
        design=lambda config: CountsPayloads(PayloadCounter(config)),
        sizes=SIZES,
        slow=("bf16-left", "int8"),
        broken=faults(
            SIZES["fp32"],
            8,
            late("dut.index"),
            stuck_at(0, "dut.counted.entry0", 9),
            inverted("dut.o__payload", 3),
        ),
    ),
)
