"""Sample tensors (CDMA_DATA): sizes are those of an independent encoder."""

import json
import os
from pathlib import Path

import pytest

from cdma.study.analysis import analyze, plan


@pytest.fixture(scope="module")
def data():
    folder = os.environ.get("CDMA_DATA")
    if not folder:
        pytest.skip("CDMA_DATA is not set")
    return Path(folder)


def test_sizes_and_densities_of_every_sample(data):
    listed = {
        f"{data / entry['file']}:{entry['key']}": entry
        for entry in json.loads((data / "manifest.json").read_text())["tensors"]
    }
    tasks = plan([str(data)], algorithms=("zvc32", "zvc16", "zvc8"))
    assert {task.name for task in tasks} == listed.keys()
    for task in tasks:
        entry = listed[task.name]
        for record in analyze(task.argument):
            assert record["words"] == entry["words"]
            assert record["nonzeros"] == entry["nnz"]
            block_words = 128 // entry["word_bytes"]  # the default; the manifest's are of 32 words
            masks = -(-entry["words"] // block_words) * block_words // 8
            expected = masks + entry["nnz"] * entry["word_bytes"]
            assert record["sizes"][f"zvc{entry['word_bytes'] * 8}"] == expected
            assert record["network"] == entry["network"]
