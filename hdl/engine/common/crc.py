"""CRC-32 of stripes."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_config import EngineConfig
from cdma.hdl.engine.common.records import Row

_POLYNOMIAL = 0xEDB88320  # of ISO-HDLC, as zlib computes it, bits reflected
_BITS = 32


def _advance(state: int, data: int, bits: int) -> int:
    for k in range(bits):
        low = (state ^ data >> k) & 1
        state = state >> 1 ^ (_POLYNOMIAL if low else 0)
    return state


def _next(m: Module, state: Signal, data, name: str) -> Signal:
    """The state after ``data``: each bit is an XOR of bits of state and data."""
    bits = len(data)
    # The CRC is linear: what each input bit alone makes of the state.
    images = [_advance(1 << k, 0, bits) for k in range(_BITS)]
    images += [_advance(0, 1 << k, bits) for k in range(bits)]
    inputs = Cat(state, data)
    after = Signal(_BITS, name=name)
    for k in range(_BITS):
        m.d.comb += after[k].eq(
            Cat(inputs[j] for j, image in enumerate(images) if image >> k & 1).xor()
        )
    return after


class StripeCrc(wiring.Component):
    """CRC-32 (ISO-HDLC, as zlib) of the bytes of each stripe.

    Throughput one whole row a cycle; a stripe's last row takes a cycle a word when it is partial,
    and a cycle a byte of a last word that is partial. Latency one cycle after that. ``i.ready``
    comes from registers and the row.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    i : In stream of :class:`~cdma.hdl.engine.common.records.Row`
    o : Out stream of CRCs, one for each stripe
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {"i": In(stream.Signature(Row(config))), "o": Out(stream.Signature(_BITS))}
        )

    def elaborate(self, platform):
        m = Module()
        row, lanes = self.i.payload, self.config.lanes
        state = Signal(_BITS, init=(1 << _BITS) - 1)
        done = Signal(range(lanes))  # words of a partial row
        is_partial, is_end, works, after = Signal(), Signal(), Signal(), Signal(_BITS)
        word = Signal(self.config.word_bits)
        for k in range(lanes):
            with m.If(done == k):
                m.d.comb += word.eq(row.words[k])
        is_short, is_last, step = row.count != lanes, done + 1 == row.count, 1
        after_word = _next(m, state, word, "after_word")
        if self.config.has_padding:
            is_cut, stays, after_word = self._cut(m, state, word, works, is_last, after_word)
            is_short, is_last, step = is_short | is_cut, is_last & ~stays, ~stays
        m.d.comb += [
            is_partial.eq(is_short),
            works.eq(self.i.valid & (~self.o.valid | self.o.ready)),
            is_end.eq(~is_partial | is_last),
            self.i.ready.eq((~self.o.valid | self.o.ready) & is_end),
            after.eq(
                Mux(
                    is_partial,
                    after_word,
                    _next(m, state, row.words.as_value(), "after_row"),
                )
            ),
        ]
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(works):
            m.d.sync += [state.eq(after), done.eq(Mux(is_end, 0, done + step))]
            with m.If(is_end & row.last):
                m.d.sync += [
                    self.o.valid.eq(1),
                    self.o.payload.eq(~after),
                    state.eq(Const((1 << _BITS) - 1, _BITS)),
                ]
        return m

    def _cut(self, m, state, word, works, is_last, after_word):
        """Of a stripe that ends inside a word: the bytes of that word, one a cycle.

        Gives whether the row ends so, whether more bytes of the word follow, and the state after
        the word or its byte.
        """
        row, size = self.i.payload, self.config.word_bytes
        given = Signal(range(size))  # bytes of the last word
        byte, is_cut, is_here, stays, after = (
            Signal(8), Signal(), Signal(), Signal(), Signal(_BITS),
        )  # fmt: skip
        after_byte = _next(m, state, byte, "after_byte")
        m.d.comb += [
            byte.eq(word.word_select(given, 8)),
            is_cut.eq(row.last & (row.missing != 0)),
            is_here.eq(is_cut & is_last),
            stays.eq(is_here & (given + 1 + row.missing != size)),
            after.eq(Mux(is_here, after_byte, after_word)),
        ]
        with m.If(works):
            m.d.sync += given.eq(Mux(stays, given + 1, 0))
        return is_cut, stays, after
