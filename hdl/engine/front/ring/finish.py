"""Makes completions of descriptors that have ended, in the order of each ring."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import enum, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import LINK, Status
from cdma.engine_config import COMPLETION_BYTES
from cdma.hdl.axi.full import Attributes
from cdma.hdl.engine.front.ring.fetch import COUNT_BITS, RINGS, entry_address
from cdma.hdl.engine.front.ring.records import Ended, Started
from cdma.hdl.engine.job import Done
from cdma.hdl.lib.lookahead import incremented
from cdma.hdl.lib.signals import duplicates

#: Descriptors of a ring that are started and have no completion yet.
STARTED = 16


class _State(enum.Enum):
    LOOK = 0  # which ring has something that has ended
    PLACE = 1  # its completion's address
    OFFER = 2
    NEXT = 3


class Finisher(wiring.Component):
    """Pairs what was started with what the data path has done.

    The rings take turns. A completion in four cycles; ``o.payload`` is combinational from ``done``,
    whose ``ready`` is a register.

    Parameters
    ----------
    address_bits : int
    depth : int
        Descriptors of a ring that can be in flight, a power of two.

    Members
    -------
    base, log2, attr : In, arrays: address, size and attributes of the completion rings
    clear : In, the counts start over
    may_start, ring, record : In, level: a descriptor of ``ring`` may be started in this cycle, see
        :class:`~cdma.hdl.engine.front.ring.records.Started`; it is started only where there
        ``has_room``
    started : In, array: descriptors started, without that one
    has_room : Out, a bit for each ring
    arena_pointer : In, address of a stream with APPEND, until ``ends_append``
    done : In, array of streams of :class:`~cdma.hdl.engine.job.Done`
    o : Out stream of :class:`Ended`
    ends_append : Out, one cycle: the completion of a descriptor with APPEND, of ring 0, has left
    advances, size : Out, with it: its stream is complete, and has so many bytes
    """

    o: stream.Interface

    def __init__(self, address_bits: int, depth: int = STARTED):
        if depth < 2 or depth & (depth - 1):
            raise ValueError(
                f"Descriptors in flight must be a power of two from 2 on, not {depth!r}"
            )
        self.address_bits, self.depth = address_bits, depth
        super().__init__(
            {
                "base": In(address_bits).array(RINGS),
                "log2": In(4).array(RINGS),
                "attr": In(Attributes()).array(RINGS),
                "clear": In(1),
                "may_start": In(1),
                "ring": In(1),
                "record": In(Started(address_bits)),
                "started": In(COUNT_BITS).array(RINGS),
                "has_room": Out(RINGS),
                "arena_pointer": In(address_bits + 1),
                "done": In(stream.Signature(Done())).array(RINGS),
                "o": Out(stream.Signature(Ended(address_bits))),
                "ends_append": Out(1),
                "advances": Out(1),
                "size": Out(address_bits + 1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        low = (self.depth - 1).bit_length()
        state, ring, slot = Signal(_State), Signal(), Signal(low)  # what is looked at
        next_ring = Signal()
        next_slot = Signal(low)
        ended = [Signal(COUNT_BITS, name=f"ended{number}") for number in range(RINGS)]
        record = self._records(m, Cat(next_ring, next_slot))
        in_flight = [
            each[: low + 1] ^ started[: low + 1]
            for each, started in zip(ended, self.started, strict=True)
        ]
        self._step(m, state, ring, record, in_flight)
        goes_on, turns = state == _State.NEXT, self._turns
        m.d.comb += [next_ring.eq(ring), next_slot.eq(slot)]
        with m.If(self.clear):
            m.d.comb += next_slot.eq(0)
        with m.Elif(turns):
            m.d.comb += [next_ring.eq(~ring), next_slot.eq(Mux(ring, ended[0], ended[1]))]
        with m.Elif(goes_on):
            m.d.comb += next_slot.eq(slot + 1)
        m.d.sync += [ring.eq(next_ring), slot.eq(next_slot)]
        count = Mux(ring, ended[1], ended[0])
        following = incremented(count, 1)
        is_job = (state == _State.OFFER) & self.o.ready & ~record.is_local
        for number in range(RINGS):
            is_here = goes_on & (ring == number)
            with m.If(self.clear):
                m.d.sync += ended[number].eq(0)
            with m.Elif(is_here):
                m.d.sync += ended[number].eq(following)
            # In the state NEXT.
            m.d.sync += self.done[number].ready.eq(is_job & (ring == number))
        copies = duplicates(m, next_ring, "done_ring")
        others = duplicates(m, ~next_ring, "other_ring")
        is_ok = self._complete(m, ring, copies, others, record, count, following)
        advances, size = Signal(reset_less=True), Signal.like(self.size, reset_less=True)
        m.d.sync += advances.eq(is_ok & ~record.is_local)
        m.d.comb += [
            self.has_room.eq(Cat(each != self.depth for each in in_flight)),
            self.ends_append.eq(goes_on & record.append),
            self.advances.eq(advances),
        ]
        # An answer stays for some cycles, so that its size can be added from a register.
        m.d.sync += size.eq(self.done[0].payload.stream_bytes)
        m.d.comb += self.size.eq(size)
        return m

    def _step(self, m, state, ring, record, in_flight):
        """Go from state to state, and in some cycles to the other ring."""
        busy = [each != 0 for each in in_flight]
        has, other_has = Mux(ring, busy[1], busy[0]), Mux(ring, busy[0], busy[1])
        is_done = record.is_local | Mux(ring, self.done[1].valid, self.done[0].valid)
        self._turns = Signal(name="turns")
        m.d.comb += self.o.valid.eq(state == _State.OFFER)
        with m.If(state == _State.LOOK):
            with m.If(has & is_done):
                m.d.sync += state.eq(_State.PLACE)
            with m.Else():
                m.d.comb += self._turns.eq(other_has)
        with m.If(state == _State.PLACE):
            m.d.sync += state.eq(_State.OFFER)
        with m.If((state == _State.OFFER) & self.o.ready):
            m.d.sync += state.eq(_State.NEXT)
        with m.If(state == _State.NEXT):
            m.d.comb += self._turns.eq(other_has)
            m.d.sync += state.eq(_State.LOOK)

    def _records(self, m, next_place):
        """What was started; gives the record that is looked at."""
        m.submodules.records = records = Memory(
            shape=Started(self.address_bits), depth=RINGS * self.depth, init=[]
        )
        write = records.write_port()
        # Read in the cycle before, also what is written then.
        read = records.read_port(transparent_for=(write,))
        started = Mux(self.ring, self.started[1], self.started[0])
        m.d.comb += [
            # Written before it is known to be started: the place is free.
            write.en.eq(self.may_start & Mux(self.ring, self.has_room[1], self.has_room[0])),
            write.addr.eq(Cat(self.ring, started[: (self.depth - 1).bit_length()])),
            write.data.eq(self.record),
            read.addr.eq(next_place),
        ]
        return read.data

    def _complete(self, m, ring, copies, others, record, count, following):
        """The completion of what is looked at; gives whether its status is OK."""
        ended, completion = self.o.payload, self.o.payload.completion
        done, status, is_job, is_ok = Signal(Done()), Signal(8), ~record.is_local, Signal()
        base, log2 = (Mux(others[2], *each) for each in (self.base, self.log2))
        # Half of the many bits follow one register of the ring, and half another one.
        names = [name for name, _ in Done()]
        for number, name in enumerate(names):
            choice = copies[0] if number % 2 else copies[2]
            values = [Value.cast(each.payload[name]) for each in self.done]
            m.d.comb += Value.cast(done[name]).eq(Mux(choice, values[1], values[0]))
        m.d.comb += [
            status.eq(Mux(record.is_local, record.status, Value.cast(done.status))),
            is_ok.eq(status == Status.OK),
            completion.cookie.eq(Mux(record.is_untrusted, 0, record.cookie)),
            completion.stream_bytes.eq(Mux(is_job, done.stream_bytes, 0)),
            completion.stripe.eq(Mux(is_job, done.stripe, 0)),
            completion.head.eq(following),
            completion.status.eq(status),
            completion.channel.eq(Mux(is_job, done.channel, LINK)),
            completion.phase.eq(~(count >> log2)[0]),
            ended.address.eq(entry_address(m, base, count, log2, COMPLETION_BYTES, "entry")),
            ended.attr.eq(Mux(others[0], *(attr.as_value() for attr in self.attr))),
            ended.interrupt.eq(record.interrupt),
            ended.ring.eq(ring),
        ]
        statistics = Cat(done.raw_stripes, done.cycles)
        with m.If(record.append & is_ok):
            m.d.comb += completion.where.eq(self.arena_pointer)
        with m.Elif(is_job):
            m.d.comb += completion.where.eq(Mux(is_ok, statistics, done.where))
        with m.Elif(~is_ok):
            m.d.comb += completion.where.eq(record.address)
        return is_ok
