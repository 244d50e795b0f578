"""Words out of their bits, against the format's description."""

import pytest

from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.payload.words import WordBuilder


def word_of(field: int, code: dict, width: int, config: Config) -> int:
    """Mantissa, base less offset, sign; or the value less 1."""
    word = config.word
    if code["raw"]:
        return field
    if not word.is_float:
        return (field & (1 << width) - 1) + 1 & 0xFF
    bits = word.exponent if code["k"] == 7 else code["k"]
    mantissa, above = field & (1 << word.mantissa) - 1, field >> word.mantissa
    exponent = above & (1 << bits) - 1
    if code["k"] != 7:
        exponent = code["base"] - exponent & (1 << word.exponent) - 1
    sign = above >> bits & 1 if code["wide"] else 0
    return sign << word.bits - 1 | exponent << word.mantissa | mantissa


@pytest.mark.parametrize(
    "type_",
    ["fp32", *(pytest.param(each, marks=pytest.mark.slow) for each in ("fp16", "bf16", "int8"))],
)
def test_words_are_made_of_their_fields(play, rng, type_):
    config, rows, expected, past = Config(type_), [], [], []
    lanes, word = config.lanes, config.word
    for number in range(200):
        exponent_bits = min(number % 8, word.exponent)
        code = {"raw": number % 7 == 0, "wide": number % 2, "k": exponent_bits}
        code["k"] = 7 if number % 8 == 7 else exponent_bits
        code["base"] = int(rng.integers(1 << word.exponent)) if code["k"] != 7 else 0
        if code["raw"]:
            code |= {"wide": 1, "k": 7, "base": 0}
        widths = rng.integers(9, size=config.beat_groups).tolist()
        if not word.is_float:
            code = {"raw": code["raw"]}
            widths = [8] * len(widths) if code["raw"] else widths
        fields = rng.integers(1 << word.bits, size=lanes).tolist()
        if number % 3 == 0:
            fields[1:] = [0] * (lanes - 1)
        mask, words = int(rng.integers(1 << lanes)), int(rng.integers(lanes + 1))
        if code["raw"]:
            mask = (1 << lanes) - 1
        tags = {"mask": mask, "code": code, "words": words, "given": 1, "last": 0, "final": 0}
        if not word.is_float:
            tags["widths"] = widths
        rows.append({"fields": fields, "tags": tags})
        expected.append(
            [
                word_of(field, code, widths[lane * len(widths) // lanes], config)
                if mask >> lane & 1 and lane < words
                else 0
                for lane, field in enumerate(fields)
            ]
        )
        past.append(int(code["raw"] and any(fields[words:])))
    given = [
        row | {"o_tags": before["tags"], "enable": 1}
        for before, row in zip([rows[0], *rows], [*rows, rows[0]], strict=True)
    ]
    seen = play(WordBuilder(config), given, ["words", "is_past"])
    assert seen["words"][1:] == expected
    assert seen["is_past"][1:] == past
    assert {0, 1} == set(past)
