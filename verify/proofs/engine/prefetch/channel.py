"""A prefetch's channel: its tasks reach decompressor and writer once each, and in order."""

from functools import partial
from unittest import mock

from amaranth.asserts import AnyConst
from amaranth.hdl import Array, Assert, Assume, Const, Cover, Elaboratable, Module, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from cdma.hdl.engine.prefetch import channel
from cdma.hdl.engine.prefetch.channel import WAITING, ChannelTask, PrefetchChannel
from cdma.hdl.engine.prefetch.codec import StripeDecompressor
from cdma.hdl.engine.prefetch.writer import StripeWriter
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, joined, leave_ports_open
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.proof import InvertsField, Proof, faults, named, swapped

#: Pointers count to twice the tasks that wait.
_POINTER = 2 * WAITING


class AnyDecompressor(StripeDecompressor):
    """Begins stripes and takes rows at any time, and gives any beats of stripes that were begun.

    ``owed`` stripes were begun, and not all of their beats were given.
    """

    def __init__(self, config):
        super().__init__(config)
        self.owed = Signal(range(_POINTER), name="owed")

    def elaborate(self, platform):
        m = Module()
        leave_ports_open(m, self, Out)
        begins = self.i_stripe.valid & self.i_stripe.ready
        ends = self.o.valid & self.o.ready & self.o.payload.last
        m.d.comb += Assume(~self.o.valid | (self.owed != 0))
        m.d.sync += self.owed.eq(self.owed + begins - ends)
        return m


class AnyWriter(StripeWriter):
    """Takes a stripe's place when all beats of the stripe before were taken, and beats of a stripe
    whose place it has, at any time."""

    def elaborate(self, platform):
        m = Module()
        leave_ports_open(m, self, Out, "has_place")
        has_place = Signal(name="has")
        ends = self.i.valid & self.i.ready & self.i.payload.last
        m.d.comb += [
            self.has_place.eq(has_place),
            Assume(~self.i.ready | has_place),
            Assume(~self.i_place.ready | ~has_place | ends),
        ]
        m.d.sync += has_place.eq((self.i_place.valid & self.i_place.ready) | (has_place & ~ends))
        return m


class KeepsTasks(Elaboratable):
    """Any task, followed from its entry, reaches the decompressor, the writer and the counter of
    events with its own fields, after exactly the tasks before it.

    Tasks come as the task maker gives them: while there is room, and not in two cycles in a row.
    """

    def __init__(self, config, made=PrefetchChannel):
        self.config, self.dut = config, made(config)
        self.dut.writer._MustUse__used = True
        self.dut.writer = AnyWriter(config)

    def elaborate(self, platform):
        m = Module()
        dut = self.dut
        codec, writer = AnyDecompressor(self.config), dut.writer
        with mock.patch.object(channel, "StripeDecompressor", return_value=codec):
            m.submodules.dut = elaborated(dut, platform)
        leave_ports_open(m, dut, In, "push")
        had_push = Signal()
        m.d.comb += [
            dut.push.eq(anything(m, 1, "any_push")),
            Assume(~dut.push | (dut.has_room & ~had_push)),
        ]
        m.d.sync += had_push.eq(dut.push)
        self._count(m, codec, writer, had_push)
        return m

    def _count(self, m, codec, writer, had_push):
        """Tasks that came, were begun by the decompressor, and whose place the writer took."""
        dut = self.dut
        came, begun, taken = (
            Signal(range(_POINTER), name=f"n_{n}") for n in ("came", "begun", "at")
        )
        begins = codec.i_stripe.valid & codec.i_stripe.ready
        takes = writer.i_place.valid & writer.i_place.ready
        size = len(came)
        waits, to_begin = Signal(size, name="n_waits"), Signal(size, name="n_to_begin")
        m.d.comb += [waits.eq(came - taken), to_begin.eq(came - begun)]
        m.d.sync += [
            came.eq(came + dut.push),
            begun.eq(begun + begins),
            taken.eq(taken + takes),
        ]
        has_place, ended = writer.has_place, Signal(size, name="n_ended")
        m.d.comb += [
            ended.eq(taken - has_place),
            # There is room for what comes, also in the slots of stripes that are not begun.
            Assert(waits < WAITING),
            Assert(to_begin <= WAITING),
            Assert(~dut.has_room | (waits - had_push < WAITING - 1)),
            Assert(codec.owed == (begun - ended)[:size]),
            Assert(codec.owed <= WAITING + 1),
            Assert((begun - taken + 1)[:size] <= WAITING),
            Assert(codec.i_stripe.valid == (to_begin != 0)),
            Assert(writer.i_place.valid == (waits != 0)),
            *(
                Assert(probe(m, f"dut.{name}", size) == number)
                for name, number in (("tail", came), ("begun", begun), ("taken", taken))
            ),
            # Nothing is to be done only when nothing is.
            Assert(~dut.idle | ((waits == 0) & (to_begin == 0) & ~has_place)),
            Assert(~dut.idle | (codec.idle & writer.idle)),
            Assert(dut.decoded == codec.done),
            Assert(dut.events.stripe_valid == has_place),
            Cover(waits == WAITING // 2),
        ]
        self._follow(m, codec, writer, (came, begun, taken))
        self._passes(m, writer)

    def _passes(self, m, writer):
        """The writer is told what the channel is, and the channel says what the writer does."""
        dut = self.dut
        names = ("halt", "discard", "lost", "hold", "attr")
        names += ("outstanding", "issued", "written", "drained")
        m.d.comb += [
            *(Assert(_is_shared(dut, writer, name)) for name in names),
            *joined(dut.client, writer.client),
            *joined(dut.o_error[1], writer.o_error),
            Cover(dut.idle),
        ]

    def _follow(self, m, codec, writer, numbers):
        """The task of one slot: its fields where it is read."""
        dut, (came, begun, taken) = self.dut, numbers
        slot, kept = Signal.like(came, name="slot"), Signal(ChannelTask(self.config), name="kept")
        m.d.comb += slot.eq(AnyConst(len(slot)))
        with m.If(dut.push & (came == slot)):
            m.d.sync += kept.eq(dut.task)
        size = len(slot)
        waits, to_begin = (Signal(name=f"slot_{name}") for name in ("waits", "to_begin"))
        m.d.comb += [
            waits.eq((slot - taken)[:size] < (came - taken)[:size]),
            to_begin.eq((slot - begun)[:size] < (came - begun)[:size]),
        ]
        fields = ("address", "words", "raw", "tag")
        layout = data.StructLayout({name: Value.cast(kept[name]).shape() for name in fields})
        row = Signal(layout, name="row")
        rows = Array(probe(m, f"dut.tasks[{k}]", layout.size) for k in range(WAITING))
        numbers = Array(probe(m, f"dut.numbers[{k}]", len(kept.number)) for k in range(WAITING))
        number = Signal.like(kept.number, name="row_number")
        here = slot[: size - 1]
        is_current = Signal(name="is_current")
        m.d.comb += [
            Value.cast(row).eq(rows[here]),
            number.eq(numbers[here]),
            is_current.eq(writer.has_place & ((taken - 1)[:size] == slot)),
            Assert(~writer.has_place | (probe(m, "dut.current", size) == (taken - 1)[:size])),
        ]
        with m.If(waits | to_begin):
            m.d.comb += [*(Assert(_same(row, kept, name)) for name in fields)]
        with m.If(waits | is_current):
            m.d.comb += Assert(number == kept.number)
        stripe, place = codec.i_stripe.payload, writer.i_place.payload
        with m.If(codec.i_stripe.valid & (begun == slot)):
            m.d.comb += [Assert(_same(stripe, kept, name)) for name in ("words", "raw", "tag")]
        with m.If(writer.i_place.valid & (taken == slot)):
            m.d.comb += [Assert(_same(place, kept, name)) for name in ("address", "tag")]
        with m.If(is_current):
            m.d.comb += Assert(dut.events.stripe == kept.number)
            m.d.comb += Cover(kept.number != 0)


def _same(one, other, name):
    return Value.cast(one[name]) == Value.cast(other[name])


def _is_shared(one, other, name):
    return Value.cast(getattr(one, name)) == Value.cast(getattr(other, name))


class _Inverts(InvertsField, PrefetchChannel):
    pass


#: What the channel passes: where it goes, and where it comes from.
_FIELDS = {
    "lost": lambda dut: (dut.writer.lost, dut.lost),
    "issued": lambda dut: (dut.issued, dut.writer.issued),
    "WDATA": lambda dut: (dut.client.w.payload.data, dut.writer.client.w.payload.data),
    "status": lambda dut: (dut.o_error[1].payload.status, dut.writer.o_error.payload.status),
}


class AlwaysDrained(PrefetchChannel):
    """Says that it is drained and nothing outstanding, whatever its writer says."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.comb += [self.drained.eq(1), self.outstanding.eq(0)]
        return m


class IdleEarly(PrefetchChannel):
    """Is idle whatever its writer has to do."""

    def elaborate(self, platform):
        self.writer.idle, idle = Const(1), self.writer.idle
        m = super().elaborate(platform)
        self.writer.idle = idle
        return m


PROOFS = (
    Proof(
        name="prefetch_channel",
        promise="The tasks of a prefetch's channel reach decompressor and writer once, in order; "
        "the channel says what its writer does",
        components=(PrefetchChannel,),
        design=KeepsTasks,
        sizes=named(small()),
        slow=(small().name,),
        broken=(
            *faults(
                small(),
                8,
                late("dut.current"),
                stuck_at(0, "dut.begun", 1),
                inverted("dut.taken", 2),
            ),
            *swapped(
                8,
                {
                    "always drained": lambda: KeepsTasks(small(), AlwaysDrained),
                    "idle while its writer is not": lambda: KeepsTasks(small(), IdleEarly),
                    **{
                        f"{name} inverted": lambda field=field: KeepsTasks(
                            small(), partial(_Inverts, field=field)
                        )
                        for name, field in _FIELDS.items()
                    },
                },
            ),
        ),
    ),
)
