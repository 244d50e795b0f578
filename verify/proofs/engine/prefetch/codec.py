"""Stripes are decompressed or go around the decompressor, in order, and each is done once."""

from unittest import mock

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import wiring

from cdma.engine_config import EngineConfig
from cdma.hdl.axi.stream import unit_class
from cdma.hdl.engine.prefetch import codec
from cdma.hdl.engine.prefetch.codec import StripeDecompressor
from cdma.hdl.engine.prefetch.rows import size_bits
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, offer, take
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.proof import Proof, faults, named

_PACKETS = 2  # in the decompressor


class AnyDecompressor(wiring.Component):
    """Any decompressor of the codec, with the ports of its own one.

    Takes commands and beats at any time, gives any beats of its packets, and statuses.

    ``given`` packets still owe their last beat, ``taken`` ones their last input, and ``packets``
    their status, which comes with or behind both.
    """

    def __init__(self, config):
        real = unit_class("decompressor", config)(config)
        real._MustUse__silence = True
        super().__init__(real.signature)
        self.packets, self.taken, self.given = (
            Signal(range(_PACKETS + 2), name=name) for name in ("packets", "taken", "given")
        )

    def elaborate(self, platform):
        m = Module()
        commands, ends, gives = Signal(), Signal(), Signal()
        o, was_stalled = Value.cast(self.o.payload), Signal()
        kept, fresh = Signal(len(o)), anything(m, len(o), "o_fresh")
        status = self.o_status
        m.d.comb += [
            self.i_command.ready.eq(anything(m, 1, "command_ready")),
            self.i.ready.eq(anything(m, 1, "i_ready")),
            self.o.valid.eq(was_stalled | (anything(m, 1, "o_valid") & (self.given != 0))),
            o.eq(Mux(was_stalled, kept, fresh)),
            commands.eq(self.i_command.valid & self.i_command.ready),
            ends.eq(self.i.valid & self.i.ready & self.i.payload.last),
            gives.eq(self.o.valid & self.o.ready & self.o.payload.last),
            status.valid.eq(
                anything(m, 1, "status_valid")
                & (self.packets + ends > self.taken)
                & (self.packets + gives > self.given)
            ),
            Value.cast(status.payload).eq(anything(m, len(Value.cast(status.payload)), "status")),
            Assert(status.ready),
        ]
        m.d.sync += [
            was_stalled.eq(self.o.valid & ~self.o.ready),
            kept.eq(o),
            self.packets.eq(self.packets + commands - status.valid),
            self.taken.eq(self.taken + commands - ends),
            self.given.eq(self.given + commands - gives),
        ]
        m.d.comb += [
            Assert(~was_stalled | (self.given != 0)),
            Assert((self.taken <= self.packets) & (self.given <= self.packets)),
        ]
        return m


class PassesStripes(Elaboratable):
    """Stripes and their rows come at any time, raw and coded in any order.

    Rows go to the decompressor while its stripe is coded, behind its command; a raw row is a beat
    of its cycle, and meets no beat of the decompressor. Each stripe that was begun is done once. A
    status goes with the tag of its stripe.
    """

    def __init__(self, config):
        self.config, self.dut = config, StripeDecompressor(config)

    def elaborate(self, platform):
        m = Module()
        dut, config = self.dut, self.config
        unit = AnyDecompressor(dut.unit_config)
        with mock.patch.object(codec, "unit_class", return_value=lambda _: unit):
            m.submodules.dut = elaborated(dut, platform)
        begins, moves = offer(m, dut.i_stripe, "stripe"), offer(m, dut.i, "row")
        gives = take(m, dut.o, "o")
        m.d.comb += dut.o_error.ready.eq(anything(m, 1, "error_ready"))
        stripe, row = dut.i_stripe.payload, dut.i.payload
        m.d.comb += Assume((row.count != 0) & (row.count <= config.lanes))
        # The stripe whose rows come.
        is_begun, is_raw = Signal(), Signal()
        ends = moves & row.last
        with m.If(begins):
            m.d.sync += [is_begun.eq(1), is_raw.eq(stripe.raw)]
        with m.Elif(ends):
            m.d.sync += is_begun.eq(0)
        raw, coded = is_begun & is_raw, is_begun & ~is_raw
        commands = unit.i_command.valid & unit.i_command.ready
        m.d.comb += [
            Assert(~(begins & is_begun)),
            Assert(~moves | is_begun),
            Assert((unit.i.valid & unit.i.ready) == (moves & coded)),
            Assert(commands == (begins & ~stripe.raw)),
            Assert(~commands | (unit.i_command.payload.words == stripe.words)),
            # The decompressor is empty while a raw stripe passes.
            Assert(~(raw & ((unit.packets != 0) | unit.o.valid))),
            Assert(~raw | (gives == moves)),
            Assert(raw | (dut.o.valid == unit.o.valid)),
            # Invariants.
            Assert(probe(m, "dut.is_raw", 1) == raw),
            Assert(probe(m, "dut.is_coded", 1) == coded),
            Assert(unit.packets <= _PACKETS),
            Assert(unit.taken == coded),
            Cover(raw & gives & row.last),
            Cover(coded & (unit.packets == 2) & ends),
        ]
        # Bytes that count: the last word may be there in part.
        missing = row.missing if config.has_padding else 0
        kept = row.count * config.word_bytes - missing
        into = unit.i.payload
        with m.If(coded & moves):
            m.d.comb += [
                Assert(Value.cast(into.words) == Value.cast(row.words)),
                Assert(into.last == row.last),
                *(Assert(into.keep[k] == (kept > k)) for k in range(config.beat_bytes)),
            ]
            if config.has_padding:
                m.d.comb += Cover((row.missing != 0) & (row.count == config.lanes))
        with m.If(raw & moves):
            m.d.comb += [
                Assert(Value.cast(dut.o.payload.words) == Value.cast(row.words)),
                Assert(dut.o.payload.last == row.last),
                *(Assert(dut.o.payload.keep[k] == (kept > k)) for k in range(config.beat_bytes)),
            ]
        with m.Elif(gives):
            m.d.comb += Assert(Value.cast(dut.o.payload) == Value.cast(unit.o.payload))
        # Stripes that were begun and are not done.
        owed = Signal(range(_PACKETS + 3))
        m.d.sync += owed.eq(owed + begins - dut.done)
        m.d.comb += [
            Assert(owed == unit.packets + raw),
            Assert(~dut.done | (owed != 0)),
            Assert(~dut.idle | (owed == 0)),
            Cover(dut.idle & ~is_begun & dut.i_stripe.valid & stripe.raw),
        ]
        self._tags(m, unit, commands)
        return m

    def _tags(self, m, unit, commands):
        """Errors are reported with the tag of the oldest packet."""
        dut, status = self.dut, unit.o_status
        tag = Value.cast(self.dut.i_stripe.payload.tag)
        tags = [Signal(len(tag), name=f"tag{k}") for k in range(_PACKETS)]
        for k, entry in enumerate(tags):
            with m.If(commands & (unit.packets - status.valid == k)):
                m.d.sync += entry.eq(tag)
            with m.Elif(status.valid):
                m.d.sync += entry.eq(tags[k + 1] if k + 1 < _PACKETS else 0)
        valid = probe(m, "dut.tags.valid", _PACKETS)
        m.d.comb += Assert(valid == (1 << unit.packets) - 1)
        for k, entry in enumerate(tags):
            with m.If(unit.packets > k):
                m.d.comb += Assert(probe(m, f"dut.tags.entry{k}", len(tag)) == entry)
        failed, code, owner = Signal(), Signal.like(status.payload.error), Signal(len(tag))
        place = Signal(size_bits(dut.config))
        is_free = ~dut.o_error.valid
        m.d.sync += [
            failed.eq(status.valid & (status.payload.error != 0) & is_free),
            code.eq(status.payload.error),
            owner.eq(tags[0]),
            place.eq(status.payload.bytes),
        ]
        report = dut.o_error.payload
        with m.If(failed):
            m.d.comb += [
                Assert(dut.o_error.valid),
                Assert(Value.cast(report.tag) == owner),
                Assert(report.status == code),
                Assert(report.where == place),
                Cover(unit.packets == 1),
            ]


#: Streams of words of 16 bits end inside a word.
_PLUS = EngineConfig(channels=1, codec="zvcplus", type="bf16", stripe_bytes=1024)

PROOFS = (
    Proof(
        name="stripe_decompressor",
        promise="Stripes leave in order, raw ones as they are; each is done once, errors have its "
        "tag",
        components=(StripeDecompressor,),
        design=PassesStripes,
        sizes=named(small(lanes=2), small(lanes=4), _PLUS),
        depth=2,
        broken=(
            *faults(
                small(lanes=2),
                12,
                stuck_at(1, "dut.is_empty"),
                late("dut.is_raw"),
                stuck_at(1, "dut.can_begin"),
                stuck_at(0, "dut.tags.entry1", 0),
            ),
            *faults(_PLUS, 12, inverted("dut.nbytes", 0)),
        ),
    ),
)
