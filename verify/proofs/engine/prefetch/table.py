"""The table of stripes gives all that it was given, in order, and frees what is done."""

from dataclasses import replace
from unittest import mock

from amaranth.asserts import AnyConst
from amaranth.hdl import (
    Array,
    Assert,
    Assume,
    Cat,
    Const,
    Cover,
    Elaboratable,
    Module,
    Mux,
    Signal,
    Value,
)
from amaranth.lib import data

from cdma.hdl.engine.prefetch import records, table
from cdma.hdl.engine.prefetch.table import StripeTable
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.proof import Proof, faults

_ENDS = 2  # most ends of jobs in the table
_READERS = ("sizes", "cuts", "crcs", "first")


class KeepsStripes(Elaboratable):
    """Stripes come while there is room, ends of a few jobs at any time. Readers take at any time.

    Stripes of a channel are decoded, written and checked in their order, at any time after they
    came. Discards begin and end while the table is empty; what is discarded is not written. All is
    forgotten at any time.

    Entries are compared as readers give them. Of one slot, any, the model counts the events that it
    still needs, from when it came: it becomes free just when it is the first and needs none.
    """

    def __init__(self, size):
        self.config, self.slots = size

    def elaborate(self, platform):
        m = Module()
        with (
            mock.patch.object(records, "stripes_in_work", return_value=self.slots),
            mock.patch.object(table, "stripes_in_work", return_value=self.slots),
            mock.patch.object(table, "_KEPT_FREE", _ENDS + 4),
        ):
            self.dut = StripeTable(self.config)
            m.submodules.dut = elaborated(self.dut, platform)
        self.bits = len(self.dut.slot)
        self._environment(m)
        self._slots(m)
        self._room(m)
        self._readers(m)
        self._done(m)
        return m

    def _environment(self, m):
        dut, entry = self.dut, self.dut.entry
        m.d.comb += [
            dut.clear.eq(anything(m, 1, "any_clear")),
            dut.push.eq(anything(m, 1, "any_push") & ~dut.clear),
            Value.cast(entry).eq(anything(m, len(Value.cast(entry)), "any_entry")),
            dut.waits.eq(anything(m, 1, "any_waits")),
            dut.look.eq(anything(m, len(dut.look), "any_look")),
            dut.decoded.eq(anything(m, self.config.channels, "any_decoded")),
            dut.written.eq(anything(m, self.config.channels, "any_written")),
            dut.checked.eq(anything(m, 1, "any_checked")),
            dut.o_size.ready.eq(anything(m, 1, "size_ready")),
            dut.o_cut.ready.eq(anything(m, 1, "cut_ready")),
            dut.o_crc.ready.eq(anything(m, 1, "crc_ready")),
            Assume(~dut.push | entry.end | dut.has_room),
            Assume(entry.channel < self.config.channels),
        ]
        discards, fresh = Signal(), anything(m, 1, "any_discards")
        m.d.comb += dut.discards.eq(Mux(dut.empty & ~dut.push, fresh, discards))
        m.d.sync += discards.eq(dut.discards)

    def _slots(self, m):
        """Entries by slot, and how many of them each reader has before it."""
        dut = self.dut
        self.rows = [Signal(dut.entry.shape(), name=f"row{k}") for k in range(self.slots)]
        self.left, self.at = {}, {}
        came = Signal(self.bits, name="came")
        for k, row in enumerate(self.rows):
            with m.If(dut.push & (came[:-1] == k)):
                m.d.sync += row.eq(dut.entry)
        for name in _READERS:
            pointer = probe(m, f"dut.{name}", self.bits)
            left = Signal(self.bits, name=f"left_{name}")
            m.d.comb += [left.eq(came - pointer), Assert(left < self.slots)]
            self.left[name], self.at[name] = left, pointer
        with m.If(dut.clear):
            m.d.sync += came.eq(0)
        with m.Else():
            m.d.sync += came.eq(came + dut.push)
        self.came, self.used = came, self.left["first"]
        m.d.comb += [
            Assert(dut.slot == came),
            Assert(dut.empty == (self.used == 0)),
            Assert(dut.idle == (sum(self.left[name] != 0 for name in _READERS[:3]) == 0)),
        ]
        # Of each row: how far it is ahead of a pointer, and whether it is to be passed.
        self.ahead, self.is_left = {}, {}
        for name in _READERS:
            ahead = [Signal(self.bits - 1, name=f"{name}_ahead{k}") for k in range(self.slots)]
            m.d.comb += [each.eq(k - self.at[name]) for k, each in enumerate(ahead)]
            self.ahead[name] = ahead
            self.is_left[name] = [each < self.left[name] for each in ahead]
        # In use, or an end that is free and that a reader has not come to.
        self.is_live = [
            self.is_left["sizes"][k] | self.is_left["cuts"][k] | self.is_left["first"][k]
            for k in range(self.slots)
        ]

    def _number(self, rows, name="first", last=None):
        """How many of the rows that are left to a reader are of a kind, to the one so far ahead."""
        parts = zip(self.is_left[name], self.ahead[name], rows, strict=True)
        return sum(left & of & (1 if last is None else ahead <= last) for left, ahead, of in parts)

    def _room(self, m):
        """Stripes leave room for the ends of all jobs."""
        dut, most = self.dut, self.slots - _ENDS - 2
        ends, stripes = Signal(self.bits, name="ends"), Signal(self.bits, name="stripes")
        m.d.comb += [
            ends.eq(self._number([row.end for row in self.rows])),
            stripes.eq(self.used - ends),
            Assume(~(dut.push & dut.entry.end) | (ends < _ENDS)),
            Assert(ends <= _ENDS),
            Assert(stripes <= most),
            Cover(self.used == self.slots - 2),
        ]
        # What the table compares is two cycles old, and an entry a cycle comes.
        counted, pushed = probe(m, "dut.used", self.bits), Signal(2)
        m.d.sync += pushed.eq(Cat(dut.push, pushed))
        m.d.comb += [
            Assert(self.used <= counted + pushed[0]),
            Assert(~dut.has_room | (self.used < most - 2 + pushed[0] + pushed[1])),
        ]
        self._empty_jobs(m)

    def _empty_jobs(self, m):
        """A job without a stripe has failed: no job ends until all is forgotten."""
        dut = self.dut
        was_end, has_failed = Signal(name="was_end", init=1), Signal(name="has_failed")
        fails = dut.push & dut.entry.end & was_end
        m.d.comb += Assume(dut.waits | ~(fails | has_failed))
        m.d.sync += has_failed.eq((has_failed | fails) & ~dut.clear)
        with m.If(dut.push | dut.clear):
            m.d.sync += was_end.eq(dut.clear | dut.entry.end)
        # A reader is behind the first slot in use by an end at most.
        newest, before = ((slot - 1)[: self.bits - 1] for slot in (self.came, self.at["first"]))
        ends = Array(row.end for row in self.rows)
        m.d.comb += [
            Assert(self.left["crcs"] <= self.used),
            Assert(~Array(self.is_live)[newest] | (ends[newest] == was_end)),
        ]
        for name in ("sizes", "cuts"):
            is_behind = Signal(name=f"{name}_behind")
            m.d.comb += [
                is_behind.eq(self.left[name] == self.used + 1),
                Assert((self.left[name] <= self.used) | is_behind),
                Assert(~is_behind | ends[before]),
                Cover(is_behind),
            ]
        for k in range(self.slots):
            both = self.is_live[k] & self.is_live[k - 1]
            m.d.comb += Assert(~(both & self.rows[k].end & self.rows[k - 1].end) | has_failed)

    def _readers(self, m):
        """Each reader is given what concerns it, in order."""
        dut, config = self.dut, self.config
        heads = {
            name: data.View(
                dut.entry.shape(), Array(row.as_value() for row in self.rows)[self.at[name][:-1]]
            )
            for name in _READERS
        }
        self.head = heads["first"]
        size, cut, crc = dut.o_size, dut.o_cut, dut.o_crc
        entry = heads["sizes"]
        m.d.comb += Assert(size.valid == (self.left["sizes"] != 0))
        # In the stream it takes whole words. No size is so large that these are too many: the proof
        # of the maker of tasks.
        word = config.word_bytes if config.has_padding else 1
        space = Signal.like(size.payload.size, name="space")
        with m.If(size.valid):
            m.d.comb += [
                space.eq((entry.size + (word - 1)) // word * word),
                Assert(size.payload.last == entry.end),
                Assert(size.payload.size == Mux(entry.end, 0, space)),
            ]
        entry = heads["cuts"]
        m.d.comb += Assert(cut.valid == (self.left["cuts"] != 0))
        with m.If(cut.valid):
            m.d.comb += [
                Assert(cut.payload.end == entry.end),
                Assert(cut.payload.tag.job == entry.job),
                Assert(cut.payload.tag.slot == self.at["cuts"]),
                Assert(cut.payload.channel == entry.channel),
                Assert(cut.payload.size == entry.size),
            ]
        entry = heads["crcs"]
        has_crc, waits = entry.crc & ~entry.end, Signal()
        m.d.comb += [
            waits.eq(self.left["crcs"] != 0),
            Assert(crc.valid == (waits & has_crc)),
            Cover(crc.valid & (self.left["crcs"] == 1) & (self.left["cuts"] == 3)),
        ]
        with m.If(crc.valid):
            m.d.comb += [
                Assert(crc.payload.tag.job == entry.job),
                Assert(crc.payload.tag.slot == self.at["crcs"]),
                Assert(crc.payload.has_crc == entry.has_crc),
                Assert(crc.payload.crc == entry.value),
            ]
        # Each takes one at a time, and what has no CRC is skipped at once.
        self.reads = {
            "sizes": size.valid & size.ready,
            "cuts": cut.valid & cut.ready,
            "crcs": waits & (crc.ready | ~has_crc),
        }
        for name, moves in self.reads.items():
            expected = Signal(self.bits, name=f"expected_{name}")
            m.d.sync += expected.eq(Mux(dut.clear, 0, self.at[name] + moves))
            m.d.comb += Assert(self.at[name] == expected)
        self._memories(m)

    def _memories(self, m):
        """Rows in use are those of the memories."""
        dut = self.dut
        shapes = {
            "stripes": ("end", "job", "channel", "crc", "size"),
            "checks": ("crc", "job", "has_crc", "value"),
        }
        for memory, names in shapes.items():
            layout = data.StructLayout({name: dut.entry[name].shape() for name in names})
            for k, row in enumerate(self.rows):
                value = data.View(layout, probe(m, f"dut.{memory}[{k}]", layout.size))
                with m.If(self.is_live[k]):
                    m.d.comb += [
                        Assert(value[name] == row[name]) for name in names if name != "crc"
                    ]
                    m.d.comb += Assert(value.crc == (row.crc & ~row.end))
        looked, found = Signal(self.bits - 1), Signal(dut.place.shape(), name="found")
        was_used, look = Signal(), dut.look[:-1]
        m.d.sync += [
            looked.eq(look),
            was_used.eq(Array(self.is_left["first"])[look]),
            Value.cast(found).eq(Array(Value.cast(row.place) for row in self.rows)[look]),
        ]
        for k, row in enumerate(self.rows):
            value = probe(m, f"dut.places[{k}]", len(Value.cast(row.place)))
            m.d.comb += Assert(~self.is_live[k] | (value == Value.cast(row.place)))
            m.d.comb += Assert(~self.is_live[k] | (row.channel < self.config.channels))
        with m.If(was_used):
            m.d.comb += Assert(Value.cast(dut.place) == Value.cast(found))

    def _done(self, m):
        """The first slot becomes free when its stripe is done, or its job has ended."""
        dut, rows, head = self.dut, self.rows, self.head
        frees = probe(m, "dut.is_done", 1) & (self.used != 0)
        watched, kept = Signal(self.bits, name="watched"), Signal(dut.entry.shape(), name="kept")
        is_in, ahead = Signal(name="is_in"), Signal(self.bits, name="watched_ahead")
        self.enters = enters = Signal(name="enters")
        self.is_in, self.watched_ahead = is_in, ahead
        m.d.comb += [
            watched.eq(AnyConst(self.bits)),
            enters.eq(dut.push & (self.came == watched)),
            ahead.eq(watched - self.at["first"]),
            Assert(is_in == (ahead < self.used)),
        ]
        with m.If(enters):
            m.d.sync += [kept.eq(dut.entry), is_in.eq(1)]
        with m.Elif((frees & (ahead == 0)) | dut.clear):
            m.d.sync += is_in.eq(0)
        row = Array(each.as_value() for each in rows)[watched[:-1]]
        m.d.comb += Assert(~is_in | (row == kept.as_value()))
        entry, is_crc = dut.entry, [each.crc & ~each.end for each in rows]
        done = self._events(
            m,
            "checked",
            ("crcs",),
            dut.checked,
            dut.push & entry.crc & ~entry.end,
            is_crc,
            kept.crc & ~kept.end,
            frees & head.crc & ~head.end,
        )
        done = done | ~kept.crc
        for name, events, counts in (
            ("decoded", dut.decoded, Const(1, 1)),
            ("written", dut.written, ~dut.discards),
        ):
            for k in range(self.config.channels):
                is_own = kept.channel == k
                has_all = self._events(
                    m,
                    f"{name}{k}",
                    ("sizes", "cuts"),
                    events[k],
                    dut.push & ~entry.end & (entry.channel == k) & counts,
                    [~each.end & (each.channel == k) & counts for each in rows],
                    ~kept.end & is_own & counts,
                    frees & ~head.end & (head.channel == k) & counts,
                )
                done = done & (has_all | ~is_own | ~counts)
        is_done = Signal(name="is_done")
        m.d.comb += [
            is_done.eq(Mux(kept.end, ~dut.waits, done)),
            Assert(~(is_in & (ahead == 0)) | (frees == is_done)),
            Assert(dut.ended == (frees & head.end & ~dut.discards)),
            Cover(is_in & (ahead == 0) & is_done & ~kept.end & kept.crc & ~dut.discards),
            Cover(is_in & done & (ahead == 2) & ~kept.end),
            Cover(dut.ended),
        ]

    def _events(self, m, name, readers, event, pushes, of_rows, of_watched, takes):
        """Count events that are still to come, and those that the watched slot needs.

        Parameters
        ----------
        name : of the register that counts events of slots that are not free
        readers : that have read the stripe of which one comes
        event : one comes
        pushes : a stripe comes that needs one
        of_rows, of_watched : rows, and the watched slot, that need one
        takes : a slot that needs one becomes free

        Returns whether the watched slot needs none.
        """
        dut = self.dut
        total, needs, early = (
            Signal(self.bits, name=f"{name}_{what}") for what in ("left", "needs", "early")
        )
        # An event is of a stripe that was read, or is read in this cycle.
        for reader in readers:
            waiting, reads = Signal(self.bits, name=f"{name}_{reader}"), self.reads[reader]
            now = Array(of_rows)[self.at[reader][:-1]] & reads
            m.d.comb += [
                waiting.eq(self._number(of_rows, reader)),
                Assume(~event | (total > waiting - now)),
                Assert(total >= waiting),
            ]
        m.d.comb += Assume(~event | ((total != 0) & ~dut.clear))
        m.d.sync += [
            total.eq(total + pushes - event),
            needs.eq(needs - (event & (needs != 0))),
            early.eq(early + event - takes),
        ]
        with m.If(self.enters):
            m.d.sync += needs.eq(total + 1 - event)
        with m.If(dut.clear):
            m.d.sync += [total.eq(0), early.eq(0)]
        due, before = (Signal(self.bits, name=f"{name}_{what}") for what in ("due", "before"))
        m.d.comb += [
            due.eq(self._number(of_rows)),
            before.eq(self._number(of_rows, last=self.watched_ahead)),
            Assert(due == total + early),
            Assert((total <= due) & (early <= due)),
            Assert(probe(m, f"dut.{name}", self.bits) == early),
        ]
        with m.If(self.is_in & of_watched):
            m.d.comb += Assert(needs == Mux(before > early, before - early, 0))
        return needs == 0


_SIZE = (small(), 8)
_PADDED = (replace(small(), codec="zvcplus", type="bf16", word_bits=16), 8)
_SIZES = {
    "1 channel, 8 slots": _SIZE,
    "2 channels, 8 slots": (small(channels=2), 8),
    "1 channel, 8 slots, padding": _PADDED,
}

PROOFS = (
    Proof(
        name="stripe_table",
        promise="Readers are given each stripe once, in order; a slot is free just when its stripe "
        "is done; ends always have room",
        components=(StripeTable,),
        design=KeepsStripes,
        sizes=_SIZES,
        slow=tuple(_SIZES),
        broken=(
            *faults(
                _SIZE,
                16,
                late("dut.is_done"),
                stuck_at(0, "dut.skips"),
                stuck_at(1, "dut.has_room"),
                late("dut.leaves"),
            ),
            *faults(_PADDED, 16, stuck_at(0, "dut.o_size__payload.size", 1)),
        ),
    ),
)
