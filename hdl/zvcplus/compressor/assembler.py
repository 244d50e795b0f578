"""Bits of controls and payloads become rows."""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.delay import DelayLine
from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.hdl.zvcplus.compressor.place import Place
from cdma.hdl.zvcplus.config import Config


class BitRow(data.StructLayout):
    """A row of the stream.

    Members
    -------
    bits : the row, zero behind its end
    last : the packet ends with the row
    bytes : bytes that are kept, meaningful when ``last``
    words : words of the packet, meaningful when ``last``
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "bits": config.beat_bits,
                "last": 1,
                "bytes": range(config.beat_bytes + 1),
                "words": unsigned(COUNT_BITS),
            }
        )


class BitAssembler(wiring.Component):
    """Append controls and payloads to the row that is being filled.

    An item completes up to two rows. A packet's last row leaves with the next cycle, whether there
    is an item or not, so an item behind it starts a row of its own; the first control of that
    packet may wait here already. No cycle completes more than two rows.

    Throughput one item a cycle, latency one cycle to the rows, which come combinationally from
    registers.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    enable : In, the registers load, and the rows are taken
    valid : In, there is an item
    place : In, its :class:`~cdma.hdl.zvcplus.compressor.place.Place`
    is_after : In, the control begins the next packet
    last : In, the packet ends with the item
    words : In, a cycle later: words of the packet so far
    payload : In, a cycle later: its fields at their places modulo a row, anything elsewhere
    control : In, a cycle later: the control at its place modulo a row, zero elsewhere; from 0 on if
        it begins the next packet
    completes : Out, rows that are completed in the next cycle with ``enable``
    rows : Out, array of two :class:`BitRow`
    has_row : Out, a bit per row, the first first
    """

    enable: Signal
    valid: Signal
    place: data.View
    is_after: Signal
    last: Signal
    words: Signal
    payload: Signal
    control: Signal
    completes: Signal
    rows: data.View
    has_row: Signal

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "enable": In(1),
                "valid": In(1),
                "place": In(Place(config)),
                "is_after": In(1),
                "last": In(1),
                "words": In(COUNT_BITS),
                "payload": In(config.beat_bits),
                "control": In(config.beat_bits),
                "completes": Out(2),
                "rows": Out(data.ArrayLayout(BitRow(config), 2)),
                "has_row": Out(2),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, size = self.config, self.config.beat_bits
        m.submodules.held = held = DelayLine(_Tags(config), 1)
        item = held.o
        m.d.comb += [
            held.enable.eq(self.enable),
            held.i_valid.eq(self.valid),
            held.i.place.eq(self.place),
            held.i.is_after.eq(self.is_after),
            held.i.last.eq(self.last),
            # Rows that lie before the end; a row that just is full may yet be the last.
            held.i.rows.eq((self.place.end > size) + (self.place.end > 2 * size)),
        ]
        filling = Signal(size)
        ends = Signal()  # the row that is being filled is a packet's last
        kept = Signal(range(config.beat_bytes + 1), reset_less=True)
        words = Signal(COUNT_BITS, reset_less=True)
        early = Signal(config.control_bits)  # first control of the next packet
        parts = self._parts(m, item)
        rows, is_after = Signal(2), Signal()
        base, first = Signal(size), Signal(size)
        m.d.comb += [
            rows.eq(Mux(held.o_valid, item.rows, 0)),
            is_after.eq(held.o_valid & item.last & item.is_after),
            base.eq(Mux(ends, early, filling)),
            first.eq(base | Mux(held.o_valid, parts[0], 0)),
            self.rows[0].bits.eq(Mux(ends, filling, first)),
            self.rows[0].last.eq(ends),
            self.rows[0].bytes.eq(kept),
            self.rows[0].words.eq(words),
            self.rows[1].bits.eq(Mux(ends, first, parts[1])),
            self.has_row[0].eq(ends | (rows != 0)),
            self.has_row[1].eq(Mux(ends, rows != 0, rows == 2)),
        ]
        end = item.place.end
        with m.If(self.enable):
            m.d.sync += [
                filling.eq(Mux(rows == 0, first, Mux(rows == 1, parts[1], parts[2]))),
                ends.eq(held.o_valid & item.last),
                early.eq(Mux(is_after, self.control[: len(early)], 0)),
                kept.eq(
                    Mux((end != 0) & ~end[:8].any(), config.beat_bytes, end[3:8] + end[:3].any())
                ),
                words.eq(self.words),
            ]
        held_rows = Mux(held.i_valid, held.i.rows, 0)
        completes = Signal(2)
        m.d.comb += self.completes.eq(
            Mux(self.enable, (held.o_valid & item.last) + held_rows, completes)
        )
        m.d.sync += completes.eq(self.completes)
        return m

    def _parts(self, m, item):
        """The bits of an item in the row that is being filled and in the two behind."""
        size = self.config.beat_bits
        place = item.place
        from_at, from_start, to_end = (
            Signal(size, name=name) for name in ("from_at", "from_start", "to_end")
        )
        m.d.comb += [
            from_at.eq(Cat(place.at[:8] <= i for i in range(size))),
            from_start.eq(Cat(place.start[:8] <= i for i in range(size))),
            to_end.eq(Cat(place.end[:8] > i for i in range(size))),
        ]

        def all_if(bit):
            return bit.replicate(size)

        starts_behind = place.start[8]  # not in the first row
        ends_behind, ends_far = place.end[8:] != 0, place.end[9]
        control = Mux(item.last & item.is_after, 0, self.control)
        controls = (
            control & from_at & all_if(~place.at[8]),
            control & (~from_at | all_if(place.at[8])),
        )
        payloads = (
            all_if(~starts_behind) & from_start & (all_if(ends_behind) | to_end),
            (all_if(~starts_behind) | from_start)
            & (all_if(ends_far) | (all_if(ends_behind) & to_end)),
            all_if(ends_far) & to_end,
        )
        parts = [Signal(size, name=f"part{row}") for row in range(3)]
        for row, part in enumerate(parts):
            bits = self.payload & payloads[row]
            m.d.comb += part.eq(bits | controls[row] if row < 2 else bits)
        return parts


class _Tags(data.StructLayout):
    def __init__(self, config: Config):
        super().__init__({"place": Place(config), "is_after": 1, "last": 1, "rows": 2})
