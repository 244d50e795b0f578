"""The AXI4-Lite port: each access reaches the register bus once and has one answer."""

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.axi.lite import LiteSubordinate
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import PDR, Proof, faults

ADDRESS_BITS = 4
OKAY, SLVERR = 0, 2
SOON = 2  # cycles after which a request is taken at the latest, when nothing stalls


class Answers(Elaboratable):
    """A manager that obeys AXI4-Lite, and a register bus that answers reads at any time.

    The manager holds AW, W and AR until they are taken. One access, picked at any time, is followed
    from its address to its answer.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        axi, bus = dut.axi, dut.bus
        for channel, names in (
            ("aw", ("awaddr",)),
            ("w", ("wdata", "wstrb")),
            ("ar", ("araddr",)),
        ):
            self._drive(m, channel, names)
        m.d.comb += [
            axi.bready.eq(anything(m, 1, "bready")),
            axi.rready.eq(anything(m, 1, "rready")),
            bus.write_refused.eq(anything(m, 1, "write_refused")),
            bus.read_refused.eq(anything(m, 1, "read_refused")),
            bus.read_data.eq(anything(m, 32, "read_data")),
        ]
        self._held(m, "b", axi.bvalid, axi.bready, axi.bresp)
        self._held(m, "r", axi.rvalid, axi.rready, axi.rresp, axi.rdata)
        self._writes(m)
        self._reads(m)
        return m

    def _drive(self, m, channel, names):
        """Offer an access and hold it until it is taken."""
        axi = self.dut.axi
        valid, ready = (getattr(axi, f"{channel}{name}") for name in ("valid", "ready"))
        is_kept = Signal(name=f"{channel}_is_kept")
        m.d.comb += valid.eq(anything(m, 1, f"{channel}_fresh_valid") | is_kept)
        m.d.sync += is_kept.eq(valid & ~ready)
        for name in names:
            port = getattr(axi, name)
            kept = Signal(len(port), name=f"{name}_kept")
            m.d.comb += port.eq(Mux(is_kept, kept, anything(m, len(port), f"{name}_fresh")))
            m.d.sync += kept.eq(port)

    def _held(self, m, name, valid, ready, *payload):
        """Assert that a stalled answer is held."""
        was_stalled = Signal(name=f"{name}_was_stalled")
        m.d.sync += was_stalled.eq(valid & ~ready)
        for number, value in enumerate(payload):
            kept = Signal(len(value), name=f"{name}_was{number}")
            m.d.sync += kept.eq(value)
            with m.If(was_stalled):
                m.d.comb += [Assert(valid), Assert(value == kept)]

    def _writes(self, m):
        """One access of the bus and one B for each pair of AW and W, with what these carried."""
        axi, bus = self.dut.axi, self.dut.bus
        has_address, has_data, owed = Signal(), Signal(), Signal()
        address, strobe, data = Signal(ADDRESS_BITS), Signal(4), Signal(32)
        expected, waited = Signal(2), Signal(3)
        answered = axi.bvalid & axi.bready
        with m.If(axi.awvalid & axi.awready):
            m.d.sync += [has_address.eq(1), address.eq(axi.awaddr)]
        with m.If(axi.wvalid & axi.wready):
            m.d.sync += [has_data.eq(1), strobe.eq(axi.wstrb), data.eq(axi.wdata)]
        is_valid = (strobe == 15) & (address[:2] == 0)
        is_due = has_address & has_data & (~owed | answered)
        m.d.comb += [
            Assert(axi.bvalid == owed),
            Assert(bus.write == (is_due & is_valid)),
            Assert(~(axi.awvalid & axi.awready & has_address)),
            Assert(~(axi.wvalid & axi.wready & has_data)),
            Cover(bus.write & (bus.write_data == 3)),
            Cover(is_due & ~is_valid),
        ]
        with m.If(bus.write):
            m.d.comb += [Assert(bus.write_address == address), Assert(bus.write_data == data)]
        with m.If(answered):
            m.d.sync += owed.eq(0)
        with m.If(is_due):
            m.d.sync += [
                has_address.eq(0),
                has_data.eq(0),
                owed.eq(1),
                expected.eq(Mux(is_valid & ~bus.write_refused, OKAY, SLVERR)),
            ]
        with m.If(axi.bvalid):
            m.d.comb += Assert(axi.bresp == expected)
        # Without a stall of B, a write is answered two cycles after its address and data.
        m.d.sync += waited.eq(Mux(has_address & has_data & ~owed, waited + 1, 0))
        m.d.comb += [Assert(waited <= 1), Cover(answered & (expected == OKAY))]
        # AW and W wait only for each other, for a stalled B, and two cycles for the access itself.
        stalls = axi.bvalid & ~axi.bready
        self._taken(m, "aw", axi.awvalid, axi.awready, stalls | (has_address & ~has_data))
        self._taken(m, "w", axi.wvalid, axi.wready, stalls | (has_data & ~has_address))

    def _taken(self, m, name, valid, ready, may_wait):
        """Assert that a request is taken soon where it has no reason to wait."""
        waited = Signal(2, name=f"{name}_waited")
        m.d.sync += waited.eq(Mux(valid & ~ready & ~may_wait, waited + 1, 0))
        m.d.comb += Assert(waited <= SOON)

    def _reads(self, m):
        """One access of the bus and one R for each aligned AR; none for the others."""
        axi, bus = self.dut.axi, self.dut.bus
        is_open, is_asked, address = Signal(), Signal(), Signal(ADDRESS_BITS)
        expected, data, has_answer = Signal(2), Signal(32), Signal()
        is_aligned = address[:2] == 0
        done = Signal()
        m.d.comb += [
            done.eq(anything(m, 1, "read_done") & (bus.read | is_asked)),
            bus.read_done.eq(done),
            # An access reaches the bus in the cycle after its address, and only then.
            Assert(bus.read == (is_open & ~is_asked & ~has_answer & is_aligned)),
            Assert(axi.rvalid == has_answer),
            Assert(~(axi.arvalid & axi.arready & (is_open | has_answer))),
            Cover(has_answer & (expected == OKAY) & (data == 2)),
            Cover(has_answer & (expected == SLVERR)),
        ]
        ends = is_open & ~has_answer & (done | ~is_aligned)
        with m.If(axi.arvalid & axi.arready):
            m.d.sync += [is_open.eq(1), address.eq(axi.araddr)]
        with m.If(bus.read):
            m.d.sync += is_asked.eq(1)
        with m.If(is_open & is_aligned):
            m.d.comb += Assert(bus.read_address == address)
        with m.If(ends):
            is_wrong = ~is_aligned | bus.read_refused
            m.d.sync += [
                is_open.eq(0),
                is_asked.eq(0),
                has_answer.eq(1),
                expected.eq(Mux(is_wrong, SLVERR, OKAY)),
                data.eq(Mux(is_wrong, 0, bus.read_data)),
            ]
        with m.If(axi.rvalid & axi.rready):
            m.d.sync += has_answer.eq(0)
        # AR waits only for a bus that has no answer, and for a stalled R.
        waits_for_bus = is_open & is_aligned & ~done
        self._taken(m, "ar", axi.arvalid, axi.arready, has_answer | waits_for_bus)
        m.d.comb += Cover(axi.rvalid & axi.rready)
        with m.If(has_answer):
            m.d.comb += [Assert(axi.rresp == expected), Assert(axi.rdata == data)]


PROOFS = (
    Proof(
        name="lite_subordinate",
        promise="Each access of AXI4-Lite reaches the bus once and is answered once, in order",
        components=(LiteSubordinate,),
        design=lambda bits: Answers(LiteSubordinate(bits)),
        sizes={"4 bits of address": ADDRESS_BITS},
        mode=PDR,
        depth=6,
        broken=faults(
            ADDRESS_BITS,
            10,
            stuck_at(1, "dut.axi__awready"),
            stuck_at(1, "dut.is_valid"),
            late("dut.bus__read"),
            stuck_at(0, "dut.axi__rresp", 1),
            stuck_at(0, "dut.axi__arready"),
            late("dut.axi__rdata"),
            stuck_at(0, "dut.axi__rdata", 31),
            stuck_at(1, "dut.bus__write_data", 31),
        ),
    ),
)
