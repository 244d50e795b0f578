"""The examples of the pages on the driver and on the engine in a system run, and compile."""

import re
from pathlib import Path

import pytest

import cdma
from cdma.driver import c
from cdma.errors import UserError
from cdma.toolchain import cc

FOLDER = Path(cdma.__file__).parents[1] / "docs"
#: What the first example in Python of each page prints.
PAGES = {
    "driver.md": r"^\d+ of 1048576 bytes\nCRC at stripe 0, ",
    "integrating-the-engine.md": r"^stream 557056 bytes, index 2048 bytes\n$",
}
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="installed without docs/")


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", (FOLDER / page).read_text(), re.M | re.S)


@pytest.mark.parametrize("page", PAGES)
def test_the_python_example_runs(capsys, page):
    exec(compile(blocks(page, "python")[0], page, "exec"), {})
    assert re.match(PAGES[page], capsys.readouterr().out)


@pytest.mark.parametrize("page", PAGES)
def test_the_c_example_compiles(tmp_path, page):
    try:
        cc.c_compiler()
    except UserError:
        pytest.skip("no C compiler on this machine")
    source = tmp_path / "example.c"
    text = blocks(page, "c")[0]
    function = re.search(r"^int (\w+)\([^{]*\)(?=\n\{)", text, re.M)
    # -Wmissing-prototypes is for libraries.
    source.write_text(f"{text[: function.start()]}{function[0]};\n{text[function.start() :]}")
    cc.compile_c([source, *c.SOURCES], tmp_path / "x.so", (*cc.STRICT, f"-I{c.FOLDER}"), True)
