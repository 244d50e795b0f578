"""The sample tensors: their streams are those of an encoder that was not written here."""

import hashlib
import json

import numpy as np
import pytest

from cdma.golden import zvcplus
from cdma.golden.zvcplus.codec import compress_bits

#: Repeat options, as the list of streams names them, and the least distance in beats.
OPTIONS = {"none": ("none", 0), "left": ("left", 0), "above_t1": ("above", 1)}
OPTIONS["above_t2"] = ("above", 2)


@pytest.fixture(scope="module")
def tensors(manifest, data_folder):
    """Entries of the list of streams, each with its array."""
    listed = json.loads((data_folder / "zvcplus.json").read_text())["streams"]
    places = {entry["name"]: (entry["file"], entry["key"]) for entry in manifest}
    archives = {}
    found = []
    for entry in listed:
        file, key = places[entry["name"]]
        if file not in archives:
            archives[file] = np.load(data_folder / file)
        found.append((entry, archives[file], key))
    return found


def check(tensors) -> set[tuple[str, str]]:
    """Types and repeats that were met."""
    seen = set()
    for entry, archive, key in tensors:
        array = archive[key]
        assert array.size == entry["words"]
        for option, (repeats, min_beats) in OPTIONS.items():
            if option not in entry:
                continue
            above = (entry["distance"], min_beats) if min_beats else ()
            fmt = zvcplus.Format(entry["type"], repeats, *above)
            stream, bits = compress_bits(array, fmt)
            assert bits == entry[option]["bits"], (entry["name"], option)
            assert hashlib.sha256(stream).hexdigest() == entry[option]["sha256"], entry["name"]
            assert zvcplus.decompress(stream, array.size, fmt).tobytes() == array.tobytes()
            seen.add((entry["type"], option))
    return seen


def test_streams_of_some_tensors(tensors):
    small = [each for each in tensors if each[0]["words"] <= 5000]
    assert len(check(small[::6])) >= 8


@pytest.mark.slow
def test_streams_of_all_tensors(tensors):
    assert len(tensors) == 387
    assert len(check(tensors)) == 16
