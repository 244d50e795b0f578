"""What the hardware gives for any bytes: the words, and the first error that it looks for.

The decoder of :mod:`cdma.golden.zvcplus.codec` accepts canonical streams only. The hardware looks
for fewer errors, and decodes everything else by the same arithmetic: bases and exponents are taken
modulo their width, a new word may be zero, and offsets have at most the bits of an exponent (fp16
has 5, and k may say 6). Widths of int8 are taken as they are sent. A repeated word is the one
before it, be that zero; a packet's first word repeats zero.
"""

from dataclasses import dataclass

import numpy as np

from cdma.golden.zvc.words import check_count, to_bytes
from cdma.golden.zvcplus.codec import decode
from cdma.golden.zvcplus.plan import AS_IS, DENSE, DIFFERENCES, RAW, RAW_MASK, SENT
from cdma.golden.zvcplus.tables import HEADER_BITS, RESERVED, headers
from cdma.zvcplus import RAW_BITS, ErrorCode, Format


def salvage(stream, count: int, fmt: Format) -> tuple[np.ndarray, int, ErrorCode]:
    """Decompress a possibly malformed stream exactly as the hardware does.

    Parameters
    ----------
    stream : bytes-like or ndarray of uint8, shape (bytes,)
        Any bytes.
    count : int
        Words of the packet.
    fmt : Format
        Any type, without repeats or with repeats to the left.

    Returns
    -------
    words : ndarray of ``fmt.dtype``, shape (n,)
        The packet's first words, all ``count`` without error. With an error, those of the blocks in
        front of it: the hardware gives any words behind them.
    consumed : int
        Bytes decoded without error: up to the end of the last payload, or, with an error in a
        control or a truncated payload, of the last complete payload in front of it, rounded up.
    code : ErrorCode
        ``NONE``, ``TRUNCATED``, ``TRAILING``, ``MASK_PAST_END``, ``RESERVED``, ``COUNT`` or
        ``TOO_LONG``.

    Raises
    ------
    TypeError, ValueError
        When an argument is not what it must be.
    """
    if fmt.repeats == "above":
        raise ValueError(f"Format must be without repeats above, not {fmt!r}")
    data = to_bytes(stream)
    words, error = decode(data, count, fmt)
    if error is None:
        return words, len(data), ErrorCode.NONE
    return _Walk(data.tobytes(), check_count(count), fmt).run()


@dataclass(frozen=True)
class _Block:
    """A block, as its control describes it."""

    length: int
    is_raw: bool = False
    is_reserved: bool = False
    is_wide: bool = False
    k: int = 0
    base: int = 0
    mask: int = 0
    #: Bits of a new word, per group of words.
    widths: tuple[int, ...] = (0,)
    words: int = 0
    has_repeats: bool = False
    #: By the control, with repeats: of floats the repeated words, of int8 the bits of the payload.
    number: int = 0

    @property
    def payload(self) -> int:
        if self.has_repeats and len(self.widths) > 1:
            return self.number
        if self.has_repeats:
            return self.front + (self.front - min(self.number, self.front)) * self.widths[0]
        size = self.words // len(self.widths)
        ones = (1 << size) - 1
        return sum(
            (self.mask >> group * size & ones).bit_count() * width
            for group, width in enumerate(self.widths)
        )

    @property
    def front(self) -> int:
        """Bits in front of the new words: one for each word that is not zero."""
        return self.mask.bit_count() if self.has_repeats else 0

    def width(self, i: int) -> int:
        """Bits of word ``i``, if it is sent."""
        return self.widths[i * len(self.widths) // self.words]


class _Walk:
    """One stream, from its first control to its first error or its end."""

    def __init__(self, data: bytes, count: int, fmt: Format):
        self._data, self._total = data, 8 * len(data)
        self._count, self._fmt = count, fmt
        self._words = []

    def run(self) -> tuple[np.ndarray, int, ErrorCode]:
        """As :func:`salvage`."""
        place = base = consumed = 0
        before, code = None, ErrorCode.NONE  # before: the block whose payload is next
        for number in range(self._fmt.blocks(self._count)):
            block = self._control(place, base)
            base = block.base
            at = place + block.length  # of the payload of the block before
            place = at + (before.payload if before else 0)
            code = self._error(number, block, before, at, place)
            if before and place <= self._total and not self._is_miscounted(before, at):
                self._payload(before, at)
            if code:
                return self._given(consumed, code)
            consumed, before = -(-place // 8), block
        if before:
            place += before.payload
            if place > self._total:
                return self._given(consumed, ErrorCode.TRUNCATED)
            if self._is_miscounted(before, place - before.payload):
                return self._given(consumed, ErrorCode.COUNT)
            self._payload(before, place - before.payload)
            consumed = -(-place // 8)
        past = self._words[self._count :]
        if before and before.is_raw and any(past):
            code = ErrorCode.MASK_PAST_END
        elif self._total > 8 * consumed or self._bits(place, 7):
            code = ErrorCode.TRAILING
        return self._given(consumed, code)

    def _given(self, consumed, code):
        words = np.array(self._words[: self._count], self._fmt.dtype)
        return words, consumed, code

    def _is_miscounted(self, block, at: int) -> bool:
        """Whether the payload from bit ``at`` on has another number of repeated words; of int8,
        whether it has another length."""
        repeated = self._bits(at, block.front)
        if self._fmt.word.is_float or not block.has_repeats:
            return repeated.bit_count() != block.number
        length = rank = 0
        for i in range(self._fmt.block_words):
            if block.mask >> i & 1:
                length += 1 if repeated >> rank & 1 else 1 + block.width(i)
                rank += 1
        return length != block.number

    def _error(self, number, block, before, at, place) -> ErrorCode:
        """Of a control that ends at ``at``, or of the payload behind it, up to ``place``."""
        size = self._fmt.block_words
        is_past = not block.is_raw and block.mask >> min(size, self._count - number * size)
        for code, is_wrong in (
            (ErrorCode.TRUNCATED, at > self._total),
            (ErrorCode.RESERVED, block.is_reserved),
            (ErrorCode.MASK_PAST_END, is_past),
            (ErrorCode.COUNT, self._fmt.word.is_float and block.number > block.front),
            (ErrorCode.TOO_LONG, block.length + block.payload > RAW_BITS),
            (ErrorCode.TRUNCATED, place > self._total),
            (ErrorCode.COUNT, before and self._is_miscounted(before, at)),
        ):
            if is_wrong:
                return code
        return ErrorCode.NONE

    def _bits(self, at: int, width: int) -> int:
        """``width`` bits of the stream from bit ``at`` on; zeros behind its end."""
        part = self._data[at >> 3 : (at + width + 7) >> 3]
        return (int.from_bytes(part, "little") >> (at & 7)) & (1 << width) - 1

    def _control(self, place: int, base: int) -> _Block:
        word, size = self._fmt.word, self._fmt.block_words
        table = headers(self._fmt.type, self._fmt.repeat_number)
        kind, is_wide, has_repeats, d, k, length = table[self._bits(place, HEADER_BITS)]
        if kind == RAW:
            ones = (1 << size) - 1
            return _Block(
                length, is_raw=True, base=base, mask=ones, widths=(word.bits,), words=size
            )
        if kind not in (DIFFERENCES, AS_IS, RAW_MASK, DENSE):
            return _Block(length, is_reserved=kind == RESERVED, base=base, words=size)
        at = place + length
        widths = ()
        if not word.is_float:
            widths, at = self._widths(at, is_wide=is_wide, is_half=d == 1)
        flags = 0
        if kind in (DIFFERENCES, AS_IS):
            flags = self._bits(at, word.flags)
            at += word.flags
        if word.is_float:
            base += d - 3
            if d == SENT:
                base = self._bits(at, word.exponent)
                at += word.exponent
            if k != SENT:
                k = min(k, word.exponent)
            widths = (word.mantissa + (word.exponent if k == SENT else k) + is_wide,)
            base %= 1 << word.exponent
        mask = (1 << size) - 1
        if kind == RAW_MASK:
            mask = self._bits(at, size)
            at += size
        elif kind != DENSE:
            mask, at = self._nibbles(at, flags, has_differences=kind == DIFFERENCES)
        number = 0
        if has_repeats:
            number = self._bits(at, word.count_bits) + word.is_float
            at += word.count_bits
        return _Block(
            at - place,
            is_wide=is_wide,
            k=k,
            base=base,
            mask=mask,
            widths=widths,
            words=size,
            has_repeats=bool(has_repeats),
            number=number,
        )

    def _widths(self, at: int, *, is_wide: bool, is_half: bool) -> tuple[tuple[int, ...], int]:
        """Widths of the groups of int8 from bit ``at`` on, and the bit behind them."""
        groups = self._fmt.block_words // (16 if is_half else 32)
        sent = self._bits(at, 3 * groups)
        return tuple((sent >> 3 * group & 7) + is_wide for group in range(groups)), at + 3 * groups

    def _nibbles(self, at: int, flags: int, *, has_differences: bool) -> tuple[int, int]:
        """A mask of the nibbles from bit ``at`` on, and the bit behind them."""
        mask = 0
        for group in range(self._fmt.word.flags):
            if flags >> group & 1:
                mask |= self._bits(at, 4) << 4 * group
                at += 4
        if has_differences:
            span = 1
            while span < self._fmt.block_words:
                mask ^= mask << span
                span *= 2
            mask &= (1 << self._fmt.block_words) - 1
        return mask, at

    def _payload(self, block: _Block, at: int) -> None:
        """Append the words of a block whose payload begins at bit ``at``."""
        repeated = self._bits(at, block.front)
        at += block.front
        rank = 0  # among the words that are not zero
        for i in range(self._fmt.block_words):
            word = 0
            if block.mask >> i & 1:
                is_repeated, rank = repeated >> rank & 1, rank + 1
                if is_repeated:
                    self._words.append(self._words[-1] if self._words else 0)
                    continue
                width = block.width(i)
                word = self._word(self._bits(at, width), block)
                at += width
            self._words.append(word)

    def _word(self, bits: int, block: _Block) -> int:
        if block.is_raw:
            return bits
        word = self._fmt.word
        if not word.is_float:
            return bits + 1 & (1 << word.bits) - 1
        mantissa, bits = bits & (1 << word.mantissa) - 1, bits >> word.mantissa
        width = word.exponent if block.k == SENT else block.k
        exponent, sign = bits & (1 << width) - 1, bits >> width
        if block.k != SENT:
            exponent = block.base - exponent & (1 << word.exponent) - 1
        return sign << word.bits - 1 | exponent << word.mantissa | mantissa
