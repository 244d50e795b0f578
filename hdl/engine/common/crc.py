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


class UnitCrc(wiring.Component):
    """CRC-32 (ISO-HDLC, as zlib) of the bytes of each stripe, which come in units.

    A unit a cycle. What a stripe's last unit has too much is zero; what that adds is taken back
    afterwards, a word a cycle (a byte, when stripes can end inside a word), while the next stripe
    begins. Latency three cycles after a stripe's last unit, and one for each word or byte that is
    taken back. ``o`` and ``idle`` come from registers.

    Parameters
    ----------
    bits : int
        Of a unit, a multiple of 32.
    size : int
        Bits of a word, or of a byte, see above.

    Members
    -------
    clear : In, forget the stripe that has begun; only while ``idle``
    valid : In, a unit comes
    unit : In, its bits
    last : In, the stripe ends with it: only while ``idle``
    excess : In, words or bytes of the unit past the stripe's end
    o : Out stream of CRCs, one for each stripe
    idle : Out, no CRC is on its way
    """

    clear: Signal
    valid: Signal
    unit: Signal
    last: Signal
    excess: Signal
    o: stream.Interface
    idle: Signal

    def __init__(self, bits: int, size: int):
        self.bits = bits
        self.size = size
        super().__init__(
            {
                "clear": In(1),
                "valid": In(1),
                "unit": In(bits),
                "last": In(1),
                "excess": In(range(bits // size)),
                "o": Out(stream.Signature(_BITS)),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        past, left = (Signal.like(self.excess, name=name) for name in ("past", "left"))
        is_busy, ends, comes = (Signal(name=name) for name in ("is_busy", "ends", "comes"))
        # Neither of the two, in a register of its own: their load is high, and rows wait for it.
        is_idle = Signal(init=1)
        result = Signal(_BITS)
        m.d.comb += [
            self.o.valid.eq(is_busy & (left == 0)),
            self.o.payload.eq(~result),
            self.idle.eq(is_idle),
            comes.eq(self.valid & self.last & ~self.clear),
        ]
        is_taken = self.o.valid & self.o.ready
        m.d.sync += [
            ends.eq(comes),
            past.eq(self.excess),
            is_idle.eq(~(comes | ends | (is_busy & ~is_taken))),
        ]
        after = self._add(m, ends)
        with m.If(ends):
            m.d.sync += [result.eq(after), left.eq(past), is_busy.eq(1)]
        with m.Elif(left != 0):
            back = _step(m, _back, result, self.size, "back")
            m.d.sync += [result.eq(back), left.eq(left - 1)]
        with m.Elif(self.o.ready):
            m.d.sync += is_busy.eq(0)
        return m

    def _add(self, m, ends):
        """Add a unit in two steps: what its data is, then the state; gives the state after it."""
        added, state = Signal(_BITS, name="added"), Signal(_BITS, name="state", init=_ONES)
        has_added = Signal()
        parts = [self.unit[k : k + _BITS] for k in range(0, self.bits, _BITS)]
        m.d.sync += [has_added.eq(self.valid & ~self.clear), added.eq(_joined(m, parts, "joined"))]
        moved = _step(m, _forward, state, self.bits, "moved")
        after = Signal(_BITS)
        m.d.comb += after.eq(moved ^ _step(m, _forward, added, _BITS, "last"))
        with m.If(has_added):
            m.d.sync += state.eq(Mux(ends, _ONES, after))
        with m.If(self.clear):
            m.d.sync += state.eq(_ONES)
        return after


def unit_of(m: Module, config: EngineConfig, row, place) -> tuple:
    """A unit of a row: as many of its words as a beat of the link has, at most all.

    Parameters
    ----------
    m : Module
    config : EngineConfig
    row : data.View
        With ``words``, of which those from ``count`` on are zero, ``last`` and, where the engine
        has padding, ``missing``.
    place : Value
        Number of the unit in the row.

    Returns
    -------
    (Value, Value)
        Bits of the unit, zero past the end of a stripe that ends with it, and the words, or the
        bytes if stripes can end inside a word, that are past it.
    """
    size, units = row.words.shape().length, unit_words(config)

    def chosen(values, name):
        values = [Cat(values[k : k + units]) for k in range(0, size, units)]
        return select(m, place, values, name) if len(values) > 1 else values[0]

    unit = chosen([row.words[k] for k in range(size)], "unit")
    past = -row.count
    if config.has_padding:
        past = (past << (config.word_bytes.bit_length() - 1)) + row.missing
        ends = chosen([row.last & (row.count == k + 1) for k in range(size)], "unit_ends")
        kept = thermometer(config.word_bytes - row.missing, config.word_bytes)
        kept = Cat(bit.replicate(8) for bit in kept)
        unit = unit & Cat(kept | ~end.replicate(len(kept)) for end in ends)
    return unit, past


class StripeCrc(wiring.Component):
    """:class:`UnitCrc` of rows: each is taken in units, as fast as the link has a stream.

    ``i.ready`` comes from registers and the row.

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
        #: Words of a unit.
        self.words = unit_words(config)
        super().__init__(
            {
                "i": In(stream.Signature(Row(config))),
                "o": Out(stream.Signature(_BITS)),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, row, words = self.config, self.i.payload, self.words
        m.submodules.core = core = UnitCrc(words * config.word_bits, excess_bits(config))
        wiring.connect(m, core.o, wiring.flipped(self.o))
        units = config.lanes // words
        place, is_end, goes = Signal(range(max(units, 2))), Signal(), Signal()
        # The place inverted, in registers of its own: ``ready`` must not wait for those that choose
        # the words of a unit, whose load is high.
        turned = Signal.like(place, init=-1)
        unit, past = unit_of(m, config, row, place)
        m.d.comb += [
            is_end.eq((~turned + 1) * words >= row.count if units > 1 else 1),
            # A stripe's last unit waits until the CRC of the stripe before is taken.
            goes.eq(~row.last | core.idle),
            core.valid.eq(self.i.valid & goes),
            core.unit.eq(unit),
            core.last.eq(row.last & is_end),
            core.excess.eq(past),
            self.i.ready.eq(is_end & goes),
            self.idle.eq(core.idle),
        ]
        with m.If(core.valid):
            following = Mux(is_end, 0, place + 1)
            m.d.sync += [place.eq(following), turned.eq(~following)]
        return m


def unit_words(config: EngineConfig) -> int:
    """Words of a beat of the link, at most a row: a CRC takes as many in a cycle."""
    return min(config.link_bytes, config.beat_bytes) // config.word_bytes


def excess_bits(config: EngineConfig) -> int:
    """Bits of what a stripe's last unit may have too much: of words, or of bytes."""
    return 8 if config.has_padding else config.word_bits
