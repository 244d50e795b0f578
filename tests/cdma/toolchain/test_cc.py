"""The C compiler, as it is called."""

import subprocess

import pytest

from cdma.errors import UserError
from cdma.toolchain import cc


@pytest.fixture(autouse=True)
def _needs_a_compiler():
    try:
        cc.c_compiler()
    except UserError:
        pytest.skip("no C compiler on this machine")


def test_a_program_runs(tmp_path):
    source = tmp_path / "five.c"
    source.write_text("int main(void) { return 5; }\n")
    cc.compile_c([source], tmp_path / "five", options=("-std=c99",))
    assert subprocess.run([str(tmp_path / "five")], check=False).returncode == 5


def test_a_warning_is_an_error(tmp_path):
    source = tmp_path / "unused.c"
    source.write_text("int f(int a, int b);\nint f(int a, int b) { return a; }\n")
    with pytest.raises(UserError, match=r"^cc failed: .*unused.c.* unused parameter"):
        cc.compile_c([source], tmp_path / "unused", shared=True)
    assert not (tmp_path / "unused").exists()


def test_no_compiler(monkeypatch):
    monkeypatch.setattr(cc.shutil, "which", lambda name: None)
    with pytest.raises(UserError, match="no C compiler: install gcc"):
        cc.c_compiler()
