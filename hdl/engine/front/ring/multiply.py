"""Multiplies by the rows of a descriptor."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

#: Bits of the product that one adder has.
_PIECE_BITS = 8
ROWS_BITS = 32


class Multiplier(wiring.Component):
    """Multiply a number by rows, one bit of the rows a cycle.

    Each piece of the product has an adder of its own: its carry reaches the next piece a cycle
    later. After the last cycle of ``load``, a product takes as many cycles as ``rows`` has bits up
    to its highest one, up to one more for each piece but the first, and one.

    Parameters
    ----------
    bits : int
        Of the product.

    Members
    -------
    load : In, take ``rows``, ``is_less``, ``factor``, ``is_negative`` and ``first``; else multiply
    rows : In, 1 or more
    is_less : In, multiply by ``rows - 1``
    factor : In, in two's complement with ``is_negative`` as its sign
    is_negative : In, multiply by ``-factor``, which is positive
    first : In, is added to the product
    busy : Out, ``product`` is not yet valid
    product : Out, modulo ``2**bits``; valid until ``load``
    over : Out, the product is ``2**bits`` or more
    """

    load: Signal
    rows: Signal
    is_less: Signal
    factor: Signal
    is_negative: Signal
    first: Signal
    busy: Signal
    product: Signal
    over: Signal

    def __init__(self, bits: int):
        self.bits = bits
        super().__init__(
            {
                "load": In(1),
                "rows": In(ROWS_BITS),
                "is_less": In(1),
                "factor": In(bits),
                "is_negative": In(1),
                "first": In(bits),
                "busy": Out(1),
                "product": Out(bits),
                "over": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        left = Signal(ROWS_BITS, reset_less=True)  # the bits of the rows to come
        borrow = Signal(reset_less=True)  # of `rows - 1`
        bit = Signal(reset_less=True)  # of the rows, for the addend
        # Its lowest bit makes up for the cycle in which the first bit is not yet there.
        addend = Signal(self.bits + 1, reset_less=True)
        subtracts = Signal(reset_less=True)
        is_cut = Signal(reset_less=True)  # the addend has lost a bit that counts
        m.d.comb += self.busy.eq(
            (left != 0) | bit | self._add(m, bit, addend[1:], subtracts, is_cut)
        )
        with m.If(self.load):
            m.d.sync += [
                left.eq(self.rows),
                borrow.eq(self.is_less),
                bit.eq(0),
                addend.eq(Cat(self.factor, self.is_negative)),
                subtracts.eq(self.is_negative),
                is_cut.eq(0),
            ]
        with m.Else():
            m.d.sync += [
                left.eq(left >> 1),
                borrow.eq(borrow & ~left[0]),
                bit.eq(left[0] ^ borrow),
                addend.eq(addend << 1),
                is_cut.eq(is_cut | (addend[-1] ^ subtracts)),
            ]
        return m

    def _add(self, m, bit, addend, subtracts, is_cut):
        """Add the addend where ``bit`` is 1; gives whether carries are on their way."""
        product = Signal(self.bits, reset_less=True)
        over = Signal(reset_less=True)
        places = range(0, self.bits, _PIECE_BITS)
        carries = Signal(len(places) - 1, reset_less=True)  # into each piece but the first
        m.d.comb += [self.product.eq(product), self.over.eq(over)]
        with m.If(self.load):
            m.d.sync += [product.eq(self.first), carries.eq(0), over.eq(0)]
        with m.Else():
            for k, low in enumerate(places):
                piece = product[low : low + _PIECE_BITS]
                added = addend[low : low + _PIECE_BITS] ^ subtracts.replicate(len(piece))
                total = Signal(len(piece) + 1, name=f"total{k}")
                carry = carries[k - 1] if k else subtracts & bit
                m.d.comb += total.eq(piece + (added & bit.replicate(len(piece))) + carry)
                m.d.sync += piece.eq(total)
                if k + 1 < len(places):
                    m.d.sync += carries[k].eq(total[-1])
            with m.If(total[-1] | (bit & is_cut)):
                m.d.sync += over.eq(1)
        return carries.any()
