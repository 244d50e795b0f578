"""The table of stripes in work."""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.engine_config import EngineConfig
from cdma.hdl.engine.common.bursts import Piece
from cdma.hdl.engine.common.control import JOBS
from cdma.hdl.engine.common.records import JOB_BITS, NUMBER_BITS, OFFSET_BITS
from cdma.hdl.engine.prefetch.check import Expected
from cdma.hdl.engine.prefetch.records import StripeTag, stripes_in_work
from cdma.hdl.engine.prefetch.rows import Cut, padded, size_bits
from cdma.hdl.lib.signals import any_of

#: Slots that stripes leave free: for an end of each job, and for stripes on their way here.
_KEPT_FREE = JOBS + 4


class Place(data.StructLayout):
    """What an error says of its stripe: ``number`` in its job, and ``offset`` in the stream."""

    def __init__(self):
        super().__init__({"number": unsigned(NUMBER_BITS), "offset": unsigned(OFFSET_BITS)})


class TableEntry(data.StructLayout):
    """A stripe, or the end of a job.

    Members
    -------
    end : the job has no further stripe; of all else only ``job`` and ``place`` count
    job, channel : of the stripe
    crc : its CRC is compared: with ``has_crc`` and ``value``
    size : bytes in the stream, without padding
    place : :class:`Place`
    """

    def __init__(self, config: EngineConfig):
        super().__init__(
            {
                "end": unsigned(1),
                "job": unsigned(JOB_BITS),
                "channel": unsigned(3),
                "crc": unsigned(1),
                "size": unsigned(size_bits(config)),
                "has_crc": unsigned(1),
                "value": unsigned(32),
                "place": Place(),
            }
        )


class StripeTable(wiring.Component):
    """Keep what is to be known of stripes from when they are made until they are done.

    Stripes enter in their order, and each of three readers sees all that concerns it in that order:
    the reader of the stream, the splitter, the check of CRCs. A stripe is done when its channel has
    decoded and written it, and its CRC was compared; slots become free in the order of the stripes.
    A job has ended when its end becomes free. After an error or an abort, stripes that were not
    written do not become free; all is forgotten when the data path has run empty.

    Throughput one stripe a cycle at each side; a reader sees an entry a cycle after it was given.
    ``has_room`` comes from a register, payloads are read from memories.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    clear : In, forget all
    push : In, take ``entry`` in this cycle: a stripe only while ``has_room``, an end always
    entry : In, :class:`TableEntry`
    slot : Out, the slot that it gets
    has_room : Out, up to two cycles later there is room for a stripe
    o_size : Out stream of :class:`~cdma.hdl.engine.common.bursts.Piece`, of stripes, in whole
        words, and of ends
    o_cut : Out stream of :class:`~cdma.hdl.engine.prefetch.rows.Cut`, of stripes and ends
    o_crc : Out stream of :class:`~cdma.hdl.engine.prefetch.check.Expected`, of stripes with ``crc``
    decoded, written : In, a bit for each channel: its next stripe was given by the codec, and its
        status is known; was answered by the memory
    checked : In, the CRC of the next stripe with one was compared
    discards : In, what is decoded is not written
    waits : In, no job ends in this cycle
    ended : Out, one cycle: the next job has ended
    look : In, a slot
    place : Out, :class:`Place` of the slot that was given a cycle ago
    idle : Out, no reader has anything left
    empty : Out, all slots are free
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        tag = StripeTag(config)
        super().__init__(
            {
                "clear": In(1),
                "push": In(1),
                "entry": In(TableEntry(config)),
                "slot": Out(tag["slot"].shape),
                "has_room": Out(1),
                "o_size": Out(stream.Signature(Piece(size_bits(config)))),
                "o_cut": Out(stream.Signature(Cut(config))),
                "o_crc": Out(stream.Signature(Expected(config))),
                "decoded": In(config.channels),
                "written": In(config.channels),
                "checked": In(1),
                "discards": In(1),
                "waits": In(1),
                "ended": Out(1),
                "look": In(tag["slot"].shape),
                "place": Out(Place()),
                "idle": Out(1),
                "empty": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        entry = self.entry
        stripe = data.StructLayout(
            {name: entry[name].shape() for name in ("end", "job", "channel", "crc", "size")}
        )
        check = data.StructLayout({"crc": 1, "job": JOB_BITS, "has_crc": 1, "value": 32})
        stripes, checks = self._memory(m, "stripes", stripe), self._memory(m, "checks", check)
        places = self._memory(m, "places", Place())
        for memory, shape in ((stripes, stripe), (checks, check)):
            write = memory.write_port()
            m.d.comb += [write.en.eq(self.push), write.addr.eq(self.slot)]
            m.d.comb += [write.data[name].eq(entry[name]) for name, _ in shape if name != "crc"]
            m.d.comb += write.data.crc.eq(entry.crc & ~entry.end)
        write, look = places.write_port(), places.read_port()
        m.d.comb += [
            write.en.eq(self.push),
            write.addr.eq(self.slot),
            write.data.eq(entry.place),
            look.addr.eq(self.look),
            self.place.eq(look.data),
        ]
        self._pointers = []
        size, cut, crc = self.o_size, self.o_cut, self.o_crc
        _, found, is_left = self._read(m, "sizes", stripes, size.ready)
        m.d.comb += [
            size.valid.eq(is_left),
            size.payload.size.eq(Mux(found.end, 0, padded(self.config, found.size))),
            size.payload.last.eq(found.end),
        ]
        slot, found, has_cut = self._read(m, "cuts", stripes, cut.ready)
        m.d.comb += [
            cut.valid.eq(has_cut),
            cut.payload.tag.job.eq(found.job),
            cut.payload.tag.slot.eq(slot),
            *(cut.payload[name].eq(found[name]) for name in ("end", "channel", "size")),
        ]
        skips = Signal()
        slot, found, has_crc = self._read(m, "crcs", checks, crc.ready | skips)
        m.d.comb += [
            skips.eq(~found.crc),
            crc.valid.eq(has_crc & found.crc),
            crc.payload.tag.job.eq(found.job),
            crc.payload.tag.slot.eq(slot),
            crc.payload.has_crc.eq(found.has_crc),
            crc.payload.crc.eq(found.value),
            self.idle.eq(~(is_left | has_cut | has_crc)),
        ]
        self._free(m, stripes)
        with m.If(self.push):
            m.d.sync += self.slot.eq(self.slot + 1)
        with m.If(self.clear):
            m.d.sync += [pointer.eq(0) for pointer in (self.slot, *self._pointers)]
        return m

    def _memory(self, m, name, shape):
        memory = Memory(shape=shape, depth=stripes_in_work(self.config), init=[])
        m.submodules[name] = memory
        return memory

    def _read(self, m, name, memory, moves):
        """Read a memory slot by slot; gives the slot, its entry, and whether there is one."""
        slot, port = Signal.like(self.slot, name=name), memory.read_port(domain="comb")
        self._pointers.append(slot)
        is_valid = Signal(name=f"has_{name}")
        m.d.comb += [port.addr.eq(slot), is_valid.eq(slot != self.slot)]
        with m.If(is_valid & moves):
            m.d.sync += slot.eq(slot + 1)
        return slot, port.data, is_valid

    def _free(self, m, stripes):
        """Make slots free in their order, as what is in them is done."""
        number, leaves, is_done = len(self.decoded), Signal(), Signal()
        first, found, is_left = self._read(m, "first", stripes, is_done)
        used = Signal.like(self.slot)
        m.d.sync += [
            used.eq(self.slot - first),
            self.has_room.eq(used < stripes_in_work(self.config) - _KEPT_FREE),
        ]
        m.d.comb += leaves.eq(is_left & is_done & ~found.end)
        has_done = []
        for k in range(number):
            is_own = found.channel == k if number > 1 else 1
            decoded = self._count(m, f"decoded{k}", self.decoded[k], leaves & is_own)
            is_taken = leaves & is_own & ~self.discards
            written = self._count(m, f"written{k}", self.written[k], is_taken)
            has_done.append(is_own & decoded & (written | self.discards))
        checked = self._count(m, "checked", self.checked, leaves & found.crc)
        m.d.comb += [
            is_done.eq(Mux(found.end, ~self.waits, any_of(has_done) & (checked | ~found.crc))),
            self.ended.eq(is_left & is_done & found.end & ~self.discards),
            self.empty.eq(~is_left),
        ]

    def _count(self, m, name, more, less):
        """Count what is done of stripes whose slots are not free; gives whether there is any."""
        count = Signal.like(self.slot, name=name)
        self._pointers.append(count)
        m.d.sync += count.eq(count + more - less)
        return count.any()
