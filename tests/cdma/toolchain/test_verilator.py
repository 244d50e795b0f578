"""What Verilator needs beside itself."""

import pytest

from cdma.errors import UserError
from cdma.toolchain import verilator


def test_a_checker_without_perl(monkeypatch, tmp_path):
    (tmp_path / "verilator").touch(mode=0o755)
    monkeypatch.setattr(verilator, "_search_path", lambda: str(tmp_path))
    with pytest.raises(UserError, match=r"^verilator needs perl, which is not installed: install "):
        verilator.verilator()
