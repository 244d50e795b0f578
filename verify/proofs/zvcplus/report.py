"""The status of the compressor, compared with the sum of the bytes of a packet's rows."""

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.lib.counter import PART_BITS
from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.hdl.zvcplus.compressor.report import StreamReport
from cdma.hdl.zvcplus.config import Config
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import leave_open
from cdma.verify.proofs.proof import Proof, faults


class SumsRows(Elaboratable):
    """After the last row of a packet, the status has the words of the row and all bytes."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        row, most = dut.row, dut.config.beat_bytes
        leave_open(m, dut, "enable", "row")
        m.d.comb += Assume(row.bytes <= most)
        total, words = Signal(COUNT_BITS), Signal(COUNT_BITS)
        is_first, has_ended = Signal(init=1), Signal()
        with m.If(dut.enable):
            m.d.sync += [
                is_first.eq(row.last),
                has_ended.eq(row.last),
                words.eq(row.words),
                total.eq(Mux(is_first, 0, total) + Mux(row.last, row.bytes, most)),
            ]
        with m.If(has_ended):
            m.d.comb += [
                Assert(dut.status.bytes == total),
                Assert(dut.status.words == words),
                Cover(total == 2 * most + 3),
                Cover(total == 0),
            ]
        # Invariants: between the rows of a packet the sum is of whole rows.
        size = most.bit_length() - 1
        m.d.comb += [
            Assert(is_first == probe(m, "dut.is_first", 1)),
            Assert(is_first | (total[:size] == 0)),
            Assert(~has_ended | is_first),
        ]
        with m.If(~is_first | has_ended):
            m.d.comb += Assert(probe(m, "dut.rows_out.value", COUNT_BITS - size) == total[size:])
            for start in range(1, COUNT_BITS - size - PART_BITS, PART_BITS):
                part = total[size:][start : start + PART_BITS]
                m.d.comb += Assert(probe(m, f"dut.rows_out.is_full{start}", 1) == part.all())
        return m


PROOFS = (
    Proof(
        name="stream_report",
        promise="A packet's status has its words and the bytes of all its rows",
        components=(StreamReport,),
        design=lambda name: SumsRows(StreamReport(Config(name))),
        sizes={"fp32": "fp32"},
        broken=faults(
            "fp32", 8, late("dut.rest"), late("dut.rows_out.first"), stuck_at(1, "dut.is_first")
        ),
    ),
)
