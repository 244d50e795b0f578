"""From stream and index to a container and back."""

import io
from dataclasses import replace

import numpy as np
import pytest

from cdma.engine_config import EngineConfig
from cdma.golden import StreamError, compress, engine, read_container, read_header, write_container

CONFIG = EngineConfig()


def written(sent, config, dtype, shape) -> io.BytesIO:
    file = io.BytesIO()
    engine.write_zvc(file, sent.stream, sent.index, config, dtype, shape)
    file.seek(0)
    return file


@pytest.mark.parametrize("raw", ["never", "auto", "always"])
@pytest.mark.parametrize("crc", [False, True])
def test_there_and_back(tensor, small, raw, crc):
    for count in (0, 1, small.stripe_words, 37 * small.stripe_words - 3):
        words = tensor(small, count, count)
        sent = engine.offload(words, small, raw=raw, crc=crc)
        file = written(sent, small, words.dtype.name, (count,))
        assert read_container(file).tobytes() == words.tobytes()
        header = read_header(file)
        assert header.version == (2 if sent.raw_stripes else 1)
        assert header.chunk_raw.sum() == sent.raw_stripes
        back = engine.read_zvc(file, small)
        assert np.array_equal(back.stream, sent.stream)
        assert np.array_equal(back.index, engine.offload(words, small, raw=raw, crc=True).index)
        assert (back.dtype, back.shape, back.words) == (words.dtype.name, (count,), count)


def test_without_raw_stripes_the_file_is_that_of_the_codec(tensor):
    words = tensor(CONFIG, 9999, 1)
    sent = engine.offload(words, CONFIG, raw="never")
    plain = io.BytesIO()
    write_container(plain, words, CONFIG.format, chunk_blocks=32)
    assert written(sent, CONFIG, "uint32", (9999,)).getvalue() == plain.getvalue()


@pytest.mark.parametrize("raw_chunks", [False, True])
def test_a_container_of_other_chunks_is_encoded_again(tensor, raw_chunks):
    words = tensor(CONFIG, 70000, 2)
    file = io.BytesIO()
    write_container(file, words.view("f4").reshape(70, 1000), raw_chunks=raw_chunks)
    back = engine.read_zvc(file, CONFIG)
    assert np.array_equal(back.stream, compress(words, CONFIG.format))
    assert (back.dtype, back.shape) == ("float32", (70, 1000))
    assert np.array_equal(engine.prefetch(back.stream, back.index, 70000, CONFIG), words)
    always = engine.read_zvc(file, CONFIG, raw="always")
    assert always.stream.tobytes() == words.tobytes()


def test_bfloat16_needs_no_package_to_be_written(tensor):
    config = EngineConfig(lanes=16, word_bits=16)
    words = tensor(config, 5000, 3)
    file = written(engine.offload(words, config), config, "bfloat16", (50, 100))
    assert read_container(file).tobytes() == words.tobytes()


def test_an_index_that_does_not_fit_is_refused(tensor):
    words = tensor(CONFIG, 5000, 4, densities=(0.5,))
    sent = engine.offload(words, CONFIG, raw="never", crc=True)
    shape = (5000,)
    for stripe, change in ((2, 1 << 26), (2, 3), (4, 4)):
        index = sent.index.copy()
        index.view("<u4")[2 * stripe] += change
        with pytest.raises(engine.StripeError) as caught:
            written(replace(sent, index=index), CONFIG, "uint32", shape)
        assert (caught.value.stripe, caught.value.code) == (stripe, 17)
    longer = np.append(sent.stream, np.zeros(4, np.uint8))
    with pytest.raises(engine.StripeError) as caught:
        written(replace(sent, stream=longer), CONFIG, "uint32", shape)
    assert caught.value.stripe == 5
    damaged = sent.stream.copy()
    damaged[-1] ^= 1
    with pytest.raises(engine.StripeError) as caught:
        written(replace(sent, stream=damaged), CONFIG, "uint32", shape)
    assert (caught.value.stripe, caught.value.code) == (4, 18)


def test_a_damaged_container_is_refused(tensor):
    words = tensor(CONFIG, 5000, 5)
    data = bytearray(written(engine.offload(words, CONFIG), CONFIG, "uint32", (5000,)).getvalue())
    data[-1] ^= 1
    with pytest.raises(StreamError, match=r"chunk 4 is damaged"):
        engine.read_zvc(io.BytesIO(bytes(data)), CONFIG)


@pytest.mark.parametrize(
    ("dtype", "shape", "message"),
    [
        ("float31", (8,), "Element type must be one of bool, "),
        ("float64", (8,), "Element type must have 4 bytes, not 'float64'"),
        ("float32", (-1,), "Shape must be at most 32 sizes, not (-1,)"),
        ("float32", (5000,), "Index must have 5 entries, not 1"),
        ("float32", (10**18,), "Index must have 976562500000000 entries, not 1"),
        ("float32", (0, 2**61), "Shape must span at most 9223372036854775807 bytes"),
    ],
)
def test_refusals(dtype, shape, message):
    sent = engine.offload(np.zeros(8, np.uint32), CONFIG)
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is compared below
        written(sent, CONFIG, dtype, shape)
    assert str(caught.value).startswith(message)


def test_another_format_is_refused():
    file = io.BytesIO()
    write_container(file, np.zeros(8, np.int16))
    message = "Container has words of 16 bits in blocks of 64, the engine has 32 and 32"
    with pytest.raises(ValueError, match=f"^{message}$"):
        engine.read_zvc(file, CONFIG)
