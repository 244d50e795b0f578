"""The port of a channel: what passes, quarantine, throttling, and what watches the port."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.engine_config import BURST_BYTES
from cdma.hdl.engine.ports.channel import MemoryPort
from cdma.hdl.engine.ports.latency import LatencySampler
from cdma.hdl.engine.ports.rate import RateLimiter
from cdma.hdl.engine.ports.watchdog import Watchdog
from cdma.verify.formal.axi_rules import Writes, beats_of, check_address
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import any_transfer, anything, offer
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.lib.timer import timer_counts
from cdma.verify.proofs.proof import InvertsField, Proof, faults, swapped

OPEN = 3  # bursts of writes whose data is not complete
W, R = ("data", "strobe", "last"), ("data", "resp", "last")


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
    """All five channels pass as they are, in the same cycle, but for AxLEN, which is the beats less
    one, and AxQOS, which is that of the control and stays while an address is stalled. Quarantine
    begins with a timeout, and ends only when nothing is outstanding and nothing waits to be
    written. Watchdogs, limiter and sampler see what the port does: reads wait while a burst is
    outstanding and no data is offered, writes while a burst is outstanding.

    A client that obeys the rules gives a port that does: the client's bursts stay in their pages,
    and its data has no gap and its WLAST at the last beat of each burst.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        port, control, read, write = dut.port, dut.control, dut.read, dut.write
        burst = dut.config.burst_bytes // dut.config.beat_bytes
        size = dut.config.beat_bytes
        sizes = {"burst_bytes": burst * size, "page_bytes": 2 * burst * size}
        for name, client in (("ar", read.ar), ("aw", write.aw)):
            offer(m, client, f"client_{name}")
            request = client.payload
            with m.If(client.valid):
                m.d.comb += [
                    Assume((request.beats != 0) & (request.beats <= burst)),
                    Assume(request.address[1:4] + request.beats <= 2 * burst),
                ]
        check_address(m, port.ar, size, 1, "ar", **sizes)
        m.d.comb += port.ar.ready.eq(anything(m, 1, "ar_ready"))
        writes = Writes(
            m,
            port.aw,
            port.w,
            port.b,
            size,
            most=OPEN,
            depth=OPEN,
            gap=0,
            ids=1,
            answers=False,
            **sizes,
        )
        offer(m, write.w, "client_w")
        # What the client promises. Its beats are those of the addresses: AxLEN is checked below.
        m.d.comb += [
            Assume(writes.level + writes.offers <= OPEN),
            Assume(~writes.is_due | write.w.valid),
            Assume(~write.w.valid | writes.is_owed),
            Assume(
                ~write.w.valid | (write.w.payload.last == (writes.sent + 1 == writes.head.beats))
            ),
        ]
        for name, signal in (
            ("enable", control.enable),
            ("clear", control.clear),
            ("rate", control.rate),
            ("qos", control.qos),
            ("timeout", dut.timeout),
            ("reads", dut.reads),
            ("writes", dut.writes),
            ("drained", dut.drained),
            ("read_beats", dut.read_beats),
            ("written_beats", dut.written_beats),
            ("events", dut.events),
            ("r", port.r.payload),
            ("b", port.b.payload),
            ("r_valid", port.r.valid),
            ("b_valid", port.b.valid),
            ("r_ready", read.r.ready),
            ("b_ready", write.b.ready),
        ):
            m.d.comb += Value.cast(signal).eq(anything(m, len(Value.cast(signal)), f"any_{name}"))
        self._passes(m)
        self._watched(m)
        self._quarantine(m)
        m.d.comb += Cover(writes.ends & (writes.head.beats == burst) & (writes.level == 2))
        return m

    def _passes(self, m):
        """Each channel is the client's."""
        dut = self.dut
        port, control, read, write = dut.port, dut.control, dut.read, dut.write
        qos, is_stalled = Signal.like(control.qos), Signal()
        for out, client in ((port.ar, read.ar), (port.aw, write.aw)):
            m.d.comb += [
                Assert(out.valid == client.valid),
                Assert(client.ready == out.ready),
                Assert(out.payload.address == client.payload.address),
                Assert(out.payload.attr == client.payload.attr),
                Assert(out.payload.qos == qos),
            ]
            with m.If(client.valid):
                m.d.comb += Assert(beats_of(out.payload) == client.payload.beats)
        m.d.comb += is_stalled.eq(
            (port.ar.valid & ~port.ar.ready) | (port.aw.valid & ~port.aw.ready)
        )
        with m.If(~is_stalled):
            m.d.sync += qos.eq(control.qos)
        m.d.comb += [
            Assert(port.w.valid == write.w.valid),
            Assert(write.w.ready == port.w.ready),
            *(Assert(port.w.payload[name] == write.w.payload[name]) for name in W),
            Assert(read.r.valid == port.r.valid),
            Assert(port.r.ready == read.r.ready),
            *(Assert(read.r.payload[name] == port.r.payload[name]) for name in R),
            Assert(write.b.valid == port.b.valid),
            Assert(port.b.ready == write.b.ready),
            Assert(write.b.payload == port.b.payload.resp),
        ]

    def _watched(self, m):
        """What the parts are given whose own proofs are about any inputs."""
        dut, port, control = self.dut, self.dut.port, self.dut.control
        size = dut.config.beat_bytes
        parts = {
            "reads_watchdog.waits": (dut.reads != 0) & ~port.r.valid,
            "reads_watchdog.moves": any_transfer(port.ar, port.r),
            "writes_watchdog.waits": dut.writes != 0,
            "writes_watchdog.moves": any_transfer(port.aw, port.w, port.b),
            "limiter.rate": control.rate,
            "limiter.issued": (dut.read_beats + dut.written_beats) * size,
            "latency.asked": any_transfer(port.ar),
            "latency.given": any_transfer(port.r),
            "latency.last": port.r.payload.last,
            "latency.outstanding": dut.reads,
        }
        for name in ("reads_watchdog", "writes_watchdog"):
            parts[f"{name}.limit"] = Value.cast(dut.timeout)
        widths = {"limiter.rate": 32, "latency.outstanding": len(dut.reads)}
        widths["limiter.issued"] = (2 * BURST_BYTES).bit_length()
        for name, value in parts.items():
            width = len(value) if name.endswith("limit") else widths.get(name, 1)
            m.d.comb += Assert(probe(m, f"dut.{name}", width) == value)
        outstanding = Signal.like(control.outstanding)
        m.d.sync += outstanding.eq(dut.reads + dut.writes)
        holds = probe(m, "dut.limiter.hold", 1)
        m.d.comb += [
            Assert(dut.hold == (holds | ~control.enable)),
            Assert(control.events.rate == (dut.events.rate & holds)),
            Assert(control.outstanding == outstanding),
        ]

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


class _Inverts(InvertsField, MemoryPort):
    pass


#: Fields of the channels: where they go, and where they come from.
_FIELDS = {
    "AWADDR": lambda dut: (dut.port.aw.payload.address, dut.write.aw.payload.address),
    "AWUSER": lambda dut: (dut.port.aw.payload.attr.user, dut.write.aw.payload.attr.user),
    "ARADDR": lambda dut: (dut.port.ar.payload.address, dut.read.ar.payload.address),
    "ARCACHE": lambda dut: (dut.port.ar.payload.attr.cache, dut.read.ar.payload.attr.cache),
    "WDATA": lambda dut: (dut.port.w.payload.data, dut.write.w.payload.data),
    "WSTRB": lambda dut: (dut.port.w.payload.strobe, dut.write.w.payload.strobe),
    "WLAST": lambda dut: (dut.port.w.payload.last, dut.write.w.payload.last),
    "RDATA": lambda dut: (dut.read.r.payload.data, dut.port.r.payload.data),
    "RRESP": lambda dut: (dut.read.r.payload.resp, dut.port.r.payload.resp),
    "RLAST": lambda dut: (dut.read.r.payload.last, dut.port.r.payload.last),
    "BRESP": lambda dut: (dut.write.b.payload, dut.port.b.payload.resp),
}

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
        promise="A channel's port obeys AXI and has what the client gives; quarantine ends only "
        "when nothing is outstanding",
        components=(MemoryPort,),
        design=lambda config: Passes(MemoryPort(config)),
        sizes={"2 bytes, bursts of 4": small()},
        slow=("2 bytes, bursts of 4",),
        broken=faults(
            small(),
            8,
            late("dut.port__ar__payload.qos"),
            stuck_at(0, "dut.qos"),
            stuck_at(0, "dut.hold"),
            stuck_at(0, "dut.port__aw__payload.length"),
            stuck_at(0, "dut.port__ar__payload.length", 1),
            *(
                stuck_at(0, f"dut.{way}_watchdog.{name}")
                for way in ("reads", "writes")
                for name in ("waits", "moves")
            ),
            stuck_at(0, "dut.limiter.issued", 2),
            stuck_at(0, "dut.latency.given"),
            late("dut.writes_watchdog.moves"),
        )
        + swapped(
            4,
            {
                f"{name} inverted": lambda field=field: Passes(_Inverts(small(), field=field))
                for name, field in _FIELDS.items()
            },
        ),
    ),
)
