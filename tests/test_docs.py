"""The documents agree with the code: pictures, links, the worked example of the butterfly."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator

from cdma.engine_codes import Op, Status
from cdma.golden.engine.descriptor import COMPLETION, CONTROL, DESCRIPTOR
from cdma.hdl.zvc.compressor.unit import Compressor
from cdma.hdl.zvc.config import NAMED, Config
from cdma.hdl.zvc.decompressor.unit import Decompressor
from cdma.hdl.zvc.network import Compactor

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
IMAGES = ROOT / "docs" / "images"


@pytest.mark.slow
def test_pictures_are_what_their_scripts_draw(tmp_path):
    subprocess.run([sys.executable, ROOT / "docs" / "draw", tmp_path], check=True)
    drawn = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    kept = {
        file.name: file.read_bytes()
        for file in IMAGES.iterdir()
        if not file.name.startswith(("study_", "offload_"))  # their documents have own tests
    }
    assert drawn.keys() == kept.keys()
    stale = [name for name in drawn if drawn[name] != kept[name]]
    assert not stale, f"{stale}: run python docs/draw, look at them and commit them"


def test_every_picture_is_shown():
    shown = {
        target.rpartition("/")[2] for file in DOCUMENTS for target in _targets(file.read_text())
    }
    assert {file.name for file in IMAGES.iterdir()} <= shown


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: file.name)
def test_links_lead_somewhere(file):
    for target in _targets(file.read_text()):
        if target.startswith(("http:", "https:")):
            continue
        path, _, anchor = target.partition("#")
        found = file.parent / path if path else file
        assert found.exists(), f"{file.name} links to {target}"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", found.read_text(), re.MULTILINE)
            assert anchor in set(map(_slug, headings)), f"{file.name} links to {target}"


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: file.name)
def test_modules_that_are_named_exist(file):
    for path in re.findall(
        r"`((?:hdl|sim|golden|synth|cli|docs|tests)/[\w/]+\.\w+)", file.read_text()
    ):
        assert (ROOT / path).is_file(), f"{file.name} names {path}"


def _rows(title):
    """Cells of the table of docs/descriptors.md at or below a line that begins with ``title``."""
    text = (ROOT / "docs" / "descriptors.md").read_text()
    below = text[text.index(f"\n{title}") :]
    lines = re.search(r"(?:^\|.*\n)+", below, re.MULTILINE)[0].splitlines()[2:]
    return [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize(
    ("title", "record"), [("## Descriptor", DESCRIPTOR), ("## Completion", COMPLETION)]
)
def test_layout_of_descriptor_and_completion(title, record):
    found = {name: (int(bytes_), int(offset)) for offset, bytes_, name, _ in _rows(title)}
    assert found == {
        name: (type_.itemsize, offset) for name, (type_, offset) in record.fields.items()
    }


def test_bits_of_a_descriptor():
    found = {}
    for bits, name, _ in _rows("Bits of"):
        high, _, low = bits.rpartition(":")
        found[name] = (int(low), int(high or low) - int(low) + 1)
    assert found == CONTROL


def test_operations_and_statuses():
    assert {name: int(number) for number, name, _ in _rows("| `op`")} == Op.__members__
    statuses = {name: int(number) for number, name, *_ in _rows("| `status`")}
    assert statuses == Status.__members__


def test_example_of_the_butterfly():
    text = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| (\d) \| (\w) \|.*\| *(\d?) \|$", text, re.MULTILINE)
    assert [lane for lane, _, _ in rows] == ["0", "1", "2", "3"]
    words = [0 if word == "0" else ord(word) for _, word, _ in rows]
    banks = {}

    compactor = Compactor(4, 8)

    async def bench(ctx):
        ctx.set(compactor.words, words)
        # As drawn: for each group, where the first word of its upper half of lanes goes.
        ctx.set(compactor.routes, {"level0": [1, 0], "level1": [3]})
        ctx.set(compactor.enable, 1)
        await ctx.tick().repeat(Compactor.latency(4))
        for bank in range(4):
            if word := ctx.get(compactor.bank_words[bank]):
                banks[bank] = word

    m = Module()
    m.submodules.compactor = compactor
    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    expected = {int(bank): ord(word) for _, word, bank in rows if word != "0"}
    assert banks == expected


def test_table_of_latencies():
    text = (ROOT / "docs" / "interfaces.md").read_text()
    rows = re.findall(r"^\| (\d+x\d+(?:b\d+)?) \| (\d+) \| (\d+) \| (\d+) \|", text, re.M)
    assert [name for name, *_ in rows][: len(NAMED)] == list(NAMED)
    assert len(rows) == 13
    for name, *figures in rows:
        config = Config.parse(name)
        expected = config.beat_bytes, Compressor.latency(config), Decompressor.latency(config)
        assert tuple(map(int, figures)) == expected, name


def test_environment_variables_are_in_the_table():
    read = set()
    for folder in ("cdma", "golden", "sim", "verify", "synth"):
        for file in (ROOT / folder).rglob("*.py"):
            read |= set(re.findall(r'environ\S*"(CDMA_\w+)"', file.read_text()))
    page = (ROOT / "docs" / "getting-started.md").read_text()
    assert read == set(re.findall(r"^\| `(CDMA_\w+)` \|", page, re.MULTILINE))


def test_verbs_of_make_are_those_of_the_makefile():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    table = text[text.index("| Command | Does |") :].split("\n\n")[0]
    verbs = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.M)) - {"demo"}
    assert set(re.findall(r"`make ([a-z-]+)`", table)) == verbs


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: file.name)
def test_no_line_numbers_of_sources(file):
    assert not re.findall(r"[\w/]+\.(?:py|v|cpp|h):\d+", file.read_text())


def _slug(heading):
    """Anchor of a heading, as GitHub and MkDocs make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _targets(text):
    """What a document links to or shows, code left out."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    inline = re.findall(r"\]\(([^)\s]+)\)", text)
    return inline + re.findall(r"^\[[^\]]+\]: (\S+)$", text, re.MULTILINE)
