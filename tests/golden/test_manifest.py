"""The sample tensors: their streams are those of the manifest's encoder, blocks of 32 words."""

import hashlib

import numpy as np

from cdma.golden import Format, compress, decompress


def test_streams_match_the_manifest(manifest, data_folder):
    archives = {}
    for entry in manifest:
        file = entry["file"]
        if file not in archives:
            archives[file] = np.load(data_folder / file)
        array = archives[file][entry["key"]]
        fmt = Format(8 * entry["word_bytes"], 32)
        stream = compress(array, fmt)
        assert len(stream) == entry["zvc_bytes"], entry["name"]
        assert hashlib.sha256(stream).hexdigest() == entry["zvc_sha256"], entry["name"]
        words = decompress(stream, entry["words"], fmt)
        assert hashlib.sha256(words).hexdigest() == entry["raw_sha256"], entry["name"]
