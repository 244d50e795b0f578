"""The fields of a control, against the tables of the golden decoder."""

import pytest

from cdma.golden.zvcplus.plan import DENSE, DIFFERENCES, RAW, RAW_MASK
from cdma.golden.zvcplus.tables import RESERVED, read_header
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.header import HeaderReader
from cdma.hdl.zvcplus.decompressor.layouts import window_bits

#: Types and repeats that are tested with the slow tests.
OTHERS = ("fp16", "bf16", "int8", "fp32-left", "fp16-left", "int8-left")


def expected(bits: int, config: Config) -> dict:
    """Fields of the control at the start of ``bits``; those that do not matter are left out."""
    word = config.word
    number = config.format.repeat_number
    kind, wide, has_repeats, d, k, at = read_header(bits & 0xFFF, config.type, number)
    coded = DIFFERENCES <= kind <= DENSE
    fields = {"coded": coded, "raw": kind == RAW, "reserved": kind == RESERVED}
    if not coded:
        repeats = {"has_repeats": 0} if config.has_repeats else {}
        return fields | {"flags": 0, "dense": 0, "length": at} | repeats

    def take(count):
        nonlocal at
        at += count
        return bits >> at - count & (1 << count) - 1

    if not word.is_float:
        large = [take(3) for _ in range(8 if d else 4)]
        fields["widths"] = large if d else [width for width in large for _ in range(2)]
    ones = (1 << word.flags) - 1
    flags = ones if kind in (RAW_MASK, DENSE) else take(word.flags)
    fields |= {"differences": kind == DIFFERENCES, "dense": kind == DENSE, "wide": wide}
    if word.is_float:
        # Offsets are not longer than exponents, whatever a wrong stream says.
        fields |= {"d": d, "k": k if k == 7 else min(k, word.exponent)}
        fields |= {"base": take(word.exponent)} if d == 7 else {}
    count = 0 if kind == DENSE else 4 * flags.bit_count()
    if kind != DENSE:
        fields["flags"] = flags
    if config.has_repeats:
        fields |= {"has_repeats": has_repeats, "nibbles": count // 4}
    behind = config.word.count_bits * has_repeats  # the number of repeated words
    body = take(count + behind)
    return fields | {"body": body, "length": at}


@pytest.mark.parametrize(
    "type_",
    ["fp32", *(pytest.param(each, marks=pytest.mark.slow) for each in OTHERS)],
)
def test_fields_are_those_of_the_golden_decoder(play, rng, type_):
    config = Config.parse(f"zvcplus-{type_}")
    controls = []
    for number in range(300):
        bits = int.from_bytes(rng.bytes(window_bits(config) // 8 + 1), "little")
        head = number % 4 if number % 4 < 3 else 3 | number // 4 % 8 << 2
        kept = 2 if number % 4 < 3 else 5
        if number % 3 == 0:  # with a base
            bits |= 7 << kept
        controls.append((bits >> kept << kept | head) & (1 << window_bits(config)) - 1)
    rows = [{"bits": bits, "skip": number % 5 == 0} for number, bits in enumerate(controls)]
    outputs = play(HeaderReader(config), [*rows, {}], ["header", "control"])
    seen, lengths = (outputs[name][1:] for name in ("header", "control"))
    assert lengths == [
        0 if number % 5 == 0 else header["length"] for number, header in enumerate(seen)
    ]
    for bits, header in zip(controls, seen, strict=True):
        fields = expected(bits, config)
        if "body" in fields:  # what follows the nibbles and the number of repeats is anything
            count = 0 if fields["dense"] else 4 * fields["flags"].bit_count()
            count += config.word.count_bits * fields.get("has_repeats", 0)
            header["body"] &= (1 << count) - 1
        assert {name: header[name] for name in fields} == fields


def test_no_control_is_a_block_of_zeros(play):
    config = Config("fp32")
    ones = (1 << window_bits(config)) - 1
    seen = play(HeaderReader(config), [{"bits": ones, "nothing": 1}, {}], ["header", "control"])
    assert not any(seen["header"][1].values())
    assert seen["control"][1] == 0
