"""CRC-32 of stripes."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_config import EngineConfig
from cdma.hdl.engine.common.records import Row
from cdma.hdl.lib.signals import select
from cdma.hdl.lib.xor import xor_matrix
from cdma.hdl.zvc.beat import thermometer

_POLYNOMIAL = 0xEDB88320  # of ISO-HDLC, as zlib computes it, bits reflected
_BITS = 32
_ONES = (1 << _BITS) - 1


def _forward(state: int, bits: int) -> int:
    """The state after so many zero bits."""
    for _ in range(bits):
        state = state >> 1 ^ (_POLYNOMIAL if state & 1 else 0)
    return state


def _back(state: int, bits: int) -> int:
    """The state before so many zero bits. The polynomial has its highest bit set."""
    for _ in range(bits):
        is_odd = state >> (_BITS - 1)
        state = (state ^ (_POLYNOMIAL if is_odd else 0)) << 1 & _ONES | is_odd
    return state


def _step(m: Module, step, value, bits: int, name: str) -> Signal:
    """A linear step over so many zero bits: each bit is an XOR of bits of ``value``."""
    return xor_matrix(m, value, [step(1 << k, bits) for k in range(_BITS)], _BITS, name)


def _joined(m: Module, parts: list, name: str):
    """State after data, from the state 0 and without the last 32 zero bits: a tree over parts."""
    if len(parts) == 1:
        return parts[0]
    first = (len(parts) + 1) // 2
    left = _joined(m, parts[:first], f"{name}l")
    right = _joined(m, parts[first:], f"{name}r")
    return _step(m, _forward, left, _BITS * (len(parts) - first), name) ^ right


class StripeCrc(wiring.Component):
    """CRC-32 (ISO-HDLC, as zlib) of the bytes of each stripe.

    A row is taken in pieces of a beat of the link, at most a row, one a cycle: as fast as the link
    takes or gives a stream. Words past a stripe's end are zero; what they add is taken back
    afterwards, a word a cycle (a byte, when stripes can end inside a word), while the next stripe
    begins. Latency three cycles after a stripe's last piece, and one for each word or byte that is
    taken back. ``i.ready`` comes from registers and the row.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    i : In stream of :class:`~cdma.hdl.engine.common.records.Row`
    o : Out stream of CRCs, one for each stripe
    idle : Out, no CRC is on its way
    """

    i: stream.Interface
    o: stream.Interface
    idle: Signal

    def __init__(self, config: EngineConfig):
        self.config = config
        #: Words of a piece.
        self.words = min(config.link_bytes, config.beat_bytes) // config.word_bytes
        super().__init__(
            {
                "i": In(stream.Signature(Row(config))),
                "o": Out(stream.Signature(_BITS)),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        row, words = self.i.payload, self.words
        pieces, bits = self.config.lanes // words, words * self.config.word_bits
        place = Signal(range(max(pieces, 2)))
        works, is_end, ends = Signal(), Signal(), Signal()
        # What is taken back of a stripe: units past its end in the last piece.
        unit, past = self.config.word_bits, -row.count
        rows = row.words.as_value()
        if self.config.has_padding:
            unit, past = 8, (past << (self.config.word_bytes.bit_length() - 1)) + row.missing
            rows = self._unpadded(m)
        excess, result, left = (
            Signal(range(bits // unit)),
            Signal(_BITS),
            Signal(range(bits // unit)),
        )
        is_busy, is_pending = Signal(), Signal()
        m.d.comb += [
            # A stripe's last piece waits until the CRC of the stripe before is taken.
            is_pending.eq(ends | is_busy),
            is_end.eq((place + 1) * words >= row.count if pieces > 1 else 1),
            works.eq(self.i.valid & ~(row.last & is_pending)),
            self.i.ready.eq(is_end & ~(row.last & is_pending)),
            self.o.valid.eq(is_busy & (left == 0)),
            self.o.payload.eq(~result),
            self.idle.eq(~is_pending),
        ]
        with m.If(works):
            m.d.sync += [place.eq(Mux(is_end, 0, place + 1)), excess.eq(past)]
        m.d.sync += ends.eq(works & is_end & row.last)
        piece = select(m, place, [rows[bits * k : bits * (k + 1)] for k in range(pieces)], "piece")
        after = self._add(m, piece, works, ends)
        with m.If(ends):
            m.d.sync += [result.eq(after), left.eq(excess), is_busy.eq(1)]
        with m.Elif(left != 0):
            back = _step(m, _back, result, unit, "back")
            m.d.sync += [result.eq(back), left.eq(left - 1)]
        with m.Elif(self.o.ready):
            m.d.sync += is_busy.eq(0)
        return m

    def _unpadded(self, m):
        """The row, with zeros in place of the bytes of its last word that do not count."""
        row, size = self.i.payload, self.config.word_bytes
        kept = thermometer(size - row.missing, size)
        mask = Cat(bit.replicate(8) for bit in kept)
        words = [
            Mux(row.last & (row.count == k + 1), row.words[k] & mask, row.words[k])
            for k in range(self.config.lanes)
        ]
        rows = Signal(len(row.words.as_value()), name="unpadded")
        m.d.comb += rows.eq(Cat(words))
        return rows

    def _add(self, m, piece, works, ends):
        """Add a piece in two steps: what its data is, then the state; gives the state after it."""
        added, state, has_added = Signal(_BITS), Signal(_BITS, init=_ONES), Signal()
        parts = [piece[k : k + _BITS] for k in range(0, len(piece), _BITS)]
        m.d.sync += [has_added.eq(works), added.eq(_joined(m, parts, "joined"))]
        moved = _step(m, _forward, state, len(piece), "moved")
        after = Signal(_BITS)
        m.d.comb += after.eq(moved ^ _step(m, _forward, added, _BITS, "last"))
        with m.If(has_added):
            m.d.sync += state.eq(Mux(ends, _ONES, after))
        return after
