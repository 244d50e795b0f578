"""The rows of each beat's payload: at any place, the bit of the row that it lies in."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.layouts import PlacedBeat, most_crossed, most_passed
from cdma.hdl.zvcplus.decompressor.payload.reader import COPIES, LOW_BITS, PayloadReader
from cdma.hdl.zvcplus.decompressor.payload.unpacker import halves_of
from cdma.hdl.zvcplus.decompressor.unit import Decompressor
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, leave_open
from cdma.verify.proofs.proof import Proof, faults


class ReadsRows(Elaboratable):
    """A beat is given when its rows have come or will not, with the bits behind its place in its
    row and those in front of it in the next; the rows in front of it are given back.

    The model keeps the beat that was loaded, with the number of its row.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut = self.dut
        m.submodules.dut = elaborated(dut, platform)
        config, depth, beat = dut.config, dut.depth, dut.i.payload
        leave_open(m, dut, "enable", "rows", "pairs", "has_ended", "parity")
        at = anything(m, range(depth), "at")
        size = beat.as_value().shape().width
        m.d.comb += [
            dut.i.valid.eq(anything(m, 1, "valid")),
            beat.as_value().eq(anything(m, size, "any_beat")),
            Assume(beat.slot == 1 << at),
            Assume(beat.is_odd == at[0]),
        ]
        held, row = Signal(PlacedBeat(config, depth), name="held"), Signal.like(at, name="row")
        loaded, come, moves, loads = (Signal(name=n) for n in ("loaded", "come", "goes", "loads"))
        m.d.comb += [
            moves.eq(dut.enable & (~loaded | come)),
            loads.eq(moves & dut.i.valid),
        ]
        with m.If(moves):
            m.d.sync += loaded.eq(dut.i.valid)
        with m.If(loads):
            m.d.sync += [held.eq(beat), row.eq(at)]
        m.d.sync += come.eq(Mux(moves, self._has_come(beat, at), self._has_come(held, row)))
        m.d.comb += [
            Assert(dut.i.ready == moves),
            Assert(dut.o_valid == (loaded & come)),
            Assert(dut.read == (dut.enable & loaded & come & held.tags.final)),
            Assert(probe(m, "dut.is_loaded", 1) == loaded),
            Assert(~loaded | (probe(m, "dut.has_come", 1) == come)),
            Assert(~loaded | (probe(m, "dut.is_empty", 1) == held.is_empty)),
        ]
        self._give(m, held, row, loaded)
        self._free(m, loaded, row, at, loads)
        return m

    def _has_come(self, beat, row):
        """Both rows of a beat have come, or it does not wait for them."""
        dut, parity = self.dut, beat.tags.parity
        pairs = Mux(parity, dut.pairs[1], dut.pairs[0])
        waits = ~beat.is_empty & ~dut.has_ended.bit_select(parity, 1)
        own_turn = ~beat.tags.final | (parity == dut.parity)
        return (~waits | pairs.bit_select(row, 1)) & own_turn

    def _give(self, m, held, row, loaded):
        """What is given of the beat that was loaded."""
        dut, depth = self.dut, self.dut.depth
        place = Signal(len(held.bit), name="place")
        following, source = Signal.like(row, name="following"), Signal.like(row, name="source")
        m.d.comb += [
            place.eq(AnyConst(len(place))),
            following.eq(row + 1),
            source.eq(Mux(place < held.bit, following, row)),
        ]
        bits = Cat(each.bit_select(place, 1) for each in dut.rows)
        half = depth // 2
        even = ((row >> 1) + row[0])[: len(row) - 1]  # half the number of the one that is even
        low, high = held.bit[:LOW_BITS], held.bit[LOW_BITS:]
        parts = 1 << len(high)
        with m.If(loaded):
            m.d.comb += [
                Assert(dut.tags.as_value() == held.tags.as_value()),
                Assert(dut.starts.as_value() == held.starts.as_value()),
                Assert(dut.crossing.as_value() == halves_of(held.starts[dut.config.lanes // 2])),
                Assert(dut.bits.bit_select(place, 1) == bits.bit_select(source, 1)),
                Cover((place < held.bit) & held.tags.final & dut.o_valid),
                # Selects that were decoded ahead.
                *(Assert(probe(m, f"dut.even{k}", half) == 1 << even) for k in range(COPIES)),
                *(Assert(probe(m, f"dut.odd{k}", half) == 1 << row[1:]) for k in range(COPIES)),
                *(
                    Assert(
                        probe(m, f"dut.exceeds{k}", 1 << LOW_BITS)
                        == Cat(low > number for number in range(1 << LOW_BITS))
                    )
                    for k in range(2)
                ),
                Assert(
                    probe(m, "dut.is_odd_up_to", parts + 1)
                    == Cat(~row[0], *((high > number) ^ row[0] for number in range(parts)))
                ),
            ]

    def _free(self, m, loaded, row, at, loads):
        """Rows from that of the beat before up to that of the beat; in front of a packet's first
        beat those that its place crosses."""
        dut, beat, depth = self.dut, self.dut.i.payload, self.dut.depth
        is_new, passed = Signal(init=1, name="is_new"), Signal.like(at, name="passed")
        with m.If(loads):
            m.d.sync += is_new.eq(beat.tags.final)
        m.d.comb += [
            passed.eq(Mux(is_new, beat.crosses, at - row)),
            Assume(passed <= Mux(is_new, most_crossed(dut.config), most_passed(dut.config))),
            Assert(probe(m, "dut.is_new", 1) == is_new),
            Assert((is_new & ~loaded) | (probe(m, "dut.slot", depth) == 1 << row)),
            Assert(dut.free_parity == beat.tags.parity),
        ]
        for slot in range(depth):
            behind = Signal.like(at, name=f"behind{slot}")
            m.d.comb += [
                behind.eq(at - slot),
                Assert(dut.free[slot] == (loads & (behind != 0) & (behind <= passed))),
            ]
        m.d.comb += Cover(loads & ~is_new & (passed == 2))
        if dut.config.has_repeats:
            drops = Signal(name="model_drops")
            with m.If(loads):
                m.d.sync += drops.eq(beat.tags.failed & ~beat.tags.final)
            m.d.comb += Assert(dut.drops == drops)


def reader(config: Config) -> PayloadReader:
    """The reader of a unit."""
    return PayloadReader(config, Decompressor.rows(config))


SIZES = {
    "fp32": Config("fp32"),
    "bf16": Config("bf16"),
    "fp32-left": Config("fp32", "left"),
}

PROOFS = (
    Proof(
        name="payload_reader",
        promise="A beat is given with its bits when its rows have come, and rows are given back",
        components=(PayloadReader,),
        design=lambda config: ReadsRows(reader(config)),
        sizes=SIZES,
        slow=("bf16", "fp32-left"),
        broken=faults(
            SIZES["fp32"],
            6,
            late("dut.has_come"),
            stuck_at(0, "dut.is_odd_up_to", 3),
            inverted("dut.two"),
        ),
    ),
)
