"""The decompressor for a tail of ones: any bytes of a packet give one packet and one status."""

from unittest import mock

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal

from cdma.format import ErrorCode
from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor import unit
from cdma.hdl.zvc.decompressor.unit import Decompressor
from cdma.verify.formal.fault import stuck_at
from cdma.verify.formal.stream_rules import goes_on, offer, take
from cdma.verify.proofs.proof import BOUNDED, Proof, faults, named, swapped
from cdma.verify.proofs.zvc.compressor.intake import fix_zero
from cdma.verify.proofs.zvc.decompressor.tail.stage import KeepsTheFill

COUNT = 6  # bits of the counters of packets: they do not overflow within the bound


class Ends(Elaboratable):
    """Packets leave in order, one for each that came, full but for the last beat, with zeros behind
    it; the status has their words; and the unit makes progress."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        lanes, size = dut.config.lanes, dut.config.format.word_bytes
        fix_zero(m, dut)
        accept = offer(m, dut.i, "i")
        leaves, reports = take(m, dut.o, "o"), take(m, dut.o_status, "o_status")
        out, status = dut.o.payload, dut.o_status.payload
        came, ended, reported = (Signal(COUNT, name=n) for n in ("came", "ended", "reported"))
        m.d.sync += [
            came.eq(came + (accept & dut.i.payload.last)),
            ended.eq(ended + (leaves & out.last)),
            reported.eq(reported + reports),
        ]
        m.d.comb += [Assert(~(leaves & out.last) | (ended != came))]
        keep = out.keep[::size]
        with m.If(leaves):
            m.d.comb += [
                Assert((keep & (keep + 1)) == 0),
                Assert(out.last | keep.all()),
                *(Assert(keep[lane] | (out.words[lane] == 0)) for lane in range(lanes)),
                *(
                    Assert(out.keep[lane * size :][:size] == keep[lane].replicate(size))
                    for lane in range(lanes)
                ),
            ]
        # The words of the first packet.
        words, total = Signal(COUNT_BITS), Signal(COUNT_BITS)
        kept = Signal(range(lanes + 1))
        m.d.comb += [
            kept.eq(sum(keep[lane] for lane in range(lanes))),
            total.eq(words + kept),
        ]
        with m.If(leaves & (ended == 0)):
            m.d.sync += words.eq(total)
        m.d.comb += Assert(~reports | (reported != ended))
        with m.If(reports):
            m.d.comb += [
                Assert(status.error <= ErrorCode.TRUNCATED),
                Assert((reported != 0) | (status.words == words)),
                Cover((status.error == ErrorCode.TRUNCATED) & (reported == 1)),
                Cover((status.error == ErrorCode.NONE) & (reported == 1) & (words > lanes)),
            ]
        idle = goes_on(
            m,
            willing=dut.o.ready & dut.o_status.ready & (dut.i.valid | (came != ended)),
            moves=accept | leaves | reports,
            most=dut.latency(dut.config) + dut.rows(dut.config),
            status=dut.o_status,
            owed=Mux(ended - reported > 3, 3, ended - reported),
        )
        m.d.comb += Cover((idle == 2) & (came == 1))
        return m


class FillsBehind(Decompressor):
    """Words behind the packet's last are filled in, too."""

    def elaborate(self, platform):
        with mock.patch.object(unit, "TailStage", KeepsTheFill):
            return super().elaborate(platform)


SMALL, CELLS = Config.parse("2x8b8-ones"), Config.parse("2x8b8-ones-asic")
FILLS = Config.parse("2x8b8-ones-zport")

PROOFS = (
    Proof(
        name="decompressor_ends",
        promise="With a tail of ones, any bytes give one packet and one status with its words",
        components=(Decompressor,),
        design=lambda config: Ends(Decompressor(config)),
        sizes=named(SMALL, CELLS, FILLS),
        slow=(SMALL.name, CELLS.name, FILLS.name),
        mode=BOUNDED,
        depth=14,
        broken=(
            *faults(
                SMALL,
                18,
                stuck_at(0, "dut.packet_end.over"),
                stuck_at(1, "dut.packet_end.is_held"),
            ),
            *swapped(18, {"words behind the end": lambda: Ends(FillsBehind(FILLS))}),
        ),
    ),
)
