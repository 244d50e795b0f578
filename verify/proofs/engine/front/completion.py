"""Completions arrive as they are, in order, once, the beat with the phase after the answer to the
rest."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal

from cdma.engine_codes import Status
from cdma.engine_config import COMPLETION_BYTES
from cdma.hdl.axi.full import Response
from cdma.hdl.engine.common.errors import is_error
from cdma.hdl.engine.front.completion import CompletionWriter
from cdma.verify.formal.axi_rules import Writes
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, offer
from cdma.verify.proofs.proof import BOUNDED, PDR, Proof, faults, swapped

ADDRESS_BITS = 7


class ArrivesWhole(Elaboratable):
    """Completions come at any time, the memory answers at any time, also with errors.

    A completion, picked at any time, is reported once, with the address and the ring of its own,
    and after the answers to all of its beats. The beat with the phase is offered when the rest was
    answered. Nothing is reported that was not taken.

    Of any byte of memory: it is written only as a byte of an entry whose completion is there, once,
    with the value that it has there. The phase alone is turned when the rest could not be written.
    The report of this completion comes after that, and says what became of its writes.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        enters = offer(m, dut.i, "i")
        link, slots = dut.link, dut.slots
        writes = Writes(
            m,
            link.aw,
            link.w,
            link.b,
            dut.link_bytes,
            most=2 * slots,
            depth=2,
            gap=0,
            keeps_address=True,
        )
        level = Signal(range(slots + 2))
        m.d.sync += level.eq(level + enters - dut.written)
        m.d.comb += [
            Assert(link.b.ready),
            Assert(level <= slots),
            Assert(~dut.written | (level != 0)),
        ]
        # The picked completion.
        is_inside, ahead = Signal(), Signal(range(slots + 1))
        address, ring = Signal(dut.address_bits), Signal()
        with m.If(enters & ~is_inside & anything(m, 1, "pick")):
            m.d.sync += [
                is_inside.eq(1),
                ahead.eq(level - dut.written),
                address.eq(dut.i.payload.address),
                ring.eq(dut.i.payload.ring),
            ]
        with m.If(is_inside & dut.written):
            m.d.sync += [ahead.eq(Mux(ahead == 0, 0, ahead - 1)), is_inside.eq(ahead != 0)]
            with m.If(ahead == 0):
                m.d.comb += [Assert(dut.address == address), Assert(dut.ring == ring)]
                m.d.comb += Cover(ring & (level == slots))
        m.d.comb += Assert(~is_inside | (ahead < level))
        self._bytes(m, writes, enters)
        if dut.is_split:
            self._late(m, writes, enters)
        return m

    def _bytes(self, m, writes, enters):
        """Follow a byte of memory, at any place of any entry, and the completion of this entry."""
        dut, link, offered = self.dut, self.dut.link, self.dut.i.payload
        bits = dut.address_bits
        entry, place = Signal(bits, name="entry"), Signal(5, name="place")
        m.d.comb += [
            entry.eq(AnyConst(bits - 5) << 5),
            place.eq(AnyConst(5)),
            Assume(offered.address[:5] == 0),  # entries of a ring are aligned
        ]
        # The entry's completion. Software has read an entry before it is written again: here each
        # has one completion.
        is_here, has_entered = Signal(name="is_here"), Signal(name="has_entered")
        was, own = Signal(offered.shape(), name="was"), Signal(offered.shape(), name="own")
        m.d.comb += [
            is_here.eq(dut.i.valid & (offered.address == entry)),
            Assume(~(has_entered & is_here)),
            own.eq(Mux(has_entered, was.as_value(), offered.as_value())),
        ]
        with m.If(enters & is_here):
            m.d.sync += [has_entered.eq(1), was.eq(offered)]
        # Which of the bursts on their way are its own, and the first error of these.
        queue, is_own = Signal(2 * dut.slots, name="queue"), Signal(name="is_own")
        failed, resp = Signal(name="has_failed"), Signal(Response, name="first_resp")
        left = Signal.like(writes.waiting, name="left")
        m.d.comb += [
            is_own.eq(link.aw.valid & (link.aw.payload.address[5:] == entry[5:])),
            left.eq(writes.waiting - writes.answers),
        ]
        m.d.sync += queue.eq((queue >> writes.answers) | ((writes.offers & is_own) << left))
        with m.If(writes.answers & queue[0] & is_error(link.b.payload) & ~failed):
            m.d.sync += [failed.eq(1), resp.eq(link.b.payload)]
        with m.If(is_own):
            m.d.comb += [
                Assert(is_here | has_entered),
                Assert(link.aw.payload.attr == own.attr),
            ]
        # The byte is in the beat.
        size = dut.link_bytes
        low = size.bit_length() - 1
        address, beat = Signal(bits, name="address_of"), Signal(bits, name="beat")
        writes_it, is_there = Signal(name="writes_it"), Signal(name="is_there")
        turns = Signal(8, name="turns")
        w = link.w.payload
        m.d.comb += [
            address.eq(entry | place),
            beat.eq((writes.head.address >> low) + writes.sent),
            writes_it.eq(
                writes.moves & (beat == address >> low) & w.strobe.bit_select(address[:low], 1)
            ),
        ]
        if dut.is_split:
            m.d.comb += turns[7].eq(failed & (place == COMPLETION_BYTES - 1))
        byte = own.completion.as_value().word_select(place, 8)
        with m.If(writes_it):
            m.d.sync += is_there.eq(1)
            m.d.comb += [
                Assert(is_here | has_entered),
                Assert(~is_there),
                Assert(w.data.word_select(address[:low], 8) == byte ^ turns),
            ]
        self._report(m, entry, own, has_entered, is_there, failed, resp)

    def _report(self, m, entry, own, has_entered, is_there, failed, resp):
        """What is reported of a completion is its own, once."""
        dut = self.dut
        reports, was_reported = Signal(name="reports"), Signal(name="was_reported")
        failure = Mux(resp == Response.DECERR, Status.HOST_DECERR, Status.HOST_SLVERR)
        m.d.comb += [
            reports.eq(dut.written & (dut.address == entry)),
            Cover(reports & failed & (resp == Response.DECERR)),
            Cover(reports & ~failed & dut.interrupt),
        ]
        m.d.sync += was_reported.eq(was_reported | reports)
        with m.If(reports):
            m.d.comb += [
                Assert(has_entered & is_there & ~was_reported),
                Assert(dut.ring == own.ring),
                Assert(dut.interrupt == own.interrupt),
                Assert(dut.is_failed == failed),
                Assert(dut.status == Mux(failed, failure, own.completion.status)),
            ]

    def _late(self, m, writes, enters):
        """First parts and second parts are answered alternately for each completion."""
        slots = self.dut.slots
        # Second parts that were offered never exceed the first parts that were answered.
        is_late = probe(m, "dut.is_late", 1)
        kinds = probe(m, "dut.kinds", slots)
        ripe, late_ = Signal(range(2 * slots)), Signal(range(2 * slots))
        answered = probe(m, "dut.answered", 1)  # a cycle later
        m.d.sync += ripe.eq(ripe + (answered & ~kinds[0]))
        begins = writes.offers & is_late
        m.d.sync += late_.eq(late_ + begins)
        difference = Signal(range(2 * slots))
        m.d.comb += difference.eq(ripe - late_)
        with m.If(begins):
            m.d.comb += [Assert(difference != 0), Assert(difference <= slots)]
        m.d.comb += Cover(begins & (difference == 2))


class _OtherByte(CompletionWriter):
    """Writes another value into a byte: a wire has no cell that could have a fault."""

    def _data(self, m, beat, is_late, current, waiting):
        super()._data(m, beat, is_late, current, waiting)
        content = Cat([current.completion.as_value()] * (self.link_bytes // COMPLETION_BYTES))
        m.d.comb += self.link.w.payload.data.eq(content ^ (1 << 100))


def _design(size):
    return ArrivesWhole(_writer(*size))


def _writer(link_bytes, slots, address_bits=ADDRESS_BITS):
    return CompletionWriter(address_bits, link_bytes, slots)


PROOFS = (
    Proof(
        name="completion_writer",
        promise="Each completion arrives once, in order, with all of its bytes; its phase after "
        "the rest was answered",
        components=(CompletionWriter,),
        design=_design,
        # With four slots, one completion too many is taken within 18 cycles.
        sizes={
            "16 bytes, 4 slots": (16, 4),
            "16 bytes, 2 slots": (16, 2),
            "8 bytes, 2 slots": (8, 2),
            # What is kept of a completion has the places that it has in an engine.
            "16 bytes, 2 slots, addresses of 33 bits": (16, 2, 33),
        },
        slow=("16 bytes, 2 slots", "8 bytes, 2 slots", "16 bytes, 2 slots, addresses of 33 bits"),
        mode=BOUNDED,
        depth=18,
        broken=faults(
            (16, 2),
            14,
            late("dut.taken"),
            late("dut.ripe"),
            stuck_at(1, "dut.has_late"),
            stuck_at(0, "dut.late_data"),
            inverted("dut.late_data", 127),
            stuck_at(0, "dut.link__w__payload.data", 5),
            inverted("dut.link__aw__payload.address", 6),
            stuck_at(0, "dut.link__aw__payload.attr"),
            stuck_at(0, "dut.interrupt"),
        )
        + faults((8, 2), 14, stuck_at(0, "dut.piece", 63))
        + faults((16, 4), 18, stuck_at(0, "dut.taken", 2))
        + faults((16, 2, 33), 14, stuck_at(0, "dut.address", 23)),
    ),
    Proof(
        name="completion_writer_wide",
        promise="Each completion arrives once, in order, with all of its bytes, in one beat",
        components=(CompletionWriter,),
        design=_design,
        sizes={"32 bytes, 2 slots": (32, 2), "64 bytes, 2 slots": (64, 2)},
        slow=("32 bytes, 2 slots", "64 bytes, 2 slots"),
        mode=PDR,
        depth=6,
        broken=faults(
            (64, 2),
            10,
            late("dut.taken"),
            stuck_at(0, "dut.link__w__payload.strobe", 63),
            stuck_at(1, "dut.link__w__payload.strobe", 0),
            stuck_at(0, "dut.status", 0),
        )
        + swapped(10, {"another byte": lambda: ArrivesWhole(_OtherByte(ADDRESS_BITS, 64, 2))}),
    ),
)
