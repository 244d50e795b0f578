"""The states of a ring, and what may change them."""

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.engine_codes import State
from cdma.hdl.engine.front.ring.state import RingState
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import Proof, faults

ADDRESS_BITS, LINK_BYTES = 12, 32


class MovesByRules(Elaboratable):
    """The states of a ring, and what may change them.

    An abort ends only when nothing is outstanding; from ERROR only an abort leads away; a ring
    starts to run only when it is drained, and only with both of its rings in the window.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        free = ("start", "stop", "abort", "halt", "fail", "is_drained")
        for name in free:
            m.d.comb += getattr(dut, name).eq(anything(m, 1, name))
        stable = ("submission_base", "submission_log2", "completion_base", "completion_log2")
        stable += ("host_base", "host_end")
        kept, was_active = {}, Signal(init=1)
        for name in stable:
            port = getattr(dut, name)
            kept[name] = Signal(len(port), name=f"{name}_kept")
            m.d.comb += port.eq(Mux(was_active, kept[name], anything(m, len(port), name)))
            m.d.sync += kept[name].eq(port)
            if name.endswith("log2"):
                m.d.comb += Assume(port < 5)  # the sums of wider addresses do not overflow
        # Software writes registers before it writes RUN.
        m.d.sync += was_active.eq(dut.is_active | dut.start)
        self._windows(m, kept, was_active)
        state, was, has_run = Value.cast(dut.state), Signal(3), Signal()
        drained, inputs = Signal(), {name: Signal(name=f"was_{name}") for name in free}
        m.d.sync += [was.eq(state), has_run.eq(1), drained.eq(dut.is_drained)]
        m.d.sync += [inputs[name].eq(getattr(dut, name)) for name in free]
        runs, aborts = State.RUNNING, State.ABORTING
        with m.If(has_run):
            m.d.comb += [
                Assert(~inputs["abort"] | (state == aborts)),
                Assert(~((was == aborts) & (state != aborts)) | drained | inputs["abort"]),
                Assert(~((was == aborts) & (state != aborts)) | (state == State.STOPPED)),
                Assert(~((was != aborts) & (state == aborts)) | inputs["abort"]),
                Assert(~((was == State.ERROR) & (state != State.ERROR)) | inputs["abort"]),
                Assert(~((was != runs) & (state == runs)) | drained),
                Assert(
                    ~inputs["fail"] | (state == State.ERROR) | (state == aborts) | (was == aborts)
                ),
                Assert(dut.aborts == (state == aborts)),
                Assert(dut.run == (state == runs)),
            ]
        with m.If((was != runs) & (state == runs)):
            for name, size in (("submission", 64), ("completion", 32)):
                base, log2 = getattr(dut, f"{name}_base"), getattr(dut, f"{name}_log2")
                end = base + (size << log2)
                m.d.comb += [
                    Assert(base >= dut.host_base),
                    Assert(end <= dut.host_end),
                    Assert(end <= 1 << dut.address_bits),
                ]
        m.d.comb += [
            Assert(~dut.run | dut.is_active),
            Assert(dut.is_drained | dut.is_active),
            Cover((was == aborts) & (state == State.STOPPED)),
            Cover((state == runs) & (dut.host_base != 0)),
            Cover(state == State.HALTED),
        ]
        return m

    def _windows(self, m, kept, was_active):
        """Invariants: sums and comparisons are those of the registers when the ring starts."""
        bits = self.dut.address_bits
        waits = probe(m, "dut.waits", 2)
        with m.If(waits != 0):
            m.d.comb += Assert(was_active)
        for name, size in (("submission", 64), ("completion", 32)):
            base, end = kept[f"{name}_base"], Signal(bits + 1, name=f"{name}_end")
            m.d.comb += end.eq(base + (size << kept[f"{name}_log2"]))
            is_inside = (base >= kept["host_base"]) & (end <= kept["host_end"])
            is_inside &= end <= 1 << bits
            with m.If((waits == 1) | (waits == 2)):
                half = (bits + 1) // 2
                low = probe(m, f"dut.{name}_last_low", half)
                high = probe(m, f"dut.{name}_last_high", bits + 1 - half)
                carry = probe(m, f"dut.{name}_last_carry", 1)
                m.d.comb += Assert((((high + carry) << half) | low) == end)
            with m.If(waits == 1):
                m.d.comb += Assert(probe(m, f"dut.{name}_is_inside", 1) == is_inside)


PROOFS = (
    Proof(
        name="ring_state",
        promise="An abort ends only when nothing is outstanding; only an abort ends an error",
        components=(RingState,),
        design=lambda bits: MovesByRules(RingState(bits)),
        sizes={"12 bits of address, rings of up to 16": 12},
        broken=faults(
            12,
            10,
            stuck_at(1, "dut.starts"),
            stuck_at(1, "dut.submission_is_inside"),
            late("dut.run"),
        ),
    ),
)
