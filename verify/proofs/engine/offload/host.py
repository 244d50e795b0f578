"""The writer to the host: each word up to the limit, each stripe's own entry, and the job's end."""

from dataclasses import replace
from unittest import mock

from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.engine_codes import Op
from cdma.engine_config import INDEX_BYTES
from cdma.hdl.engine.common.crc import unit_words
from cdma.hdl.engine.offload import host
from cdma.hdl.engine.offload.host import HostWriter
from cdma.hdl.engine.offload.ledger import INDEX_BURST_BYTES
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, leave_open, offer
from cdma.verify.proofs.engine.offload.host_parts import (
    AnyCrc,
    AnyStream,
    PlainLedger,
    PlainLimit,
)
from cdma.verify.proofs.engine.offload.host_payload import check_payload, wrong_fields
from cdma.verify.proofs.engine.offload.index import WAITING
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.proof import Proof, faults, swapped

_NUMBER = 4  # bits of a stripe's number here: more stripes than are on their way
_TAGS = 4  # cycles from a burst's begin to its tag, at most
_ENTRIES = INDEX_BURST_BYTES // INDEX_BYTES  # of a burst of the index


class WritesJobs(Elaboratable):
    """Jobs follow each other, with any rows of any channels; all rows are dropped from some one on.

    Gather, ledger and entries of the index are those of the engine. The limit, the CRC and both
    writers of streams are any that do what their proofs say. What each part needs of the others is
    asserted, and that the parts are given what comes in, and that what they give goes out.
    """

    def __init__(self, config, writer=HostWriter):
        self.config, self.writer = config, writer

    def elaborate(self, platform):
        m = Module()
        parts = {
            "Ledger": PlainLedger,
            "Limit": self._limit,
            "UnitCrc": self._crc,
            "StreamWriter": AnyStream,
        }
        with mock.patch.multiple(host, **parts):
            self.dut = dut = self.writer(self.config)
            m.submodules.dut = elaborated(dut, platform)
        self.shift = self.config.word_bytes.bit_length() - 1
        self.ledger, (self.data, self.index) = dut._ledger, dut.writers
        self._job(m)
        self._rows(m)
        self._ledger(m)
        self._words(m)
        self._stripes(m)
        self._entries(m)
        self._tags(m)
        self._ends(m)
        check_payload(m, self)
        return m

    def _limit(self, *args):
        self.limit = PlainLimit(*args)
        return self.limit

    def _crc(self, *args):
        self.crc = AnyCrc(*args)
        return self.crc

    def _job(self, m):
        """A job at a time, and all is dropped from some row on until all is forgotten."""
        dut, job = self.dut, self.dut.job
        fresh = anything(m, len(Value.cast(job)), "any_job")
        kept, running = Signal.like(fresh, name="kept_job"), Signal(name="is_running")
        was_drop, was_discard = Signal(name="was_drop"), Signal(name="was_discard")
        m.d.comb += [
            dut.start.eq(anything(m, 1, "start") & ~running & ~dut.clear),
            dut.running.eq(running),
            Value.cast(job).eq(Mux(dut.start, fresh, kept)),
            dut.clear.eq(anything(m, 1, "clear") & ~running & dut.idle),
            dut.drops.eq(anything(m, 1, "drops") | was_drop),
            # What is not issued any more is dropped from the next cycle on.
            dut.discard.eq(anything(m, 1, "discard") | was_discard),
            Assume(~was_discard | dut.drops),
        ]
        leave_open(m, dut, "attr", "number")
        m.d.sync += [
            kept.eq(Value.cast(job)),
            running.eq(dut.start | (running & ~dut.ends)),
            was_drop.eq(dut.drops & ~dut.clear),
            was_discard.eq(dut.discard & ~dut.clear),
        ]
        for k, where in enumerate(dut.where):
            m.d.comb += where.eq(anything(m, len(where), f"any_where{k}"))
        m.d.comb += dut.o_error[0].ready.eq(anything(m, 1, "error_ready"))
        self.running, self.was_drop = running, was_drop

    def _rows(self, m):
        """Rows, statuses and turns, as the proof of the gather has them."""
        dut, lanes = self.dut, self.config.lanes
        self.turns = offer(m, dut.order, "order")
        m.d.comb += Assume(~dut.order.valid | (dut.order.payload.channel < self.config.channels))
        for k, (row, status) in enumerate(zip(dut.i, dut.i_status, strict=True)):
            offer(m, row, f"row{k}")
            offer(m, status, f"status{k}")
            count = row.payload.count
            m.d.comb += Assume(~row.valid | ((count != 0) & (count <= lanes)))

    def _ledger(self, m):
        """What the proof of the ledger needs of the rows."""
        dut, each, lanes = self.dut, self.ledger, self.config.lanes
        row, may, was_live = each.i, Signal(name="may"), Signal(name="was_live")
        m.d.sync += may.eq((self.running | dut.start) & ~each.hold & ~dut.start)
        with m.If(dut.start):
            m.d.sync += was_live.eq(1)
        with m.Elif(each.valid):
            m.d.sync += was_live.eq(row.live)
        with m.If(each.valid):
            m.d.comb += [
                Assert(may),
                Assert((row.count != 0) & (row.count <= lanes) & (row.kept <= row.count)),
                Assert(row.cut == (row.live & (row.kept != row.count))),
                Assert(row.channel < self.config.channels),
                Assert(was_live | ~row.live),
            ]
        self.wait = wait = probe(m, "dut.ledger.wait", 3)
        self.is_due, self.ended = (probe(m, f"dut.ledger.{n}", 1) for n in ("is_due", "ended"))
        self.is_live = probe(m, "dut.ledger.is_live", 1)
        self.may, self.was_live = may, was_live
        m.d.comb += [
            Assert(~dut.start | each.idle),
            # Invariants.
            Assert(~may | (wait == 0) | dut.start),
            Assert(~self.is_due | (wait != 0)),
            Assert(~(self.ended & self.is_due)),
            Assert(~self.is_due | (self.is_live & was_live)),
            Assert(~self.running | was_live | self.was_drop),
            Assert(~each.valid | row.live | self.was_drop),
            Assert(~(self.ended & was_live) | self.is_live),
        ]

    def _words(self, m):
        """The stream gets each word up to the limit, unless it is dropped, and none of MEASURE."""
        dut, row, valid = self.dut, self.ledger.i, self.ledger.valid
        room, kept = Signal.like(self.limit.left, name="room"), Signal.like(row.kept, name="fits")
        m.d.comb += kept.eq(Mux(room < row.count, room, row.count))
        with m.If(dut.start):
            m.d.sync += room.eq(Mux(dut.job.op == Op.MEASURE, 0, dut.job.limit >> self.shift))
        with m.Elif(self.data.valid):
            m.d.sync += room.eq(room - self.data.i.count)
        m.d.comb += [Assert(self.data.valid == valid), Assert(self.data.i.count == row.kept)]
        with m.If(valid):
            m.d.comb += [
                Assert(self.data.i.count == Mux(row.live, kept, 0)),
                Cover(row.live & (row.kept != 0) & (row.kept < row.count)),
            ]
        # Invariants: what is left, but for the row that was taken.
        left = Signal(len(room) + 1, name="left_and_taken")
        m.d.comb += left.eq(self.limit.left + Mux(valid & row.live, row.kept, 0))
        with m.If(self.running):
            m.d.comb += Assert(left <= room)
            with m.If(~self.was_drop | (valid & row.live)):
                m.d.comb += Assert(left == room)
            m.d.comb += [
                Assert(self.limit.age != 0),
                Assert(self.wait + self.limit.age >= 3),
                Assert(self.data.kept_address == dut.job.host),
                Assert(self.index.kept_address == dut.job.index_address),
            ]

    def _stripes(self, m):
        """Size and kind of each stripe, as its rows come."""
        dut, row, valid = self.dut, self.ledger.i, self.ledger.valid
        most = self.ledger.most
        bits = most.bit_length()
        size, is_first = Signal(bits + 1, name="size"), Signal(name="is_first_row", init=1)
        following, raw = Signal(bits + 1, name="following"), Signal(name="is_raw")
        missing = Signal(self.shift + 1, name="missing_bytes")
        m.d.comb += [
            following.eq(Mux(is_first, 0, size) + row.count),
            Assume(~valid | (following <= most)),
        ]
        with m.If(valid):
            m.d.sync += [size.eq(following), is_first.eq(row.last), raw.eq(row.status.raw)]
            if self.config.has_padding:
                m.d.sync += missing.eq(row.missing)
        with m.If(dut.start):
            m.d.sync += is_first.eq(1)
        self.size, self.following, self.raw, self.missing = size, following, raw, missing
        # Invariants of the ledger, as in its proof.
        low_bits = min(8, bits - 1)
        low, high = (
            probe(m, "dut.ledger.low", low_bits),
            probe(m, "dut.ledger.high", bits - low_bits),
        )
        known = Signal(bits + 1, name="known_size")
        m.d.comb += known.eq(low + ((high + probe(m, "dut.ledger.carry", 1)) << low_bits))
        has_ended = self.ended | self.is_due
        with m.If(self.running):
            m.d.comb += [
                Assert(probe(m, "dut.ledger.is_first", 1) == is_first),
                Assert(is_first | ((known == size) & (size != 0) & (size <= most))),
                Assert(~has_ended | ((known == size) & (size != 0) & (size <= most) & is_first)),
                Assert(~has_ended | (probe(m, "dut.ledger.raw", 1) == raw)),
            ]
        if self.config.has_padding:
            m.d.comb += Assert(probe(m, "dut.ledger.missing", self.shift + 1) == missing)
            m.d.comb += Assert(missing < self.config.word_bytes)

    def _entries(self, m):
        """Each stripe that is not dropped has one entry, in order, of its own size and CRC."""
        dut, row, job = self.dut, self.ledger.i, self.dut.job
        comes, has_crc = Signal(name="comes"), Signal(name="has_crc")
        came, given, picked = (Signal(_NUMBER, name=f"n_{n}") for n in ("came", "given", "picked"))
        size, raw = Signal.like(self.size, name="picked_size"), Signal(name="picked_raw")
        missing = Signal.like(self.missing, name="picked_missing")
        nbytes = Signal(24, name="picked_bytes")
        m.d.comb += nbytes.eq((size << self.shift) - missing)
        m.d.comb += [
            comes.eq(self.ledger.valid & row.last & row.live & job.index),
            has_crc.eq(job.index & job.crc),
        ]
        is_new = anything(m, 1, "picks")
        level, valid = (
            Signal(range(WAITING + 1), name="level"),
            probe(m, "dut.entries.waiting.valid", WAITING),
        )
        m.d.comb += level.eq(sum(valid[k] for k in range(WAITING)))
        waits = Signal(range(WAITING + 2), name="waits")
        ends_now = Signal(name="has_ended")
        m.d.comb += [
            ends_now.eq((self.ended | self.is_due) & self.is_live & job.index),
            waits.eq(level + ends_now),
        ]
        is_followed = Signal(name="is_followed")
        # What leaves is given to the writer, or dropped.
        self.leaves = leaves = probe(m, "dut.entries.o_valid", 1)
        is_ready = valid[0] & (self.crc.o.valid | ~job.crc)
        m.d.comb += [
            Assert(self.index.valid == (leaves & ~dut.discard)),
            Assert(leaves | ~(is_ready & dut.discard)),
        ]
        m.d.sync += [came.eq(came + comes), given.eq(given + leaves)]
        with m.If(comes & ~is_followed & is_new):
            m.d.sync += [
                is_followed.eq(1),
                picked.eq(came),
                size.eq(self.following),
                raw.eq(row.status.raw),
            ]
            if self.config.has_padding:
                m.d.sync += missing.eq(row.missing)
        is_picked = leaves & is_followed & (given == picked)
        with m.If(is_picked):
            m.d.sync += is_followed.eq(0)
        with m.If(dut.start):
            m.d.sync += [came.eq(0), given.eq(0), is_followed.eq(0)]
        word = self.index.i.words[0]
        crc = Mux(has_crc, self.crc.o.payload, 0)
        m.d.comb += [
            Assert(~leaves | (came != given)),
            Assert(~leaves | ((self.index.i.count == 1) & (word[25] == has_crc))),
            Assert(~leaves | (word[32:] == crc)),
            Assert(~(leaves & has_crc) | self.crc.o.valid),
            Assert(~is_picked | (word[:24] == nbytes)),
            Cover(is_picked & ((missing != 0) | (not self.config.has_padding))),
            Assert(~is_picked | (word[24] == raw)),
            Cover(is_picked & has_crc & (picked == 1)),
            # A CRC ends with the stripe, when that of the stripe before was taken.
            Assert((self.crc.valid & self.crc.last) == (comes & has_crc)),
        ]
        # Invariants: stripes that have come and have no entry wait at one place each.
        m.d.comb += [
            Assert((came - given)[:_NUMBER] == waits),
            Assert(waits + comes <= WAITING),
            Assert(~is_followed | ((picked - given)[:_NUMBER] < waits)),
            *(Assert(~valid[k] | valid[k - 1]) for k in range(1, WAITING)),
            Assert(~has_crc | (waits == self.crc.is_busy)),
            Assert(has_crc | ~self.crc.is_busy),
            Assert(
                probe(m, "dut.crc_waits", 1)
                == ((self.crc.valid & self.crc.last) | self.crc.is_busy)
            ),
        ]
        bits = len(self.ledger.entry.as_value())
        for k in range(WAITING):
            kept = probe(m, f"dut.entries.waiting.entry{k}", bits)
            with m.If(valid[k] & is_followed & ((given + k)[:_NUMBER] == picked)):
                m.d.comb += [Assert(kept[:-1] == nbytes), Assert(kept[-1] == raw)]
        with m.If(ends_now & is_followed & ((came - 1)[:_NUMBER] == picked)):
            m.d.comb += [Assert(self.size == size), Assert(self.raw == raw)]
            m.d.comb += Assert(self.missing == missing)
        self.level, self.comes, self.waits = level, comes, waits

    def _tags(self, m):
        """Each burst has one tag: of the stream some cycles after it began, of the index when it
        begins, or before or after that by some entries or cycles."""
        dut, each = self.dut, self.ledger
        length = each.tag_latency
        assert length <= _TAGS
        opened = [Signal(name=f"opened{k}") for k in range(length)]
        m.d.sync += opened[0].eq(self.data.opens)
        m.d.sync += [opened[k + 1].eq(opened[k]) for k in range(length - 1)]
        m.d.comb += [
            Assert(self.data.tags == opened[-1]),
            Assert(probe(m, "dut.ledger.starts", length) == Cat(opened)),
        ]
        # A burst of the index ends at its block only, as the proof of the cutter says.
        place, is_new = Signal(range(_ENTRIES), name="place"), Signal(name="has_none")
        tagged, begun = Signal(_NUMBER, name="n_tagged"), Signal(_NUMBER, name="n_begun")
        # One whose entries are dropped counts as well.
        begins = is_new | (place == 0)
        m.d.comb += Assume(self.index.opens == (self.index.valid & begins))
        with m.If(self.leaves):
            m.d.sync += [place.eq(place + 1), is_new.eq(0)]
        m.d.sync += [
            tagged.eq(tagged + self.index.tags),
            begun.eq(begun + (self.leaves & begins)),
        ]
        with m.If(dut.start):
            m.d.sync += [place.eq(dut.job.index_address >> 3), is_new.eq(1)]
            m.d.sync += [tagged.eq(0), begun.eq(0)]
        # Entries that wait will begin so many bursts, whose tags were given or are on their way.
        ready, line = Signal(range(WAITING + 2)), probe(m, "dut.ledger.index_starts", length)
        starts = [
            (ready > k) & ((is_new if k == 0 else 0) | ((place + k)[: len(place)] == 0))
            for k in range(WAITING + 1)
        ]
        on_way, ahead = Signal(range(length + 1)), Signal(range(WAITING + 2), name="ahead")
        m.d.comb += [
            ready.eq(self.level + (self.ended & self.is_live & dut.job.index)),
            on_way.eq(sum(line[k] for k in range(length))),
            ahead.eq(sum(starts)),
            Assert((tagged + on_way)[:_NUMBER] == (begun + ahead)[:_NUMBER]),
            Assert(ahead <= 1 + is_new),
            Assert(~dut.ends | (tagged == begun)),
            Cover(ahead == 2),
            Cover(dut.ends & (begun == 2)),
        ]
        with m.If(self.running & dut.job.index & self.was_live):
            m.d.comb += [
                Assert(probe(m, "dut.ledger.place", len(place)) == (place + ready)[: len(place)]),
                Assert(probe(m, "dut.ledger.has_none", 1) == (is_new & (ready == 0))),
            ]

    def _ends(self, m):
        """A job ends once, when its turns are over and nothing of it is on its way."""
        dut, row = self.dut, self.ledger.i
        is_end = dut.order.valid & dut.order.payload.end
        is_none = Signal(name="is_none")
        idle = [~each.is_open & ~each.begun & ~each.had_begun for each in (self.data, self.index)]
        m.d.comb += [
            is_none.eq(
                ~self.ledger.valid
                & self.ledger.idle
                & (self.waits == 0)
                & ~self.crc.is_busy
                & ~self.crc.valid
                & idle[0]
                & idle[1]
            ),
            Assert(~dut.ends | (self.running & is_end & is_none)),
            Assert(self.running | is_none),
            Assert((self.turns & is_end) == dut.ends),
            Assert(~dut.known | (dut.exceeds == row.status.exceeds)),
            Cover(dut.ends & dut.job.index & (dut.stripes == 2)),
        ]
        # Invariants of the gather.
        works, valid = self.crc.valid, self.ledger.valid
        is_turn = self.running & dut.order.valid & ~dut.order.payload.end
        m.d.comb += Assert(~works | valid | is_turn)
        units = self.config.lanes // unit_words(self.config)
        if units > 1:
            place = probe(m, "dut.gather.place", (units - 1).bit_length())
            m.d.comb += [Assert((place == 0) | is_turn), Assert(~works | valid | (place != 0))]


#: Beats of four words, and units of one.
UNITS = replace(small(2, lanes=4), link_bytes=1)
#: Stripes of one block of ZVC+ that end inside a word: two words of two bytes a beat, and units of
#: one word.
PADDED = replace(
    small(2), codec="zvcplus", type="bf16", word_bits=16, stripe_bytes=128, link_bytes=2
)

PROOFS = (
    Proof(
        name="host_writer",
        promise="Each word up to the limit goes to the stream, each stripe's entry to the index, "
        "the bursts of both to the link; a job ends once, when nothing is left",
        components=(HostWriter,),
        design=WritesJobs,
        sizes={"2 channels": small(2), "4 units a beat": UNITS, "2 channels, padding": PADDED},
        broken=faults(
            small(2),
            12,
            late("dut.gather.hold_last"),
            stuck_at(0, "dut.gather.hold"),
            stuck_at(1, "dut.gather.slow"),
            stuck_at(1, "dut.has_index"),
            late("dut.entries.valid"),
            stuck_at(1, "dut.entries.hold"),
            stuck_at(0, "dut.ledger.has_none"),
            stuck_at(0, "dut.gather.o.words"),
            inverted("dut.gather.o.words", 0),
        )
        + faults(UNITS, 12, stuck_at(0, "dut.unit"), inverted("dut.unit", 7))
        + faults(PADDED, 12, stuck_at(0, "dut.ledger.missing"), stuck_at(0, "dut.gather.o.missing"))
        + swapped(
            6,
            {
                name: lambda writer=writer: WritesJobs(small(2), writer)
                for name, writer in wrong_fields().items()
            },
        ),
    ),
)
