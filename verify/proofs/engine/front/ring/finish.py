"""What the rings started is completed once, in the order of each ring."""

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.engine_codes import LINK, Status
from cdma.hdl.engine.front.ring.finish import Finisher
from cdma.hdl.engine.job import Done
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.stream_rules import anything, take
from cdma.verify.proofs.proof import PDR, Proof, faults

ADDRESS_BITS = 12


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
        cookie, is_local = Signal(4), Signal()
        level = Mux(dut.ring, levels[1], levels[0])
        with m.If(picks & ~is_inside):
            m.d.sync += [
                is_inside.eq(1),
                ring.eq(dut.ring),
                ahead.eq(level - (leaves & (left.ring == dut.ring))),
                cookie.eq(Mux(record.is_untrusted, 0, record.cookie[:4])),
                is_local.eq(record.is_local),
            ]
        with m.If(is_inside & leaves & (left.ring == ring)):
            m.d.sync += [ahead.eq(Mux(ahead == 0, 0, ahead - 1)), is_inside.eq(ahead != 0)]
            with m.If(ahead == 0):
                m.d.comb += [
                    Assert(left.completion.cookie[:4] == cookie),
                    Assert(Mux(ring, answers[1], answers[0]) == ~is_local),
                    Cover(is_local & (cookie == 5) & ring),
                ]
        m.d.comb += [
            Assert(~is_inside | (ahead < Mux(ring, levels[1], levels[0]))),
            Assert(~dut.o.valid | (Mux(dut.o.payload.ring, levels[1], levels[0]) != 0)),
            Cover((levels[0] == dut.depth) & (levels[1] == dut.depth)),
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
)
