"""The fields of a control, against the tables of the golden decoder."""

import pytest

from cdma.golden.zvcplus.plan import DENSE, DIFFERENCES, RAW, RAW_MASK
from cdma.golden.zvcplus.tables import RESERVED, read_header
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.header import HeaderReader
from cdma.hdl.zvcplus.decompressor.layouts import window_bits


def expected(bits: int, config: Config) -> dict:
    """Fields of the control at the start of ``bits``; those that do not matter are left out."""
    word = config.word
    kind, wide, _, d, k, at = read_header(bits & 0xFFF, config.type, 0)
    coded = DIFFERENCES <= kind <= DENSE
    fields = {"coded": coded, "raw": kind == RAW, "reserved": kind == RESERVED}
    if not coded:
        return fields | {"flags": 0, "dense": 0, "length": at}

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
    if not word.is_float:
        pass
    elif d == 7:
        fields |= {"d": d, "k": k, "base": take(word.exponent)}
    else:
        fields |= {"d": d, "k": k}
    if kind == DENSE:
        return fields | {"length": at}
    count = 4 * flags.bit_count()
    return fields | {"flags": flags, "body": take(count), "length": at}


@pytest.mark.parametrize(
    "type_",
    ["fp32", *(pytest.param(each, marks=pytest.mark.slow) for each in ("fp16", "bf16", "int8"))],
)
def test_fields_are_those_of_the_golden_decoder(play, rng, type_):
    config = Config(type_)
    controls = []
    for number in range(300):
        bits = int.from_bytes(rng.bytes(window_bits(config) // 8 + 1), "little")
        head = number % 4 if number % 4 < 3 else 3 | number // 4 % 8 << 2
        kept = 2 if number % 4 < 3 else 5
        if number % 3 == 0:  # with a base
            bits |= 7 << kept
        controls.append((bits >> kept << kept | head) & (1 << window_bits(config)) - 1)
    rows = [{"bits": bits, "load": 1} for bits in controls] + [{"load": 0, "bits": 0}]
    seen = play(HeaderReader(config), rows, ["header"])["header"][1:]
    for bits, header in zip(controls, seen, strict=True):
        fields = expected(bits, config)
        if "body" in fields:  # what follows the nibbles is anything
            header["body"] &= (1 << 4 * fields["flags"].bit_count()) - 1
        assert {name: header[name] for name in fields} == fields


def test_no_control_is_a_block_of_zeros(play):
    config = Config("fp32")
    ones = (1 << window_bits(config)) - 1
    rows = [{"bits": ones, "load": 1, "nothing": 1}, {"load": 0}]
    header = play(HeaderReader(config), rows, ["header"])["header"][1]
    assert not any(header.values())
