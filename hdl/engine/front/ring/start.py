"""Starts descriptors in order: checks, FENCE, APPEND, and the job or its refusal."""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import Status
from cdma.engine_config import DESCRIPTOR_BYTES, EngineConfig
from cdma.hdl.axi.full import Attributes, Response
from cdma.hdl.engine.front.ring.check import Checker
from cdma.hdl.engine.front.ring.fetch import COUNT_BITS, Fetched, entry_address
from cdma.hdl.engine.job import Job
from cdma.hdl.lib.adder import difference_later, is_below


class Started(data.StructLayout):
    """A descriptor that was started, until its completion.

    Members
    -------
    is_local : the front end itself finishes the descriptor, with ``status``
    status : :class:`~cdma.engine_codes.Status`; of jobs the data path's counts
    cookie, interrupt, append : as in the descriptor
    address : of the stream with APPEND; of the descriptor when it is refused
    """

    def __init__(self, address_bits: int):
        super().__init__(
            {
                "is_local": unsigned(1),
                "status": unsigned(8),
                "cookie": unsigned(64),
                "interrupt": unsigned(1),
                "append": unsigned(1),
                "address": unsigned(address_bits + 1),
            }
        )


class _State(enum.Enum):
    IDLE = 0  # no descriptor, or one that waits for the arena
    CHECK = 1
    WAIT = 2  # for FENCE
    ISSUE = 3


class Starter(wiring.Component):
    """Takes fetched descriptors, gives jobs and what is to be finished.

    A descriptor of one row without FENCE becomes a job two cycles after it is offered. When
    ``run`` falls, the job that is offered is taken back; it was not started.

    A wrong phase and a failed read halt the ring: nothing is started after them until ``run`` was
    0. A FENCE waits until all earlier descriptors of its ring have completed, and all of the other
    ring that were started when the FENCE came to the head of its ring. A descriptor with APPEND
    waits until no other one is in flight, because its address follows from the size of that.

    Parameters
    ----------
    config : EngineConfig
    ring : int
        Number of the ring.

    Members
    -------
    run : In
    base, log2 : In, address and size of the submission ring
    attr : In
    device_base, device_end, host_base, host_end : In, windows
    arena_pointer, arena_end : In
    head : In, descriptors completed
    other_started, other_head, other_failed : In, counts of the other ring, and whether it is in
        ERROR
    is_appending : In, a descriptor with APPEND is in flight
    clear : In, the count starts over
    i : In stream of :class:`~cdma.hdl.engine.front.ring.fetch.Fetched`
    job : Out stream of :class:`~cdma.hdl.engine.job.Job`
    o : Out stream of :class:`Started`, which passes together with ``job`` where there is one
    started : Out, descriptors started
    is_halted, halt_status : Out, a descriptor that cannot be trusted was started, nothing follows
    """

    i: stream.Interface
    job: stream.Interface
    o: stream.Interface

    def __init__(self, config: EngineConfig, ring: int):
        self.config, self.ring = config, ring
        bits = config.address_bits
        super().__init__(
            {
                "run": In(1),
                "base": In(bits),
                "log2": In(4),
                "attr": In(Attributes()),
                "device_base": In(bits),
                "device_end": In(bits + 1),
                "host_base": In(bits),
                "host_end": In(bits + 1),
                "arena_pointer": In(bits + 1),
                "arena_end": In(bits + 1),
                "head": In(COUNT_BITS),
                "other_started": In(COUNT_BITS),
                "other_head": In(COUNT_BITS),
                "other_failed": In(1),
                "is_appending": In(1),
                "clear": In(1),
                "i": In(stream.Signature(Fetched())),
                "job": Out(stream.Signature(Job(bits))),
                "o": Out(stream.Signature(Started(bits))),
                "started": Out(COUNT_BITS),
                "is_halted": Out(1),
                "halt_status": Out(8),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.checker = checker = Checker(self.config, self.ring)
        d = self.i.payload.descriptor
        state, status = Signal(_State), Signal(8)
        is_halted = Signal()  # since a descriptor that cannot be trusted
        goes, passes = Signal(), Signal()
        is_unreadable, failure = self._unreadable(m, d)
        is_ready = self._arena(m, checker, d, state)
        is_open = self._fence_is_open(m, state)
        m.d.comb += [
            # Also of a descriptor that cannot be trusted: nothing is started after that.
            checker.start.eq((state == _State.IDLE) & self.i.valid & is_ready),
            checker.abandon.eq(~self.run),
            # A good descriptor without FENCE is issued in the cycle in which the check is done.
            passes.eq((state == _State.CHECK) & checker.done & ~checker.is_bad & ~d.fence),
        ]
        with m.If(~self.run):
            m.d.sync += [state.eq(_State.IDLE), is_halted.eq(0)]
        with m.Elif(state == _State.IDLE):
            with m.If(self.i.valid & ~is_halted & is_unreadable):
                m.d.sync += [state.eq(_State.ISSUE), status.eq(failure), is_halted.eq(1)]
            with m.Elif(self.i.valid & ~is_halted & is_ready):
                m.d.sync += [state.eq(_State.CHECK), status.eq(Status.OK)]
        with m.Elif(passes & goes):
            m.d.sync += state.eq(_State.IDLE)
        with m.Elif((state == _State.CHECK) & checker.done):
            m.d.sync += state.eq(Mux(d.fence & ~checker.is_bad, _State.WAIT, _State.ISSUE))
            with m.If(checker.is_bad):
                m.d.sync += status.eq(Status.BAD_DESCRIPTOR)
        with m.Elif((state == _State.WAIT) & is_open):
            m.d.sync += state.eq(_State.ISSUE)
        with m.Elif(goes):
            m.d.sync += state.eq(_State.IDLE)
        issues = self.run & ((state == _State.ISSUE) | passes)
        is_local = (status != Status.OK) | checker.is_empty
        m.d.comb += [
            self.job.valid.eq(issues & ~is_local & self.o.ready),
            self.o.valid.eq(issues & (is_local | self.job.ready)),
            goes.eq(self.o.valid & self.o.ready),
            self.i.ready.eq(goes),
            self.is_halted.eq(is_halted & (state == _State.IDLE)),
            self.halt_status.eq(status),
        ]
        with m.If(self.clear):
            m.d.sync += self.started.eq(0)
        with m.Elif(goes):
            m.d.sync += self.started.eq(self.started + 1)
        self._job(m, d, checker)
        self._record(m, d, is_local, status, is_halted)
        return m

    def _unreadable(self, m, d):
        """Whether the descriptor cannot be trusted, and its status then."""
        phase, resp = Signal(), self.i.payload.resp
        # Phase is the complement of bit log2 of the count.
        m.d.comb += phase.eq(~(self.started >> self.log2)[0])
        failure = Mux(
            resp == Response.DECERR,
            Status.HOST_DECERR,
            Mux(resp == Response.SLVERR, Status.HOST_SLVERR, Status.BAD_DESCRIPTOR),
        )
        is_failed = (resp == Response.DECERR) | (resp == Response.SLVERR)
        return is_failed | (d.phase != phase), failure

    def _arena(self, m, checker, d, state):
        """Address and capacity of the stream; gives whether they are known."""
        bits = self.config.address_bits
        room, is_clipped, waited = Signal(64), Signal(), Signal(3)
        # Negative when the pointer is past the end.
        rest = difference_later(m, self.arena_end, self.arena_pointer, bits + 2, "rest")
        m.d.sync += [
            room.eq(Mux(rest[-1], 0, rest[: bits + 1])),
            is_clipped.eq(is_below(room, d.limit)),
        ]
        # Cycles for the pointer behind a descriptor with APPEND, and for these registers.
        with m.If((state != _State.IDLE) | ~self.i.valid | self.is_appending):
            m.d.sync += waited.eq(0)
        with m.Elif(~waited.all()):
            m.d.sync += waited.eq(waited + 1)
        m.d.comb += [
            checker.descriptor.eq(d),
            checker.host.eq(Mux(d.append, self.arena_pointer, d.host)),
            checker.limit.eq(Mux(d.append & is_clipped, room, d.limit)),
            checker.device_base.eq(self.device_base),
            checker.device_end.eq(self.device_end),
            checker.host_base.eq(self.host_base),
            checker.host_end.eq(self.host_end),
        ]
        return ~d.append | waited.all()

    def _fence_is_open(self, m, state):
        """Whether nothing is in flight that the FENCE waits for."""
        snapshot, is_taken, has_passed = Signal(COUNT_BITS), Signal(), Signal()
        with m.If(state == _State.IDLE):
            m.d.sync += [is_taken.eq(0), has_passed.eq(0)]
        with m.Elif(~is_taken):
            m.d.sync += [is_taken.eq(1), snapshot.eq(self.other_started)]
        with m.Elif((self.other_head == snapshot) | self.other_failed):
            m.d.sync += has_passed.eq(1)
        return has_passed & (self.head == self.started)

    def _job(self, m, d, checker):
        bits = self.config.address_bits
        job = self.job.payload
        m.d.comb += [
            job.op.eq(d.op),
            job.index.eq(d.index),
            job.crc.eq(d.crc),
            job.raw.eq(d.raw),
            job.rows.eq(Mux(d.rows == 0, 1, d.rows)),
            job.stripes.eq(checker.stripes),
            job.device.eq(d.device[:bits]),
            job.host.eq(checker.host[:bits]),
            job.index_address.eq(d.index_address[:bits]),
            job.row_bytes.eq(d.row_bytes),
            job.limit.eq(checker.limit),
            job.pitch.eq(d.pitch),
            job.attr.eq(self.attr),
        ]

    def _record(self, m, d, is_local, status, is_halted):
        address = entry_address(m, self.base, self.started, self.log2, DESCRIPTOR_BYTES, "entry")
        record = self.o.payload
        m.d.comb += [
            record.is_local.eq(is_local),
            record.status.eq(status),
            record.cookie.eq(Mux(is_halted, 0, d.cookie)),
            record.interrupt.eq(d.interrupt & ~is_halted),
            record.append.eq(d.append & (status == Status.OK)),
            record.address.eq(Mux(status == Status.OK, self.arena_pointer, address)),
        ]
