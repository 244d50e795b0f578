"""The port of a channel: what passes, quarantine, throttling, and what watches the port."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.engine.ports.channel import MemoryPort
from cdma.hdl.engine.ports.latency import LatencySampler
from cdma.hdl.engine.ports.rate import RateLimiter
from cdma.hdl.engine.ports.watchdog import Watchdog
from cdma.verify.formal.axi_rules import check_address
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, hold_to_rule, offer
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.proof import Proof, faults


class Watches(Elaboratable):
    """The count is the number of cycles that waited since the last handshake or timeout."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        m.d.comb += [
            dut.limit.eq(anything(m, 32, "limit")),
            dut.waits.eq(anything(m, 1, "waits")),
            dut.moves.eq(anything(m, 1, "moves")),
        ]
        waited = Signal(32)
        with m.If(dut.moves | dut.expired):
            m.d.sync += waited.eq(0)
        with m.Elif(dut.waits):
            m.d.sync += waited.eq(waited + 1)
        m.d.comb += [
            Assert(probe(m, "dut.count", 32) == waited),
            Cover(dut.expired & (dut.limit == 3)),
        ]
        with m.If(dut.expired):
            m.d.comb += [Assert(dut.limit != 0), Assert(dut.waits & ~dut.moves)]
            m.d.comb += Assert(waited >= dut.limit - 1)
        with m.Elif((dut.limit != 0) & dut.waits & ~dut.moves):
            m.d.comb += Assert(waited < dut.limit - 1)
        return m


class Limits(Elaboratable):
    """Nothing is issued while the bytes before have not been paid for at the rate.

    A burst is held for no other reason, but for the one cycle behind another.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        rate = Signal(32)
        issued = anything(m, len(dut.issued), "issued")
        m.d.comb += [
            rate.eq(AnyConst(32)),
            Assume(issued <= dut.most),
            dut.rate.eq(rate),
            dut.issued.eq(Mux(dut.hold, 0, issued)),
        ]
        # Bytes issued, in parts of 1,024, less the rate of each cycle, never below zero.
        debt = Signal(24)
        owed = Mux(debt > rate, debt - rate, 0) + (dut.issued << 10)
        follows = Signal()  # a burst was issued in the cycle before
        m.d.sync += [debt.eq(Mux(rate == 0, 0, owed)), follows.eq(dut.issued != 0)]
        m.d.comb += [
            Assert(probe(m, "dut.debt", _debt_bits(dut)) == debt),
            Assert(dut.hold == ((rate != 0) & ((debt > rate) | follows))),
            Cover(dut.hold),
        ]
        return m


def _debt_bits(dut):
    return (2 * dut.most).bit_length() + 10


class Samples(Elaboratable):
    """A sample is the time of one burst, from its address to its first beat.

    The memory gives the beats of the bursts in order. ``ahead`` counts the bursts in front.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        bursts = Signal(range(dut.most + 2))  # asked for and not ended, before this cycle
        asked = anything(m, 1, "asked") & (bursts < dut.most)
        given = anything(m, 1, "given") & (bursts != 0)
        last = anything(m, 1, "last")
        ends = given & last
        m.d.sync += bursts.eq(bursts + asked - ends)
        m.d.comb += [
            dut.asked.eq(asked),
            dut.outstanding.eq(bursts),
            dut.given.eq(given),
            dut.last.eq(last),
        ]
        busy, ahead, cycles = Signal(), Signal(range(dut.most + 2)), Signal(16)
        with m.If(~busy):
            m.d.sync += [busy.eq(asked), ahead.eq(bursts - ends), cycles.eq(1)]
        with m.Else():
            m.d.sync += [
                busy.eq(~(given & (ahead == 0))),
                ahead.eq(ahead - (ends & (ahead != 0))),
                cycles.eq(Mux(cycles == 0xFFFF, cycles, cycles + 1)),
            ]
        m.d.comb += [
            Assert(dut.valid == (busy & given & (ahead == 0))),
            Assert(probe(m, "dut.busy", 1) == busy),
            Assert(bursts <= dut.most),
            Cover(dut.valid & (cycles == 4)),
        ]
        with m.If(busy):
            m.d.comb += [
                Assert(probe(m, "dut.ahead", len(dut.outstanding)) == ahead),
                Assert(ahead < bursts),
                Assert(dut.cycles == cycles),
            ]
        return m


class Passes(Elaboratable):
    """Addresses pass as they are and are held; quarantine begins with a timeout, and ends only
    when nothing is outstanding and nothing waits to be written."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        port, control = dut.port, dut.control
        burst = dut.config.burst_bytes // dut.config.beat_bytes
        size = dut.config.beat_bytes
        sizes = {"burst_bytes": burst * size, "page_bytes": 2 * burst * size}
        for name, out, client in (("ar", port.ar, dut.read.ar), ("aw", port.aw, dut.write.aw)):
            offer(m, client, f"client_{name}")
            request = client.payload
            with m.If(client.valid):
                m.d.comb += [
                    Assume((request.beats != 0) & (request.beats <= burst)),
                    Assume(request.address[1:4] + request.beats <= 2 * burst),
                ]
            check_address(m, out, size, 1, name, **sizes)
            m.d.comb += [
                out.ready.eq(anything(m, 1, f"{name}_ready")),
                Assert(out.valid == client.valid),
                Assert(client.ready == out.ready),
                Assert(out.payload.address == request.address),
            ]
        offer(m, dut.write.w, "client_w")
        hold_to_rule(m, port.w, "w")
        for name, signal in (
            ("enable", control.enable),
            ("clear", control.clear),
            ("rate", control.rate),
            ("qos", control.qos),
            ("timeout", dut.timeout),
            ("reads", dut.reads),
            ("writes", dut.writes),
            ("drained", dut.drained),
            ("w_ready", port.w.ready),
            ("r_valid", port.r.valid),
            ("b_valid", port.b.valid),
            ("r_ready", dut.read.r.ready),
        ):
            m.d.comb += signal.eq(anything(m, len(signal), f"any_{name}"))
        m.d.comb += dut.write.b.ready.eq(1)
        self._quarantine(m)
        return m

    def _quarantine(self, m):
        dut = self.dut
        was_lost, may_end, expired, has_run = Signal(), Signal(), Signal(), Signal()
        is_empty = (dut.reads + dut.writes)[:16] == 0
        expires = probe(m, "dut.reads_watchdog.expired", 1)
        expires |= probe(m, "dut.writes_watchdog.expired", 1)
        m.d.sync += [
            has_run.eq(1),
            was_lost.eq(dut.lost),
            may_end.eq(dut.control.clear & is_empty & dut.drained),
            expired.eq(expires),
        ]
        m.d.comb += [
            Assert(dut.control.quarantined == dut.lost),
            Assert(dut.hold | dut.control.enable),
            Cover(was_lost & ~dut.lost),
        ]
        with m.If(has_run):
            m.d.comb += Assert(dut.lost == (expired | (was_lost & ~may_end)))


PROOFS = (
    Proof(
        name="watchdog",
        promise="A timeout comes after exactly the limit of cycles that wait without a handshake",
        components=(Watchdog,),
        design=lambda _: Watches(Watchdog()),
        sizes={"32 bits": 32},
        broken=faults(32, 8, stuck_at(0, "dut.count", 0), late("dut.expired")),
    ),
    Proof(
        name="rate_limiter",
        promise="A burst is held until the bytes before it are paid for at the rate",
        components=(RateLimiter,),
        design=lambda most: Limits(RateLimiter(most)),
        sizes={"16 bytes": 16},
        slow=("16 bytes",),
        broken=faults(16, 6, stuck_at(0, "dut.hold"), late("dut.owed")),
    ),
    Proof(
        name="latency_sampler",
        promise="A sample is the time from one burst's address to its first beat",
        components=(LatencySampler,),
        design=lambda most: Samples(LatencySampler(most)),
        sizes={"7 bursts": 7},
        slow=("7 bursts",),
        broken=faults(7, 8, stuck_at(0, "dut.ahead", 0), late("dut.busy")),
    ),
    Proof(
        name="memory_port",
        promise="A channel's port obeys AXI; quarantine ends only when nothing is outstanding",
        components=(MemoryPort,),
        design=lambda config: Passes(MemoryPort(config)),
        sizes={"2 bytes, bursts of 4": small()},
        slow=("2 bytes, bursts of 4",),
        broken=faults(
            small(),
            8,
            late("dut.port__ar__payload.qos"),
            stuck_at(0, "dut.hold"),
        ),
    ),
)
