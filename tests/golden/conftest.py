"""What the tests of the golden model share: a slow reference codec, and the sample tensors."""

import json
import os
from pathlib import Path

import pytest

from cdma.golden import ErrorCode


def encode(words, fmt) -> bytes:
    """Stream of a list of ints, one word at a time."""
    stream = b""
    for first in range(0, len(words), fmt.block_words):
        block = words[first : first + fmt.block_words]
        mask = sum(1 << i for i, word in enumerate(block) if word)
        stream += mask.to_bytes(fmt.mask_bytes, "little")
        stream += b"".join(word.to_bytes(fmt.word_bytes, "little") for word in block if word)
    return stream


def decode(stream, count, fmt, canonical):
    """Words, offset of the end or of the first error, and code, one word at a time."""
    words, at = [], 0
    while len(words) < count:
        start, first = at, len(words)
        length = min(fmt.block_words, count - first)
        mask = int.from_bytes(stream[at : at + fmt.mask_bytes], "little")
        at += fmt.mask_bytes
        if at > len(stream):
            return words + [0] * (count - first), start, ErrorCode.TRUNCATED
        zero = None
        for i in range(length):
            word = 0
            if mask >> i & 1:
                if at + fmt.word_bytes <= len(stream):
                    word = int.from_bytes(stream[at : at + fmt.word_bytes], "little")
                if word == 0 and zero is None:
                    zero = at
                at += fmt.word_bytes
            words.append(word)
        rest = [0] * (count - len(words))
        if mask >> length:
            return words + rest, start, ErrorCode.MASK_PAST_END
        if at > len(stream):
            return words + rest, start, ErrorCode.TRUNCATED
        if canonical and zero is not None:
            return words + rest, zero, ErrorCode.ZERO_WORD
    return words, at, ErrorCode.TRAILING if at < len(stream) else ErrorCode.NONE


@pytest.fixture(scope="session")
def reference_encode():
    return encode


@pytest.fixture(scope="session")
def reference_decode():
    return decode


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Folder of sample tensors with their manifest."""
    folder = os.environ.get("CDMA_DATA")
    if not folder:
        pytest.skip("CDMA_DATA is not set to the folder of the sample tensors")
    return Path(folder)


@pytest.fixture(scope="session")
def manifest(data_folder) -> list[dict]:
    """The entries of the manifest, one a tensor."""
    tensors = json.loads((data_folder / "manifest.json").read_text())["tensors"]
    assert tensors, "the manifest lists no tensor"
    return tensors
