"""The port of a channel: what passes, quarantine, throttling, and what watches the port."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.hdl.engine.ports.channel import MemoryPort
from cdma.hdl.engine.ports.latency import LatencySampler
from cdma.hdl.engine.ports.rate import RateLimiter
from cdma.hdl.engine.ports.watchdog import Watchdog
from cdma.verify.formal.axi_rules import check_address
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, hold_to_rule, offer
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.lib.timer import timer_counts
from cdma.verify.proofs.proof import Proof, faults


class Watches(Elaboratable):
    """A timeout comes two cycles after the last of as many cycles as the limit says.

    The cycles that count are those that wait, since the last handshake, timeout or new limit.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        limit, has_run = Signal(32), Signal()
        m.d.comb += [
            # The limit changes only while it is off, and it is off after reset.
            dut.limit.on.eq(anything(m, 1, "on") & has_run),
            dut.limit.cycles.eq(Mux(dut.limit.on, limit, anything(m, 32, "fresh"))),
            Assume(~dut.limit.on | (limit != 0)),
            dut.waits.eq(anything(m, 1, "waits")),
            dut.moves.eq(anything(m, 1, "moves")),
        ]
        m.d.sync += [limit.eq(dut.limit.cycles), has_run.eq(1)]
        # What the ports were a cycle ago, and cycles that count up to then.
        waits, moves = Signal(), Signal()
        waited = Signal(32)
        m.d.sync += [waits.eq(dut.waits), moves.eq(dut.moves)]
        with m.If(moves | dut.expired | ~dut.limit.on):
            m.d.sync += waited.eq(0)
        with m.Else():
            m.d.sync += waited.eq(waited + waits)
        m.d.comb += [
            Assert(probe(m, "dut.has_waited", 1) == waits),
            Assert(probe(m, "dut.has_moved", 1) == moves),
            Assert(dut.expired == (dut.limit.on & (waited == limit))),
            Cover(dut.expired & (limit == 3)),
        ]
        with m.If(has_run):
            timer_counts(m, "dut.timer", 32, limit, waited, dut.limit.on)
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
        rate, has_run = Signal(32), Signal()  # the rate is there a cycle before the first burst
        issued = anything(m, len(dut.issued), "issued")
        m.d.comb += [
            rate.eq(AnyConst(32)),
            Assume(issued <= dut.most),
            dut.rate.eq(rate),
            dut.issued.eq(Mux(dut.hold | ~has_run, 0, issued)),
        ]
        # Bytes issued, in parts of 1,024, less the rate of each cycle, never below zero.
        debt = Signal(24)
        owed = Mux(debt > rate, debt - rate, 0) + (dut.issued << 10)
        follows = Signal()  # a burst was issued in the cycle before
        m.d.sync += [debt.eq(Mux(rate == 0, 0, owed)), follows.eq(dut.issued != 0), has_run.eq(1)]
        m.d.comb += Cover(dut.hold)
        with m.If(has_run):
            m.d.comb += Assert(dut.hold == ((rate != 0) & ((debt > rate) | follows)))
            self._invariants(m, debt, rate)
        with m.Else():
            m.d.comb += Assert(~dut.hold & ~follows & (debt == 0))
        return m

    def _invariants(self, m, debt, rate):
        """While bursts are held, both parts together are the debt, and the registers of the rate
        say what it is."""
        dut, bits = self.dut, len(self.dut.issued)
        low, high = probe(m, "dut.low", 10), probe(m, "dut.high", bits + 1)
        borrow = probe(m, "dut.borrow", 1)
        m.d.comb += [
            Assert(debt <= dut.most << 10),
            Assert(probe(m, "dut.is_limited", 1) == (rate != 0)),
            Assert(probe(m, "dut.is_fast", 1) == (rate >= 1 << (9 + bits))),
        ]
        with m.If(dut.hold):
            m.d.comb += Assert(((high - borrow) << 10) + low == debt)


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
            dut.outstanding.eq(bursts + 1),
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
                Assert(probe(m, "dut.left", len(dut.outstanding)) == ahead + 1),
                Assert(ahead < bursts),
                Assert(dut.cycles == cycles),
                Assert(probe(m, "dut.is_most", 1) == (cycles == 0xFFFF)),
                Assert(probe(m, "dut.is_full", 1) == (cycles[:8] == 0xFF)),
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
            m.d.comb += Value.cast(signal).eq(anything(m, len(Value.cast(signal)), f"any_{name}"))
        m.d.comb += dut.write.b.ready.eq(1)
        self._quarantine(m)
        return m

    def _quarantine(self, m):
        dut = self.dut
        was_lost, may_end, expired, has_run = Signal(), Signal(), Signal(), Signal()
        is_empty = (dut.reads == 0) & (dut.writes == 0)
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
        broken=faults(32, 8, stuck_at(0, "dut.timer.left0", 0), late("dut.expired")),
    ),
    Proof(
        name="rate_limiter",
        promise="A burst is held until the bytes before it are paid for at the rate",
        components=(RateLimiter,),
        design=lambda most: Limits(RateLimiter(most)),
        sizes={"16 bytes": 16},
        slow=("16 bytes",),
        broken=faults(16, 6, stuck_at(0, "dut.hold"), late("dut.high")),
    ),
    Proof(
        name="latency_sampler",
        promise="A sample is the time from one burst's address to its first beat",
        components=(LatencySampler,),
        design=lambda most: Samples(LatencySampler(most)),
        sizes={"7 bursts": 7},
        slow=("7 bursts",),
        broken=faults(7, 8, stuck_at(0, "dut.left", 0), late("dut.busy")),
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
