"""Fetches descriptors of both rings into a small memory."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.engine_config import DESCRIPTOR_BYTES
from cdma.hdl.axi.full import Attributes, Response
from cdma.hdl.engine.front.records import Descriptor
from cdma.hdl.engine.job import ReadClient
from cdma.hdl.lib.lookahead import incremented, sum_in_parts
from cdma.hdl.lib.signals import kept_apart, registered

COUNT_BITS = 16
RINGS = 2
#: Descriptors of a ring that are fetched and not started, or on their way.
FETCHED = 8
_UPPER_BITS = 9  # of a part of an address above an entry's number


class Place(data.StructLayout):
    """A slot of the memory: the ``ring``, and the lowest bits of a descriptor's count."""

    def __init__(self):
        super().__init__({"ring": 1, "slot": range(FETCHED)})


def entry_mask(log2) -> Value:
    """Mask of an entry's number in a ring of ``2**log2`` entries, 15 bits."""
    return Cat(log2 > bit for bit in range(COUNT_BITS - 1))


def entry_address(m, base, count, log2, entry_bytes: int, name: str) -> Value:
    """Address of an entry of a ring, valid two cycles after its ``count``.

    ``base`` stays, also for a cycle before. Only the carry passes its upper bits, from a register,
    and parts that are all ones in one step.
    """
    shift, bits = entry_bytes.bit_length() - 1, COUNT_BITS - 1
    low = Signal(bits + 1, name=f"{name}_low", reset_less=True)
    entry = (count & entry_mask(log2))[:bits]
    start, upper = base[shift : shift + bits], base[shift + bits :]
    m.d.sync += low.eq(sum_in_parts(m, Cat(start, 0), entry, name, part=5))
    total, carry = [], low[bits]
    for k in range(0, len(upper), _UPPER_BITS):
        part = upper[k : k + _UPPER_BITS]
        total.append((part + carry)[: len(part)])
        carry = registered(m, part.all(), f"{name}_full{k}") & carry
    return Cat(base[:shift], low[:bits], *total)


class Fetcher(wiring.Component):
    """Reads descriptors of each ring in order, as long as the ring runs and both rings have room.

    A descriptor is asked for when it was submitted, a slot of this memory is free, and the
    completion ring has an entry for it: what is asked for can always be finished. The address of an
    idle ring's descriptor is valid in the cycle after ``doorbell``. A ring asks in every third
    cycle at most, and the rings take turns. When ``run`` falls, descriptors that were not started
    are dropped and fetched again later, from ``started`` on; those on their way are awaited first.

    Latency from the last beat to ``has``: one cycle. ``descriptor`` is read from a small memory.

    Parameters
    ----------
    address_bits, link_bytes : int
        Widths of the link.

    Members
    -------
    run : In, a bit for each ring: fetch; 0 drops what was fetched, and stays until ``idle``
    base, log2, attr : In, arrays: address, size and attributes of the submission rings
    tail, started : In, arrays: descriptors submitted and started
    completion_head, completion_log2 : In, arrays: completions read, size of the completion rings
    doorbell, doorbell_ring, doorbell_tail : In, software writes a ring's ``tail``: two cycles, the
        second one with ``is_refused`` when ``tail`` will not follow
    next_place, place : In, slot of ``descriptor``: the ring, and the lowest bits of ``started``; a
        register, and its value in the next cycle
    has : Out, a bit for each ring: the descriptor at ``started`` has come
    descriptor, response : Out, at ``place``; the response is that of the first beat that failed
    wants_address : In, level: give the descriptor's address; nothing is asked for meanwhile
    has_address, address : Out, of the descriptor at ``place``
    awaited : Out, ring of the next descriptor to come
    link : Out, client of the link
    idle : Out, a bit for each ring: nothing is asked for
    """

    def __init__(self, address_bits: int, link_bytes: int):
        self.address_bits, self.link_bytes = address_bits, link_bytes
        self.beats = DESCRIPTOR_BYTES // link_bytes
        super().__init__(
            {
                "run": In(RINGS),
                "base": In(address_bits).array(RINGS),
                "log2": In(4).array(RINGS),
                "attr": In(Attributes()).array(RINGS),
                "tail": In(COUNT_BITS).array(RINGS),
                "started": In(COUNT_BITS).array(RINGS),
                "completion_head": In(COUNT_BITS).array(RINGS),
                "completion_log2": In(4).array(RINGS),
                "doorbell": In(1),
                "doorbell_ring": In(1),
                "doorbell_tail": In(COUNT_BITS),
                "is_refused": In(1),
                "next_place": In(Place()),
                "place": In(Place()),
                "has": Out(RINGS),
                "descriptor": Out(Descriptor()),
                "response": Out(Response),
                "wants_address": In(1),
                "has_address": Out(1),
                "address": Out(address_bits),
                "awaited": Out(1),
                "link": Out(ReadClient(address_bits, link_bytes)),
                "idle": Out(RINGS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        turn, asks, asked = Signal(), Signal(RINGS), Signal(RINGS)
        placing = Signal(RINGS)  # the address at `place` is made
        wants = Signal(RINGS)
        m.d.sync += asked.eq(asks)
        owner, arrives = self._owners(m, turn, asks)
        addresses, slots = [], []
        for ring in range(RINGS):
            following, arrived = self._count(m, ring, turn, asks, owner, arrives)
            # The next address follows the count.
            is_new = asks[ring] | asked[ring]
            m.d.sync += wants[ring].eq(self._may_ask(ring, following) & ~is_new)
            # Of the next descriptor, or of that at `place`.
            count = Mux(placing[ring], self.started[ring], following)
            addresses.append(
                entry_address(
                    m, self.base[ring], count, self.log2[ring], DESCRIPTOR_BYTES, f"address{ring}"
                )
            )
            self._judge(m, ring, owner, arrived)
            slots.append(arrived[:-1])
        m.d.comb += self.address.eq(Mux(turn, addresses[1], addresses[0]))
        self._ask(m, turn, wants, asks, placing)
        self._store(m, owner, slots)
        return m

    def _owners(self, m, turn, asks):
        """The rings of all reads on their way; gives the ring of the oldest, and its end."""
        link, depth = self.link, RINGS * FETCHED
        owners, level = Signal(depth), Signal(range(depth + 1))  # bit 0 is the oldest
        left, arrives, any_asks = Signal(depth), Signal(), Signal()
        more, less = (kept_apart(name, level.shape()) for name in ("more", "less"))
        m.d.comb += [
            link.r.ready.eq(1),
            arrives.eq(link.r.valid & link.r.payload.last),
            any_asks.eq(asks.any()),
            more.eq(level + 1),
            less.eq(level - 1),
            left.eq(owners >> arrives),
            self.awaited.eq(owners[0]),
        ]
        # What is asked for, and what arrives, is known late: it only selects.
        m.d.sync += level.eq(Mux(any_asks == arrives, level, Mux(any_asks, more, less)))
        for bit in range(depth):
            is_next = Mux(arrives, level == bit + 1, level == bit)
            m.d.sync += owners[bit].eq(Mux(any_asks & is_next, turn, left[bit]))
        return owners[0], arrives

    def _count(self, m, ring, turn, asks, owner, arrives):
        """Counts of descriptors asked for and come."""
        following = Signal(COUNT_BITS, name=f"following{ring}")
        arrived = Signal(range(2 * FETCHED), name=f"arrived{ring}")  # the lowest bits
        started, run, idle = self.started[ring], self.run[ring], self.idle[ring]
        low = len(arrived)
        with m.If(~run & idle):
            m.d.sync += [following.eq(started), arrived.eq(started)]
        with m.Else():
            with m.If(asks[ring]):
                m.d.sync += following.eq(incremented(following, 1))
            with m.If(arrives & (owner == ring)):
                m.d.sync += arrived.eq(arrived + 1)
        asking = self.link.ar.valid & (turn == ring)
        m.d.comb += [
            self.has[ring].eq(run & (arrived != started[:low])),
            idle.eq((arrived == following[:low]) & ~asking),
        ]
        return following, arrived

    def _may_ask(self, ring, following):
        """A descriptor was submitted, and there is room for it and its completion."""
        is_rung = self.doorbell & (self.doorbell_ring == ring)
        tail = Mux(is_rung, self.doorbell_tail, self.tail[ring])
        used = following[: FETCHED.bit_length()] ^ self.started[ring][: FETCHED.bit_length()]
        is_full = used == FETCHED
        # As many as the completion ring has entries are ahead of what software has read.
        ahead, log2 = following ^ self.completion_head[ring], self.completion_log2[ring]
        has_no_entry = ~(ahead[: COUNT_BITS - 1] & entry_mask(log2)).any() & (ahead >> log2)[0]
        return self.run[ring] & (following != tail) & ~is_full & ~has_no_entry

    def _ask(self, m, turn, wants, asks, placing):
        """Issue addresses."""
        ar, is_held, was_placing = self.link.ar, Signal(), Signal(2)
        other = Mux(turn, wants[0], wants[1])
        own = Mux(turn, wants[1] & self.run[1], wants[0] & self.run[0])
        m.d.comb += [
            ar.valid.eq(is_held | (own & ~self.is_refused & ~placing.any() & ~was_placing.any())),
            ar.payload.address.eq(self.address),
            ar.payload.beats.eq(self.beats),
            ar.payload.attr.eq(Mux(turn, self.attr[1], self.attr[0])),
            asks.eq(Cat(~turn, turn) & (ar.valid & ar.ready).replicate(RINGS)),
            self.has_address.eq(was_placing.all()),
        ]
        m.d.sync += [
            is_held.eq(ar.valid & ~ar.ready),
            was_placing.eq(Cat(placing.any(), was_placing)),
            placing.eq(
                Cat(~self.place.ring, self.place.ring)
                & (self.wants_address & (placing.any() | ~ar.valid)).replicate(RINGS)
            ),
        ]
        with m.If(ar.valid), m.If(ar.ready & other):
            m.d.sync += turn.eq(~turn)
        with m.Elif(self.wants_address):
            m.d.sync += turn.eq(self.place.ring)
        with m.Elif(self.doorbell):
            m.d.sync += turn.eq(self.doorbell_ring)
        with m.Elif(other & ~placing.any() & ~was_placing.any()):
            m.d.sync += turn.eq(~turn)

    def _judge(self, m, ring, owner, arrived):
        """Remember the first descriptor whose read has failed: the ring will halt there."""
        r = self.link.r
        has_failed = Signal(name=f"has_failed{ring}")
        slot = Signal(range(FETCHED), name=f"failed{ring}", reset_less=True)
        response = Signal(Response, name=f"response{ring}", reset_less=True)
        is_failure = r.valid & (owner == ring) & r.payload.resp.as_value()[1]
        with m.If(~self.run[ring]):
            m.d.sync += has_failed.eq(0)
        with m.Elif(is_failure & ~has_failed):
            m.d.sync += has_failed.eq(1)
        with m.If(~has_failed):
            m.d.sync += [slot.eq(arrived), response.eq(r.payload.resp)]
        with m.If((self.place.ring == ring) & has_failed & (self.place.slot == slot)):
            m.d.comb += self.response.eq(response)

    def _store(self, m, owner, slots):
        """Write beats into the memory."""
        r = self.link.r
        m.submodules.descriptors = descriptors = Memory(
            shape=unsigned(8 * DESCRIPTOR_BYTES), depth=RINGS * FETCHED, init=[]
        )
        write = descriptors.write_port(granularity=8 * self.link_bytes)
        # Read in the cycle before, also what is written then.
        read = descriptors.read_port(transparent_for=(write,))
        beat = Signal(range(max(self.beats, 2)))
        with m.If(r.valid):
            m.d.sync += beat.eq(Mux(r.payload.last, 0, beat + 1))
        m.d.comb += [
            write.addr.eq(Cat(owner, Mux(owner, slots[1], slots[0]))),
            write.data.eq(Cat([r.payload.data] * self.beats)),
            write.en.eq(Mux(r.valid, 1 << beat, 0)),
            read.addr.eq(self.next_place),
            self.descriptor.eq(read.data),
        ]
