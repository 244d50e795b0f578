"""What is compared with a window, and the job of a descriptor, belong to one ring."""

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.engine_codes import Op
from cdma.engine_config import COMPLETION_BYTES, DESCRIPTOR_BYTES, EngineConfig
from cdma.hdl.engine.front.ring.check import Window
from cdma.hdl.engine.front.ring.operands import Operands, of
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import Proof, faults

CONFIG = EngineConfig(channels=1)
FLAGS = ("uses_arena", "clips", "is_clipped", "is_range", "is_second")
ARRAYS = ("base", "log2", "attr", "completion_base", "completion_log2")


class SelectsOneRing(Elaboratable):
    """Window, address and bytes that are compared are those of the ring that is looked at, or of
    its arena; and so is the job, which the other ring sees as a NOP.

    All inputs are free. The ring follows its next value.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        ring, has_run = Signal(), Signal()
        for name in (*FLAGS, "next_ring", "stripes", "arena_pointer", "arena_room", "arena_end"):
            port = getattr(dut, name)
            m.d.comb += port.eq(anything(m, len(port), name))
        for name in ARRAYS:
            for number, port in enumerate(getattr(dut, name)):
                value = Value.cast(port)
                m.d.comb += value.eq(anything(m, len(value), f"{name}{number}"))
        for number, window in enumerate(dut.window):
            for name in window.signature.members:
                port = getattr(window, name)
                m.d.comb += port.eq(anything(m, len(port), f"{name}{number}"))
        d = dut.descriptor
        m.d.comb += [
            Value.cast(d).eq(anything(m, len(Value.cast(d)), "descriptor")),
            dut.ring.eq(ring),
        ]
        m.d.sync += [ring.eq(dut.next_ring), has_run.eq(1)]
        copies = {f"window_ring_{copy}": ring for copy in "ac"}
        copies |= {f"base_ring_{copy}": ~ring for copy in "ac"}
        with m.If(has_run):
            m.d.comb += [
                Assert(probe(m, f"dut.{name}", 1) == value[0]) for name, value in copies.items()
            ]
            self._compared(m, ring, d)
        self._job(m, ring, d, has_run)
        return m

    def _compared(self, m, ring, d):
        dut = self.dut
        for name in Window(CONFIG.address_bits).members:
            value = of(ring, [getattr(window, name) for window in dut.window])
            if name == "host_end":
                value = Mux(dut.clips, dut.arena_end, value)
            m.d.comb += Assert(getattr(dut.checked, name) == value)
        with m.If(~dut.is_range):
            limit = Mux(dut.uses_arena & dut.is_clipped & ~dut.clips, dut.arena_room, d.limit)
            m.d.comb += [
                Assert(dut.host == Mux(dut.uses_arena, dut.arena_pointer, d.host)),
                Assert(dut.limit == limit),
            ]
        with m.Elif(dut.is_second):
            m.d.comb += [
                Assert(dut.host == of(ring, dut.completion_base)),
                Assert(dut.limit == COMPLETION_BYTES << of(ring, dut.completion_log2)),
                Cover(ring),
            ]
        with m.Else():
            m.d.comb += [
                Assert(dut.host == of(ring, dut.base)),
                Assert(dut.limit == DESCRIPTOR_BYTES << of(ring, dut.log2)),
                Cover(~ring),
            ]

    def _job(self, m, ring, d, has_run):
        dut, bits = self.dut, CONFIG.address_bits
        size = min(bits + 1, 64)
        limit = Mux(dut.uses_arena & dut.is_clipped, dut.arena_room, d.limit)
        for number, job in enumerate(dut.job):
            same = {name: getattr(d, name) for name in ("index", "crc", "raw")}
            cut = {name: getattr(d, name)[:bits] for name in ("device", "index_address")}
            cut |= {name: getattr(d, name)[:size] for name in ("row_bytes", "pitch")}
            cut |= {
                "host": Mux(dut.uses_arena, dut.arena_pointer, d.host)[:bits],
                "limit": limit[:size],
                "rows": Mux(d.rows == 0, 1, d.rows),
                "stripes": dut.stripes,
            }
            # In the first cycle after reset no job is offered, and the operation is a don't-care.
            m.d.comb += Assert(~has_run | (job.op == Mux(ring == number, d.op, Op.NOP)))
            m.d.comb += [
                Assert(Value.cast(job[name]).as_unsigned() == Value.cast(value).as_unsigned())
                for name, value in (same | cut).items()
            ]
            m.d.comb += [
                Assert(Value.cast(job.attr) == Value.cast(of(ring, dut.attr))),
                Cover((job.op == Op.VERIFY) & dut.uses_arena),
            ]


PROOFS = (
    Proof(
        name="operands",
        promise="What is compared, and the job, are of the ring that is looked at",
        components=(Operands,),
        design=lambda config: SelectsOneRing(Operands(config)),
        sizes={CONFIG.name: CONFIG},
        broken=faults(
            CONFIG,
            5,
            late("dut.window_ring_a"),
            stuck_at(1, "dut.base_ring_c"),
            stuck_at(1, "dut.host", 7),
            late("dut.limit"),
        ),
    ),
)
