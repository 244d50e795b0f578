"""Starts descriptors of both rings: checks, FENCE, APPEND, and the job or its refusal."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import enum, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import Status
from cdma.engine_config import EngineConfig
from cdma.hdl.axi.full import Attributes, Response
from cdma.hdl.engine.front.records import Descriptor
from cdma.hdl.engine.front.ring.check import Checker, Window
from cdma.hdl.engine.front.ring.fence import Fence
from cdma.hdl.engine.front.ring.fetch import COUNT_BITS, RINGS, Place
from cdma.hdl.engine.front.ring.operands import Operands, of
from cdma.hdl.engine.front.ring.records import Started
from cdma.hdl.engine.job import Job
from cdma.hdl.lib.lookahead import incremented


class _State(enum.Enum):
    LOOK = 0  # which ring has a descriptor that can be checked
    CLIP = 1  # compare the stream's limit with the room of the arena
    CLIPPED = 2
    CHECK = 3
    ISSUE = 4
    RANGE = 5  # compare a ring that is to run with its window
    WEIGH = 6
    JUDGE = 7


class Starter(wiring.Component):
    """Takes fetched descriptors, gives jobs and what is to be finished.

    One checker serves both rings. A descriptor that waits, for FENCE or for a job of the data path,
    lets the other ring pass, and is checked again when its turn comes. With one ring at work, a
    descriptor of one row is offered as a job two cycles after it has come, and starts in the cycle
    after that in which it is taken. A job that is offered may be taken back as long as it was not
    taken: in the cycle in which its ring stops, or for the other ring. No output depends on a job's
    ``ready`` in the same cycle.

    A wrong phase and a failed read halt the ring: nothing is started after them until all that was
    started has completed while ``run`` was 0. A FENCE waits until all earlier descriptors of its
    ring have completed, and all of the other ring that were started when the FENCE came to the head
    of its ring. A descriptor with APPEND waits until no other one is in flight, because its address
    follows from the size of that.

    A ring that is to run is compared with its window first, which takes a few cycles.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    run : In, a bit for each ring
    window, base, log2, attr : In, arrays: windows, submission rings
    completion_base, completion_log2 : In, arrays: completion rings
    asks : In, a bit for each ring: compare its rings with its window; it does not run
    answered : Out, a bit for each ring, one cycle: ``is_inside`` says whether they are inside
    is_inside, address : Out; the address is that of a ring that is not
    arena_pointer, arena_room, arena_end, arena_is_free : In, of ring 0
    appends : Out, one cycle: a descriptor with APPEND is started
    head : In, array: descriptors completed
    completes : In, a bit for each ring: ``head`` increases after this cycle
    is_idle : In, a bit for each ring: all descriptors that were started have completed
    clear : In, counts start over
    has, awaited, descriptor, response, descriptor_address, has_address : In, see
        :class:`~cdma.hdl.engine.front.ring.fetch.Fetcher`
    next_place, place, wants_address : Out, see there
    has_room : In, a bit for each ring: one more descriptor can be started
    job : Out, array of streams of :class:`~cdma.hdl.engine.job.Job`, one at a time
    offers : Out, level: a job of the ring of ``place``, which runs, is offered
    may_start : Out, level: ``starts`` may come in this cycle
    starts : Out, one cycle: the descriptor at ``place`` is started, with ``record``
    record : Out, :class:`~cdma.hdl.engine.front.ring.records.Started`
    started : Out, array: descriptors started
    is_halted : Out, a bit for each ring: a descriptor that cannot be trusted was started; it stays
        when software stops and starts the ring before that has completed
    halt_status : Out, array: why
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        bits = config.address_bits
        super().__init__(
            {
                "run": In(RINGS),
                "window": In(Window(bits)).array(RINGS),
                "base": In(bits).array(RINGS),
                "log2": In(4).array(RINGS),
                "attr": In(Attributes()).array(RINGS),
                "completion_base": In(bits).array(RINGS),
                "completion_log2": In(4).array(RINGS),
                "asks": In(RINGS),
                "answered": Out(RINGS),
                "is_inside": Out(1),
                "address": Out(bits),
                "arena_pointer": In(bits + 1),
                "arena_room": In(bits + 1),
                "arena_end": In(bits + 1),
                "arena_is_free": In(1),
                "appends": Out(1),
                "head": In(COUNT_BITS).array(RINGS),
                "completes": In(RINGS),
                "is_idle": In(RINGS),
                "clear": In(1),
                "has": In(RINGS),
                "awaited": In(1),
                "descriptor": In(Descriptor()),
                "response": In(Response),
                "descriptor_address": In(bits),
                "has_address": In(1),
                "next_place": Out(Place()),
                "place": Out(Place()),
                "wants_address": Out(1),
                "has_room": In(RINGS),
                "job": Out(stream.Signature(Job(bits))).array(RINGS),
                "offers": Out(1),
                "may_start": Out(1),
                "starts": Out(1),
                "record": Out(Started(bits)),
                "started": Out(COUNT_BITS).array(RINGS),
                "is_halted": Out(RINGS),
                "halt_status": Out(8).array(RINGS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.checker = checker = Checker(self.config)
        d, state, ring = self.descriptor, Signal(_State), self.place.ring
        uses_arena, is_second = Signal(), Signal()
        operands = self._operands(m, checker, state, uses_arena, is_second)
        fence = self._fence(m, state)
        halted = Signal(RINGS)  # since a descriptor that cannot be trusted
        is_untrusted, failure = self._distrust(m)
        status, is_refused, is_local = Signal(8), Signal(), Signal()
        was_taken, may, goes, holds_job = Signal(), Signal(), Signal(), Signal()
        has_room = Signal(reset_less=True)
        m.d.sync += has_room.eq(of(ring, self.has_room))
        m.d.comb += [
            status.eq(Mux(is_untrusted, failure, Mux(checker.is_bad, Status.BAD_DESCRIPTOR, 0))),
            is_refused.eq(is_untrusted | checker.is_bad),
            is_local.eq(is_refused | checker.is_empty),
            # Without room the other ring goes on: the fetcher asks for nothing meanwhile.
            self.wants_address.eq((state == _State.ISSUE) & is_refused & has_room),
            may.eq(has_room & (~d.fence | fence.is_open)),
            goes.eq(
                was_taken
                | (
                    ((state == _State.ISSUE) & is_local)
                    & of(ring, self.run)
                    & has_room
                    & Mux(is_refused, self.has_address, ~d.fence | fence.is_open)
                )
            ),
            self.starts.eq(goes),
            self.may_start.eq(state == _State.ISSUE),
            self.record.is_local.eq(is_local),
            self.record.status.eq(status),
            self.record.is_untrusted.eq(is_untrusted),
            self.record.cookie.eq(d.cookie),
            self.record.interrupt.eq(d.interrupt & ~is_untrusted),
            self.record.append.eq(d.append & ~is_refused),
            self.record.address.eq(self.descriptor_address),
            self.appends.eq(goes & self.record.append),
            # A ring that has just stopped shows that it is drained: it gives no job any more.
            self.offers.eq(holds_job & of(ring, self.run)),
        ]
        m.d.sync += was_taken.eq(Cat(job.valid & job.ready for job in self.job).any())
        self._step(m, checker, state, halted, may, goes, holds_job, uses_arena, is_second)
        # Two descriptors of a ring do not start in cycles that follow each other, nor in the cycle
        # after a turn.
        following = Signal(COUNT_BITS, reset_less=True)
        m.d.sync += following.eq(incremented(of(ring, self.started), 1))
        for number in range(RINGS):
            is_here = goes & (ring == number)
            with m.If(self.clear):
                m.d.sync += self.started[number].eq(0)
            with m.Elif(is_here):
                m.d.sync += self.started[number].eq(following)
            with m.If(~self.run[number] & self.is_idle[number]):
                m.d.sync += halted[number].eq(0)
            with m.Elif(is_here & is_untrusted):
                m.d.sync += [halted[number].eq(1), self.halt_status[number].eq(failure)]
            m.d.comb += self.job[number].valid.eq(
                self.offers & ~is_local & ~was_taken & (ring == number)
            )
            m.d.comb += self.job[number].payload.eq(operands.job[number])
        m.d.comb += self.is_halted.eq(halted)
        return m

    def _step(self, m, checker, state, halted, may, goes, holds_job, uses_arena, is_second):
        """Go from state to state, and from ring to ring."""
        d, ring, slot = self.descriptor, self.place.ring, self.place.slot
        ready, turns = Signal(RINGS), Signal()
        needs_arena = d.append & ~ring & ~uses_arena
        has, other_has = of(ring, ready), of(~ring, ready)
        target = Signal()
        m.d.comb += [ready.eq(self.has & ~halted), target.eq(~ring)]
        leaves = ~of(ring, self.run)
        # The other ring goes on when its port could take a job in the cycle before.
        could = Signal(RINGS)
        m.d.sync += could.eq(Cat(job.ready for job in self.job))
        other_can = other_has & of(~ring, could)
        yields = leaves | ((self.asks.any() | other_can) & ~self.wants_address)
        with m.If(state == _State.LOOK):
            with m.If(self.asks.any()):
                m.d.comb += [turns.eq(1), target.eq(~self.asks[0])]
                m.d.sync += [state.eq(_State.RANGE), is_second.eq(0)]
            with m.Elif(has & ~needs_arena):
                m.d.comb += checker.start.eq(1)
                m.d.sync += state.eq(_State.CHECK)
            with m.Elif(has & self.arena_is_free):
                m.d.sync += [state.eq(_State.CLIP), uses_arena.eq(1)]
            with m.Elif(other_has):
                m.d.comb += turns.eq(1)
            with m.Elif(~has):
                m.d.comb += [turns.eq(1), target.eq(self.awaited)]
        with m.If(state == _State.CLIP):
            m.d.sync += state.eq(_State.CLIPPED)
        with m.If(state == _State.CLIPPED):
            m.d.sync += state.eq(_State.LOOK)
        with m.If(state == _State.CHECK):
            m.d.comb += checker.abandon.eq(leaves)
            with m.If(leaves):
                m.d.sync += state.eq(_State.LOOK)
            with m.Elif(checker.done):
                m.d.sync += [state.eq(_State.ISSUE), holds_job.eq(may)]
        with m.If(state == _State.ISSUE):
            m.d.sync += holds_job.eq(may & ~goes & ~yields)
            # A job that is offered is taken back first: it may be taken in that cycle.
            with m.If(goes | (yields & ~holds_job)):
                m.d.comb += turns.eq(other_can)
                m.d.sync += state.eq(_State.LOOK)
        m.d.comb += checker.idle.eq(state == _State.LOOK)
        self._judge(m, checker, state, is_second)
        with m.If(turns | goes):
            m.d.sync += uses_arena.eq(0)
        m.d.comb += self.next_place.eq(self.place)
        with m.If(self.clear):
            m.d.comb += self.next_place.slot.eq(0)
        with m.Elif(turns):
            m.d.comb += [
                self.next_place.ring.eq(target),
                self.next_place.slot.eq(of(target, self.started)),
            ]
        with m.Elif(goes):
            m.d.comb += self.next_place.slot.eq(slot + 1)
        m.d.sync += self.place.eq(self.next_place)

    def _judge(self, m, checker, state, is_second):
        """Compare the submission ring with its window, then the completion ring."""
        ring = self.place.ring
        asks = of(ring, self.asks)
        m.d.comb += self.address.eq(checker.host)
        m.d.sync += self.is_inside.eq(~(checker.is_below | checker.is_past))
        with m.If(state == _State.RANGE):
            m.d.sync += state.eq(_State.WEIGH)
        with m.If(state == _State.WEIGH):
            m.d.sync += state.eq(_State.JUDGE)
        with m.If(state == _State.JUDGE):
            m.d.sync += [state.eq(_State.RANGE), is_second.eq(1)]
            with m.If(~asks | ~self.is_inside | is_second):
                m.d.comb += self.answered.eq(Cat(~ring, ring) & asks.replicate(RINGS))
                m.d.sync += state.eq(_State.LOOK)

    def _distrust(self, m):
        """Whether the descriptor cannot be trusted, and its status then; a cycle later."""
        is_untrusted = Signal(reset_less=True)
        failure = Signal(8, reset_less=True)
        ring, response = self.place.ring, self.response
        # Phase is the complement of bit log2 of the count. It is late by a cycle, which ends before
        # the state ISSUE.
        phases = Signal(RINGS, reset_less=True)
        m.d.sync += phases.eq(Cat(~(self.started[k] >> self.log2[k])[0] for k in range(RINGS)))
        phase = of(ring, phases)
        is_failed = response.as_value()[1]
        m.d.sync += [
            is_untrusted.eq(is_failed | (self.descriptor.phase != phase)),
            failure.eq(
                Mux(
                    is_failed,
                    Mux(response == Response.DECERR, Status.HOST_DECERR, Status.HOST_SLVERR),
                    Status.BAD_DESCRIPTOR,
                )
            ),
        ]
        return is_untrusted, failure

    def _operands(self, m, checker, state, uses_arena, is_second):
        """What the checker compares, and the job."""
        m.submodules.operands = operands = Operands(self.config)
        is_range, is_clipped = Signal(), Signal(reset_less=True)
        is_range_now = (state == _State.LOOK) & self.asks.any()
        with m.If(is_range_now | self.answered.any() | (state == _State.LOOK)):
            m.d.sync += is_range.eq(is_range_now)
        with m.If(state == _State.CLIPPED):
            # The checker does not compare the bits of a limit beyond all addresses.
            is_far = self.descriptor.limit[self.config.address_bits + 1 :].any()
            m.d.sync += is_clipped.eq(checker.is_past | is_far)
        for number in range(RINGS):
            wiring.connect(m, wiring.flipped(self.window[number]), operands.window[number])
            for name in ("base", "log2", "completion_base", "completion_log2"):
                m.d.comb += getattr(operands, name)[number].eq(getattr(self, name)[number])
            m.d.comb += operands.attr[number].eq(self.attr[number])
        m.d.comb += [
            operands.arena_pointer.eq(self.arena_pointer),
            operands.arena_room.eq(self.arena_room),
            operands.arena_end.eq(self.arena_end),
            operands.ring.eq(self.place.ring),
            operands.next_ring.eq(self.next_place.ring),
            operands.descriptor.eq(self.descriptor),
            operands.stripes.eq(checker.stripes),
            operands.uses_arena.eq(uses_arena),
            operands.clips.eq(state == _State.CLIP),
            operands.is_clipped.eq(is_clipped),
            operands.is_range.eq(is_range),
            operands.is_second.eq(is_second),
            checker.ring.eq(self.place.ring),
            checker.descriptor.eq(self.descriptor),
            checker.host.eq(operands.host),
            checker.limit.eq(operands.limit),
        ]
        wiring.connect(m, operands.checked, checker.window)
        return operands

    def _fence(self, m, state):
        m.submodules.fence = fence = Fence()
        m.d.comb += [
            fence.ring.eq(self.place.ring),
            fence.meets.eq((state == _State.CHECK) & self.descriptor.fence),
            # A FENCE that is open is known when the check ends: with both rings behind a FENCE, a
            # ring that offers its job a cycle later would leave for the other one each time.
            fence.is_near.eq(
                (state == _State.LOOK) | (state == _State.CHECK) | (state == _State.ISSUE)
            ),
            fence.starts.eq(self.starts),
            fence.run.eq(self.run),
            fence.completes.eq(self.completes),
        ]
        for number in range(RINGS):
            m.d.comb += [
                fence.started[number].eq(self.started[number]),
                fence.head[number].eq(self.head[number]),
            ]
        return fence
