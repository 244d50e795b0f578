"""What the writer to the host is made of, as the proofs of these parts say."""

from types import SimpleNamespace
from unittest import mock

from amaranth.hdl import Assert, Assume, Module, Mux, Signal
from amaranth.lib.wiring import Out

from cdma.hdl.engine.common.crc import UnitCrc
from cdma.hdl.engine.offload import ledger
from cdma.hdl.engine.offload.ledger import Ledger
from cdma.hdl.engine.offload.limit import Limit
from cdma.hdl.engine.offload.write.writer import StreamWriter
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.stream_rules import anything, leave_ports_open
from cdma.verify.proofs.engine.offload.ledger import PlainCounter, PlainLateCounter
from cdma.verify.proofs.engine.offload.limit import SETTLED


class PlainLedger(Ledger):
    """With counters of one sum."""

    def __init__(self, config):
        with mock.patch.object(ledger, "LateCounter", PlainLateCounter):
            super().__init__(config)

    def elaborate(self, platform):
        with mock.patch.object(ledger, "Counter", PlainCounter):
            return elaborated(SimpleNamespace(elaborate=super().elaborate), platform)


class PlainLimit(Limit):
    """One wide count of what is left. Asserts what the proof of the limit needs."""

    def __init__(self, width, most):
        super().__init__(width, most)
        self.left, self.age = Signal(width, name="left"), Signal(range(SETTLED + 1), name="age")

    def elaborate(self, platform):
        m = Module()
        age = self.age
        m.d.comb += [
            self.cut.eq(self.left < self.count),
            self.kept.eq(Mux(self.cut, self.left, self.count)),
            Assert(~self.takes | (age == SETTLED)),
        ]
        with m.If(self.start):
            m.d.sync += [self.left.eq(self.limit), age.eq(1)]
        with m.Else():
            m.d.sync += age.eq(Mux((age == 0) | (age == SETTLED), age, age + 1))
            with m.If(self.takes):
                m.d.sync += self.left.eq(self.left - self.kept)
        return m


class AnyCrc(UnitCrc):
    """Gives a CRC of any value some time after a stripe's last unit."""

    def __init__(self, bits, size):
        super().__init__(bits, size)
        self.is_busy = Signal(name="is_busy")

    def elaborate(self, platform):
        m = Module()
        given, kept = Signal(name="was_given"), Signal.like(self.o.payload, name="kept")
        m.d.comb += [
            self.idle.eq(~self.is_busy),
            self.o.valid.eq(self.is_busy & (given | anything(m, 1, "gives"))),
            self.o.payload.eq(Mux(given, kept, anything(m, len(kept), "any_crc"))),
            Assert(~(self.valid & self.last) | self.idle),
            Assert(~self.clear | (self.idle & ~self.valid)),
        ]
        stays = self.o.valid & ~self.o.ready
        m.d.sync += [given.eq(stays), kept.eq(self.o.payload)]
        m.d.sync += self.is_busy.eq(
            Mux(self.o.valid & self.o.ready, 0, self.is_busy) | (self.valid & self.last)
        )
        # Invariant.
        m.d.comb += Assert(~given | self.is_busy)
        return m


class AnyStream(StreamWriter):
    """Begins a burst with the first word, and ends bursts and begins others at any time.

    Asserts what the proof of the writer needs: when rows, streams and flushes come.
    """

    def __init__(self, *args):
        super().__init__(*args)
        self.begun, self.was_open = Signal(name="begun"), Signal(name="was_open")
        self.had_begun = Signal(name="had_begun")
        self.kept_address = Signal.like(self.address, name="kept_address")

    def elaborate(self, platform):
        m = Module()
        leave_ports_open(m, self, Out)
        has, kept = Signal(name="has"), self.kept_address
        was_tight, was_flushed = Signal(name="was_tight"), Signal(name="was_flushed")
        is_single = self.row_words == 1
        m.d.comb += [
            has.eq(self.valid & (self.i.count != 0)),
            Assume(~self.opens | has),
            Assume(~has | self.begun | self.opens),
            Assume(~self.collects | self.begun | self.opens),
            Assume(~(self.begun & self.opens) | self.collects),
            Assume(self.is_open | ~self.begun),
            Assume(~self.is_open | self.was_open | self.begun | self.had_begun),
            # Rows of one word are held in the cycle itself.
            Assert(~has | ~(self.is_tight if is_single else was_tight)),
            Assert(~self.valid | ~self.flush),
            Assert(~(was_flushed & self.is_open) | self.flush),
            Assert(~self.start | ~(self.is_open | self.valid)),
            Assert(~self.clear | ~(self.is_open | self.valid | self.start)),
            Assert(~self.is_open | (self.address == kept)),
            Assert(~has | (self.address == kept)),
        ]
        m.d.sync += [
            self.begun.eq(self.begun + self.opens - self.collects),
            self.was_open.eq(self.is_open),
            self.had_begun.eq(self.opens),
            was_tight.eq(self.is_tight),
            was_flushed.eq(self.flush),
        ]
        with m.If(self.start):
            m.d.sync += kept.eq(self.address)
        return m
