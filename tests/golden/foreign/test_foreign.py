"""Formats of other silicon, against encoders and decoders written from their documents alone."""

import numpy as np
import pytest

from cdma.golden import StreamError
from cdma.golden.foreign import aie_ml, iaa, nvdla

DENSITIES = [0, 0.1, 0.5, 1]


def sparse(count, density, dtype="u1", seed=0):
    rng = np.random.default_rng(seed)
    words = rng.integers(1, 250, count).astype(dtype)
    return np.where(rng.random(count) < density, words, 0).astype(dtype)


def aie_encode(data: bytes, order: str) -> bytes:
    """A chunk at a time: mask, bytes that are not zero, guard bytes."""
    out = b""
    for start in range(0, len(data), 32):
        chunk = data[start : start + 32]
        mask = sum(1 << (i if order == "lsb" else 31 - i) for i in range(32) if chunk[i])
        kept = bytes(byte for byte in chunk if byte)
        out += mask.to_bytes(4, "little") + kept + bytes(-len(kept) % 4)
    return out


@pytest.mark.parametrize("order", aie_ml.ORDERS)
@pytest.mark.parametrize("density", DENSITIES)
@pytest.mark.parametrize("chunks", [0, 1, 2, 100])
def test_aie_ml(order, density, chunks):
    data = sparse(32 * chunks, density)
    encoded = aie_ml.encode(data, order)
    assert encoded.tobytes() == aie_encode(data.tobytes(), order)
    assert encoded.size % 4 == 0
    np.testing.assert_array_equal(aie_ml.decode(encoded, order), data, strict=True)


def test_aie_ml_refuses_what_the_document_leaves_open():
    with pytest.raises(ValueError, match=r"^Data must be whole chunks of 32 bytes, not 33 bytes"):
        aie_ml.encode(np.zeros(33, "u1"), "lsb")
    with pytest.raises(ValueError, match=r"^Mask order must be lsb or msb, not 'first'$"):
        aie_ml.encode(np.zeros(32, "u1"), "first")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("000000", "Byte 0: chunk reaches to byte 4, the data end at byte 3"),
        ("00000000 01000000", "Byte 4: chunk reaches to byte 12, the data end at byte 8"),
        ("03000000 05000000", "Byte 5: zero byte sent as non-zero"),
    ],
)
def test_aie_ml_damaged(data, message):
    with pytest.raises(StreamError, match=f"^{message}$"):
        aie_ml.decode(np.frombuffer(bytes.fromhex(data), "u1"), "lsb")


@pytest.mark.parametrize("dtype", ["u1", "<u2"])
@pytest.mark.parametrize("density", DENSITIES)
@pytest.mark.parametrize("count", [0, 1, 64, 65, 5000])
def test_nvdla(dtype, density, count):
    words = sparse(count, density, dtype)
    surfaces = nvdla.encode(words, 64)
    size = words.itemsize
    mask = sum(1 << i for i, word in enumerate(words.tolist()) if word)
    data = b"".join(word.to_bytes(size, "little") for word in words.tolist() if word)
    groups = [words[start : start + 64] for start in range(0, count, 64)]
    left = [size * int(np.count_nonzero(group)) for group in groups]
    bits = -(-count // 8)
    assert surfaces.mask.tobytes() == mask.to_bytes(bits, "little") + bytes(-bits % 128)
    assert surfaces.weights.tobytes() == data + bytes(-len(data) % 128)
    wgs = b"".join(n.to_bytes(4, "little") for n in left)
    assert surfaces.sizes.tobytes() == wgs + bytes(-len(wgs) % 128)
    decoded = nvdla.decode(surfaces, count, 64, 8 * size)
    np.testing.assert_array_equal(decoded, words, strict=True)


def damaged(name, at, value):
    surfaces = nvdla.encode(np.array([1, 0, 2, 0] * 8, "u1"), 8)
    parts = {part: getattr(surfaces, part).copy() for part in ("mask", "weights", "sizes")}
    parts[name][at] = value
    return nvdla.Surfaces(**parts)


@pytest.mark.parametrize(
    ("surfaces", "message"),
    [
        (damaged("mask", 4, 1), "Byte 4: mask surface marks element 32 of 32"),
        (damaged("mask", 0, 1), "Byte 0: size of group 0 is 4 bytes, its mask has 1"),
        (damaged("sizes", 4, 9), "Byte 4: size of group 1 is 9 bytes, its mask has 4"),
        (damaged("weights", 3, 0), "Byte 3: weights: zero element sent as non-zero"),
    ],
)
def test_nvdla_damaged(surfaces, message):
    with pytest.raises(StreamError, match=f"^{message}$"):
        nvdla.decode(surfaces, 32, 8, 8)


@pytest.mark.parametrize("name", ["mask", "weights", "sizes"])
def test_nvdla_surfaces_of_another_size(name):
    surfaces = nvdla.encode(np.ones(64, "u1"), 8)
    parts = {part: getattr(surfaces, part) for part in ("mask", "weights", "sizes")}
    parts[name] = parts[name][:64]
    with pytest.raises(ValueError, match=f"^Surface of the {name} must have 128 bytes, not 64$"):
        nvdla.decode(nvdla.Surfaces(**parts), 64, 8, 8)


def test_nvdla_padding_of_the_sizes_is_not_looked_at():
    """The document gives no value for it."""
    assert nvdla.decode(damaged("sizes", 127, 1), 32, 8, 8).tolist() == [1, 0, 2, 0] * 8


def test_nvdla_refuses():
    with pytest.raises(ValueError, match=r"^Elements of NVDLA must have 8 or 16 bits, not 32$"):
        nvdla.encode(np.zeros(8, "<u4"), 8)
    with pytest.raises(ValueError, match=r"must be a positive multiple of 8, not 12"):
        nvdla.encode(np.zeros(8, "u1"), 12)
    with pytest.raises(ValueError, match=r"^Surface of the mask must have 128 bytes, not 0$"):
        nvdla.decode(nvdla.encode(np.zeros(0, "u1"), 8), 8, 8, 8)


@pytest.mark.parametrize("dtype", ["u1", "<u2", "<u4"])
def test_iaa(dtype):
    words = sparse(1001, 0.4, dtype)
    encoded = iaa.encode(words)
    np.testing.assert_array_equal(iaa.decode(encoded, 8 * words.itemsize), words, strict=True)
    with pytest.raises(ValueError, match=r"^Words of IAA must have 8, 16 or 32 bits, not 64$"):
        iaa.encode(words.astype("<u8"))
