"""The port to the host obeys AXI and gives each client what belongs to it."""

from dataclasses import dataclass

from amaranth.hdl import (
    Assert,
    Assume,
    Cat,
    Const,
    Cover,
    Elaboratable,
    Module,
    Mux,
    Signal,
    Value,
)
from amaranth.lib import data

from cdma.hdl.engine.ports.link import CLIENTS, LinkArbiter
from cdma.verify.formal.axi_rules import Writes, beats_of, check_address
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import any_transfer, anything, leave_open, offer
from cdma.verify.proofs.proof import InvertsField, Proof, faults, swapped

BURST, PAGE, DATA_BYTES, WAITING = 4, 8, 1, 4
SIZES = {"burst_bytes": BURST, "page_bytes": PAGE}
_GAP = 1  # cycles for which a client's data pauses at most: its senders' proofs have this rule


@dataclass(frozen=True)
class Widths:
    """What the arbiter takes from a configuration."""

    address_bits: int = 5
    link_bytes: int = DATA_BYTES


class Merges(Elaboratable):
    """Clients that obey the rules, each with at most two bursts whose data is not complete. Data
    may come before its address is taken, and pauses for a cycle at most behind it.

    Data and strobes, addresses, lengths and attributes, read data and answers are any. Each is at
    the other side as it is.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        port = dut.port
        self.clients = []
        takes = [self._write(m, number) for number in range(CLIENTS)]
        for number, client in enumerate(dut.reads):
            offer(m, client.ar, f"ar{number}")
            self._limit(m, client.ar)
            m.d.comb += client.r.ready.eq(1)
        check_address(m, port.ar, DATA_BYTES, CLIENTS, "ar", **SIZES)
        m.d.comb += [
            port.ar.ready.eq(anything(m, 1, "ar_ready")),
            port.r.valid.eq(anything(m, 1, "r_valid")),
            port.r.payload.as_value().eq(anything(m, len(port.r.payload.as_value()), "r")),
            port.b.valid.eq(anything(m, 1, "b_valid")),
            port.b.payload.as_value().eq(anything(m, len(port.b.payload.as_value()), "b")),
            Assert(port.r.ready & port.b.ready),
        ]
        writes = Writes(
            m,
            port.aw,
            port.w,
            port.b,
            DATA_BYTES,
            most=1,
            depth=WAITING,
            gap=_GAP,
            ids=CLIENTS,
            answers=False,
            **SIZES,
        )
        self._invariants(m, writes)
        # Data goes in the order of the addresses, and is that of the address's client.
        for number, taken in enumerate(takes):
            with m.If(taken):
                m.d.comb += [
                    Assert(writes.moves & (writes.head.id == number)),
                    Assert(Value.cast(port.w.payload) == Value.cast(dut.writes[number].w.payload)),
                ]
        m.d.comb += [
            Assert(writes.moves == sum(takes[1:], takes[0])),
            Cover(writes.moves & (writes.level == 3)),
        ]
        # Answers go to the client of their ID, and to no other.
        for number, (write, read) in enumerate(zip(dut.writes, dut.reads, strict=True)):
            is_read = port.r.valid & (port.r.payload.id == number)
            is_written = port.b.valid & (port.b.payload.id == number)
            m.d.comb += [Assert(read.r.valid == is_read), Assert(write.b.valid == is_written)]
            with m.If(read.r.valid):
                m.d.comb += [
                    Assert(read.r.payload[name] == port.r.payload[name])
                    for name in ("data", "resp", "last")
                ]
            with m.If(write.b.valid):
                m.d.comb += Assert(write.b.payload == port.b.payload.resp)
        self._addresses(m)
        self._watched(m)
        return m

    def _watched(self, m):
        """What the watchdogs and the counts of what is owed are given: their own proofs are about
        any inputs."""
        dut, port = self.dut, self.dut.port
        limit = Value.cast(dut.timeout)
        leave_open(m, dut, "timeout")
        ways = {
            "read": (dut.reads, "ar", (port.ar,), port.r, port.r.payload.last),
            "write": (dut.writes, "aw", (port.aw, port.w), port.b, 1),
        }
        for name, (clients, address, asks, answer, ends) in ways.items():
            parts = {
                f"{name}_watchdog.moves": any_transfer(*asks) | answer.valid,
                f"{name}_watchdog.waits": probe(m, f"dut.{name}s_owed.any", 1),
                f"{name}s_owed.up": any_transfer(*(getattr(client, address) for client in clients)),
                f"{name}s_owed.down": answer.valid & ends,
            }
            m.d.comb += [
                *(Assert(probe(m, f"dut.{part}", 1) == value) for part, value in parts.items()),
                Assert(probe(m, f"dut.{name}_watchdog.limit", len(limit)) == limit),
            ]

    def _limit(self, m, channel):
        """A request of a client obeys the rules."""
        request = channel.payload
        with m.If(channel.valid):
            m.d.comb += [
                Assume((request.beats != 0) & (request.beats <= BURST)),
                Assume(request.address[:3] + request.beats <= PAGE),
            ]

    def _write(self, m, number):
        """A client: addresses at any time, and the data of each from its offer on; gives its
        transfers."""
        client = self.dut.writes[number]
        aw, w = client.aw, client.w
        asks = offer(m, aw, f"aw{number}")
        self._limit(m, aw)
        beats = [Signal(3, name=f"w{number}_beats{k}") for k in range(2)]
        level = Signal(2, name=f"w{number}_level")
        done = Signal(3, name=f"w{number}_done")
        pause = Signal(range(_GAP + 2), name=f"w{number}_pause")
        self.clients.append((beats, level, done, pause))
        was_stalled = Signal(name=f"w{number}_was_stalled")
        fresh = anything(m, len(Cat(w.payload.data, w.payload.strobe)), f"w{number}_fresh")
        kept = Signal.like(fresh, name=f"w{number}_kept")
        moves, ends = Signal(name=f"w{number}_moves"), Signal(name=f"w{number}_ends")
        m.d.comb += [
            Assume(~aw.valid | (level != 2)),
            w.valid.eq(
                ((level != 0) | aw.valid) & (was_stalled | anything(m, 1, f"w{number}_any_valid"))
            ),
            Assume(pause <= _GAP),
            w.payload.last.eq(done + 1 == Mux(level == 0, aw.payload.beats, beats[0])),
            Cat(w.payload.data, w.payload.strobe).eq(Mux(was_stalled, kept, fresh)),
            moves.eq(w.valid & w.ready),
            ends.eq(moves & w.payload.last),
            client.b.ready.eq(1),
        ]
        m.d.sync += [
            level.eq(level + asks - ends),
            done.eq(Mux(ends, 0, done + moves)),
            pause.eq(Mux((level != 0) & ~w.valid, pause + 1, 0)),
            was_stalled.eq(w.valid & ~w.ready),
            kept.eq(Cat(w.payload.data, w.payload.strobe)),
        ]
        with m.If(ends):
            m.d.sync += beats[0].eq(beats[1])
        for k, entry in enumerate(beats):
            with m.If(asks & (level - ends == k)):
                m.d.sync += entry.eq(aw.payload.beats)
        return moves

    def _invariants(self, m, writes):
        """The order of the arbiter is that of the monitor, and of each client's own bursts."""
        valid = probe(m, "dut.order.valid", WAITING)
        ids = [probe(m, f"dut.order.entry{k}", 2) for k in range(WAITING)]
        items = [
            Mux(writes.level > k, Value.cast(writes.entries[k]), Value.cast(writes.fresh))
            for k in range(WAITING)
        ]
        views = [data.View(writes.fresh.shape(), item) for item in items]
        count = sum(valid[1:], valid[0])
        m.d.comb += [
            Assert((valid & (valid + 1)) == 0),
            Assert(count == writes.level + writes.offers),
        ]
        for k, view in enumerate(views):
            before = [valid[j] & (views[j].id == view.id) for j in range(k)]
            rank = sum(before[1:], before[0]) if before else Const(0)
            with m.If(valid[k]):
                m.d.comb += [Assert(ids[k] == view.id), Assert(view.id < CLIENTS)]
                for number, (beats, *_) in enumerate(self.clients):
                    with m.If(view.id == number):
                        m.d.comb += Assert(view.beats == Mux(rank == 0, beats[0], beats[1]))
        for number, (beats, level, done, pause) in enumerate(self.clients):
            own = [valid[k] & (view.id == number) for k, view in enumerate(views)]
            is_head = valid[0] & (views[0].id == number)
            m.d.comb += [
                Assert(level == sum(own[1:], own[0])),
                Assert(done == Mux(is_head, writes.sent, 0)),
                Assert((level == 0) | (done < beats[0])),
                Assert(level <= 2),
                Assert((level != 2) | (beats[1] != 0)),
                # The port waits for data no longer than the client pauses.
                Assert(~is_head | (writes.idle <= pause)),
            ]
        m.d.comb += Assert(valid[0] | ((writes.sent == 0) & (writes.idle == 0)))

    def _addresses(self, m):
        """A request of a client is on the port in the next cycle, as it is, with its ID."""
        port = self.dut.port
        for name, out, clients in (
            ("ar", port.ar, [client.ar for client in self.dut.reads]),
            ("aw", port.aw, [client.aw for client in self.dut.writes]),
        ):
            was_taken = Signal(CLIENTS, name=f"{name}_was_taken")
            taken = Signal(clients[0].payload.shape(), name=f"{name}_taken")
            for number, channel in enumerate(clients):
                takes = channel.valid & channel.ready
                m.d.sync += was_taken[number].eq(takes)
                with m.If(takes):
                    m.d.sync += taken.eq(channel.payload)
                with m.If(was_taken[number]):
                    m.d.comb += [
                        Assert(was_taken == 1 << number),
                        Assert(out.valid & (out.payload.id == number)),
                        Assert(out.payload.address == taken.address),
                        Assert(beats_of(out.payload) == taken.beats),
                        Assert(out.payload.attr == taken.attr),
                        Assert(out.payload.qos == 0),
                    ]
            was_stalled = Signal(name=f"{name}_was_stalled")
            m.d.sync += was_stalled.eq(out.valid & ~out.ready)
            m.d.comb += [
                Assert(~out.valid | was_taken.any() | was_stalled),
                Cover(was_taken[0] & clients[2].valid),
            ]


class _Inverts(InvertsField, LinkArbiter):
    pass


class Pauses(LinkArbiter):
    """Gives no data for two cycles behind each beat."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        w, left = self.port.w, Signal(range(3))
        m.d.sync += left.eq(Mux(w.valid & w.ready, 2, left - (left != 0)))
        with m.If(left != 0):
            m.d.comb += [w.valid.eq(0), *(client.w.ready.eq(0) for client in self.writes)]
        return m


#: Fields of answers: where they go, and where they come from.
_FIELDS = {
    "RDATA": lambda dut: (dut.reads[1].r.payload.data, dut.port.r.payload.data),
    "RRESP": lambda dut: (dut.reads[2].r.payload.resp, dut.port.r.payload.resp),
    "RLAST": lambda dut: (dut.reads[0].r.payload.last, dut.port.r.payload.last),
    "BRESP": lambda dut: (dut.writes[1].b.payload, dut.port.b.payload.resp),
}

PROOFS = (
    Proof(
        name="link_arbiter",
        promise="The link obeys AXI; data, addresses and answers stay with their client",
        components=(LinkArbiter,),
        design=lambda widths: Merges(LinkArbiter(widths)),
        sizes={"3 clients, bursts of 4": Widths()},
        slow=("3 clients, bursts of 4",),
        broken=faults(
            Widths(),
            12,
            stuck_at(0, "dut.order.valid", 1),
            late("dut.aw_number"),
            stuck_at(1, "dut.order.i__ready"),
            stuck_at(0, "dut.port__w__payload.data"),
            stuck_at(1, "dut.port__w__payload.data", 0),
            stuck_at(1, "dut.port__w__payload.strobe"),
            stuck_at(0, "dut.aw_request.address", 4),
            stuck_at(0, "dut.ar_request.beats", 0),
            stuck_at(0, "dut.aw_request.attr"),
            stuck_at(1, "dut.ar_kept.attr", 0),
            stuck_at(0, "dut.write_watchdog.moves"),
        )
        + swapped(
            4,
            {
                f"{name} inverted": lambda field=field: Merges(_Inverts(Widths(), field=field))
                for name, field in _FIELDS.items()
            },
        )
        + swapped(
            8,
            {"pauses behind a beat": lambda: Merges(Pauses(Widths()))},
        ),
    ),
)
