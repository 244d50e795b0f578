"""Fetches descriptors of one ring into a small memory."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.engine_config import DESCRIPTOR_BYTES
from cdma.hdl.axi.full import Attributes, Response
from cdma.hdl.engine.front.records import Descriptor
from cdma.hdl.engine.job import ReadClient

COUNT_BITS = 16
#: Descriptors of a ring that are fetched and not started, or on their way.
FETCHED = 8


class Fetched(data.StructLayout):
    """A descriptor and the worst response of its beats."""

    def __init__(self):
        super().__init__({"descriptor": Descriptor(), "resp": Response})


def entry_mask(log2) -> Value:
    """Mask of an entry's number in a ring of ``2**log2`` entries, 15 bits."""
    return Cat(log2 > bit for bit in range(COUNT_BITS - 1))


def entry_address(m, base, count, log2, entry_bytes: int, name: str) -> Value:
    """Address of an entry of a ring, valid in the cycle after its ``count``.

    The lower half of the sum is in registers; its carry goes into the upper half.
    """
    shift, half = entry_bytes.bit_length() - 1, 24
    low, carry = Signal(half, name=f"{name}_low"), Signal(name=f"{name}_carry")
    entry = Cat(Const(0, shift), (count & entry_mask(log2))[: COUNT_BITS - 1])
    m.d.sync += Cat(low, carry).eq(base[:half] + entry)
    return Cat(low, (base[half:] + carry)[: len(base) - half])


class Fetcher(wiring.Component):
    """Reads descriptors in order, as long as the ring runs and both rings have room.

    A descriptor is asked for when it was submitted, a slot of this memory is free, and the
    completion ring has an entry for it: what is asked for can always be finished. The address is
    valid two cycles after ``tail`` changes. When ``run`` falls, descriptors that were not started
    are dropped and fetched again later, from ``started`` on; those on their way are awaited first.

    Latency from the last beat to ``o``: one cycle. ``o.payload`` is read from a small memory and is
    stable while ``o.valid``, but ``o.valid`` falls with ``run``.

    Parameters
    ----------
    address_bits, link_bytes : int
        Widths of the link.
    depth : int
        Slots, a power of two.

    Members
    -------
    run : In, fetch; 0 drops what was fetched
    base, log2 : In, address and size of the submission ring
    tail : In, descriptors submitted
    started : In, descriptors started
    completion_head, completion_log2 : In, completions read, and size of the completion ring
    attr : In, attributes of the reads
    link : Out, client of the link
    o : Out stream of :class:`Fetched`
    idle : Out, nothing is outstanding
    """

    o: stream.Interface

    def __init__(self, address_bits: int, link_bytes: int, depth: int = FETCHED):
        if depth < 2 or depth & (depth - 1):
            raise ValueError(f"Number of slots must be a power of two from 2 on, not {depth!r}")
        self.address_bits, self.link_bytes, self.depth = address_bits, link_bytes, depth
        self.beats = DESCRIPTOR_BYTES // link_bytes
        super().__init__(
            {
                "run": In(1),
                "base": In(address_bits),
                "log2": In(4),
                "tail": In(COUNT_BITS),
                "started": In(COUNT_BITS),
                "completion_head": In(COUNT_BITS),
                "completion_log2": In(4),
                "attr": In(Attributes()),
                "link": Out(ReadClient(address_bits, link_bytes)),
                "o": Out(stream.Signature(Fetched())),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        is_open = Signal()  # running, and nothing of an earlier run is on its way
        asks = Signal()
        arrives, leaves = Signal(), Signal()
        outstanding = Signal(range(self.depth + 1))
        used = Signal(range(self.depth + 1))  # slots reserved or full
        m.d.comb += self.idle.eq((outstanding == 0) & ~self.link.ar.valid)
        m.d.sync += is_open.eq(self.run & (is_open | self.idle))
        m.d.sync += outstanding.eq(outstanding + asks - arrives)
        with m.If(is_open & self.run):
            m.d.sync += used.eq(used + asks - leaves)
        with m.Else():
            m.d.sync += used.eq(0)
        self._ask(m, asks, is_open & self.run & (used != self.depth))
        self._store(m, arrives, leaves, is_open & self.run)
        return m

    def _ask(self, m, asks, may_ask):
        """Issue addresses."""
        ar = self.link.ar
        following = Signal(COUNT_BITS)  # count of the next descriptor
        size, is_placed = Signal(COUNT_BITS), Signal()  # the address follows the count
        address = entry_address(m, self.base, following, self.log2, DESCRIPTOR_BYTES, "address")
        m.d.sync += size.eq(1 << self.completion_log2)  # which stays while the ring runs
        m.d.comb += [
            asks.eq(
                may_ask
                & (following != self.tail)
                & (following != (self.completion_head + size)[:COUNT_BITS])
                & (~ar.valid | ar.ready)
                & is_placed
            ),
        ]
        m.d.sync += is_placed.eq(~asks)
        with m.If(ar.ready):
            m.d.sync += ar.valid.eq(0)
        with m.If(asks):
            m.d.sync += [
                ar.valid.eq(1),
                ar.payload.address.eq(address),
                ar.payload.beats.eq(self.beats),
                ar.payload.attr.eq(self.attr),
                following.eq(following + 1),
            ]
        with m.If(~may_ask & ~self.run):
            m.d.sync += following.eq(self.started)

    def _store(self, m, arrives, leaves, is_open):
        """Write beats into the memory, and offer what is complete."""
        r, o = self.link.r, self.o
        descriptors = Memory(shape=unsigned(8 * DESCRIPTOR_BYTES), depth=self.depth, init=[])
        responses = Memory(shape=unsigned(2), depth=self.depth, init=[])
        m.submodules.descriptors, m.submodules.responses = descriptors, responses
        write = descriptors.write_port(granularity=8 * self.link_bytes)
        write_response = responses.write_port()
        read = descriptors.read_port(domain="comb")
        read_response = responses.read_port(domain="comb")
        beat = Signal(range(max(self.beats, 2)))
        head, tail = Signal(range(self.depth)), Signal(range(self.depth))
        level = Signal(range(self.depth + 1))
        worst, response = Signal(2), Signal(2)
        resp = r.payload.resp.as_value()
        m.d.comb += [
            r.ready.eq(1),
            arrives.eq(r.valid & r.payload.last),
            response.eq(Mux(worst != 0, worst, resp)),
            write.addr.eq(tail),
            write.data.eq(Cat([r.payload.data] * self.beats)),
            write.en.eq(Mux(r.valid, 1 << beat, 0)),
            write_response.addr.eq(tail),
            write_response.data.eq(response),
            write_response.en.eq(arrives),
            read.addr.eq(head),
            read_response.addr.eq(head),
            o.valid.eq((level != 0) & is_open),
            o.payload.descriptor.eq(read.data),
            o.payload.resp.eq(read_response.data),
            leaves.eq(o.valid & o.ready),
        ]
        with m.If(r.valid):
            m.d.sync += [
                beat.eq(Mux(r.payload.last, 0, beat + 1)),
                worst.eq(Mux(r.payload.last, 0, response)),
            ]
        with m.If(is_open):
            m.d.sync += [
                level.eq(level + arrives - leaves),
                tail.eq(tail + arrives),
                head.eq(head + leaves),
            ]
        with m.Else():
            m.d.sync += [level.eq(0), tail.eq(0), head.eq(0)]
