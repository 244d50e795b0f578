"""An offload channel gives each stripe to its reader, as it is, and says what its parts do."""

from functools import partial
from unittest import mock

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib.wiring import In

from cdma.hdl.engine.offload import channel
from cdma.hdl.engine.offload.channel import OffloadChannel
from cdma.hdl.engine.offload.codec import StripeCompressor
from cdma.hdl.engine.offload.reader import StripeReader
from cdma.hdl.lib.fifo import Fifo
from cdma.verify.formal.fault import inverted, late
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import joined, leave_ports_open, offer
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.parts import AnyOutputs, with_parts
from cdma.verify.proofs.proof import InvertsField, Proof, faults, swapped


class AnyReader(AnyOutputs, StripeReader):
    """Takes stripes and gives beats at any time."""


class AnyCompressor(AnyOutputs, StripeCompressor):
    """Takes beats, and gives rows and statuses at any time."""


class AnyFifo(AnyOutputs, Fifo):
    """Takes and gives at any time."""


class GivesStripes(Elaboratable):
    """The reader gets the stripes in order, as they are, each once, in the cycle in which they come
    or behind one that waits. It gets all that is said to the channel, and the channel says all that
    the reader, the codec and the buffers say. Statuses that are not taken have their slots, and the
    channel is idle when the reader is, no stripe waits and all slots are free.

    Reader, codec and buffers give anything at any time, but for what their own proofs and that of
    the credits rule out.
    """

    def __init__(self, config, design=OffloadChannel):
        self.config, self.design = config, design

    def elaborate(self, platform):
        m = Module()
        with mock.patch.object(channel, "StripeReader", AnyReader):
            self.dut = dut = self.design(self.config)
        instead = {"StripeCompressor": AnyCompressor}
        with mock.patch.object(channel, "Fifo", AnyFifo):
            body, parts = with_parts(dut, platform, (channel,), tuple(instead), instead)
        m.submodules.dut = body
        self.codec = parts["StripeCompressor"]
        self.stage, self.statuses = body.submodules.stage, body.submodules.statuses
        self._stripes(m)
        self._slots(m)
        self._wires(m)
        self._events(m)
        return m

    def _stripes(self, m):
        """What comes, and what the reader gets."""
        dut, taken = self.dut, self.dut.reader.i
        leave_ports_open(m, dut, In, "i")
        comes, began = offer(m, dut.i, "i"), Signal()
        self.waits, waiting = Signal(name="waits"), Signal.like(dut.i.payload)
        waits = self.waits
        m.d.sync += [began.eq(1), waits.eq(taken.valid & ~taken.ready)]
        with m.If(~waits):
            m.d.sync += waiting.eq(dut.i.payload)
        expected = Mux(waits, Value.cast(waiting), Value.cast(dut.i.payload))
        m.d.comb += [
            Assume(began | ~dut.i.valid),  # no job is in work yet
            Assert(dut.i.ready == ~waits),
            Assert(taken.valid == (waits | dut.i.valid)),
            Cover(waits & taken.ready & (taken.payload.number == 5)),
            Cover(comes & taken.ready),
        ]
        with m.If(taken.valid):
            m.d.comb += Assert(Value.cast(taken.payload) == expected)

    def _slots(self, m):
        """Statuses that are on their way, or wait to be taken."""
        dut, reader = self.dut, self.dut.reader
        used, leaves = Signal(range(dut.slots + 1), name="used"), Signal()
        slots = probe(m, "dut.slots", dut.slots.bit_length())
        m.d.comb += [
            leaves.eq(dut.o_status.valid & dut.o_status.ready),
            Assume(~reader.opens | reader.has_slot),
            Assume(~leaves | (used != 0)),
            Assert(slots + used == dut.slots),
            Assert(reader.has_slot == (used != dut.slots)),
            Assert(dut.idle == (~self.waits & reader.idle & (used == 0))),
        ]
        m.d.sync += used.eq(used + reader.opens - leaves)

    def _wires(self, m):
        """Between the ports and the parts."""
        dut, reader, codec = self.dut, self.dut.reader, self.codec
        for name in ("clear", "halt", "lost", "hold", "attr"):
            m.d.comb += Assert(Value.cast(getattr(reader, name)) == Value.cast(getattr(dut, name)))
        for name in ("where", "outstanding", "issued", "drained"):
            m.d.comb += Assert(getattr(dut, name) == getattr(reader, name))
        for one, other in (
            (reader.o, codec.i),
            (self.stage.o, dut.o),
            (self.statuses.o, dut.o_status),
            (reader.client, dut.client),
        ):
            m.d.comb += joined(one, other)
        for fifo, valid, payload in (
            (self.stage, codec.o_valid, codec.o),
            (self.statuses, codec.status_valid, codec.status),
        ):
            m.d.comb += [
                Assume(~valid | fifo.i.ready),
                Assert(fifo.i.valid == valid),
                Assert(Value.cast(fifo.i.payload) == Value.cast(payload)),
            ]

    def _events(self, m):
        """What is counted."""
        dut, reader = self.dut, self.dut.reader
        ar = reader.client.ar
        expected = {
            "raw_beats": reader.o.valid & reader.o.ready,
            "stream_beats": dut.o.valid & dut.o.ready,
            "credit": reader.waits_credit,
            "rate": dut.hold & reader.is_ready,
            "address": ar.valid & ~ar.ready,
            "stripe_valid": reader.i.valid,
            "stripe": reader.i.payload.number,
        }
        for name in dut.events.shape().members:
            m.d.comb += Assert(dut.events[name] == expected.get(name, 0))


class _Inverts(InvertsField, OffloadChannel):
    """With a wrong field."""


def wrong_halt():
    """The reader halts another job than the one that it should."""
    field = partial(_Inverts, field=lambda dut: (dut.reader.halt.job[0], dut.halt.job[0]))
    return GivesStripes(small(), field)


PROOFS = (
    Proof(
        name="offload_channel",
        promise="The reader of a channel gets each stripe once, as it is, and the channel says "
        "what its parts do",
        components=(OffloadChannel,),
        design=GivesStripes,
        sizes={"2 lanes": small()},
        depth=2,
        broken=faults(
            small(),
            4,
            inverted("dut.waiting.number", 30),
            late("dut.slots"),
            late("dut.has_waiting_c"),
        )
        + swapped(4, {"halts the wrong job": wrong_halt}),
    ),
)
