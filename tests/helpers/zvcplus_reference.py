"""ZVC+ written down a second time, from ``docs/zvcplus.md``: slow, a word and a bit at a time.

Imports nothing but the numbers of the errors, so that a mistake is not made twice. Bits are strings
of 0 and 1, first bit first.
"""

from cdma.zvcplus import ErrorCode

#: Bits of a word, of its mantissa and of its exponent.
TYPES = {"fp32": (32, 23, 8), "fp16": (16, 10, 5), "bf16": (16, 7, 8), "int8": (8, 0, 0)}
NONE = (None, None)


class RefusedError(Exception):
    """Bit offset and code of an error."""

    def __init__(self, offset, code):
        super().__init__(offset, code)
        self.verdict = offset, code


def field(value, bits):
    """A number as bits, least significant first."""
    assert 0 <= value < 1 << bits or bits == 0 == value
    return format(value, f"0{bits}b")[::-1] if bits else ""


def to_bytes(bits):
    """Bits as bytes, filled up with zeros."""
    bits += "0" * (-len(bits) % 8)
    return bytes(int(bits[at : at + 8][::-1], 2) for at in range(0, len(bits), 8))


def to_bits(data):
    return "".join(field(byte, 8) for byte in data)


def encode(words, fmt):
    """Bits of the stream of a list of ints, not filled up."""
    size = 1024 // TYPES[fmt.type][0]
    controls, payloads, base = [], [], 0
    for first in range(0, len(words), size):
        control, payload, base = encode_block(words, first, fmt, base)
        controls.append(control)
        payloads.append(payload)
    stream = "".join(controls[:1])
    for number, payload in enumerate(payloads):
        stream += "".join(controls[number + 1 : number + 2]) + payload
    return stream


def encode_block(words, first, fmt, base):
    """Control and payload of the block that starts at word ``first``, and the base behind it."""
    control, payload, next_base = code_block(words, first, fmt, base)
    if len(control) + len(payload) < 1029:
        return control, payload, next_base
    word_bits = TYPES[fmt.type][0]
    block = words[first : first + 1024 // word_bits]
    raw = "".join(field(word, word_bits) for word in block)
    return field(3, 2) + field(0, 3), raw.ljust(1024, "0"), base


def code_block(words, first, fmt, base):
    """As ``encode_block``, but never raw; a length that does not fit its field is 0."""
    word_bits, mantissa_bits, exponent_bits = TYPES[fmt.type]
    is_float = exponent_bits > 0
    size = 1024 // word_bits
    block = words[first : first + size]
    block = block + [0] * (size - len(block))
    ones = [i for i in range(size) if block[i]]
    if not ones:
        return "00", "", base

    left, above = set(), set()
    for i in ones:
        at = first + i
        if fmt.repeats != "none" and at >= 1 and words[at] == words[at - 1]:
            left.add(i)
        elif (
            fmt.repeats == "above" and at >= fmt.distance and words[at] == words[at - fmt.distance]
        ):
            in_beat = 256 // word_bits
            if at // in_beat - (at - fmt.distance) // in_beat >= fmt.min_beats:
                above.add(i)
    repeated = left | above
    count_bits = {32: 5, 16: 6, 8: 10}[word_bits]
    saving = len(repeated) * (mantissa_bits + 2 if is_float else 4)
    cost = len(ones) + (len(repeated) if fmt.repeats == "above" else 0) + count_bits
    has_repeats = saving > cost
    if not has_repeats:
        repeated = set()
    new = [i for i in ones if i not in repeated]

    flags = ""
    if has_repeats:
        flags += "".join("01"[i in repeated] for i in ones)
        if fmt.repeats == "above":
            flags += "".join("01"[i in above] for i in ones if i in repeated)
    rep = "" if fmt.repeats == "none" else "01"[has_repeats]
    sent_base, next_base = "", base
    if is_float:
        exponent = {i: block[i] >> mantissa_bits & (1 << exponent_bits) - 1 for i in new}
        wide = any(block[i] >> word_bits - 1 for i in ones)
        d, k = 3, 0
        if new:
            next_base = max(exponent.values())
            k = (next_base - min(exponent.values())).bit_length()
            k = 7 if k > 6 else k
            d = next_base - base + 3
            if not 0 <= d <= 6:
                d, sent_base = 7, field(next_base, exponent_bits)
        shape = field(d, 3) + field(k, 3)
        payload = flags
        for i in new:
            payload += field(block[i] & (1 << mantissa_bits) - 1, mantissa_bits)
            if k == 7:
                payload += field(exponent[i], exponent_bits)
            else:
                payload += field(next_base - exponent[i], k)
            payload += field(block[i] >> word_bits - 1, 1) if wide else ""
        last = field(len(repeated) - 1, count_bits) if has_repeats else ""
    else:
        options = []
        for half, group in ((0, 32), (1, 16)):
            widths = []
            for start in range(0, size, group):
                values = [block[i] - 1 for i in new if start <= i < start + group]
                widths.append(max(values, default=0).bit_length())
            wide = max(widths) > 7
            if wide:
                widths = [max(1, width) for width in widths]
            total = 3 * len(widths) + sum(widths[i // group] for i in new)
            options.append((total, half, group, widths, wide))
        chosen = options[1] if options[1][0] < options[0][0] else options[0]
        _, half, group, widths, wide = chosen
        shape = field(half, 1) + "".join(field(width - wide, 3) for width in widths)
        payload = flags + "".join(field(block[i] - 1, widths[i // group]) for i in new)
        last = field(len(payload) % 1024, count_bits) if has_repeats else ""

    mask = [int(word != 0) for word in block]
    differences = [one ^ before for one, before in zip(mask, [0, *mask], strict=False)]
    sent = [coded_mask(bits) for bits in (differences, mask)]
    whole = "".join(map(str, mask))
    short, long = {0: field(1, 2), 1: field(2, 2)}, [field(3, 2) + field(i, 3) for i in range(8)]
    options = [  # bits, mode and ext, flags and what follows the base
        (len("".join(sent[0])) + 3 * wide, long[4] if wide else short[0], sent[0]),
        (len("".join(sent[1])) + 3 * wide, long[7] if wide else short[1], sent[1]),
        (size + 3, long[5 if wide else 1], ("", whole)),
    ]
    if len(ones) == size:
        options.append((3, long[6 if wide else 2], ("", "")))
    _, mode, (group_flags, nibbles) = min(options, key=lambda option: option[0])
    control = mode + rep + shape + group_flags + sent_base + nibbles + last
    return control, payload, next_base


def coded_mask(bits):
    """Flags and nibbles."""
    groups = [bits[at : at + 4] for at in range(0, len(bits), 4)]
    flags = "".join("01"[any(group)] for group in groups)
    return flags, "".join("".join(map(str, group)) for group in groups if any(group))


class Reader:
    """Takes fields from a string of bits."""

    def __init__(self, bits, at):
        self.bits, self.at = bits, at

    def take(self, count):
        if self.at + count > len(self.bits):
            raise RefusedError(len(self.bits), ErrorCode.TRUNCATED)
        self.at += count
        return int(self.bits[self.at - count : self.at][::-1] or "0", 2)


def read_control(bits, at, fmt, base, held):
    """Fields of a control as a dict; ``held`` words of the packet are in its block."""
    word_bits, mantissa_bits, exponent_bits = TYPES[fmt.type]
    size, is_float = 1024 // word_bits, exponent_bits > 0
    reader = Reader(bits, at)
    mode = reader.take(2)
    found = {"at": at, "base": base, "mask": [0] * size, "rep": 0, "kind": "zero", "bits": 2}
    found["payload"] = 0
    if mode == 0:
        return found
    kind, wide = {1: "differences", 2: "as it is", 3: ""}[mode], 0
    if mode == 3:
        ext = reader.take(3)
        if ext == 3:
            raise RefusedError(at + 2, ErrorCode.RESERVED)
        kind = ("raw", "mask", "dense", "", "differences", "mask", "dense", "as it is")[ext]
        wide = int(ext >= 4)
    if kind == "raw":
        return {**found, "kind": "raw", "bits": 5, "payload": 1024}
    rep = reader.take(1) if fmt.repeats != "none" else 0
    d = k = 0
    if is_float:
        d_at, d = reader.at, reader.take(3)
        if d < 7:
            base = base + d - 3
            if not 0 <= base < 2**exponent_bits:
                raise RefusedError(d_at, ErrorCode.RANGE)
        k = reader.take(3)
        widths = [mantissa_bits + (exponent_bits if k == 7 else k) + wide] * size
    else:
        group = 16 if reader.take(1) else 32
        widths = []
        for _ in range(size // group):
            widths += [reader.take(3) + wide] * group
    mask_at = reader.at
    has_flags = kind in ("differences", "as it is")
    flags = [reader.take(1) for _ in range(size // 4)] if has_flags else []
    if has_flags and not any(flags):
        raise RefusedError(mask_at, ErrorCode.NOT_CANONICAL)
    if d == 7:
        base = reader.take(exponent_bits)
    if has_flags:
        mask = []
        for flag in flags:
            here = reader.at
            nibble = [reader.take(1) for _ in range(4)] if flag else [0] * 4
            if flag and not any(nibble):
                raise RefusedError(here, ErrorCode.NOT_CANONICAL)
            mask += nibble
        if kind == "differences":
            for i in range(1, size):
                mask[i] ^= mask[i - 1]
    elif kind == "mask":
        mask_at = reader.at
        mask = [reader.take(1) for _ in range(size)]
        if not any(mask):
            raise RefusedError(mask_at, ErrorCode.NOT_CANONICAL)
    else:
        mask_at, mask = at, [1] * size
    if any(mask[held:]):
        raise RefusedError(mask_at, ErrorCode.MASK_PAST_END)
    payload = sum(width for width, one in zip(widths, mask, strict=True) if one)
    number = number_at = 0
    if rep:
        number_at = reader.at
        number = reader.take({32: 5, 16: 6, 8: 10}[word_bits])
        payload = number
        if is_float:
            number += 1
            if number > sum(mask):
                raise RefusedError(number_at, ErrorCode.COUNT)
            payload = sum(mask) + (number if fmt.repeats == "above" else 0)
            payload += (sum(mask) - number) * widths[0]
    length = reader.at - at
    if length + payload > 1029:
        raise RefusedError(at, ErrorCode.TOO_LONG)
    return {
        "at": at,
        "base": base,
        "mask": mask,
        "rep": rep,
        "kind": kind,
        "bits": length,
        "payload": payload,
        "widths": widths,
        "number": number,
        "number_at": number_at,
        "k": k,
        "wide": wide,
    }


def read_payload(bits, at, control, words, fmt, base, held):
    """Words of a block; raises its first error."""
    word_bits, mantissa_bits, exponent_bits = TYPES[fmt.type]
    size, is_float = 1024 // word_bits, exponent_bits > 0
    first = len(words)
    if at + control["payload"] > len(bits):
        raise RefusedError(len(bits), ErrorCode.TRUNCATED)
    # Bits that say what is repeated may be more than the control says that the payload has.
    reader, errors, block = Reader(bits + 256 * "0", at), [], [0] * size
    if control["kind"] == "raw":
        for i in range(size):
            here = reader.at
            block[i] = reader.take(word_bits)
            if i >= held and block[i]:
                errors.append((here, ErrorCode.MASK_PAST_END))
    elif control["kind"] != "zero":
        marked = [i for i in range(size) if control["mask"][i]]
        said, says_above = {}, {}
        if control["rep"]:
            for i in marked:
                said[i] = reader.at
                if reader.take(1):
                    says_above[i] = 0
                else:
                    del said[i]
            if fmt.repeats == "above":
                for i in says_above:
                    said[i] = reader.at
                    says_above[i] = reader.take(1)
        new = [i for i in marked if i not in said]
        length = reader.at - at + sum(control["widths"][i] for i in new)
        if control["rep"] and control["number"] != (len(said) if is_float else length):
            raise RefusedError(control["number_at"], ErrorCode.COUNT)
        for i in new:
            here = reader.at
            if is_float:
                mantissa = reader.take(mantissa_bits)
                exponent = reader.take(exponent_bits if control["k"] == 7 else control["k"])
                if control["k"] != 7:
                    exponent = control["base"] - exponent
                    if exponent < 0:
                        errors.append((here + mantissa_bits, ErrorCode.RANGE))
                        exponent %= 1 << exponent_bits
                sign = reader.take(control["wide"])
                block[i] = sign << word_bits - 1 | exponent << mantissa_bits | mantissa
            else:
                block[i] = (reader.take(control["widths"][i]) + 1) % 256
            if block[i] == 0:
                errors.append((here, ErrorCode.ZERO_WORD))
        in_beat = 256 // word_bits
        for i, here in said.items():
            to, source = first + i, first + i - (fmt.distance if says_above[i] else 1)
            near = says_above[i] and to // in_beat - source // in_beat < fmt.min_beats
            if source >= 0 and not near:
                block[i] = block[source - first] if source >= first else words[source]
            if block[i] == 0:
                errors.append((here, ErrorCode.REPEAT))
    if errors:
        raise RefusedError(*min(errors))
    expected = encode_block(words + block[:held], first, fmt, base)
    given = bits[control["at"] :][: control["bits"]], bits[at:][: control["payload"]]
    for part, wanted, start in zip(given, expected, (control["at"], at), strict=False):
        if part != wanted:
            same = [a == b for a, b in zip(part, wanted, strict=False)]
            raise RefusedError(start + [*same, False].index(False), ErrorCode.NOT_CANONICAL)
    return block[:held]


def decode(stream, count, fmt):
    """Words; and bit offset and code of the first error, or ``NONE``."""
    bits = to_bits(stream)
    size = 1024 // TYPES[fmt.type][0]
    blocks = -(-count // size)
    words, base, at = [], 0, 0

    def held(number):
        return min(size, count - number * size)

    if not blocks:
        return words, (0, ErrorCode.TRAILING) if bits else NONE
    try:
        control = read_control(bits, 0, fmt, base, held(0))
    except RefusedError as error:
        return words, error.verdict
    at = control["bits"]
    for number in range(blocks):
        following = None
        try:
            if number + 1 < blocks:
                following = read_control(bits, at, fmt, control["base"], held(number + 1))
                at += following["bits"]
            words += read_payload(bits, at, control, words, fmt, base, held(number))
        except RefusedError as error:
            return words, error.verdict
        base = control["base"]
        at += control["payload"]
        control = following
    filling = bits[at : at + -at % 8]
    if "1" in filling:
        return words, (at + filling.index("1"), ErrorCode.TRAILING)
    at += -at % 8
    return words, (at, ErrorCode.TRAILING) if at < len(bits) else NONE
