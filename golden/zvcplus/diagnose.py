"""The first error of a stream, looked for field by field in the one block that is not right."""

from dataclasses import dataclass

import numpy as np

from cdma.golden.zvcplus.emit import emit_controls, emit_payloads
from cdma.golden.zvcplus.errors import StreamError
from cdma.golden.zvcplus.plan import (
    AS_IS,
    DENSE,
    DIFFERENCES,
    RAW,
    RAW_MASK,
    SENT,
    plan_blocks,
)
from cdma.golden.zvcplus.tables import EXTENSIONS, RESERVED
from cdma.zvcplus import RAW_BITS, ErrorCode, Format


class _Cursor:
    """Reads fields one after the other."""

    def __init__(self, data: np.ndarray, total: int, at: int):
        self._bytes, self._total, self.at = data, total, at

    def take(self, bits: int) -> int:
        """Value of the next field."""
        if self.at + bits > self._total:
            raise StreamError("the stream ends here", self._total, ErrorCode.TRUNCATED)
        first, last = self.at >> 3, (self.at + bits + 7) >> 3
        value = int.from_bytes(self._bytes[first:last].tobytes(), "little") >> (self.at & 7)
        self.at += bits
        return value & ((1 << bits) - 1)


@dataclass
class _Control:
    """Fields of one control."""

    kind: int
    is_wide: bool = False
    has_repeats: bool = False
    k: int = 0
    base: int = 0
    widths: tuple[int, ...] = ()
    mask: int = 0
    number: int = 0
    number_at: int = 0
    bits: int = 0
    payload: int = 0


@dataclass
class Diagnosis:
    """A stream, as the decoder knows it when it meets a block that is not right.

    Attributes
    ----------
    data : ndarray of uint8
        The stream, with padding behind it.
    total : int
        Its bits.
    count : int
        Words of the packet.
    fmt : Format
    """

    data: np.ndarray
    total: int
    count: int
    fmt: Format

    def error(
        self, block: int, places: tuple[int, int, int], base: int, words: np.ndarray
    ) -> StreamError:
        """The first error: of the control, of the next control, or of the payload.

        Parameters
        ----------
        block : int
            First block that is not right.
        places : tuple of int
            Bit offsets of its control, of its payload and of the next control.
        base : int
            Base coded before the block.
        words : ndarray of words
            All words before the block; others are ignored.
        """
        try:
            control = self._control(block, places[0], base)
            if block + 1 < self.fmt.blocks(self.count):
                self._control(block + 1, places[2], control.base)
            self._payload(block, control, places, base, words)
        except StreamError as error:
            return error
        raise AssertionError(f"block {block} was found wrong and has no error")

    def _held(self, block: int) -> int:
        """Words of the packet in a block."""
        return min(self.fmt.block_words, self.count - block * self.fmt.block_words)

    def _control(self, block: int, place: int, base: int) -> _Control:
        """Read a control; raises its first error."""
        word, cursor = self.fmt.word, _Cursor(self.data, self.total, place)
        control = _Control(cursor.take(2), base=base)
        if control.kind == 3:
            control.kind, control.is_wide = EXTENSIONS[cursor.take(3)]
            if control.kind == RESERVED:
                reason = "extension 3 is reserved"
                raise StreamError(reason, place + 2, ErrorCode.RESERVED)
        if control.kind in (0, RAW):
            control.payload = 1024 if control.kind == RAW else 0
            control.bits = cursor.at - place
            return control
        if self.fmt.repeat_number:
            control.has_repeats = bool(cursor.take(1))
        d = 0
        if word.is_float:
            d = cursor.take(3)
            control.base = base + d - 3
            if d < SENT and not 0 <= control.base < 1 << word.exponent:
                reason = f"base {control.base} is not an exponent of {word.exponent} bits"
                raise StreamError(reason, cursor.at - 3, ErrorCode.RANGE)
            control.k = cursor.take(3)
            width = word.mantissa + control.is_wide
            width += word.exponent if control.k == SENT else control.k
            control.widths = (width,) * self.fmt.block_words
        else:
            group = 16 if cursor.take(1) else 32
            widths = [cursor.take(3) + control.is_wide for _ in range(0, 128, group)]
            control.widths = tuple(width for width in widths for _ in range(group))
        self._mask(block, control, cursor, d == SENT, place)
        nonzeros = control.mask.bit_count()
        if control.has_repeats:
            control.number_at = cursor.at
            control.number = cursor.take(word.count_bits) + word.is_float
            if word.is_float and control.number > nonzeros:
                reason = f"{control.number} repeated words among {nonzeros}"
                raise StreamError(reason, control.number_at, ErrorCode.COUNT)
        control.bits = cursor.at - place
        control.payload = self._payload_bits(control)
        length = control.bits + control.payload
        if length > RAW_BITS:
            reason = f"a block of {length} bits, more than {RAW_BITS}"
            raise StreamError(reason, place, ErrorCode.TOO_LONG)
        return control

    def _mask(
        self, block: int, control: _Control, cursor: _Cursor, has_base: bool, place: int
    ) -> None:
        """Read the mask and the base in it."""
        word, at = self.fmt.word, cursor.at
        flags = 0
        if control.kind in (DIFFERENCES, AS_IS):
            flags = cursor.take(word.flags)
            if flags == 0:
                reason = "a coded block without a word that is not zero"
                raise StreamError(reason, at, ErrorCode.NOT_CANONICAL)
        if has_base:
            control.base = cursor.take(word.exponent)
        size = self.fmt.block_words
        if control.kind == RAW_MASK:
            at = cursor.at
            control.mask = cursor.take(size)
            if control.mask == 0:
                reason = "a coded block without a word that is not zero"
                raise StreamError(reason, at, ErrorCode.NOT_CANONICAL)
        elif control.kind == DENSE:
            at, control.mask = place, (1 << size) - 1
        else:
            parity = 0
            for group in range(word.flags):
                if not flags >> group & 1:
                    nibble = 0
                else:
                    nibble = cursor.take(4)
                    if nibble == 0:
                        reason = f"group {group} of the mask is marked and zero"
                        raise StreamError(reason, cursor.at - 4, ErrorCode.NOT_CANONICAL)
                for bit in range(4):
                    one = nibble >> bit & 1
                    if control.kind == DIFFERENCES:
                        one = parity = parity ^ one
                    control.mask |= one << 4 * group + bit
        if control.mask >> self._held(block):
            last = block * size + control.mask.bit_length() - 1
            reason = f"mask marks word {last} of {self.count}, counted from 0"
            raise StreamError(reason, at, ErrorCode.MASK_PAST_END)

    def _payload_bits(self, control: _Control) -> int:
        nonzeros = control.mask.bit_count()
        if not control.has_repeats:
            return sum(width for i, width in enumerate(control.widths) if control.mask >> i & 1)
        if not self.fmt.word.is_float:
            return control.number
        flags = nonzeros + (self.fmt.repeats == "above") * control.number
        return flags + (nonzeros - control.number) * control.widths[0]

    def _payload(
        self,
        block: int,
        control: _Control,
        places: tuple[int, int, int],
        base: int,
        words: np.ndarray,
    ) -> None:
        """Read a payload; raises its first error, or where the encoder would have chosen else."""
        fmt, place = self.fmt, places[1]
        if place + control.payload > self.total:
            raise StreamError("the stream ends here", self.total, ErrorCode.TRUNCATED)
        start = block * fmt.block_words
        out = [0] * fmt.block_words
        cursor = _Cursor(self.data, len(self.data) * 8, place)
        errors: list[StreamError] = []
        if control.kind == RAW:
            for i in range(fmt.block_words):
                out[i] = cursor.take(fmt.word_bits)
                if out[i] and i >= self._held(block):
                    reason = f"raw word {start + i} of {self.count}, counted from 0, is not zero"
                    at = cursor.at - fmt.word_bits
                    errors.append(StreamError(reason, at, ErrorCode.MASK_PAST_END))
        elif control.kind:
            errors = self._coded(block, control, cursor, out, words)
        if errors:
            raise min(errors, key=lambda error: error.offset)
        packet = np.zeros(min(self.count, start + fmt.block_words), fmt.dtype)
        packet[:start] = words[:start]
        packet[start:] = out[: len(packet) - start]
        self._compare(block, places, control, base, packet)

    def _coded(
        self, block: int, control: _Control, cursor: _Cursor, out: list[int], words: np.ndarray
    ) -> list[StreamError]:
        """Errors in a payload that is not raw; its words go to ``out``."""
        fmt, first_bit = self.fmt, cursor.at
        marked = [i for i in range(fmt.block_words) if control.mask >> i & 1]
        repeated, above, bit_at = [], set(), {}
        if control.has_repeats:
            for i in marked:
                bit_at[i] = cursor.at
                if cursor.take(1):
                    repeated.append(i)
            if fmt.repeats == "above":
                for i in repeated:
                    bit_at[i] = cursor.at
                    if cursor.take(1):
                        above.add(i)
        new = [i for i in marked if i not in set(repeated)]
        total = cursor.at - first_bit + sum(control.widths[i] for i in new)
        counted = len(repeated) if fmt.word.is_float else total
        if control.has_repeats and counted != control.number:
            what = "repeated words" if fmt.word.is_float else "bits of payload"
            reason = f"{control.number} {what}, not {counted}"
            return [StreamError(reason, control.number_at, ErrorCode.COUNT)]
        errors = []
        for i in new:
            at = cursor.at
            value = cursor.take(control.widths[i])
            out[i] = self._word(value, control, at, errors)
            if out[i] == 0:
                errors.append(StreamError("a new word is zero", at, ErrorCode.ZERO_WORD))
        start = block * fmt.block_words
        for i in repeated:
            distance = fmt.distance if i in above else 1
            source = start + i - distance
            beats = (start + i) // fmt.word.beat_words - source // fmt.word.beat_words
            reason = ""
            if source < 0:
                reason = "has no source"
            elif i in above and beats < fmt.min_beats:
                reason = f"has a source {beats} beats away, less than {fmt.min_beats}"
            else:
                out[i] = out[source - start] if source >= start else int(words[source])
                if out[i] == 0:
                    reason = "repeats a zero"
            if reason:
                text = f"repeated word {start + i} {reason}"
                errors.append(StreamError(text, bit_at[i], ErrorCode.REPEAT))
        return errors

    def _word(self, value: int, control: _Control, at: int, errors: list[StreamError]) -> int:
        """A new word from what was sent of it."""
        word = self.fmt.word
        if not word.is_float:
            return value + 1 & 255
        mantissa, value = value & (1 << word.mantissa) - 1, value >> word.mantissa
        bits = word.exponent if control.k == SENT else control.k
        exponent, sign = value & (1 << bits) - 1, value >> bits
        if control.k != SENT:
            exponent = control.base - exponent
            if exponent < 0:
                reason = f"exponent {exponent} is below zero"
                errors.append(StreamError(reason, at + word.mantissa, ErrorCode.RANGE))
                exponent &= (1 << word.exponent) - 1
        return sign << word.bits - 1 | exponent << word.mantissa | mantissa

    def _compare(
        self,
        block: int,
        places: tuple[int, int, int],
        control: _Control,
        base: int,
        packet: np.ndarray,
    ) -> None:
        """Raise at the first bit that the encoder would have written otherwise."""
        plan = plan_blocks(packet, block, block + 1, self.fmt, base)
        lengths = (int(plan.control[0]), control.bits), (int(plan.payload[0]), control.payload)
        names = "control", "payload"
        for emit, place, (canonical, given), name in zip(
            (emit_controls, emit_payloads), places, lengths, names, strict=False
        ):
            out = np.zeros(40, np.uint32)
            emit(out, np.zeros(1, np.int64), plan, self.fmt)
            expected = int.from_bytes(out.tobytes(), "little")
            bits = min(canonical, given)
            difference = expected ^ _Cursor(self.data, self.total, place).take(given)
            difference &= (1 << bits) - 1
            if difference or canonical != given:
                first = (difference & -difference).bit_length() - 1 if difference else bits
                reason = f"the encoder would have written another {name} of block {block}"
                raise StreamError(reason, place + first, ErrorCode.NOT_CANONICAL)


def left_over(data: np.ndarray, total: int, end: int, count: int) -> StreamError | None:
    """The error of bits behind the last payload, which ends at bit ``end``."""
    whole = -(-end // 8)
    filling = int(data[whole - 1]) >> (end & 7) if end & 7 else 0
    if filling:
        at = end + (filling & -filling).bit_length() - 1
        return StreamError("the last byte is not filled up with zeros", at, ErrorCode.TRAILING)
    if 8 * whole < total:
        reason = f"stream of {count} words ends here, {total // 8 - whole} more bytes follow"
        return StreamError(reason, 8 * whole, ErrorCode.TRAILING)
    return None
