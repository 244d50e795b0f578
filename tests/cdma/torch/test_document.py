"""The code of docs/torch.md runs, and the example's tables are made."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

ROOT = Path(__file__).parents[3]


def test_code_runs():
    text = (ROOT / "docs" / "torch.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    names = {}
    for block in blocks:
        exec(block, names)
    assert names["saved"].totals.ratio > 1
    assert names["bound"] > 0


@pytest.mark.slow
def test_example():
    pytest.importorskip("sklearn")
    command = [sys.executable, ROOT / "examples" / "lossy_torch.py", "--epochs", "1"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    rows = re.findall(r"^\| (PyTorch|lossless|rel=\S+) ", run.stdout, re.MULTILINE)
    assert rows == ["PyTorch", "lossless", "rel=0.01", "rel=0.1", "rel=0.5", "rel=2"] * 2
