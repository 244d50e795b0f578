"""What the rings started is completed once, in the order of each ring."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.engine_codes import LINK, Status
from cdma.engine_config import COMPLETION_BYTES
from cdma.hdl.engine.front.ring.fetch import COUNT_BITS, RINGS
from cdma.hdl.engine.front.ring.finish import Finisher
from cdma.hdl.engine.job import Done
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.stream_rules import anything, take
from cdma.verify.proofs.proof import BOUNDED, PDR, Proof, faults

ADDRESS_BITS = 12
#: Above the bits that an entry's number reaches there are some more.
WIDE_BITS = 33


class CompletesInOrder(Elaboratable):
    """Each descriptor that was started has one completion, in the order of its ring, with its own
    cookie.

    Descriptors of both rings are started at any time where there is room. One of them, picked at
    any time, is followed. Jobs of the data path have one answer each, which their completion has.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        depth = dut.depth
        ring, record = anything(m, 1, "ring"), dut.record
        starts = anything(m, 1, "starts") & Mux(ring, dut.has_room[1], dut.has_room[0])
        m.d.comb += [
            # What is written and not started does not count.
            dut.may_start.eq(starts | anything(m, 1, "may_start")),
            dut.ring.eq(ring),
            Value.cast(record).eq(anything(m, len(Value.cast(record)), "record")),
        ]
        # What has left in the cycle before: its end counts in this cycle.
        left = Signal(dut.o.payload.shape(), name="left")
        leaves = Signal()
        m.d.sync += [leaves.eq(take(m, dut.o, "o")), left.eq(dut.o.payload)]
        levels, answers = [], []
        for number in range(2):
            is_here, was_ours = starts & (ring == number), leaves & (left.ring == number)
            level = Signal(range(depth + 2), name=f"level{number}")
            count = Signal(16, name=f"count{number}")
            m.d.sync += [level.eq(level + is_here - was_ours), count.eq(count + is_here)]
            m.d.comb += [
                dut.started[number].eq(count),
                Assert(level <= depth),
                Assert(dut.has_room[number] == (level != depth)),
            ]
            levels.append(level)
            # The data path answers each job that was started, in order.
            done, jobs = dut.done[number], Signal(range(depth + 2), name=f"jobs{number}")
            is_answered = Signal(name=f"is_answered{number}")
            answered = done.valid & done.ready
            bits, kept = Signal(3, name=f"bits{number}"), Signal(3, name=f"kept{number}")
            stays = Signal(name=f"stays{number}")
            m.d.sync += [stays.eq(done.valid & ~done.ready), kept.eq(bits)]
            m.d.comb += [
                done.valid.eq(is_answered & (jobs != 0)),
                # Three bits of an answer are free: that of its status, and those of all others in
                # turn.
                done.payload.as_value().eq(
                    bits[:2].replicate(len(done.payload.as_value()) // 2 + 1)
                ),
                done.payload.status.eq(bits[2].replicate(8)),
                bits.eq(Mux(stays, kept, anything(m, 3, f"answer{number}"))),
                Assert(jobs <= level),
            ]
            m.d.sync += [
                jobs.eq(jobs + (is_here & ~record.is_local) - answered),
                is_answered.eq(
                    (is_answered & (jobs != 0) & ~answered) | anything(m, 1, f"answers{number}")
                ),
            ]
            answers.append(answered)
        # What the arena advances by is the size of the answer that is taken then.
        adds = dut.ends_append & dut.advances & answers[0]
        bytes_now = dut.done[0].payload.stream_bytes
        m.d.comb += [
            Assert(~adds | (dut.size == bytes_now[: len(dut.size)])),
            Cover(adds & (bytes_now[:4] == 0b1010)),
        ]
        self._answer(m, leaves, left, answers)
        self._follow(m, starts & anything(m, 1, "picks"), leaves, left, levels, answers)
        return m

    def _answer(self, m, leaves, left, answers):
        """A completion has the answer to its job, or none."""
        completion, answer = left.completion, Signal(Done(), name="answer")
        m.d.comb += Value.cast(answer).eq(
            Mux(left.ring, *(Value.cast(self.dut.done[ring].payload) for ring in (1, 0)))
        )
        with m.If(leaves & Mux(left.ring, answers[1], answers[0])):
            m.d.comb += [
                Assert(completion[name] == answer[name])
                for name in ("status", "stream_bytes", "stripe", "channel")
            ]
            m.d.comb += Assert((answer.status == Status.OK) | (completion.where == answer.where))
            m.d.comb += Cover(left.ring & (completion.stream_bytes[:4] == 0b1010))
        with m.Elif(leaves):
            m.d.comb += [
                Assert((completion.stream_bytes == 0) & (completion.stripe == 0)),
                Assert(completion.channel == LINK),
            ]

    def _follow(self, m, picks, leaves, left, levels, answers):
        dut, record = self.dut, self.dut.record
        is_inside, ring, ahead = Signal(), Signal(), Signal(range(dut.depth + 1))
        own = Signal(record.shape(), name="own")
        level = Mux(dut.ring, levels[1], levels[0])
        with m.If(picks & ~is_inside):
            m.d.sync += [
                is_inside.eq(1),
                ring.eq(dut.ring),
                ahead.eq(level - (leaves & (left.ring == dut.ring))),
                own.eq(record),
            ]
        with m.If(is_inside & leaves & (left.ring == ring)):
            m.d.sync += [ahead.eq(Mux(ahead == 0, 0, ahead - 1)), is_inside.eq(ahead != 0)]
            with m.If(ahead == 0):
                m.d.comb += Assert(Mux(ring, answers[1], answers[0]) == ~own.is_local)
                self._own(m, own, left)
        m.d.comb += [
            Assert(~is_inside | (ahead < Mux(ring, levels[1], levels[0]))),
            Assert(~dut.o.valid | (Mux(dut.o.payload.ring, levels[1], levels[0]) != 0)),
            Cover((levels[0] == dut.depth) & (levels[1] == dut.depth)),
        ]

    def _own(self, m, own, left):
        """The completion of the picked descriptor."""
        cookie = Mux(own.is_untrusted, 0, own.cookie[:4])
        m.d.comb += [
            Assert(left.completion.cookie[:4] == cookie),
            Cover(own.is_local & (cookie == 5) & left.ring),
        ]


class CompletesWhole(CompletesInOrder):
    """A completion has all fields of its descriptor, of the answer to its job, and of its place in
    the completion ring. That with APPEND has the pointer of the arena, which moves after it.
    """

    def _follow(self, m, picks, leaves, left, *others):
        dut, completion = self.dut, left.completion
        self._pointer = pointer = Signal.like(dut.arena_pointer, name="pointer")
        with m.If(dut.ends_append):
            m.d.sync += pointer.eq(anything(m, len(pointer), "next_pointer"))
        m.d.comb += [dut.arena_pointer.eq(pointer), Assert(~dut.ends_append | leaves)]
        super()._follow(m, picks, leaves, left, *others)
        # Its entry. The registers of a ring stay while the ring is active.
        for ring in range(RINGS):
            for port in (dut.base, dut.log2, dut.attr):
                value = Value.cast(port[ring])
                m.d.comb += value.eq(AnyConst(len(value)))
            count = Signal(COUNT_BITS, name=f"completed{ring}")
            base, log2 = dut.base[ring], dut.log2[ring]
            place = (count & ((1 << log2) - 1)) * COMPLETION_BYTES
            m.d.comb += Assume(base % COMPLETION_BYTES == 0)
            with m.If(leaves & (left.ring == ring)):
                m.d.sync += count.eq(count + 1)
                m.d.comb += [
                    Assert(completion.head == (count + 1)[:COUNT_BITS]),
                    Assert(completion.phase == ~count.bit_select(log2, 1)),
                    Assert(left.address == (base + place)[: len(base)]),
                    Assert(left.attr == dut.attr[ring]),
                    Cover(count == 2),
                ]

    def _answer(self, m, leaves, left, answers):
        super()._answer(m, leaves, left, answers)
        dut, where = self.dut, left.completion.where
        answer = Signal(Done(), name="whole_answer")
        m.d.comb += Value.cast(answer).eq(
            Mux(left.ring, *(Value.cast(dut.done[ring].payload) for ring in (1, 0)))
        )
        is_ok = leaves & Mux(left.ring, answers[1], answers[0]) & (answer.status == Status.OK)
        with m.If(is_ok & ~dut.ends_append):
            m.d.comb += Assert(where == Cat(answer.raw_stripes, answer.cycles))

    def _own(self, m, own, left):
        dut, completion = self.dut, left.completion
        is_ok = completion.status == Status.OK
        m.d.comb += [
            Assert(completion.cookie == Mux(own.is_untrusted, 0, own.cookie)),
            Assert(left.interrupt == own.interrupt),
            Assert(dut.ends_append == own.append),
            Assert(~(own.append & is_ok) | (completion.where == self._pointer)),
            Cover(own.append & is_ok & ~own.is_local),
        ]
        with m.If(own.is_local):
            m.d.comb += [
                Assert(completion.status == own.status),
                Assert(is_ok | (completion.where == own.address)),
                Assert(~is_ok | own.append | (completion.where == 0)),
            ]


PROOFS = (
    Proof(
        name="finisher",
        promise="Each started descriptor has one completion, in its ring's order, with its cookie",
        components=(Finisher,),
        design=lambda depth: CompletesInOrder(Finisher(ADDRESS_BITS, depth)),
        sizes={"2 in flight": 2},
        slow=("2 in flight",),
        mode=PDR,
        depth=5,
        broken=faults(
            2,
            12,
            late("dut.next_ring"),
            late("dut.next_slot"),
            late("dut.ended0"),
            stuck_at(0, "dut.size", 1),
        ),
    ),
    Proof(
        name="finisher_fields",
        promise="A completion has all fields of its descriptor, of its answer and of its entry",
        components=(Finisher,),
        design=lambda depth: CompletesWhole(Finisher(WIDE_BITS, depth)),
        sizes={"2 in flight": 2},
        slow=("2 in flight",),
        mode=BOUNDED,
        depth=14,
        broken=faults(
            2,
            14,
            stuck_at(0, "dut.o__payload.completion.where", 31),
            stuck_at(1, "dut.o__payload.completion.where", 32),
            stuck_at(0, "dut.o__payload.interrupt"),
            stuck_at(0, "dut.o__payload.attr", 3),
            stuck_at(0, "dut.o__payload.completion.head", 1),
            stuck_at(0, "dut.o__payload.address", WIDE_BITS - 1),
            stuck_at(1, "dut.entry_low", 2),
            stuck_at(0, "dut.ends_append"),
        ),
    ),
)
