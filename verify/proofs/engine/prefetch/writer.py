"""Bursts of a prefetch lie in the range of its stripes, and each stripe is answered once."""

from dataclasses import replace

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Signal, Value

from cdma.hdl.engine.prefetch.writer import StripeWriter
from cdma.verify.formal.axi_rules import Writes
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.stream_rules import anything, leave_open, offer
from cdma.verify.proofs.engine.small import SmallConfig, small
from cdma.verify.proofs.proof import PDR, Proof, faults

_BURST, _WRITES = 2, 2  # beats of a burst, bursts outstanding


class WriterConfig(SmallConfig):
    """Bursts of two beats, two of them outstanding."""

    @property
    def burst_bytes(self) -> int:
        """Two beats."""
        return _BURST * self.beat_bytes

    @property
    def channel_writes(self) -> int:
        """As many as are in a FIFO at least."""
        return _WRITES


class WritesInside(Elaboratable):
    """Stripes and their beats come at any time and lie in any one range; halts, discards, holds and
    the quarantine at any time. The memory answers at any time.

    No burst leaves the range, and all obey AXI. A burst has as many beats as its address says.
    """

    def __init__(self, config):
        self.config, self.dut = config, StripeWriter(config)

    def elaborate(self, platform):
        m = Module()
        config, dut = self.config, self.dut
        m.submodules.dut = elaborated(dut, platform)
        client, size = dut.client, config.beat_bytes
        aw, b = client.aw, client.b
        writes = Writes(
            m,
            aw,
            client.w,
            b,
            size,
            most=_WRITES,
            depth=4,
            gap=8,
            holds_data=False,
            burst_bytes=config.burst_bytes,
            page_bytes=2 * config.burst_bytes,
        )
        leave_open(m, dut, "halt", "hold")
        places, beats = offer(m, dut.i_place, "place"), offer(m, dut.i, "i")
        # Both stay until nothing is left.
        for name in ("discard", "lost"):
            stays = Signal(name=f"{name}_stays")
            m.d.comb += getattr(dut, name).eq(anything(m, 1, name) | stays)
            m.d.sync += stays.eq(getattr(dut, name) & ~(dut.drained & ~dut.has_place))
        attr = Value.cast(dut.attr)
        m.d.comb += [
            dut.o_error.ready.eq(anything(m, 1, "error_ready")),
            attr.eq(AnyConst(len(attr))),  # a ring's, which stay while it runs
            Assert(b.ready),
        ]
        bits = config.address_bits
        low, high = Signal(bits), Signal(bits + 1)
        place = dut.i_place.payload.address
        has_place, at = Signal(), Signal(bits + 1, name="at")  # of the next beat
        # Where stripes are aligned, none goes on behind a multiple of its most bytes.
        is_first, alignment = Signal(), config.alignment
        is_inside = is_first | (at % alignment != 0) if alignment == config.stripe_bytes else 1
        m.d.comb += [
            low.eq(AnyConst(bits)),
            high.eq(AnyConst(bits + 1)),
            Assume((low % size == 0) & (high % size == 0) & (high <= 1 << bits)),
            Assume(~dut.i_place.valid | ((place >= low) & (place % alignment == 0))),
            Assume(~(dut.i.valid & has_place) | ((at + size <= high) & is_inside)),
            Assert(dut.has_place == has_place),
            Assert(~beats | has_place),
            Assert(~places | ~has_place | (beats & dut.i.payload.last)),
        ]
        with m.If(beats):
            m.d.sync += [at.eq(at + size), is_first.eq(0)]
        with m.If(places):
            m.d.sync += [has_place.eq(1), at.eq(place), is_first.eq(1)]
        with m.Elif(beats & dut.i.payload.last):
            m.d.sync += has_place.eq(0)
        with m.If(aw.valid):
            m.d.comb += [
                Assert(aw.payload.address >= low),
                Assert(aw.payload.address + aw.payload.beats * size <= high),
            ]
        # Stripes of which all was given, and those that were answered: not more.
        owed = Signal(range(16), name="owed")
        m.d.sync += owed.eq(owed + (beats & dut.i.payload.last & (owed < 14)) - dut.written)
        m.d.comb += [
            Assert(~dut.written | (owed != 0)),
            Cover(writes.moves & (aw.payload.address > low) & (owed == 2)),
            Cover(dut.written & (owed == 2)),
        ]
        return m


PROOFS = (
    Proof(
        name="stripe_writer",
        promise="No burst of a prefetch leaves the range of its stripes; each has its beats; no "
        "stripe is answered that was not written",
        components=(StripeWriter,),
        design=WritesInside,
        sizes={
            "bursts of 2": replace(WriterConfig(**vars(small())), address_bits=5),
            "aligned stripes": replace(WriterConfig(**vars(small(channels=2))), address_bits=5),
        },
        mode=PDR,
        depth=8,
        broken=faults(
            replace(WriterConfig(**vars(small())), address_bits=5),
            16,
            stuck_at(1, "dut.is_edge"),
            stuck_at(1, "dut.has_credit"),
            late("dut.has_place"),
        ),
    ),
)
