"""Both rings: completions go to their entries in order, and a ring ends only when it is drained."""

from contextlib import ExitStack
from dataclasses import replace
from unittest import mock

from amaranth.asserts import AnyConst
from amaranth.hdl import (
    Array,
    Assert,
    Assume,
    Cat,
    Cover,
    Elaboratable,
    Module,
    Mux,
    Signal,
    Value,
)
from amaranth.lib import data
from amaranth.lib.wiring import Out

from cdma.engine_codes import State
from cdma.engine_config import COMPLETION_BYTES
from cdma.hdl.engine.front.ring import counts, fence, fetch, finish, rings, start
from cdma.hdl.engine.front.ring.fetch import RINGS
from cdma.hdl.engine.front.ring.finish import Finisher
from cdma.hdl.engine.front.ring.records import Started
from cdma.hdl.engine.front.ring.rings import Rings
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.names import all_named
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.engine.front.ring.rings_parts import (
    COUNT_BITS,
    FETCHED,
    SLOTS,
    STARTED,
    AnyArena,
    AnyCompletions,
    AnyFetcher,
)
from cdma.verify.proofs.engine.front.ring.start import AnyChecker, AnyOperands
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.proof import Proof, faults

#: Bits that tell the descriptors in flight apart.
_FLIGHT_BITS = 3
_MOST = STARTED + SLOTS  # descriptors in flight
#: States of the starter and of the finisher.
_CHECK, _ISSUE = start._State.CHECK.value, start._State.ISSUE.value
_COMPARED = (start._State.RANGE, start._State.WEIGH, start._State.JUDGE)
_LOOK, _PLACE, _OFFER, _NEXT = range(4)


class KeepsRings(Elaboratable):
    """Software writes what it may, descriptors come, jobs are taken and answered at any time.

    Counts, states, starter and finisher are those of the engine. Fetcher and writer of completions,
    checker and operands are any that do what their proofs say, and so is the data path. What each
    of them needs is asserted.

    A completion has the entry, the phase and the head of its number, and software has read that
    entry. A ring leaves an abort, and begins to run, when none of its descriptors is started or on
    its way, and no job of it is in the data path. So it is when both rings have stopped, too, and
    when software may write the bases, sizes and windows of a ring.
    """

    def __init__(self, config):
        self.config = config

    def elaborate(self, platform):
        m = Module()
        with ExitStack() as stack:
            for module in (fetch, start, finish, counts, fence):
                stack.enter_context(mock.patch.object(module, "COUNT_BITS", COUNT_BITS))
            for module in (rings, fence):
                stack.enter_context(mock.patch.object(module, "FLIGHT_BITS", _FLIGHT_BITS))
            stack.enter_context(mock.patch.object(fetch, "FETCHED", FETCHED))
            stack.enter_context(
                mock.patch.multiple(
                    start, Checker=self._made("checker", AnyChecker), Operands=AnyOperands
                )
            )
            parts = {
                "Fetcher": self._made("fetcher", AnyFetcher),
                "Finisher": self._made("finisher", lambda bits: Finisher(bits, STARTED)),
                "CompletionWriter": self._made("writer", AnyCompletions),
                "Counts": self._made("counts", counts.Counts),
                "Starter": self._made("starter", start.Starter),
                "RingState": self._made("states", rings.RingState, several=True),
                "Arena": self._made("arena", AnyArena),
            }
            stack.enter_context(mock.patch.multiple(rings, **parts))
            self.states, self.flight = [], []
            self.dut = dut = Rings(self.config)
            m.submodules.dut = all_named(dut, platform)
        self._software(m)
        self._data_path(m)
        self._start(m)
        self._finish(m)
        for ring in range(RINGS):
            self._ring(m, ring)
        self._stop(m)
        return m

    def _made(self, name, make, several=False):
        """Keep what is made."""

        def made(*args):
            part = make(*args)
            if several:
                getattr(self, name).append(part)
            else:
                setattr(self, name, part)
            return part

        return made

    def _software(self, m):
        """Registers. Rings and their sizes are constant here."""
        dut, block = self.dut, self.dut.registers0.signature.block
        checks, follows, pulses = Signal(), Signal(), []
        for ring in range(RINGS):
            regs = getattr(dut, f"registers{ring}")
            for (name,), member, port in regs.signature.flatten(regs):
                if member.flow == Out:
                    continue
                value = anything(m, len(port), f"any_{name}{ring}")
                if name in ("sq_size_log2", "cq_size_log2", "cq_base_lo_low"):
                    value = Signal(len(port), name=f"{name}{ring}")
                    m.d.comb += value.eq(AnyConst(len(port)))
                m.d.comb += port.eq(value)
            m.d.comb += Assume((regs.sq_size_log2 < COUNT_BITS) & (regs.cq_size_log2 < COUNT_BITS))
            for name in ("SQ_TAIL", "CQ_HEAD"):
                pulse = getattr(regs, f"{name.lower()}_write")
                pulses.append(pulse)
                m.d.comb += Assume(~pulse | (dut.write_address == block.address(name, ring)))
        writes = Cat(pulses).any()
        m.d.sync += [checks.eq(writes), follows.eq(checks)]
        m.d.comb += [Assume(~writes | ~(checks | follows)), Assume(sum(pulses) <= 1)]
        # The data stays for as long as a count is checked.
        kept = Signal.like(dut.write_data, name="kept_data")
        any_data = anything(m, len(kept), "any_data")
        m.d.comb += [
            dut.write_data.eq(Mux(checks | follows, kept, any_data)),
            dut.write_address.eq(anything(m, len(dut.write_address), "any_address")),
        ]
        m.d.sync += kept.eq(dut.write_data)
        # The front end clears all after an abort of both rings.
        begins, resets, clears = (Signal(name=name) for name in ("begins", "resets", "clears"))
        stops = dut.is_stopped & ~begins
        m.d.sync += [
            begins.eq(dut.reset),
            clears.eq(resets & stops),
            resets.eq(dut.reset | (resets & ~stops)),
        ]
        m.d.comb += [
            dut.reset.eq(anything(m, 1, "reset")),
            dut.fatal.eq(anything(m, 1, "fatal")),
            dut.clear.eq(clears),
            dut.resets.eq(resets | clears),
            dut.reads.ar.ready.eq(anything(m, 1, "ar_ready")),
        ]
        self.resets, self.begins = resets, begins

    def _data_path(self, m):
        """Jobs are taken, but not during an abort, and answered in order, at any time."""
        self.jobs, self.taken = [], []
        for ring in range(RINGS):
            port, stays = getattr(self.dut, f"port{ring}"), Signal(name=f"stays_busy{ring}")
            jobs, given = Signal(range(_MOST + 2), name=f"jobs{ring}"), Signal(name=f"given{ring}")
            done, size = port.done, len(Value.cast(port.done.payload))
            kept, taken = Signal(size, name=f"kept_done{ring}"), Signal(name=f"taken{ring}")
            answer = anything(m, size, f"any_done{ring}")
            m.d.comb += [
                port.job.ready.eq(anything(m, 1, f"job_ready{ring}") & ~port.abort),
                taken.eq(port.job.valid & port.job.ready),
                done.valid.eq((jobs != 0) & (given | anything(m, 1, f"answers{ring}"))),
                Value.cast(done.payload).eq(Mux(given, kept, answer)),
                port.busy.eq((jobs != 0) | stays),
                port.failing.eq(anything(m, 1, f"failing{ring}")),
                # What is taken was answered: a record of a job has one answer.
                Assert(~done.ready | done.valid),
                Assert(~given | (jobs != 0)),
            ]
            m.d.sync += [
                stays.eq(port.busy & anything(m, 1, f"stays{ring}")),
                jobs.eq(jobs + taken - (done.valid & done.ready)),
                given.eq(done.valid & ~done.ready),
                kept.eq(Value.cast(done.payload)),
            ]
            self.jobs.append(jobs)
            self.taken.append(taken)

    def _start(self, m):
        """Invariants of the starter."""
        starter, each = self.starter, self.fetcher
        ring = starter.place.ring
        # Named after the last variable of its assignment.
        state = probe(m, "dut.starter.ring", 3)
        self.was_taken = was_taken = probe(m, "dut.starter.was_taken", 1)
        self.holds_job = holds_job = probe(m, "dut.starter.holds_job", 1)
        is_near = (state == _CHECK) | (state == _ISSUE)
        started, read, log2 = (
            Array(values)[ring]
            for values in (starter.started, self.counts.completion_head, self.finisher.log2)
        )
        following = probe(m, "dut.starter.following", COUNT_BITS)
        m.d.comb += [
            Assert(~is_near | (following == (started + 1)[:COUNT_BITS])),
            Assert(starter.place.slot == started[: len(starter.place.slot)]),
            # The checker refuses APPEND in ring 1.
            Assume(~(starter.appends & ring)),
            Assert(~(holds_job | was_taken) | (state == _ISSUE)),
            Assert(~holds_job | ~was_taken | ~Cat(self.taken).any()),
            Assert(~was_taken | ~starter.record.is_local),
            Assert(~is_near | each.stays),
            # The completion ring has an entry for what is looked at.
            Assert(~is_near | ((started - read)[:COUNT_BITS] < (1 << log2))),
            Assert((state == _CHECK) == self.checker.busy),
            Assert(~starter.starts | (Cat(self.finisher.has_room) >> ring)[0]),
            # A ring is compared with its window only while it rests.
            *(
                Assert((state != each.value) | (Array(self.fetcher.rested)[ring] >= least))
                for least, each in enumerate(_COMPARED, 1)
            ),
            Cover(starter.starts & ring & (started == 2)),
        ]

    def _finish(self, m):
        """A completion goes to the entry of its number, which software has read."""
        finisher, counts_ = self.finisher, self.counts
        state, ring = probe(m, "dut.finisher.state", 2), finisher.o.payload.ring
        slot = probe(m, "dut.finisher.slot", (STARTED - 1).bit_length())
        self.ended = ended = [probe(m, f"dut.finisher.ended{k}", COUNT_BITS) for k in range(RINGS)]
        count = Signal(COUNT_BITS, name="count")
        base, log2, read, started, jobs = (
            Array(each)[ring]
            for each in (
                finisher.base,
                finisher.log2,
                counts_.completion_head,
                self.starter.started,
                [self.dut.port0.done.valid, self.dut.port1.done.valid],
            )
        )
        size = len(base)
        record = [
            [probe(m, f"dut.finisher.records[{2 * k + r}]", self._record_bits) for k in range(2)]
            for r in range(RINGS)
        ]
        is_local = [Cat(each[0] for each in rows) for rows in record]
        self.appends = [
            [data.View(Started(self.config.address_bits), each).append for each in rows]
            for rows in record
        ]
        is_job = ~(Array(is_local)[ring] >> slot)[0]
        o = self.writer.i
        entry, unread = Signal(size, name="entry"), Signal(COUNT_BITS, name="unread")
        m.d.comb += [
            count.eq(Array(ended)[ring]),
            entry.eq((count & ((1 << log2) - 1))[:COUNT_BITS]),
            unread.eq(count - read),
            Assert(o.valid == (state == _OFFER)),
            Assert(slot == count[: len(slot)]),
            Assert((state == _LOOK) | (started != count)),
            Assert((state == _LOOK) | ~is_job | jobs),
            Cover(o.valid & ring & (count == 1)),
        ]
        with m.If(o.valid):
            found = o.payload
            m.d.comb += [
                Assert(found.ring == ring),
                Assert(found.address == (base + entry * COMPLETION_BYTES)[:size]),
                Assert(found.completion.head == (count + 1)[:COUNT_BITS]),
                Assert(found.completion.phase == ~(count >> log2)[0]),
                Assert(unread < (1 << log2)),
            ]
        self.is_next = [(state == _NEXT) & (ring == k) for k in range(RINGS)]
        self.is_local = is_local
        for k in range(RINGS):
            done = getattr(self.dut, f"port{k}").done
            m.d.comb += Assert(done.ready == (self.is_next[k] & is_job))

    @property
    def _record_bits(self):
        return len(Value.cast(self.finisher.record))

    def _ring(self, m, ring):
        """Each descriptor that is started is completed once, in order."""
        started, ended = self.starter.started[ring], self.ended[ring]
        head, read = self.counts.head[ring], self.counts.completion_head[ring]
        fetcher, on_way = self.fetcher, self.writer.on_way(ring)
        open_, flight, ahead = (
            Signal(COUNT_BITS, name=f"{name}{ring}") for name in ("open", "flight", "ahead")
        )
        was_taken = self.was_taken & (self.starter.place.ring == ring)
        slots = [(open_ == STARTED) | ((open_ == 1) & (ended[0] == k)) for k in range(STARTED)]
        jobs = sum(slots[k] & ~self.is_local[ring][k] for k in range(STARTED))
        regs = getattr(self.dut, f"registers{ring}")
        most = 1 << regs.cq_size_log2

        def behind(count):
            return (count - read)[:COUNT_BITS]

        m.d.comb += [
            open_.eq(started - ended),
            flight.eq(started - head),
            ahead.eq(fetcher.following[ring] - started),
            Assert(open_ <= STARTED),
            Assert((ended - head + self.is_next[ring])[:COUNT_BITS] == on_way),
            Assert(flight <= _MOST),
            *(Assert(~(slots[k] & self.appends[ring][k] & ring)) for k in range(STARTED)),
            Assert(self.jobs[ring] == jobs + was_taken),
            # SQ HEAD is the number of completions that have arrived.
            Assert(regs.sq_head_count == head),
            # Completions that are unread, in flight, and to come have each an entry.
            Assert((behind(head) <= behind(started)) & (behind(started) <= most)),
            Assert(behind(head) + flight == behind(started)),
        ]
        is_asleep = ~fetcher.run[ring] & fetcher.idle[ring]
        with m.If(~is_asleep):
            m.d.comb += [
                Assert(ahead <= FETCHED),
                Assert((fetcher.arrived[ring] - started)[:COUNT_BITS] <= ahead),
                Assert(behind(started) + ahead <= most),
            ]
        self.flight.append(flight)

    def _stop(self, m):
        """A ring leaves an abort, and starts to run, only when nothing of it is on its way."""
        quiet = []
        for ring in range(RINGS):
            state, port = self.states[ring], getattr(self.dut, f"port{ring}")
            fetcher, was = self.fetcher, Signal(State, name=f"was{ring}")
            is_none = Signal(name=f"is_none{ring}")
            may_be_active = Signal(name=f"may_be_active{ring}", init=1)
            is_here = self.starter.place.ring == ring
            has_begun = self.was_taken & is_here
            starts = probe(m, f"dut.state{ring}.starts", 1)
            was_halted, was_wanted, was_reset = (
                Signal(name=f"{name}{ring}") for name in ("was_halted", "was_wanted", "was_reset")
            )
            is_written = getattr(self.dut, f"registers{ring}").ctrl_write
            m.d.comb += is_none.eq(
                (self.flight[ring] == 0)
                & (self.jobs[ring] == 0)
                & (fetcher.following[ring] == fetcher.arrived[ring])
                & ~has_begun
            )
            leaves = (was == State.ABORTING) & (state.state == State.STOPPED)
            runs = (was != State.RUNNING) & (state.state == State.RUNNING)
            m.d.sync += [
                was.eq(state.state),
                may_be_active.eq(state.is_active | (is_written & ~self.dut.resets)),
                was_halted.eq(self.starter.is_halted[ring]),
                was_wanted.eq(state.is_wanted),
                was_reset.eq(self.dut.resets),
            ]
            m.d.comb += [
                Assert(~leaves | (is_none & ~fetcher.asks[ring])),
                Assert(~runs | is_none),
                Assert(~(port.abort & self.taken[ring])),
                # Software may write what a job was checked with, and where its completion goes.
                Assert(state.is_active | (is_none & ~self.taken[ring])),
                # A descriptor that cannot be trusted halts its ring, also when that was stopped and
                # is to run again.
                Assert(~was_halted | self.starter.is_halted[ring] | ~was_wanted | ~state.is_wanted),
                # A reset waits until both rings have stopped.
                Assert(
                    ~(was_reset & (was == State.STOPPED))
                    | (state.state == State.STOPPED)
                    | (state.state == State.ABORTING)
                ),
                Assert(~state.is_active | may_be_active),
                # Invariants.
                Assert(~state.is_drained | is_none),
                Assert(~starts | (~self.resets & ~self.dut.clear)),
                Assert(~self.dut.clear | ~state.run),
                Assert(state.run == (state.state == State.RUNNING)),
                Assert(state.aborts == (state.state == State.ABORTING)),
                Assert(~state.asks | fetcher.idle[ring]),
                Cover(leaves & (fetcher.following[ring] == 2)),
            ]
            quiet.append(is_none & ~fetcher.asks[ring] & ~self.taken[ring])
            # Invariant: a reset aborts.
            m.d.comb += Assert(
                ~self.resets
                | self.begins
                | (state.state == State.ABORTING)
                | ((state.state != State.RUNNING) & ~(self.holds_job & is_here))
            )
        m.d.comb += [
            # Software may write the pointer of the arena.
            Assert(~self.arena.adds | ~self.states[0].is_drained),
            Assert(~self.dut.is_stopped | (quiet[0] & quiet[1])),
            Assert(~self.dut.clear | (quiet[0] & quiet[1] & ~self.holds_job)),
        ]


RINGS_CONFIG = replace(small(), address_bits=32, link_bytes=32)
_SIZE = "2 started, 2 on their way"
PROOFS = (
    Proof(
        name="rings",
        promise="Each started descriptor has one completion, in order, in its own free entry; an "
        "abort ends when nothing of the ring is on its way",
        components=(Rings,),
        design=KeepsRings,
        sizes={_SIZE: RINGS_CONFIG},
        depth=3,
        broken=faults(
            RINGS_CONFIG,
            22,
            stuck_at(1, "dut.is_drained0"),
            late("dut.completes"),
            late("dut.finisher.ended1"),
            late("dut.state0.run"),
            stuck_at(0, "dut.starter.was_taken"),
            stuck_at(0, "dut.finisher.entry_low", 0),
        ),
    ),
)
