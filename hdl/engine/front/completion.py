"""Writes completions to host memory, the beat with the phase last."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import Status
from cdma.engine_config import COMPLETION_BYTES
from cdma.hdl.axi.full import Attributes, Response
from cdma.hdl.engine.front.ring.records import Ended
from cdma.hdl.engine.job import WriteClient
from cdma.hdl.lib.signals import select

#: Completions on their way: as many as cover a memory's answer with small descriptors.
SLOTS = 16


class _State(enum.Enum):
    IDLE = 0
    ADDRESS = 1
    DATA = 2


class CompletionWriter(wiring.Component):
    """Writes completions and reports their arrival, two cycles after their answer.

    A link of 32 bytes or more takes a completion in one beat. With a narrower one the beats before
    the last are a burst of their own, and the last beat, with the phase, is written after the B of
    that: software never sees a phase before the rest. Several completions are on their way at a
    time, in order.

    Parameters
    ----------
    address_bits, link_bytes : int
        Widths.
    slots : int
        Completions on their way, a power of two.

    Members
    -------
    i : In stream of :class:`~cdma.hdl.engine.front.ring.records.Ended`
    link : Out, client of the link
    written : Out, one cycle: a completion of ``ring`` has arrived
    ring : Out
    is_failed : Out, ... or it has not, its write failed
    status : Out, of the completion; of the write when it failed
    interrupt : Out, the descriptor asked for one
    address : Out, of the completion
    """

    i: stream.Interface

    def __init__(self, address_bits: int, link_bytes: int, slots: int = SLOTS):
        self.address_bits, self.link_bytes, self.slots = address_bits, link_bytes, slots
        self.is_split = link_bytes < COMPLETION_BYTES
        super().__init__(
            {
                "i": In(stream.Signature(Ended(address_bits))),
                "link": Out(WriteClient(address_bits, link_bytes)),
                "written": Out(1),
                "ring": Out(1),
                "is_failed": Out(1),
                "status": Out(8),
                "interrupt": Out(1),
                "address": Out(address_bits),
            }
        )

    def elaborate(self, platform):
        m = Module()
        state, beat, is_late = Signal(_State), Signal(2), Signal()
        starts, leaves = Signal(), Signal()
        taken, ripe, late, ended = self._counts(m)
        is_full, has_late = Signal(), Signal()
        m.d.comb += [
            is_full.eq((taken - ended)[: len(taken)] == self.slots),
            has_late.eq(ripe != late if self.is_split else 0),
            starts.eq(has_late | (self.i.valid & ~is_full)),
        ]
        with m.If(state == _State.IDLE):
            m.d.sync += [is_late.eq(has_late), beat.eq(0)]
            with m.If(starts):
                m.d.sync += state.eq(_State.ADDRESS)
        with m.Elif((state == _State.ADDRESS) & self.link.aw.ready):
            m.d.sync += state.eq(_State.DATA)
        with m.Elif((state == _State.DATA) & self.link.w.ready):
            m.d.sync += beat.eq(beat + 1)
            with m.If(self.link.w.payload.last):
                m.d.sync += state.eq(_State.IDLE)
                m.d.comb += leaves.eq(1)
        m.d.comb += [
            self.link.aw.valid.eq(state == _State.ADDRESS),
            self.link.w.valid.eq(state == _State.DATA),
            self.i.ready.eq(leaves & ~is_late),
        ]
        m.d.sync += [taken.eq(taken + (leaves & ~is_late)), late.eq(late + (leaves & is_late))]
        # Written before it leaves: the place is free.
        enters = (state == _State.DATA) & ~is_late
        waiting = self._keep(m, self.i.payload, enters, taken, late)
        self._data(m, beat, is_late, self.i.payload, waiting)
        self._answers(m, leaves, is_late, ripe, ended)
        return m

    def _counts(self, m):
        """Slots that were taken, got the first B, issued the second part, and have ended."""
        names = ("taken", "ripe", "late", "ended")
        return [Signal(range(2 * self.slots), name=name) for name in names]

    def _keep(self, m, current, enters, taken, late):
        """Store what the second part and the end of a completion need; gives that second part."""
        link_bits, bits = 8 * self.link_bytes, self.address_bits
        facts = {"status": 8, "interrupt": 1, "ring": 1, "address": bits}
        second = {"data": min(link_bits, 8 * COMPLETION_BYTES), "attr": Attributes()}
        layout = data.StructLayout({**facts, **(second if self.is_split else {})})
        m.submodules.kept = kept = Memory(shape=layout, depth=self.slots, init=[])
        write, self._end_port = kept.write_port(), kept.read_port()
        m.d.comb += [
            write.en.eq(enters),
            write.addr.eq(taken[:-1]),
            write.data.status.eq(current.completion.status),
            write.data.interrupt.eq(current.interrupt),
            write.data.ring.eq(current.ring),
            write.data.address.eq(current.address),
        ]
        if not self.is_split:
            return None
        read = kept.read_port(domain="comb")
        m.d.comb += [
            read.addr.eq(late[:-1]),
            write.data.data.eq(current.completion.as_value()[-link_bits:]),
            write.data.attr.eq(current.attr),
        ]
        # What became of the first part of each slot.
        m.submodules.firsts = firsts = Memory(shape=unsigned(2), depth=self.slots, init=[])
        self._first_write, first = firsts.write_port(), firsts.read_port(domain="comb")
        self._first_end = firsts.read_port(domain="comb")
        m.d.comb += first.addr.eq(late[:-1])
        # When the first part failed, the phase is not turned: software does not see the entry.
        is_failed = first.data[1]
        beat = Signal(link_bits, name="late_data")
        m.d.comb += beat.eq(read.data.data ^ (is_failed << (link_bits - 1)))
        return read.data, beat

    def _data(self, m, beat, is_late, current, waiting):
        """Drive address and data of a burst."""
        aw, w = self.link.aw.payload, self.link.w.payload
        m.d.comb += [aw.address.eq(current.address), aw.attr.eq(current.attr), aw.beats.eq(1)]
        content = current.completion.as_value()
        if not self.is_split:
            copies = self.link_bytes // COMPLETION_BYTES
            place = current.address[5] if copies == 2 else Const(0, 1)
            mask = (1 << COMPLETION_BYTES) - 1
            m.d.comb += [
                w.data.eq(Cat([content] * copies)),
                w.strobe.eq(mask << Cat(Const(0, 5), place)),
                w.last.eq(1),
            ]
            return
        parts = COMPLETION_BYTES // self.link_bytes
        size = 8 * self.link_bytes
        pieces = [content[size * part : size * (part + 1)] for part in range(parts - 1)]
        m.d.comb += [
            aw.beats.eq(parts - 1),
            w.data.eq(select(m, beat, pieces, "piece")),
            w.strobe.eq((1 << self.link_bytes) - 1),
            w.last.eq(beat == parts - 2),
        ]
        kept, last_piece = waiting
        with m.If(is_late):
            m.d.comb += [
                aw.address.eq(kept.address + COMPLETION_BYTES - self.link_bytes),
                aw.attr.eq(kept.attr),
                aw.beats.eq(1),
                w.data.eq(last_piece),
                w.last.eq(1),
            ]

    def _answers(self, m, leaves, is_late, ripe, ended):
        """Each B is that of the oldest burst. It goes into a register first."""
        end = self._end_port.data
        answered = Signal()
        resp = Signal(Response, reset_less=True)
        m.d.comb += self.link.b.ready.eq(1)
        m.d.sync += [answered.eq(self.link.b.valid), resp.eq(self.link.b.payload)]
        kinds = Signal(self.slots)  # bit 0 is the oldest
        level = Signal(range(self.slots + 1))
        place, rest = Signal(range(self.slots + 1)), Signal(self.slots)
        m.d.comb += [place.eq(level - answered), rest.eq(kinds >> answered)]
        m.d.sync += level.eq(level + leaves - answered)
        for bit in range(self.slots):
            is_new = leaves & (place == bit)
            m.d.sync += kinds[bit].eq(Mux(is_new, is_late, rest[bit]))
        # A completion's end is another cycle later, when what is kept of it was read.
        is_end, ends = Signal(), Signal()
        failure = Signal(Response, reset_less=True)
        m.d.comb += [is_end.eq(answered), self._end_port.addr.eq(ended[:-1])]
        m.d.sync += [ends.eq(is_end), failure.eq(resp), ended.eq(ended + is_end)]
        if self.is_split:
            first = self._first_end
            m.d.comb += [
                is_end.eq(answered & kinds[0]),
                first.addr.eq(ended[:-1]),
                self._first_write.addr.eq(ripe[:-1]),
                self._first_write.data.eq(resp),
                self._first_write.en.eq(answered & ~kinds[0]),
            ]
            with m.If(first.data[1]):
                m.d.sync += failure.eq(first.data)
            m.d.sync += ripe.eq(ripe + (answered & ~kinds[0]))
        is_failed = failure.as_value()[1]
        m.d.comb += [
            self.written.eq(ends),
            self.ring.eq(end.ring),
            self.is_failed.eq(is_failed),
            self.status.eq(
                Mux(
                    is_failed,
                    Mux(failure == Response.DECERR, Status.HOST_DECERR, Status.HOST_SLVERR),
                    end.status,
                )
            ),
            self.interrupt.eq(end.interrupt),
            self.address.eq(end.address),
        ]
