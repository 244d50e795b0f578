"""Makes completions of descriptors that have ended, in the order of each ring."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import LINK, Status
from cdma.engine_config import COMPLETION_BYTES
from cdma.hdl.axi.full import Attributes
from cdma.hdl.engine.front.records import Completion
from cdma.hdl.engine.front.ring.fetch import COUNT_BITS, RINGS, entry_address
from cdma.hdl.engine.front.ring.start import Started
from cdma.hdl.engine.job import Done
from cdma.hdl.lib.lookahead import incremented

#: Descriptors of a ring that are started and have no completion yet.
STARTED = 16


class Ended(data.StructLayout):
    """A completion on its way to host memory.

    Members
    -------
    completion : the 32 bytes
    address : where they go
    attr : attributes of that write
    interrupt : the descriptor asked for one
    ring : of the descriptor
    """

    def __init__(self, address_bits: int):
        super().__init__(
            {
                "completion": Completion(),
                "address": unsigned(address_bits),
                "attr": Attributes(),
                "interrupt": unsigned(1),
                "ring": unsigned(1),
            }
        )


class Finisher(wiring.Component):
    """Pairs what was started with what the data path has done.

    The rings take turns. A completion in two cycles; ``o.valid`` is a register, and ``o.payload``
    is combinational from ``done``.

    Parameters
    ----------
    address_bits : int
    depth : int
        Descriptors of a ring that can be in flight, a power of two.

    Members
    -------
    base, log2, attr : In, arrays: address, size and attributes of the completion rings
    clear : In, the counts start over
    starts, ring, record : In, one cycle: a descriptor of ``ring`` is started, see
        :class:`~cdma.hdl.engine.front.ring.start.Started`; only where there ``has_room``
    started : In, array: descriptors started, without that one
    has_room : Out, a bit for each ring
    done : In, array of streams of :class:`~cdma.hdl.engine.job.Done`
    o : Out stream of :class:`Ended`
    ends_append : Out, one cycle: the completion of a descriptor with APPEND leaves
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
                "starts": In(1),
                "ring": In(1),
                "record": In(Started(address_bits)),
                "started": In(COUNT_BITS).array(RINGS),
                "has_room": Out(RINGS),
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
        ring, slot = Signal(), Signal(low)  # what is looked at
        ended = [Signal(COUNT_BITS, name=f"ended{number}") for number in range(RINGS)]
        next_ring = Signal()
        next_slot = Signal(low)
        record = self._records(m, Cat(next_ring, next_slot))
        done = Signal(Done())
        is_done, has, other_has = Signal(), Signal(), Signal()
        in_flight = [
            each[: low + 1] ^ started[: low + 1]
            for each, started in zip(ended, self.started, strict=True)
        ]
        count = Mux(ring, ended[1], ended[0])
        following = incremented(count, 1)
        m.d.comb += [
            self.has_room.eq(Cat(each != self.depth for each in in_flight)),
            has.eq(Mux(ring, in_flight[1], in_flight[0]) != 0),
            other_has.eq(Mux(ring, in_flight[0], in_flight[1]) != 0),
            done.eq(Mux(ring, self.done[1].payload.as_value(), self.done[0].payload.as_value())),
            is_done.eq(record.is_local | Mux(ring, self.done[1].valid, self.done[0].valid)),
        ]
        leaves = Signal()
        turns = Signal()
        m.d.comb += [
            leaves.eq(self.o.valid & self.o.ready),
            turns.eq(Mux(self.o.valid, leaves, ~(has & is_done)) & other_has),
        ]
        m.d.sync += self.o.valid.eq(Mux(self.o.valid, ~leaves, has & is_done))
        m.d.comb += [next_ring.eq(ring), next_slot.eq(slot)]
        with m.If(self.clear):
            m.d.comb += next_slot.eq(0)
        with m.Elif(turns):
            m.d.comb += [next_ring.eq(~ring), next_slot.eq(Mux(ring, ended[0], ended[1]))]
        with m.Elif(leaves):
            m.d.comb += next_slot.eq(slot + 1)
        m.d.sync += [ring.eq(next_ring), slot.eq(next_slot)]
        for number in range(RINGS):
            is_here = leaves & (ring == number)
            with m.If(self.clear):
                m.d.sync += ended[number].eq(0)
            with m.Elif(is_here):
                m.d.sync += ended[number].eq(following)
            m.d.comb += self.done[number].ready.eq(is_here & ~record.is_local)
        self._complete(m, ring, record, done, count, following)
        m.d.comb += [
            self.ends_append.eq(leaves & record.append),
            self.advances.eq(~record.is_local & (done.status == Status.OK)),
            self.size.eq(done.stream_bytes),
        ]
        return m

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
            write.en.eq(self.starts),
            write.addr.eq(Cat(self.ring, started[: (self.depth - 1).bit_length()])),
            write.data.eq(self.record),
            read.addr.eq(next_place),
        ]
        return read.data

    def _complete(self, m, ring, record, done, count, following):
        ended, completion = self.o.payload, self.o.payload.completion
        base, log2 = Mux(ring, self.base[1], self.base[0]), Mux(ring, self.log2[1], self.log2[0])
        status, is_job, is_ok = Signal(8), ~record.is_local, Signal()
        m.d.comb += [
            status.eq(Mux(record.is_local, record.status, Value.cast(done.status))),
            is_ok.eq(status == Status.OK),
            completion.cookie.eq(record.cookie),
            completion.stream_bytes.eq(Mux(is_job, done.stream_bytes, 0)),
            completion.stripe.eq(Mux(is_job, done.stripe, 0)),
            completion.head.eq(following),
            completion.status.eq(status),
            completion.channel.eq(Mux(is_job, done.channel, LINK)),
            completion.phase.eq(~(count >> log2)[0]),
            ended.address.eq(entry_address(m, base, count, log2, COMPLETION_BYTES, "entry")),
            ended.attr.eq(Mux(ring, self.attr[1].as_value(), self.attr[0].as_value())),
            ended.interrupt.eq(record.interrupt),
            ended.ring.eq(ring),
        ]
        statistics = Cat(done.raw_stripes, done.cycles)
        with m.If(record.append & is_ok):
            m.d.comb += completion.where.eq(record.address)
        with m.Elif(is_job):
            m.d.comb += completion.where.eq(Mux(is_ok, statistics, done.where))
        with m.Elif(~is_ok):
            m.d.comb += completion.where.eq(record.address)
