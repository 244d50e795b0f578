"""Real activations through the Verilog; sizes and hashes from an independent encoder."""

import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pytest

from cdma.hdl.zvc.config import Config
from cdma.sim import Scenario

DATA = os.environ.get("CDMA_DATA")
pytestmark = pytest.mark.skipif(not DATA, reason="CDMA_DATA names no folder of sample tensors")

QUICK_WORDS = 10_000
#: Words in a block of the streams that the manifest describes.
MANIFEST_BLOCK = 32


def samples(word_bytes, least=0, most=None):
    """Manifest entries of one word width whose number of words is in a range."""
    tensors = json.loads((Path(DATA) / "manifest.json").read_text())["tensors"]
    return [
        entry
        for entry in tensors
        if entry["word_bytes"] == word_bytes
        and least <= entry["words"]
        and (most is None or entry["words"] < most)
    ]


def words_of(entry):
    with np.load(Path(DATA) / entry["file"]) as archive:
        return archive[entry["key"]].reshape(-1).view(f"<u{entry['word_bytes']}")


def check(verify, entries, config):
    scenarios = []
    for entry in entries:
        words = words_of(entry)
        scenarios.append(Scenario([words], name=entry["name"]))
    for entry, result in zip(entries, verify("roundtrip", scenarios, config), strict=True):
        packet = result.packets[0]
        stream = packet.output if packet.link is None else packet.link
        assert len(stream) == entry["zvc_bytes"], entry["name"]
        assert hashlib.sha256(stream).hexdigest() == entry["zvc_sha256"], entry["name"]


@pytest.mark.parametrize(
    "word_bits", [32, *(pytest.param(bits, marks=pytest.mark.slow) for bits in (8, 16))]
)
def test_small_samples(verify, word_bits):
    entries = samples(word_bits // 8, most=QUICK_WORDS)
    if not entries:
        pytest.skip(f"no sample tensor of {word_bits}-bit words is that small")
    check(verify, entries, Config.of(256 // word_bits, word_bits, MANIFEST_BLOCK))


@pytest.mark.slow
@pytest.mark.parametrize("word_bits", [8, 16, 32])
def test_large_samples(verify, word_bits):
    entries = samples(word_bits // 8, least=QUICK_WORDS, most=2_000_000)
    if not entries:
        pytest.skip(f"no sample tensor of {word_bits}-bit words is that large")
    check(verify, entries, Config.of(256 // word_bits, word_bits, MANIFEST_BLOCK))
