"""The CRC of each stripe is compared with the index once, and each difference is reported."""

from unittest import mock

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import Status
from cdma.hdl.engine.common.records import Row
from cdma.hdl.engine.prefetch import check
from cdma.hdl.engine.prefetch.check import CrcCheck
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, offer, take
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.proof import Proof, faults


class AnyCrc(wiring.Component):
    """Any source of CRCs, in place of :class:`~cdma.hdl.engine.common.crc.StripeCrc`.

    Members
    -------
    as of ``StripeCrc``, and:
    passes : Out, a CRC is taken
    """

    def __init__(self, config):
        super().__init__(
            {
                "i": In(stream.Signature(Row(config))),
                "o": Out(stream.Signature(32)),
                "idle": Out(1),
                "passes": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.d.comb += [
            self.i.ready.eq(anything(m, 1, "crc_ready")),
            self.passes.eq(offer(m, self.o, "crc")),
            self.idle.eq(anything(m, 1, "crc_idle")),
        ]
        return m


class ComparesAll(Elaboratable):
    """A CRC and what is expected of its stripe are taken together, and are reported just when the
    index has a CRC that differs. Rows pass to the CRC untouched.

    CRCs come at any time, in the order of the stripes: the proof of ``StripeCrc``.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut, crc = self.dut, AnyCrc(self.dut.config)
        with mock.patch.object(check, "StripeCrc", return_value=crc):
            m.submodules.dut = elaborated(dut, platform)
        offer(m, dut.i, "i")
        compared = offer(m, dut.i_expected, "expected")
        reports, report = take(m, dut.o_error, "error"), dut.o_error.payload
        expected, waits = dut.i_expected.payload, Signal(2)
        differs = expected.has_crc & (expected.crc != crc.o.payload)
        both = crc.o.valid & dut.i_expected.valid
        m.d.comb += [
            Assert(crc.i.valid == dut.i.valid),
            Assert(Value.cast(crc.i.payload) == Value.cast(dut.i.payload)),
            Assert(dut.i.ready == crc.i.ready),
            Assert(compared == crc.passes),
            Assert(dut.done == compared),
            Assert(reports == (compared & differs)),
            Assert(dut.idle == crc.idle),
            # Compared in the cycle after both have come.
            Assert(waits < 2),
            Cover(reports),
            Cover(compared & expected.has_crc & ~differs),
            Cover(compared & ~expected.has_crc & (expected.crc != crc.o.payload)),
        ]
        stalls = dut.o_error.valid & ~dut.o_error.ready
        with m.If(both & ~compared & ~stalls):
            m.d.sync += waits.eq(waits + 1)
        with m.Else():
            m.d.sync += waits.eq(0)
        with m.If(dut.o_error.valid):
            m.d.comb += [
                Assert(Value.cast(report.tag) == Value.cast(expected.tag)),
                Assert(report.status == Status.CRC),
                Assert(report.where == 0),
            ]
        # What was compared is what still waits.
        is_compared, known = probe(m, "dut.is_compared", 1), probe(m, "dut.differs", 1)
        with m.If(is_compared):
            m.d.comb += [Assert(both), Assert(known == differs)]
        with m.If(waits == 1):
            m.d.comb += Assert(is_compared)
        return m


PROOFS = (
    Proof(
        name="crc_check",
        promise="Each stripe's CRC is compared with the index once, and each difference reported",
        components=(CrcCheck,),
        design=lambda config: ComparesAll(CrcCheck(config)),
        sizes={"2 lanes": small()},
        broken=faults(
            small(), 6, late("dut.differs"), stuck_at(1, "dut.is_compared"), stuck_at(0, "dut.both")
        ),
    ),
)
