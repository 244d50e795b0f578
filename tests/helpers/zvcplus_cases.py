"""Random ZVC+ formats, words that make every choice of the encoder, and damaged streams."""

import numpy as np
import zvcplus_reference as reference

from cdma.zvcplus import Format

TYPES = ("fp32", "fp16", "bf16", "int8")
REPEATS = ("none", "left", "above")
#: Distances around beats and blocks.
DISTANCES = (1, 2, 3, 7, 8, 9, 16, 17, 31, 32, 33, 40, 64, 65, 128, 200, 300)


def random_format(rng) -> Format:
    repeats = str(rng.choice(REPEATS))
    above = (int(rng.choice(DISTANCES)), int(rng.choice([1, 1, 1, 2, 3])))
    return Format(str(rng.choice(TYPES)), repeats, *(above if repeats == "above" else ()))


def random_words(rng, fmt: Format, count: int) -> np.ndarray:
    """Words with zeros alone, in runs and in whole parts, near and far exponents, and repeats."""
    bits, mantissa, exponent = reference.TYPES[fmt.type]
    if exponent:
        spread = int(rng.choice([0, 1, 2, 6, 20, 63, 64, 70, 120]))
        exponents = rng.integers(0, 1 << exponent) - rng.integers(0, spread + 1, count)
        exponents = np.clip(exponents, 0, (1 << exponent) - 1)
        mantissas = rng.integers(0, 1 << (mantissa if rng.random() < 0.7 else 1), count)
        signs = rng.random(count) < rng.choice([0, 0, 0.01, 0.5])
        words = signs.astype(int) << bits - 1 | exponents << mantissa | mantissas
    else:
        words = rng.integers(1, 1 << int(rng.integers(1, 9)), count)
        if rng.random() < 0.3:
            words[rng.random(count) < 0.02] = 255
    if rng.random() < 0.4:
        words = np.repeat(words, int(rng.integers(1, 5)))[:count]
    if rng.random() < 0.3 and fmt.distance and count:
        words = np.resize(words[: fmt.distance], count)
    words[rng.random(count) >= rng.choice([0, 0.02, 0.1, 0.3, 0.5, 0.8, 0.97, 1])] = 0
    if rng.random() < 0.3:
        words[np.repeat(rng.random(count // 16 + 1) < 0.5, 16)[:count]] = 0
    return words.astype(fmt.dtype)


def damaged(rng, stream: bytes, count: int, fmt: Format) -> tuple[bytes, int]:
    """The stream with bits flipped, cut, extended, or with another count; or any bytes."""
    stream, action = bytearray(stream), int(rng.integers(0, 8))
    if action <= 3:
        for bit in rng.integers(0, 8 * len(stream), 1 + action // 2) if stream else ():
            stream[bit // 8] ^= 1 << bit % 8
    elif action == 4:
        del stream[int(rng.integers(0, len(stream) + 1)) :]
    elif action == 5:
        stream += rng.integers(0, 2, int(rng.integers(1, 4)), np.uint8).tobytes()
    elif action == 6:
        more = [-1, 1, -fmt.block_words, fmt.block_words, -7]
        count = max(0, count + int(rng.choice(more)))
    else:
        stream = rng.integers(0, 256, int(rng.integers(0, 200)), np.uint8).tobytes()
    return bytes(stream), count
