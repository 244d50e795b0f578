"""Of an index just the entries of its stripes are read, and each is given once, in order."""

from dataclasses import replace
from unittest import mock

from amaranth.hdl import Array, Assert, Assume, Cover, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_config import INDEX_BYTES
from cdma.hdl.axi.full import Attributes
from cdma.hdl.engine.common.bursts import Piece, ReadData
from cdma.hdl.engine.common.records import JOB_BITS
from cdma.hdl.engine.job import ReadClient
from cdma.hdl.engine.prefetch import entries
from cdma.hdl.engine.prefetch.entries import EntryReader
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, offer
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.proof import Proof, faults

_BURST = 32  # bytes of the longest burst
#: Jobs whose entries are asked for and not all given, at most: few, and as many as have a number.
_FEW, _MANY = 3, 1 << JOB_BITS
_ADDRESS_BITS = 20
_PARTS = 3  # of the count of bursts


class AnyRanges(wiring.Component):
    """Beats of ranges at any time, in place of
    :class:`~cdma.hdl.engine.common.bursts.RangeReader`. All that is assumed here of its ports is
    asserted in the proof of that.

    Members
    -------
    as of ``RangeReader``, and:
    takes, gives : Out, a piece is taken, a beat is given
    is_covered : In, the next beat is covered by pieces that were taken
    """

    def __init__(self, address_bits, data_bytes, size_bits):
        super().__init__(
            {
                "start": In(1),
                "address": In(address_bits),
                "i": In(stream.Signature(Piece(size_bits))),
                "final": In(1),
                "stop": In(1),
                "abandon": In(1),
                "attr": In(Attributes()),
                "client": Out(ReadClient(address_bits, data_bytes)),
                "o": Out(stream.Signature(ReadData(data_bytes))),
                "asked": Out(1, init=1),
                "idle": Out(1),
                "takes": Out(1),
                "gives": Out(1),
                "is_covered": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        has_last, was_taken = (Signal(name=name) for name in ("has_last", "was_taken"))
        client, beats = self.client, stream.Signature(self.o.payload.shape()).create()
        offer(m, beats, "beat")
        m.d.comb += [
            self.i.ready.eq(anything(m, 1, "piece_ready") & ~self.asked & ~has_last & ~was_taken),
            self.takes.eq(self.i.valid & self.i.ready),
            Assume(~beats.valid | self.is_covered | self.abandon),
            self.o.valid.eq(beats.valid),
            Value.cast(self.o.payload).eq(Value.cast(beats.payload)),
            beats.ready.eq(self.o.ready),
            self.gives.eq(self.o.valid & self.o.ready),
            self.idle.eq(self.asked & anything(m, 1, "is_empty") & ~self.o.valid),
            client.ar.valid.eq(anything(m, 1, "ar_valid")),
            Value.cast(client.ar.payload).eq(
                anything(m, len(Value.cast(client.ar.payload)), "any_ar")
            ),
            client.r.ready.eq(1),
        ]
        m.d.sync += [
            was_taken.eq(self.takes),
            has_last.eq(has_last | (self.takes & self.i.payload.last)),
        ]
        with m.If((has_last | self.abandon) & anything(m, 1, "has_asked")):
            m.d.sync += self.asked.eq(1)
        with m.If(self.start):
            m.d.sync += [self.asked.eq(0), has_last.eq(0)]
        return m


class GivesEntries(Elaboratable):
    """Jobs are begun when all of the one before is asked for, and their entries are wanted at any
    time later. A stop comes at any time, and lasts until all is dropped.

    The model keeps the jobs whose entries are not all given: where the index is, and its entries.
    """

    def __init__(self, config, most=_FEW):
        self.config, self.most = config, most
        # Of a number of entries.
        self.count_bits = config.address_bits - INDEX_BYTES.bit_length() + 2

    def elaborate(self, platform):
        m = Module()
        config = self.config
        link = config.link_bytes
        self.ranges = ranges = AnyRanges(config.address_bits, link, _BURST.bit_length())
        self.slots = link // INDEX_BYTES
        with (
            mock.patch.object(entries, "RangeReader", return_value=ranges) as made,
            mock.patch.object(entries, "BURST_BYTES", _BURST),
            mock.patch.object(entries, "_BURST_ENTRIES", _BURST // INDEX_BYTES),
        ):
            self.dut = EntryReader(config)
            m.submodules.dut = elaborated(self.dut, platform)
            made.assert_called_once_with(
                config.address_bits, link, 4 * _BURST // link, _BURST.bit_length(), at_once=True
            )
        self._environment(m)
        self._jobs(m)
        self._asks(m)
        self._gives(m)
        return m

    def _environment(self, m):
        """Jobs that begin, and what is connected through."""
        dut, ranges = self.dut, self.ranges
        job, attr, stopped = Value.cast(dut.job), Value.cast(dut.attr), Signal()
        ar, r = dut.client.ar, dut.client.r
        m.d.comb += [
            job.eq(anything(m, len(job), "any_job")),
            attr.eq(anything(m, len(attr), "any_attr")),
            dut.start.eq(anything(m, 1, "any_start")),
            dut.next.eq(anything(m, 1, "any_next")),
            dut.stop.eq(anything(m, 1, "any_stop") | stopped),
            dut.clear.eq(anything(m, 1, "any_clear")),
            Assume(~dut.start | (dut.asked & ~dut.stop & ~dut.clear)),
            Assume(~dut.next | (dut.begun & ~dut.stop & ~dut.clear)),
            Assume(~dut.clear | (dut.stop & dut.idle)),
            ar.ready.eq(anything(m, 1, "ar_ready")),
            r.valid.eq(anything(m, 1, "r_valid")),
            Value.cast(r.payload).eq(anything(m, len(Value.cast(r.payload)), "any_r")),
            Assert(ranges.start == dut.start),
            Assert(~dut.start | (ranges.address == dut.job.index_address)),
            Assert(Value.cast(ranges.attr) == attr),
            Assert(ranges.final & ~ranges.stop),
            Assert(ranges.abandon == dut.stop),
            Assert(dut.asked == ranges.asked),
            Assert(dut.idle == ranges.idle),
            Assert(ar.valid == ranges.client.ar.valid),
            Assert(Value.cast(ar.payload) == Value.cast(ranges.client.ar.payload)),
            Assert(ranges.client.ar.ready == ar.ready),
            Assert(ranges.client.r.valid == r.valid),
            Assert(Value.cast(ranges.client.r.payload) == Value.cast(r.payload)),
            Assert(r.ready == ranges.client.r.ready),
        ]
        m.d.sync += stopped.eq(dut.stop & ~dut.clear)

    def _jobs(self, m):
        """Jobs that were begun and whose entries are not all given."""
        dut, low = self.dut, self.config.stripe_bytes.bit_length() - 1
        entry_bits = INDEX_BYTES.bit_length() - 1
        layout = data.StructLayout(
            {"first": self.config.address_bits - entry_bits, "count": self.count_bits}
        )
        self.jobs = jobs = [Signal(layout, name=f"job{k}") for k in range(self.most)]
        self.level = Signal(range(self.most + 2), name="level")
        self.is_open = Signal(name="is_open")
        self.entry = Signal(self.count_bits, name="entry")  # that is given next
        self.ends, self.moves = Signal(name="ends"), Signal(name="moves")
        new, job = Signal(layout, name="new"), dut.job
        partial = job.row_bytes[:low].any()
        m.d.comb += [
            new.first.eq(job.index_address >> entry_bits),
            new.count.eq(job.stripes + partial),
            Assume(job.index_address % INDEX_BYTES == 0),
            Assume(~dut.start | (job.stripes < (1 << self.count_bits) - 1)),
            # The index is in memory.
            Assume(
                ~dut.start | ((new.count != 0) & (new.first + new.count <= 1 << len(new.first)))
            ),
            Assume(~dut.start | (self.level < self.most)),
            Assert(self.level <= self.most),
            Assert(dut.begun == (self.level > self.is_open)),
            Assume(~dut.next | ~self.is_open),
            Assert(~self.is_open | (self.level != 0)),
            Assert(probe(m, "dut.waiting", JOB_BITS + 1) == self.level - self.is_open),
            Assert(probe(m, "dut.is_open", 1) == self.is_open),
        ]
        m.d.sync += self.level.eq(self.level + dut.start - self.ends)
        for k, each in enumerate(jobs):
            with m.If(dut.start & (self.level - self.ends == k)):
                m.d.sync += each.eq(new)
            with m.Elif(self.ends):
                m.d.sync += each.eq(jobs[k + 1] if k + 1 < self.most else new)
        with m.If(dut.next):
            m.d.sync += [self.is_open.eq(1), self.entry.eq(0)]
        with m.Elif(self.ends):
            m.d.sync += self.is_open.eq(0)
        with m.Elif(self.moves):
            m.d.sync += self.entry.eq(self.entry + 1)
        with m.If(dut.clear):
            m.d.sync += [self.level.eq(0), self.is_open.eq(0)]
        for k, each in enumerate(jobs):
            m.d.comb += Assert((self.level <= k) | (each.count != 0))
        self.new = new

    def _asks(self, m):
        """Pieces cover the entries of the job, and nothing behind them."""
        dut, ranges, piece = self.dut, self.ranges, self.ranges.i.payload
        self.left, self.asks = Signal(self.count_bits, name="left"), Signal(name="asks_for_more")
        number = Signal(self.count_bits, name="entries_of_piece")
        burst = _BURST // INDEX_BYTES
        with m.If(dut.start):
            m.d.sync += [self.left.eq(self.new.count), self.asks.eq(1)]
        with m.Elif(dut.stop):
            m.d.sync += self.asks.eq(0)
        with m.Elif(ranges.takes):
            m.d.sync += [self.left.eq(self.left - number), self.asks.eq(~piece.last)]
        m.d.comb += [number.eq(piece.size // INDEX_BYTES), Assert(ranges.i.valid == self.asks)]
        with m.If(ranges.i.valid & ranges.i.ready):
            m.d.comb += [
                Assert(piece.size % INDEX_BYTES == 0),
                Assert(number <= self.left),
                Assert(~piece.last | (self.left == number)),
                Assert(piece.last | (number == burst)),
                Cover(piece.last & (number == 0)),
                Cover(piece.last & (number == burst)),
            ]
        # What is left is the bursts, less the borrows that are on their way in their count, and the
        # rest.
        bits = 32 - (burst.bit_length() - 1)
        places = range(-(-bits // _PARTS), bits, -(-bits // _PARTS))
        bursts, rest = probe(m, "dut.bursts", bits), probe(m, "dut.rest", burst.bit_length())
        borrows = probe(m, "dut.bursts_carries", len(places))
        true, was_taken = Signal(bits, name="bursts_left"), probe(m, "dut.reader.was_taken", 1)
        m.d.comb += [
            Assert(rest <= burst),
            Assert(~borrows[0] | (was_taken & (self.asks | dut.stop))),
        ]
        with m.If(self.asks):
            m.d.comb += [
                true.eq((self.left - rest) // burst),
                Assert(self.left >= rest),
                Assert((self.left - rest) % burst == 0),
                Assert(bursts == true + sum(borrows[k] << low for k, low in enumerate(places))),
                Assert(was_taken | (probe(m, "dut.is_rest", 1) == (true == 0))),
                *(Assert(~borrows[k] | bursts[:low].all()) for k, low in enumerate(places)),
                Assert(~ranges.asked & ~probe(m, "dut.reader.has_last", 1)),
            ]

    def _gives(self, m):
        """Each entry is the word at its address, out of the beat that is there."""
        dut, ranges, slots = self.dut, self.ranges, self.slots
        head, entry = self.jobs[0], dut.o.payload
        bits = slots.bit_length() - 1
        beat, place = (
            Signal(self.count_bits, name="beat"),
            Signal(self.count_bits + 1, name="place"),
        )
        covered = Signal(self.count_bits, name="covered")  # entries of the oldest job
        first = head.first[:bits]  # place in its beat
        reached = Signal(self.count_bits + 1)
        m.d.comb += [
            place.eq(first + Mux(self.is_open, self.entry, 0)),
            # All but the job that was begun last are covered.
            covered.eq(head.count - Mux((self.level == 1) & ~dut.stop, self.left, 0)),
            reached.eq(first + covered),
            ranges.is_covered.eq((self.level != 0) & (covered != 0) & ((beat << bits) < reached)),
            dut.o.ready.eq(anything(m, 1, "o_ready")),
            dut.address.eq(head.first << (INDEX_BYTES.bit_length() - 1)),
            self.moves.eq(dut.o.valid & dut.o.ready),
            self.ends.eq(self.moves & dut.last),
            dut.last.eq(self.entry == head.count - 1),
            Assert(dut.o.valid == (ranges.o.valid & self.is_open & ~dut.stop)),
        ]
        with m.If(ranges.gives):
            m.d.sync += beat.eq(beat + 1)
        with m.If(self.ends | dut.clear):
            m.d.sync += beat.eq(0)
        word = Array(ranges.o.payload.data.word_select(k, 64) for k in range(slots))
        expected = Signal(64, name="expected")
        m.d.comb += expected.eq(word[place[:bits]] if bits else word[0])
        with m.If(dut.o.valid):
            m.d.comb += [
                Assert(entry.bytes == expected[:24]),
                Assert(entry.raw == expected[24]),
                Assert(entry.has_crc == expected[25]),
                Assert(entry.reserved == expected[26:32]),
                Assert(entry.crc == expected[32:]),
                Assert(entry.resp == ranges.o.payload.resp),
                Assert(beat == place >> bits),
                Assert(self.entry < head.count),
                Cover(self.ends & (self.entry == 3) & (self.level == 2)),
            ]
        # A beat is used up with its last entry, or with that of its job; all, after a stop.
        is_last = (place[:bits].all() if bits else 1) | dut.last
        m.d.comb += [
            Assert(ranges.o.ready == (dut.stop | (self.moves & is_last))),
            Assert(dut.stop | (beat == place >> bits)),
            Assert(dut.stop | ~self.is_open | (self.entry < head.count)),
            Assert(dut.stop | ~ranges.o.valid | ranges.is_covered),
        ]
        if bits:
            slot = probe(m, "dut.slot", bits)
            m.d.comb += Assert(~self.is_open | dut.stop | (slot == place[:bits]))


def sized(link_bytes: int, address_bits: int = _ADDRESS_BITS):
    """A small engine with whole entries in a beat, and addresses for counts with a carry."""
    return replace(small(), link_bytes=link_bytes, address_bits=address_bits)


_SIZES = {f"beats of {link} bytes": (sized(link),) for link in (8, 16, 32)}
_SIZES[f"beats of 16 bytes, {_MANY} jobs"] = (sized(16), _MANY)
#: Counts with all bits.
_SIZES["beats of 16 bytes, 34 bits of address"] = (sized(16, 34),)

PROOFS = (
    Proof(
        name="entry_reader",
        promise="Of an index just the entries of its job's stripes are read, each once, in order",
        components=(EntryReader,),
        design=lambda size: GivesEntries(*size),
        sizes=_SIZES,
        slow=tuple(_SIZES),
        broken=faults(
            (sized(16),),
            16,
            late("dut.is_rest"),
            stuck_at(0, "dut.rest", 0),
            stuck_at(0, "dut.slot"),
            late("dut.is_open"),
            stuck_at(1, "dut.moves"),
        ),
    ),
)
