"""The stripes of a job are given in order, each once, whatever its rows, pitch and stalls."""

from dataclasses import replace

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.hdl.engine.common.stripes import StripeSequencer
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, take
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.proof import Proof, faults


class WalksOverRows(Elaboratable):
    """Each stripe that is given is the next of the job: address, bytes, number; the last is marked.

    Row ``r`` begins at ``device + r * pitch``, has any number of bytes, and is cut at whole stripes
    from its begin. A job is loaded at any time before it starts, more than once, and is stopped at
    any time: then the stripe that is offered is the last one. The model adds in one step what the
    component adds in halves.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut = self.dut
        m.submodules.dut = elaborated(dut, platform)
        size, job, first = dut.config.stripe_bytes, dut.job, dut.first
        gives, stripe = take(m, dut.o, "o"), dut.o.payload
        is_loaded, is_running = Signal(), Signal()
        m.d.comb += [
            Value.cast(first).eq(anything(m, len(Value.cast(first)), "first")),
            dut.load.eq(anything(m, 1, "load") & ~is_running),
            dut.start.eq(anything(m, 1, "start") & ~is_running & (is_loaded | dut.load)),
            dut.stop.eq(anything(m, 1, "stop")),
            Assume(~dut.load | ((first.rows != 0) & (first.row_bytes != 0))),
        ]
        # The stripe that is next: the row's begin, and what is left with this stripe.
        row, address = (Signal.like(job.device, name=name) for name in ("row", "address"))
        left, rows, number = (
            Signal.like(like, name=name)
            for like, name in (
                (job.row_bytes, "left"),
                (job.rows, "rows"),
                (stripe.number, "number"),
            )
        )
        is_last = (rows == 1) & (left <= size)
        next_row = Signal.like(row, name="next_row")
        m.d.comb += next_row.eq(row + job.pitch)
        with m.If(gives):
            m.d.sync += [number.eq(number + 1), is_running.eq(~is_last & ~dut.stop)]
            m.d.sync += is_loaded.eq(~is_last & ~dut.stop)
            with m.If(left <= size):
                m.d.sync += [row.eq(next_row), address.eq(next_row), rows.eq(rows - 1)]
                m.d.sync += left.eq(job.row_bytes)
            with m.Else():
                m.d.sync += [address.eq(address + size), left.eq(left - size)]
        with m.If(dut.start):
            m.d.sync += is_running.eq(1)
        held = Signal(first.shape(), name="held")
        m.d.comb += Value.cast(job).eq(Value.cast(held))
        m.d.comb += dut.number.eq(held.rows[: len(dut.number)])  # stays like the job
        with m.If(dut.load):
            m.d.sync += [is_loaded.eq(1), Value.cast(held).eq(Value.cast(first)), number.eq(0)]
            m.d.sync += [row.eq(first.device), address.eq(first.device), rows.eq(first.rows)]
            m.d.sync += left.eq(first.row_bytes)
        m.d.comb += [Assert(dut.busy == is_running), Assert(~is_running | is_loaded)]
        with m.If(dut.o.valid):
            m.d.comb += [
                Assert(is_running),
                Assert(stripe.address == address),
                Assert(stripe.bytes == Mux(left <= size, left, size)),
                Assert(stripe.number == number),
                Assert(stripe.job == dut.number),
                Assert(~stripe.raw),
                Assert(dut.last == is_last),
            ]
        # A stripe in two cycles, and a new row in three. The maker of tasks relies on it that none
        # follows in the next cycle.
        idle, just_gave = Signal(2), Signal()
        m.d.sync += [idle.eq(Mux(is_running & ~dut.o.valid, idle + 1, 0)), just_gave.eq(gives)]
        m.d.comb += [
            Assert(idle <= 2),
            Assert(~just_gave | ~dut.o.valid),
            Cover(gives & (number == 3) & (rows == 1)),
            Cover(gives & is_last & (left < size) & (number == 2)),
        ]
        self._invariants(m, is_loaded, address, left, rows, number, next_row, row, idle)
        return m

    def _invariants(self, m, is_loaded, address, left, rows, number, next_row, row, idle):
        """A sum whose carry is on its way is that of the model, less or more the carry."""
        dut, stripe = self.dut, self.dut.o.payload
        size = dut.config.stripe_bytes
        shift = size.bit_length() - 1
        turns, settles = probe(m, "dut.turns", 1), probe(m, "dut.settles", 1)
        carry = {
            name: probe(m, f"dut.{name}_carry", 1) for name in ("number", "address", "left", "rows")
        }
        own_left = probe(m, "dut.left", len(left))
        own_rows, has_ended = probe(m, "dut.rows", len(rows)), probe(m, "dut.has_ended", 1)
        adds, carries = probe(m, "dut.adds", 1), probe(m, "dut.carries", 1)
        start, start_carry = probe(m, "dut.start", len(row)), probe(m, "dut.carry", 1)
        target, high = Signal.like(row, name="target"), len(row) // 2
        m.d.comb += target.eq(Mux(turns, row, next_row))

        def same(value, expected, name):
            bits = len(expected)
            found = Signal(bits, name=f"{name}_found")
            m.d.comb += found.eq(value)
            return Assert(found == expected)

        def up(value, low):
            return value << low

        pitch = dut.job.pitch
        with m.If(is_loaded):
            m.d.comb += [
                same(stripe.number + up(carry["number"], len(number) // 2), number, "number"),
                same(own_rows - up(carry["rows"], len(rows) // 2) - has_ended, rows, "rows"),
                Assert(rows != 0),
                Assert((left != 0) & (dut.job.row_bytes != 0)),
                Assert(probe(m, "dut.is_last_row", 1) == (rows == 1)),
                Assert(~(adds & carries)),
                # A row is counted a cycle later, while the next one begins.
                Assert(~has_ended | (settles & turns)),
                Assert(~carry["rows"] | (turns & ~settles)),
                *(Assert(settles | ~carry[name]) for name in ("number", "address", "left")),
                Assert(~adds | (~settles & ~turns)),
                Assert(~carries | ~turns | settles),
                Assert(~settles | (idle == 0)),
                Assert(~turns | settles | (idle <= 1)),
            ]
            with m.If(turns):
                m.d.comb += [Assert(left == dut.job.row_bytes), Assert(address == row)]
            with m.Else():
                m.d.comb += [
                    same(
                        stripe.address + up(carry["address"], shift + len(row) // 2),
                        address,
                        "address",
                    ),
                    same(own_left - up(carry["left"], shift + len(left) // 2), left, "left"),
                    Assert(probe(m, "dut.ends_row", 1) == (left <= size)),
                ]
            with m.If(adds):
                m.d.comb += same(start + pitch, target, "adds")
            with m.Elif(carries):
                m.d.comb += same(
                    start + up(pitch[high:], high) + up(start_carry, high), target, "carries"
                )
            with m.Else():
                m.d.comb += same(start, target, "start")


PROOFS = (
    Proof(
        name="stripe_sequencer",
        promise="A job's stripes are given in order, each once, with their bytes, over all rows",
        components=(StripeSequencer,),
        design=lambda config: WalksOverRows(StripeSequencer(config)),
        sizes={
            "stripes of 16 bytes, 8 bits of address": small(),
            # Addresses with a carry.
            "stripes of 16 bytes, 12 bits of address": replace(small(), address_bits=12),
        },
        broken=faults(
            small(),
            14,
            late("dut.turns"),
            stuck_at(0, "dut.carries"),
            stuck_at(0, "dut.settles"),
            stuck_at(0, "dut.is_last_row"),
        ),
    ),
)
