"""The output stage: converts rows to beats and sends one status per packet."""

from amaranth.hdl import Assert, Cat, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.hdl.zvc.beat import CompressorStatus, CountedStatus, DecompressorStatus
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.output import PacketOutput
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, offer, take
from cdma.verify.proofs.proof import Proof, faults


class Reports(Elaboratable):
    """A packet, picked at any time, gets its own status after its last beat.

    As the output stage requires, the status input changes only in the cycle after a beat leaves.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        row, beat = dut.i.payload, dut.o.payload
        size = dut.config.format.word_bytes
        enters = offer(m, dut.i, "i")
        leaves, reports = take(m, dut.o, "o"), take(m, dut.o_status, "o_status")
        status = Value.cast(dut.i_status)
        current = Signal(len(status))
        m.d.comb += status.eq(current)
        with m.If(leaves):
            m.d.sync += current.eq(anything(m, len(status), "next_status"))

        m.d.comb += Assert(enters == leaves)
        with m.If(dut.o.valid):
            m.d.comb += [
                Assert(beat.words.as_value() == row.words.as_value()),
                Assert(beat.keep == Cat(bit.replicate(size) for bit in row.keep)),
                Assert(beat.last == row.last),
            ]

        ends = leaves & beat.last
        owed = Signal(range(5))
        m.d.sync += owed.eq(owed + ends - reports)
        waiting = probe(m, "dut.statuses.valid", 2)
        due = probe(m, "dut.due", 1)
        m.d.comb += [
            Assert(owed == due + waiting[0] + waiting[1]),
            Assert(waiting != 2),
            Assert(probe(m, "dut.flows", 1) == ~(due & waiting[1])),
            Cover(owed == 3),
        ]
        # A pending status leaves in the next cycle at the latest.
        with m.If(~dut.o_status.valid):
            m.d.comb += Assert(owed <= 1)

        # The picked packet, and the number of pending statuses before its own.
        is_picked, is_new = Signal(), Signal()
        ahead = Signal(range(4))
        expected = Signal(len(status))
        with m.If(ends & ~is_picked & anything(m, 1, "pick")):
            m.d.sync += [is_picked.eq(1), is_new.eq(1), ahead.eq(owed - reports)]
        picked_status = Mux(is_new, status, expected)
        with m.If(is_picked):
            m.d.sync += [is_new.eq(0), expected.eq(picked_status)]
            m.d.comb += Assert(ahead < owed)
            with m.If(reports):
                m.d.sync += ahead.eq(ahead - 1)
                with m.If(ahead == 0):
                    m.d.sync += [is_picked.eq(0), ahead.eq(0), expected.eq(0)]
                    m.d.comb += Assert(Value.cast(dut.o_status.payload) == picked_status)
                    m.d.comb += Cover(owed == 3)
            entries = [probe(m, f"dut.statuses.entry{k}", len(status)) for k in range(2)]
            for k, entry in enumerate(entries):
                with m.If((ahead == k) & waiting[k]):
                    m.d.comb += [Assert(entry == picked_status), Assert(~is_new)]
                with m.If((ahead == k) & ~waiting[k]):
                    m.d.comb += [Assert(status == picked_status), Assert(due)]
            with m.If(ahead == 2):
                m.d.comb += [Assert(status == picked_status), Assert(due)]
        return m


PROOFS = (
    Proof(
        name="packet_output",
        promise="Each packet gets its status after its last beat",
        components=(PacketOutput,),
        design=lambda size: Reports(PacketOutput(size[0], size[1]())),
        sizes={
            "8x32": (Config.of(8, 32), CompressorStatus),
            "2x8 with blocks of 8": (Config.of(2, 8, 8), DecompressorStatus),
            "8x32-asic": (Config.parse("8x32-asic"), CompressorStatus),
            "2x8b8-ones": (Config.parse("2x8b8-ones"), CountedStatus),
            "2x8b8-ones-asic": (Config.parse("2x8b8-ones-asic"), CountedStatus),
        },
        broken=faults(
            (Config.of(8, 32), CompressorStatus),
            8,
            stuck_at(1, "dut.flows"),
            late("dut.due"),
            stuck_at(0, "dut.statuses.valid", 1),
        ),
    ),
)
