"""The states of a ring, and what may change them."""

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Signal, Value

from cdma.engine_codes import State
from cdma.hdl.engine.front.ring.state import RingState
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import Proof, faults, swapped

ADDRESS_BITS = 12


class MovesByRules(Elaboratable):
    """The states of a ring, and what may change them.

    An abort ends only when the ring is drained, as ``is_drained`` says: nothing is started,
    outstanding or on its way, but what a channel in quarantine still owes. From ERROR only an abort
    leads away. A ring starts to run only when it is drained, and when both of its rings were found
    in the window, and never after a stop or an abort, until software asks for it again. It does not
    run while it is compared with the window. Its registers cannot be written from when that is
    asked for. Of an error, status and address stay until the ring leaves ERROR. A ring that runs,
    or will as soon as it is drained, halts when that is asked for: it does not run on.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        free = ("start", "stop", "abort", "halt", "fail", "clear", "is_drained", "is_inside")
        for name in (*free, "address", "halt_status", "fail_status"):
            port = getattr(dut, name)
            m.d.comb += port.eq(anything(m, len(port), name))
        m.d.comb += dut.answered.eq(anything(m, 1, "answered") & dut.asks)
        state, was, has_run = Value.cast(dut.state), Signal(3), Signal()
        inputs = {name: Signal(name=f"was_{name}") for name in (*free, "answered", "asks")}
        address, error_address = Signal(ADDRESS_BITS), Signal(ADDRESS_BITS)
        status, wanted = Signal(8), Signal()
        starts = probe(m, "dut.starts", 1)
        will_run = starts & ((state == State.STOPPED) | (state == State.HALTED))
        m.d.sync += [status.eq(dut.status), wanted.eq(dut.is_wanted)]
        m.d.sync += [was.eq(state), has_run.eq(1), address.eq(dut.address)]
        m.d.sync += error_address.eq(dut.error_address)
        m.d.sync += [signal.eq(getattr(dut, name)) for name, signal in inputs.items()]
        runs, aborts = State.RUNNING, State.ABORTING
        errs = (was != State.ERROR) & (state == State.ERROR)
        # A halt is not lost, whether the ring ran or was to run.
        halts = inputs["halt"] & wanted & ~inputs["abort"] & ~inputs["fail"]
        halt_status = Signal(8)
        m.d.sync += halt_status.eq(dut.halt_status)
        with m.If(has_run):
            m.d.comb += [
                Assert(~inputs["abort"] | (state == aborts)),
                Assert(
                    ~((was == aborts) & (state != aborts)) | inputs["is_drained"] | inputs["abort"]
                ),
                Assert(~((was == aborts) & (state != aborts)) | (state == State.STOPPED)),
                Assert(~((was != aborts) & (state == aborts)) | inputs["abort"]),
                Assert(~inputs["stop"] | (state != runs)),
                # What was asked for before is forgotten.
                Assert(~(inputs["stop"] | inputs["abort"]) | ~dut.asks),
                Assert(~((was == State.ERROR) & (state != State.ERROR)) | inputs["abort"]),
                Assert(
                    ~((was != runs) & (state == runs))
                    | (inputs["is_drained"] & inputs["answered"] & inputs["is_inside"])
                ),
                Assert(
                    ~inputs["fail"] | (state == State.ERROR) | (state == aborts) | (was == aborts)
                ),
                Assert(~errs | inputs["fail"] | (inputs["answered"] & ~inputs["is_inside"])),
                Assert(~errs | inputs["clear"] | (dut.error_address == address)),
                Assert(errs | inputs["clear"] | (dut.error_address == error_address)),
                Assert(~inputs["clear"] | (dut.error_address == 0)),
                Assert((was != State.ERROR) | (state != State.ERROR) | (dut.status == status)),
                Assert(
                    ~halts
                    | ((state == State.HALTED) & ~dut.is_wanted & (dut.status == halt_status))
                ),
                # What was asked for is asked for until the answer, an event, or software.
                Assert(
                    ~inputs["asks"]
                    | dut.asks
                    | inputs["answered"]
                    | inputs["stop"]
                    | inputs["abort"]
                    | inputs["fail"]
                    | inputs["halt"]
                    | ~dut.is_drained
                ),
                Assert(dut.alarm == (errs | halts)),
            ]
        m.d.comb += [
            Assert(dut.aborts == (state == aborts)),
            Assert(dut.run == (state == runs)),
            Assert(dut.is_wanted == (dut.run | will_run)),
            Assert(~dut.run | dut.is_active),
            Assert(~(dut.asks & dut.run)),
            Assert(~dut.asks | dut.is_active),
            Assert(dut.is_drained | dut.is_active),
            Cover((was == aborts) & (state == State.STOPPED)),
            Cover((state == runs) & (was == State.HALTED)),
            Cover(state == State.HALTED),
        ]
        return m


class AsksAlways(RingState):
    """Compares the rings with their window while the ring runs, too."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        with m.If(self.run):
            m.d.comb += self.asks.eq(1)
        return m


PROOFS = (
    Proof(
        name="ring_state",
        promise="An abort ends only when the ring is drained, without what a channel in quarantine "
        "owes; only an abort ends an error",
        components=(RingState,),
        design=lambda bits: MovesByRules(RingState(bits)),
        sizes={"12 bits of address": ADDRESS_BITS},
        broken=(
            *faults(
                ADDRESS_BITS,
                10,
                stuck_at(1, "dut.asks"),
                stuck_at(1, "dut.can_start"),
                stuck_at(1, "dut.starts"),
                late("dut.run"),
                stuck_at(0, "dut.halts"),
            ),
            *swapped(10, {"asks while it runs": lambda: MovesByRules(AsksAlways(ADDRESS_BITS))}),
        ),
    ),
)
