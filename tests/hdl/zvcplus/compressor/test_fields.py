"""Fields of words, against the format's description."""

import pytest

from cdma.hdl.zvcplus.compressor.fields import FloatFields, IntFields
from cdma.hdl.zvcplus.config import Config


def field_of(value: int, coding: dict, config: Config) -> int:
    word = config.word
    if not word.is_float:
        return value - (not coding["is_raw"])
    mantissa = value & (1 << word.mantissa) - 1
    exponent = value >> word.mantissa & (1 << word.exponent) - 1
    bits = word.exponent if coding["k"] == 7 else coding["k"]
    if coding["k"] != 7:
        exponent = coding["base"] - exponent
    sign = (value >> word.bits - 1) * coding["is_wide"]
    return mantissa | exponent << word.mantissa | sign << word.mantissa + bits


def beat_of(rng, config: Config, number: int) -> tuple[list[int], dict]:
    """Words of a beat and how they are coded."""
    word = config.word
    if not word.is_float:
        return rng.integers(1, 1 << word.bits, size=config.lanes).tolist(), {"is_raw": number % 2}
    k = int(rng.choice([*range(min(word.exponent, 6) + 1), 7]))
    base = int(rng.integers(1 << word.exponent))
    lowest = 0 if k == 7 else max(0, base - (1 << k) + 1)
    highest = (1 << word.exponent) - 1 if k == 7 else base
    exponents = rng.integers(lowest, highest + 1, config.lanes)
    words = rng.integers(1 << word.mantissa, size=config.lanes) | exponents << word.mantissa
    words |= rng.integers(2, size=config.lanes) << word.bits - 1
    return words.tolist(), {"base": base, "k": k, "is_wide": number % 2}


@pytest.mark.parametrize(
    "type_",
    ["fp32", *(pytest.param(each, marks=pytest.mark.slow) for each in ("fp16", "bf16", "int8"))],
)
def test_words_become_fields(play, rng, type_):
    config = Config(type_)
    rows, expected = [], []
    for number in range(100):
        words, coding = beat_of(rng, config, number)
        mask = int(rng.integers(1 << config.lanes))
        rows.append({"enable": 1, "words": words, "mask": mask, "coding": coding})
        rows += [{"enable": 0}] * (number % 3 == 0)
        expected.append(
            [
                field_of(value, coding, config) * (mask >> lane & 1)
                for lane, value in enumerate(words)
            ]
        )
    fields = FloatFields if config.word.is_float else IntFields
    seen = play(fields(config), [*rows, *[{"enable": 1}] * 2], ["enable", "fields"])
    found = [f for e, f in zip(seen["enable"], seen["fields"], strict=True) if e]
    assert found[fields.LATENCY :] == expected
