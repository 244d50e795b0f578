"""The log of bursts reports the first error with tag and address of its burst."""

from amaranth.hdl import Array, Assert, Assume, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.engine_codes import LINK, Status
from cdma.hdl.engine.common.errors import is_error, status_of
from cdma.hdl.engine.offload.write.log import BurstLog
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.stream_rules import anything, hold_to_rule, leave_open
from cdma.verify.proofs.proof import PDR, Proof, faults

SLVERR = Status.HOST_SLVERR


class ReportsFirst(Elaboratable):
    """Tags, addresses and answers come at any time, each in order.

    A burst is answered in the cycle after its tag and its address at the earliest, and has a place
    until the log is done with it. What was given is kept by the model, in an array. A report comes
    in the cycle after an answer with an error, when no earlier error's followers are counted, and
    at no other time.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut, depth = self.dut, self.dut.depth
        m.submodules.dut = elaborated(dut, platform)
        leave_open(m, dut, "tags", "tag", "issues", "address", "answers", "resp", "clear")
        m.d.comb += dut.o_error.ready.eq(anything(m, 1, "error_ready"))
        hold_to_rule(m, dut.o_error, "error")
        bits = depth.bit_length()
        counts = [Signal(bits, name=name) for name in ("tagged", "issued", "answered", "done")]
        tagged, issued, answered, done = counts
        was_tagged, was_issued = Signal(bits), Signal(bits)
        ends, expected = Signal(), Signal()
        behind = Signal(bits)
        m.d.comb += behind.eq(answered - done)
        known = [Signal(bits, name=f"known{k}") for k in range(2)]
        m.d.comb += [known[0].eq(tagged - done), known[1].eq(issued - done)]
        m.d.comb += [
            Assume(~dut.tags | (tagged - done)[:bits] != depth),
            Assume(~dut.issues | (issued - done)[:bits] != depth),
            *(Assume(~dut.answers | (each > behind)) for each in known),
            Assume(~dut.clear | ((behind == 0) & ~dut.o_error.valid & ~dut.answers)),
            Assume(~dut.clear | (~dut.tags & ~dut.issues)),
        ]
        fails = dut.answers & (behind == 0) & is_error(dut.resp)
        m.d.comb += ends.eq((dut.answers | (behind != 0)) & ~dut.o_error.valid & ~fails)
        had_error = Signal()
        m.d.sync += had_error.eq((had_error | (dut.answers & is_error(dut.resp))) & ~dut.clear)
        m.d.comb += [
            Assert(dut.is_behind == (behind != 0)),
            # The first error is reported, whatever else is counted.
            Assert(had_error | (behind == 0)),
        ]
        m.d.sync += [
            tagged.eq(tagged + dut.tags),
            issued.eq(issued + dut.issues),
            answered.eq(answered + dut.answers),
            done.eq(done + ends),
            was_tagged.eq(tagged),
            was_issued.eq(issued),
            expected.eq(fails | (dut.o_error.valid & ~dut.o_error.ready)),
        ]
        with m.If(dut.clear):
            m.d.sync += [count.eq(0) for count in (*counts, was_tagged, was_issued, expected)]
        self._reports(m, tagged, issued, done, expected)
        return m

    def _reports(self, m, tagged, issued, done, expected):
        """What was given, and what is reported of it."""
        dut, report = self.dut, self.dut.o_error.payload
        low = len(done) - 1
        for name, enable, count, value, reported in (
            ("tag_memory", dut.tags, tagged, dut.tag, report.tag),
            ("places", dut.issues, issued, dut.address, report.where),
        ):
            value, reported = Value.cast(value), Value.cast(reported)
            rows = [Signal(len(value), name=f"{name}{k}") for k in range(dut.depth)]
            for k, row in enumerate(rows):
                with m.If(enable & (count[:low] == k)):
                    m.d.sync += row.eq(value)
            oldest = Array(rows)[done[:low]]
            # As much as the memory has at its output: the oldest burst's, once it was written.
            with m.If(dut.o_error.valid):
                m.d.comb += Assert(reported == oldest)
        status = Signal(8)
        m.d.sync += status.eq(Mux(dut.o_error.valid, status, status_of(dut.resp, SLVERR)))
        m.d.comb += Assert(dut.o_error.valid == expected)
        with m.If(dut.o_error.valid):
            m.d.comb += [
                Assert(report.status == status),
                Assert(report.channel == LINK),
                Assert(report.halts),
                Cover(done[0] & (report.tag.number == 3) & (report.where == 2)),
            ]


PROOFS = (
    Proof(
        name="burst_log",
        promise="The first error of a burst is reported, with tag and address of that burst",
        components=(BurstLog,),
        design=lambda depth: ReportsFirst(BurstLog(2, depth, SLVERR)),
        sizes={f"{depth} bursts": depth for depth in (2, 4)},
        slow=("4 bursts",),
        mode=PDR,
        depth=8,
        broken=faults(
            4,
            12,
            late("dut.first"),
            stuck_at(0, "dut.behind"),
            late("dut.following"),
            late("dut.status"),
            stuck_at(0, "dut.ends"),
        ),
    ),
)
