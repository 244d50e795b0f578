"""A whole prefetch, from its job to its answer: only its own words are written, each once."""

from dataclasses import dataclass

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.engine_codes import Op, Status
from cdma.engine_config import INDEX_BYTES
from cdma.hdl.engine.prefetch.unit import PrefetchUnit
from cdma.verify.formal.axi_rules import Writes, check_address, check_strobes
from cdma.verify.formal.fault import stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, hold_to_rule
from cdma.verify.proofs.engine.small import tiny
from cdma.verify.proofs.proof import BOUNDED, Proof, faults

#: Addresses of streams and of indexes begin here; most bytes of a tensor: two stripes.
_STREAM, _ENTRIES, _MOST = 128, 256, 32
#: Reads and writes that are on their way, at most.
_BURSTS = 8
_OPS = (Op.PREFETCH, Op.COPY_IN, Op.VERIFY)


@dataclass(frozen=True)
class Freedom:
    """What memories and software may do: stall and abort, respond with errors; any places in memory
    and CRCs; the operations; a size, where not any. ``ends`` says that jobs end well in the cycles
    of the check, which must be shown."""

    stalls: bool = True
    errors: bool = True
    places: bool = True
    ops: tuple[Op, ...] = _OPS
    size: int | None = None
    ends: bool = False


class CarriesOut(Elaboratable):
    """One job of any operation, size, limit and addresses. Stream and index are any, and so are
    the answers of both memories, the order of events, and an abort.

    Bounded, from reset: an induction would need the invariants of all parts at once. Without stalls
    a first prefetch begins to write in about the 36th cycle. The shortest job, a copy of a beat, is
    answered with OK in the 42nd. Checks of fewer cycles say nothing of that.

    Only beats of stream and index are read. Only bytes of the job's row are written to the device.
    The job is answered once, when all of its writes were answered. It is not OK when any read or
    write has failed, and when it is, each byte of the row was written, but of VERIFY none.
    """

    def __init__(self, freedom):
        # The link reads both entries in a beat.
        self.freedom, self.config = freedom, tiny(link_bytes=16, link_beats=8, address_bits=9)

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = self.dut = dut = PrefetchUnit(self.config)
        self.failed = Signal(name="has_failed")
        self._offer(m)
        job = self.job
        bad = [
            self._read(m, dut.data, "data", job.host, job.limit),
            self._read(m, dut.index, "index", job.index_address, INDEX_BYTES * self.entries),
            self._write(m),
        ]
        m.d.sync += self.failed.eq(self.failed | bad[0] | bad[1] | bad[2])
        m.d.comb += [
            dut.lost[0].eq(0),
            dut.hold[0].eq(anything(m, 1, "hold") if self.freedom.stalls else 0),
        ]
        self._answer(m)
        if self.freedom.stalls:
            self._parts(m)
        return m

    def _offer(self, m):
        """A job, until it is taken."""
        dut, config = self.dut, self.config
        port, was_taken = dut.port, Signal(name="was_taken")
        self.job = job = Signal(port.job.payload.shape(), name="job")
        sizes = {name: Signal(6, name=name) for name in ("device", "host", "size", "limit", "at")}
        flags, op = Signal(2, name="flags"), Signal(4, name="op")
        fixed = {"size": self.freedom.size} if self.freedom.size else {}
        for name, value in {**sizes, "flags": flags, "op": op}.items():
            m.d.comb += value.eq(fixed.get(name, AnyConst(len(value))))
        if not self.freedom.places:
            m.d.comb += Assume(Cat(*(sizes[name] for name in ("device", "host", "at")), flags) == 0)
        stripe = config.stripe_bytes
        has_index = op != Op.COPY_IN
        self.entries = Signal(2, name="entries")
        m.d.comb += [
            Assume((op == self.freedom.ops[0]) | sum(op == each for each in self.freedom.ops[1:])),
            Assume((sizes["size"] != 0) & (sizes["size"] <= _MOST)),
            Assume((sizes["device"] % config.beat_bytes == 0) & (sizes["at"] % INDEX_BYTES == 0)),
            self.entries.eq(Mux(has_index, (sizes["size"] + stripe - 1) // stripe, 0)),
            job.op.eq(op),
            job.index.eq(has_index),
            job.crc.eq(flags[0] & has_index),
            job.rows.eq(1),
            job.stripes.eq(sizes["size"] // stripe),
            job.device.eq(sizes["device"]),
            job.host.eq(_STREAM + sizes["host"]),
            job.index_address.eq(_ENTRIES + sizes["at"]),
            job.row_bytes.eq(sizes["size"]),
            job.limit.eq(sizes["limit"]),
            port.job.payload.eq(job),
            port.job.valid.eq(~was_taken),
        ]
        m.d.sync += was_taken.eq(was_taken | port.job.ready)
        aborts = Signal(name="aborts")
        m.d.comb += port.abort.eq(aborts | anything(m, 1, "abort") if self.freedom.stalls else 0)
        m.d.sync += aborts.eq(port.abort & port.busy)
        self.was_taken = was_taken

    def _read(self, m, client, name, base, size):
        """A memory behind a client; gives whether a beat that is given has failed."""
        ar, r = client.ar, client.r
        low = self.config.link_bytes.bit_length() - 1
        check_address(m, ar, self.config.link_bytes, None, name)
        queue = [Signal.like(ar.payload.beats, name=f"{name}_beats{k}") for k in range(_BURSTS)]
        level, done = Signal(range(_BURSTS + 2), name=f"{name}_level"), Signal(9)
        asks, is_last = Signal(name=f"{name}_asks"), Signal(name=f"{name}_last")
        first, last = Signal(12, name=f"{name}_first"), Signal(12, name=f"{name}_final")
        stalls = self.freedom.stalls
        m.d.comb += [
            ar.ready.eq(anything(m, 1, f"{name}_ar_ready") if stalls else 1),
            asks.eq(ar.valid & ar.ready),
            r.valid.eq((level != 0) & (anything(m, 1, f"{name}_gives") if stalls else 1)),
            is_last.eq(done + 1 == queue[0]),
            r.payload.data.eq(anything(m, len(r.payload.data), f"{name}_r")),
            r.payload.last.eq(is_last),
            first.eq(ar.payload.address >> low),
            last.eq(first + ar.payload.beats - 1),
            Assert(level <= _BURSTS),
            Assert(r.ready),
            # Its beats have bytes of the range.
            Assert(~ar.valid | ((((first + 1) << low) > base) & ((last << low) < base + size))),
        ]
        if self.freedom.ops[0] != Op.COPY_IN and (name == "index" or not self.freedom.stalls):
            m.d.comb += Cover(asks)
        bad = Signal(name=f"{name}_bad")
        if self.freedom.errors:
            response = Value.cast(r.payload.resp)
            m.d.comb += [response.eq(anything(m, 2, f"{name}_resp")), Assume(response != 1)]
            m.d.comb += bad.eq(r.valid & response[1])
        ends = r.valid & is_last
        m.d.sync += [
            level.eq(level + asks - ends),
            done.eq(Mux(ends, 0, done + r.valid)),
        ]
        for k, entry in enumerate(queue):
            with m.If(asks & (level - ends == k)):
                m.d.sync += entry.eq(ar.payload.beats)
            with m.Elif(ends):
                m.d.sync += entry.eq(queue[k + 1] if k + 1 < _BURSTS else 0)
        return bad

    def _write(self, m):
        """The channel's memory; gives whether a write has failed."""
        client, config, job = self.dut.device[0], self.config, self.job
        w, b, size = client.w, client.b, config.beat_bytes
        stalls = self.freedom.stalls
        self.writes = writes = Writes(
            m,
            client.aw,
            w,
            b,
            size,
            most=_BURSTS,
            depth=_BURSTS,
            gap=8,
            holds_data=False,
            keeps_address=True,
            stalls=stalls,
            burst_bytes=config.burst_bytes,
        )
        check_strobes(m, w, writes, 0)
        at, count = Signal(config.address_bits, name="at"), Signal(range(size + 1), name="n_bytes")
        self.written = Signal(range(2 * _MOST), name="n_written")
        m.d.comb += [
            at.eq(writes.head.address + writes.sent * size),
            count.eq(sum(w.payload.strobe[k] for k in range(size))),
            Assert(b.ready),
        ]
        if not stalls:
            m.d.comb += Cover(w.valid & w.payload.strobe[-1])
        m.d.sync += self.written.eq(self.written + Mux(writes.moves, count, 0))
        for k in range(size):
            inside = (at + k >= job.device) & (at + k < job.device + job.row_bytes)
            m.d.comb += Assert(~(w.valid & w.payload.strobe[k]) | inside)
        m.d.comb += Assert(self.written <= job.row_bytes)
        if not self.freedom.errors:
            m.d.comb += Assume(~Value.cast(b.payload)[1])
        return b.valid & Value.cast(b.payload)[1]

    def _parts(self, m):
        """What the proofs of parts assume, where several others together see to it."""
        names = "start", "next", "clear", "stop", "asked", "begun", "idle", "is_open"
        start, next_, clear, stop, asked, begun, idle, is_open = (
            probe(m, f"dut.entries.{name}", 1) for name in names
        )
        push, room = (probe(m, f"dut.channel0.{name}", 1) for name in ("push", "has_room"))
        had_push, has_run = Signal(name="had_push"), Signal(name="has_run")
        m.d.sync += [had_push.eq(push), has_run.eq(1)]
        m.d.comb += [
            # ``stop`` has no reset: of the cycle before, it may be anything. No engine gives a job
            # in the first cycle.
            Assert(~start | (asked & ~(stop & has_run) & ~clear)),
            Assert(~next_ | (begun & ~is_open & ~stop & ~clear)),
            Assert(~clear | (stop & idle)),
            Assert(~push | (room & ~had_push)),
        ]

    def _answer(self, m):
        """The job is answered once, in its time, and OK only if all is well."""
        done, writes, job = self.dut.port.done, self.writes, self.job
        was_answered, is_ok = Signal(name="was_answered"), Signal(name="is_ok")
        hold_to_rule(m, done, "done")
        m.d.comb += [
            done.ready.eq(anything(m, 1, "done_ready") if self.freedom.stalls else 1),
            is_ok.eq(done.valid & (done.payload.status == Status.OK)),
            Assert(~done.valid | (self.was_taken & ~was_answered)),
            Assert(~done.valid | ((writes.waiting == 0) & (writes.level == 0) & ~writes.offers)),
            Assert(~was_answered | ~self.dut.device[0].aw.valid),
            Assert(~is_ok | ~self.failed),
            Assert(~is_ok | (self.written == Mux(job.op == Op.VERIFY, 0, job.row_bytes))),
            Cover(done.valid),
        ]
        if self.freedom.ends:
            m.d.comb += [Cover(is_ok), Cover(done.valid & self.failed & (self.written != 0))]
        m.d.sync += was_answered.eq(was_answered | (done.valid & done.ready))


_SIZE = "1x2x8, link of 16 bytes"
#: Memories that never stall and never fail, buffers at fixed places, and no abort.
_EAGER = Freedom(stalls=False, errors=False, places=False, ops=(Op.PREFETCH,))
#: The same for a job that ends: a copy of a beat. Responses may be errors.
_BEAT = Freedom(stalls=False, places=False, ops=(Op.COPY_IN,), size=2, ends=True)

PROOFS = (
    Proof(
        name="prefetch_unit_no_stalls",
        promise="A first prefetch reads only its index and stream and begins to write only its own "
        "bytes; with memories that neither stall nor fail",
        components=(PrefetchUnit,),
        design=CarriesOut,
        sizes={_SIZE: _EAGER},
        slow=(_SIZE,),
        mode=BOUNDED,
        depth=38,
        broken=faults(
            _EAGER,
            4,
            stuck_at(1, "dut.device__0__aw__valid"),
            stuck_at(1, "dut.index__ar__valid"),
            stuck_at(1, "dut.port__done__valid"),
        ),
    ),
    Proof(
        name="prefetch_unit",
        promise="The same of a first job of any kind while it reads its index or is refused, with "
        "stalls, errors and aborts",
        components=(PrefetchUnit,),
        design=CarriesOut,
        sizes={_SIZE: Freedom()},
        slow=(_SIZE,),
        mode=BOUNDED,
        depth=16,
        broken=faults(Freedom(), 4, stuck_at(1, "dut.data__ar__valid")),
    ),
    Proof(
        name="prefetch_unit_ends",
        promise="A first copy of one beat is answered when its write was, and OK only if it was "
        "written and nothing has failed; without stalls",
        components=(PrefetchUnit,),
        design=CarriesOut,
        sizes={_SIZE: _BEAT},
        slow=(_SIZE,),
        mode=BOUNDED,
        depth=45,
        broken=faults(_BEAT, 24, stuck_at(1, "dut.control.ended")),
    ),
)
