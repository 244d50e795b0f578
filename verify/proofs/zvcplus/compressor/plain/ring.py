"""Rows that leave the ring: at any place of a row, the bits that were added there, in order."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import stream

from cdma.hdl.zvcplus.compressor.plain.records import Landing
from cdma.hdl.zvcplus.compressor.plain.ring import ROWS, PlainRing
from cdma.hdl.zvcplus.config import Config
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, hold_to_rule, is_one_at_most
from cdma.verify.proofs.proof import Proof, faults
from cdma.verify.proofs.zvcplus.compressor.plain.control import shown_at

#: Rows that an item can lie in, from the one that is being filled.
REACHED = 3


class CollectsRows(Elaboratable):
    """At one place of all rows, a row that leaves has the bits that items have added to it.

    The model has the rows that wait as a queue, of each the bit at that place, and the bit of the
    row that is being filled. Items are as the placer gives them: bits lie in rows up to the last
    that is left behind and the one behind, and a packet that ends leaves its last row behind.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut = self.dut
        m.submodules.dut = elaborated(dut, platform)
        is_due = Signal(name="is_due")  # not in the first cycle
        landing, valid = self._items(m, dut, is_due)
        leaves = self._take(m, dut.o)
        place = Signal(8, name="place")
        m.d.comb += place.eq(AnyConst(8))
        added = self._added(m, dut, place)
        takes, count = Signal(), Signal(range(ROWS + 1), name="count")
        has_last, current = Signal(name="has_last"), Signal(name="current")
        waits, ends = Signal(ROWS - 1, name="waits"), Signal(ROWS - 1, name="ends")
        bytes_, words = Signal.like(landing.bytes), Signal.like(dut.words, name="held_words")
        m.d.sync += is_due.eq(1)
        fits = (count + landing.rows < ROWS) & ~(landing.last & has_last)
        m.d.comb += [
            takes.eq(dut.ready[0] & valid),
            *(Assert(~is_due | (each == dut.ready[0])) for each in dut.ready),
            Assert(~is_due | (probe(m, "dut.holds", 1) == ~dut.ready[0])),
            # An item is taken as soon as there is room for it.
            Assert(~is_due | (dut.ready[0] == (~valid | fits))),
            Assert(dut.o.valid == (count != 0)),
            # The last row of one packet at a time.
            Assert(has_last == ends.any()),
            Assert(is_one_at_most(ends)),
            Assert(count < ROWS),
            Assert(is_due | ((count == 0) & ~valid & ~current)),
        ]
        # The queue: a row leaves, then those that the item leaves behind come.
        stay = Signal.like(count, name="stay")
        came = Mux(takes, landing.rows, 0)
        final = Signal(2, name="final")  # where the packet's last row comes
        m.d.comb += [stay.eq(count - leaves), final.eq(stay + landing.rows - 1)]
        m.d.sync += [
            count.eq(stay + came),
            waits.eq((waits >> leaves) | (Mux(takes, added.behind, 0) << stay)),
            ends.eq((ends >> leaves) | Mux(takes & landing.last, 1 << final, 0)),
        ]
        with m.If(takes):
            m.d.sync += current.eq(added.current | (current & (landing.rows == 0)))
        with m.If(takes & landing.last):
            m.d.sync += [bytes_.eq(landing.bytes), words.eq(dut.words), has_last.eq(1)]
        with m.Elif(leaves & ends[0]):
            m.d.sync += has_last.eq(0)
        m.d.comb += added.before.eq(current)
        row = dut.o.payload
        with m.If(count != 0):
            m.d.comb += [
                Assert(row.bits.bit_select(place, 1) == waits[0]),
                Assert(row.last == ends[0]),
                Cover((count == 3) & waits[1] & ends[2]),
            ]
        with m.If(has_last):
            m.d.comb += [Assert(row.bytes == bytes_), Assert(row.words == words)]
        self._compare(m, place, count, waits, ends, added, current)
        return m

    def _items(self, m, dut, is_due):
        """Items as the placer gives them, one at a time; each waits until it is taken."""
        config = dut.config
        landing, valid = Signal(Landing(config), name="landing"), Signal(name="valid")
        following = Signal(Landing(config), name="following")
        ready, passes = dut.ready[0], anything(m, 2, "passes")
        was_taken = Signal(name="was_taken", init=1)
        m.d.comb += [
            # In the first cycle nothing comes: registers that say whether it would be taken differ.
            dut.next_valid.eq(anything(m, 1, "comes") & is_due),
            following.eq(anything(m, len(following.as_value()), "any_landing")),
            dut.next.eq(following),
            dut.next_passes.eq(Cat(passes >= 1, passes >= 2)),
            Assume(passes <= 2),
            Assume(following.rows == passes + following.last),
            Assume(following.reach == passes + following.is_after),
            Assume(~following.last | (passes <= 1)),
            Assume(~following.is_after | following.last),
            dut.valid.eq(valid),
            dut.landing.eq(landing),
        ]
        with m.If(ready):
            m.d.sync += [valid.eq(dut.next_valid), landing.eq(following)]
        left = Signal(2, name="left")  # rows without a packet's last
        m.d.comb += [
            left.eq(landing.rows - landing.last),
            Assert(~valid | (landing.reach == left + landing.is_after)),
            Assert(~valid | (landing.rows == left + landing.last)),
            Assert(~valid | (left <= 2)),
            Assert(~valid | ~landing.last | (left <= 1)),
            Assert(~valid | ~landing.is_after | landing.last),
        ]
        # What belongs to the item waits with it.
        m.d.sync += was_taken.eq(ready)
        for name in ("words", "payload", "heading", "body"):
            port = Value.cast(getattr(dut, name))
            kept = Signal(len(port), name=f"kept_{name}")
            fresh = anything(m, len(port), f"any_{name}")
            m.d.comb += port.eq(Mux(was_taken, fresh, kept))
            m.d.sync += kept.eq(port)
        return landing, valid

    def _take(self, m, port):
        """Take rows at any time. A row that stalls is held, of its end what counts."""
        row = port.payload
        end = Cat(row.bytes, row.words)
        what = Cat(row.bits, row.last, Mux(row.last, end, 0))
        shown = stream.Signature(len(what)).create(path=("shown",))
        m.d.comb += [
            port.ready.eq(anything(m, 1, "o_ready")),
            shown.valid.eq(port.valid),
            shown.ready.eq(port.ready),
            shown.payload.eq(what),
        ]
        hold_to_rule(m, shown, "o")
        return port.valid & port.ready

    def _added(self, m, dut, place):
        """What the item adds at the place to each row from the one that is being filled."""
        landing = dut.landing
        low, high = place[:4], place[4:]
        starts = landing.below.bit_select(high, 1) | (
            landing.here.bit_select(high, 1) & landing.from_low.bit_select(low, 1)
        )
        payload = dut.payload.bit_select(place, 1)
        control = [
            shown_at(dut.heading, place + 256 * row) | shown_at(dut.body, place + 256 * row)
            for row in range(2)
        ]
        added = _Added()
        rows = Signal(REACHED, name="rows")  # a bit per row, without a control behind the packet
        after = Signal(name="after")
        found = [0] * REACHED
        for row in range(REACHED):
            for behind in range(2):
                is_start = landing.start_row == row - behind if row >= behind else 0
                bit = payload & (~starts if behind else starts)
                found[row] = found[row] | (is_start & bit)
                is_control = landing.control_row == row - behind if row >= behind else 0
                found[row] = found[row] | (is_control & ~landing.is_after & control[behind])
        most = landing.reach - landing.is_after
        m.d.comb += [
            rows.eq(Cat(*found)),
            after.eq(landing.is_after & control[0]),
            # No bit lies behind the item's last row, and a control in a new row does not reach
            # the next.
            *(Assume((most >= row) | ~rows[row]) for row in range(REACHED)),
            Assume(~landing.is_after | ~control[1]),
            added.rows.eq(rows),
            added.current.eq(Mux(landing.last, after, rows.bit_select(landing.rows, 1))),
            added.behind.eq((rows | added.before) & ((1 << landing.rows) - 1)[:REACHED]),
        ]
        return added

    def _compare(self, m, place, count, waits, ends, added, current):
        """The component's rows are those of the model, from the head on."""
        dut, landing = self.dut, self.dut.landing
        head, tail = (probe(m, f"dut.{name}", ROWS) for name in ("head", "tail"))
        bits = Signal(ROWS, name="bits")
        held = Signal(ROWS, name="held")
        m.d.comb += [
            bits.eq(
                Cat(
                    probe(m, f"dut.row{k}", dut.config.beat_bits).bit_select(place, 1)
                    for k in range(ROWS)
                )
            ),
            held.eq(Cat(probe(m, f"dut.is_held{k}", 1) for k in range(ROWS))),
        ]
        marks = probe(m, "dut.ends_packet", ROWS)
        m.d.comb += [
            Assert((head != 0) & is_one_at_most(head)),
            *(Assert((count != n) | (tail == head.rotate_left(n))) for n in range(ROWS)),
            Assert(probe(m, "dut.count", 2) == count),
        ]
        is_waiting = 0
        for n in range(ROWS - 1):
            is_waiting = is_waiting | (head.rotate_left(n) & (count > n).replicate(ROWS))
            with m.If(count > n):
                m.d.comb += [
                    Assert(_at(bits, head, n) == waits[n]),
                    Assert(_at(marks, head, n) == ends[n]),
                    Assert(_at(held, head, n)),
                ]
            with m.Else():
                m.d.comb += [Assert(~waits[n]), Assert(~ends[n])]
        m.d.comb += [
            Assert(probe(m, "dut.waits", ROWS) == is_waiting),
            Assert((marks & ~is_waiting) == 0),
            Assert(probe(m, "dut.has_last", 1) == ends.any()),
        ]
        for behind in range(1, ROWS):
            with m.If(count + behind < ROWS):
                m.d.comb += Assert(~_at(held, tail, behind))
        # An item that waits may be added already.
        here = _at(bits & held, tail, 0)
        with m.If(dut.valid):
            m.d.comb += Assert((here == current) | (here == (current | added.rows[0])))
            m.d.comb += Assert(~current | here)
        with m.Else():
            m.d.comb += Assert(here == current)
        for name, number in (
            ("payload", landing.start_row),
            ("control", Mux(landing.is_after, landing.rows, landing.control_row)),
        ):
            rows = Mux(number[0], tail.rotate_left(1), tail)
            if len(number) > 1:
                rows = Mux(number[1], rows.rotate_left(2), rows)
            first = rows & dut.valid.replicate(ROWS)
            for kind, rows in (("here", first), ("behind", first.rotate_left(1))):
                selected = probe(m, f"dut.{name}_{kind}", ROWS)
                m.d.comb += Assert(selected == (rows & ~is_waiting))


def _at(vector, first, behind):
    """The bit of the row so many behind the one of ``first``, one-hot."""
    return (vector & first.rotate_left(behind)).any()


class _Added:
    """What an item adds at one place.

    Members
    -------
    before : the bit of the row that is being filled
    rows : a bit per row from that one on
    behind : a bit per row that is left behind, with what it had before
    current : the bit of the row that is being filled behind the item, if it leaves a row behind
    """

    def __init__(self):
        self.before = Signal(name="bit_before")
        self.rows = Signal(REACHED, name="added_rows")
        self.behind = Signal(REACHED, name="added_behind")
        self.current = Signal(name="added_current")


PROOFS = (
    Proof(
        name="plain_ring",
        promise="Rows leave with the bits that were added to them, and an item that fits is taken",
        components=(PlainRing,),
        design=lambda name: CollectsRows(PlainRing(Config(name))),
        sizes={name: name for name in ("fp32", "bf16")},
        slow=("bf16",),
        broken=faults(
            "fp32",
            8,
            late("dut.waits"),
            stuck_at(0, "dut.control_behind", 1),
            inverted("dut.has_last"),
            stuck_at(1, "dut.is_held2"),
        ),
    ),
)
