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


def test_no_riscv_compiler(monkeypatch):
    monkeypatch.setattr(cc.shutil, "which", lambda name: None)
    with pytest.raises(UserError, match=r"^no RISC-V compiler: install riscv64-unknown-elf-gcc "):
        cc.riscv_compiler()


def test_a_program_for_riscv(tmp_path):
    try:
        cc.riscv_compiler()
    except UserError as error:
        pytest.skip(str(error))
    source = tmp_path / "start.S"
    source.write_text(".globl _start\n_start: .word 0x12345678\n")
    elf = tmp_path / "start.elf"
    options = ("-march=rv32im", "-mabi=ilp32", "-nostdlib", "-Wl,--build-id=none")
    cc.compile_riscv([source], elf, options)
    binary = cc.to_binary(elf, tmp_path / "start.bin")
    assert binary.read_bytes() == bytes.fromhex("78563412")
    source.write_text("_start: .nothing\n")
    with pytest.raises(UserError, match=r"failed: .*start.S.*nothing"):
        cc.compile_riscv([source], elf, options)
