"""The examples of docs/driver.md run, and compile."""

import re
from pathlib import Path

import pytest

import cdma
from cdma.driver import c
from cdma.errors import UserError
from cdma.toolchain import cc

PAGE = Path(cdma.__file__).parents[1] / "docs" / "driver.md"
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="installed without docs/")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.M | re.S)


def test_the_python_example_runs(capsys):
    exec(compile(blocks("python")[0], str(PAGE), "exec"), {})
    out = capsys.readouterr().out
    assert re.match(r"^\d+ of 1048576 bytes\nCRC at stripe 0, ", out)


def test_the_c_example_compiles(tmp_path):
    try:
        cc.c_compiler()
    except UserError:
        pytest.skip("no C compiler on this machine")
    source = tmp_path / "example.c"
    source.write_text(blocks("c")[0].replace("int round_trip", _PROTOTYPE + "int round_trip"))
    cc.compile_c([source, *c.SOURCES], tmp_path / "x.so", (*cc.STRICT, f"-I{c.FOLDER}"), True)


_PROTOTYPE = """\
int round_trip(void *registers, const struct cdma_ring_setup setups[2], uint64_t tensor,
               uint64_t bytes, uint64_t stream, uint64_t index);
"""
