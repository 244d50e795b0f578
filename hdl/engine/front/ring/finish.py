"""Makes completions of descriptors that have ended, in their order."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import LINK, Status
from cdma.engine_config import COMPLETION_BYTES
from cdma.hdl.axi.full import Attributes
from cdma.hdl.engine.front.records import Completion
from cdma.hdl.engine.front.ring.fetch import COUNT_BITS, entry_address
from cdma.hdl.engine.front.ring.start import Started
from cdma.hdl.engine.job import Done
from cdma.hdl.lib.adder import sum_later
from cdma.hdl.lib.buffer import RowBuffer

#: Descriptors of a ring that are started and have no completion yet.
STARTED = 16
_ALIGNMENT = 64  # of streams in the arena


class Ended(data.StructLayout):
    """A completion on its way to host memory.

    Members
    -------
    completion : the 32 bytes
    address : where they go
    attr : attributes of that write
    interrupt : the descriptor asked for one
    """

    def __init__(self, address_bits: int):
        super().__init__(
            {
                "completion": Completion(),
                "address": unsigned(address_bits),
                "attr": Attributes(),
                "interrupt": unsigned(1),
            }
        )


class Finisher(wiring.Component):
    """Pairs what was started with what the data path has done.

    One completion in two cycles; ``o`` is combinational from ``done``.

    Parameters
    ----------
    address_bits : int
    depth : int
        Descriptors that can be in flight.

    Members
    -------
    base, log2, attr : In, address, size and attributes of the completion ring
    clear : In, the count starts over
    i : In stream of :class:`~cdma.hdl.engine.front.ring.start.Started`
    done : In stream of :class:`~cdma.hdl.engine.job.Done`
    o : Out stream of :class:`Ended`
    is_appending : Out, a descriptor with APPEND is in flight
    append : Out, one cycle: the arena's pointer becomes ``append_pointer``, two cycles after the
        completion has left
    append_pointer : Out
    """

    i: stream.Interface
    done: stream.Interface
    o: stream.Interface

    def __init__(self, address_bits: int, depth: int = STARTED):
        self.address_bits, self.depth = address_bits, depth
        super().__init__(
            {
                "base": In(address_bits),
                "log2": In(4),
                "attr": In(Attributes()),
                "clear": In(1),
                "i": In(stream.Signature(Started(address_bits))),
                "done": In(stream.Signature(Done())),
                "o": Out(stream.Signature(Ended(address_bits))),
                "is_appending": Out(1),
                "append": Out(1),
                "append_pointer": Out(address_bits + 1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        started = RowBuffer(Started(self.address_bits), self.depth, pipe=False)
        m.submodules.started = started
        wiring.connect(m, wiring.flipped(self.i), started.i)
        record, done = started.o.payload, self.done.payload
        ends = Signal()
        is_placed = Signal()  # the completion's address follows the count
        m.d.sync += is_placed.eq(~ends)
        m.d.comb += [
            self.o.valid.eq(started.o.valid & (record.is_local | self.done.valid) & is_placed),
            ends.eq(self.o.valid & self.o.ready),
            started.o.ready.eq(ends),
            self.done.ready.eq(ends & ~record.is_local),
        ]
        status = Signal(8)
        m.d.comb += status.eq(Mux(record.is_local, record.status, Value.cast(done.status)))
        self._completion(m, record, done, status, ends)
        self._append(m, record, done, status, ends)
        return m

    def _completion(self, m, record, done, status, ends):
        count = Signal(COUNT_BITS)
        with m.If(self.clear):
            m.d.sync += count.eq(0)
        with m.Elif(ends):
            m.d.sync += count.eq(count + 1)
        completion = self.o.payload.completion
        is_job = ~record.is_local
        statistics = Cat(done.raw_stripes, done.cycles)
        is_ok = status == Status.OK
        m.d.comb += [
            completion.cookie.eq(record.cookie),
            completion.stream_bytes.eq(Mux(is_job, done.stream_bytes, 0)),
            completion.stripe.eq(Mux(is_job, done.stripe, 0)),
            completion.head.eq(count + 1),
            completion.status.eq(status),
            completion.channel.eq(Mux(is_job, done.channel, LINK)),
            completion.phase.eq(~(count >> self.log2)[0]),
            self.o.payload.address.eq(
                entry_address(m, self.base, count, self.log2, COMPLETION_BYTES, "entry")
            ),
            self.o.payload.attr.eq(self.attr),
            self.o.payload.interrupt.eq(record.interrupt),
        ]
        with m.If(record.append & is_ok):
            m.d.comb += completion.where.eq(record.address)
        with m.Elif(is_job):
            m.d.comb += completion.where.eq(Mux(is_ok, statistics, done.where))
        with m.Elif(~is_ok):
            m.d.comb += completion.where.eq(record.address)

    def _append(self, m, record, done, status, ends):
        """Advance the arena past a stream that is complete."""
        number = Signal(range(self.depth + 1))
        enters = self.i.valid & self.i.ready & self.i.payload.append
        leaves = ends & record.append
        m.d.sync += number.eq(number + enters - leaves)
        bits = self.address_bits + 1
        low = _ALIGNMENT.bit_length() - 1
        # The address is aligned: a partial unit counts as a whole one.
        size, is_partial = done.stream_bytes[low:bits], done.stream_bytes[:low].any()
        end = sum_later(m, record.address[low:], size, bits - low, "end", first=is_partial)
        appends, was_appended = Signal(), Signal()
        m.d.comb += [
            appends.eq(leaves & ~record.is_local & (status == Status.OK)),
            self.is_appending.eq(number != 0),
            self.append_pointer.eq(Cat(Const(0, low), end)),
        ]
        m.d.sync += [was_appended.eq(appends), self.append.eq(was_appended)]
