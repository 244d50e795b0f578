"""Mutants depend only on their seed, name their source line, and have no effect unless selected."""

import re
from collections import Counter
from pathlib import Path

import pytest

from cdma.errors import UserError
from cdma.hdl.zvc.config import Config
from cdma.verify.mutation import mutants

SMALL = Config.of(2, 8, 32)
HDL = Path(mutants.top.__code__.co_filename).parents[1]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("mutants")


@pytest.fixture(scope="module")
def drawn(scratch):
    return mutants.draw("compressor", SMALL, 200, 3, scratch)


def test_a_seed_draws_the_same(drawn, scratch):
    again, other = (mutants.draw("compressor", SMALL, 200, seed, scratch) for seed in (3, 4))
    assert again == drawn
    assert other.rtlil == drawn.rtlil
    assert other.mutants != drawn.mutants


def test_mutants_are_of_every_kind_and_everywhere(drawn):
    assert [mutant.number for mutant in drawn.mutants] == list(range(1, 201))
    assert len({mutant.command for mutant in drawn.mutants}) == 200
    assert set(mutants.MODES) == {mutant.mode for mutant in drawn.mutants}
    cells = Counter(mutant.cell for mutant in drawn.mutants)
    assert {"mux", "and", "dff", "add"} <= set(cells)
    assert len({mutant.module for mutant in drawn.mutants}) > 8
    assert not [mutant for mutant in drawn.mutants if "CLK" in mutant.port]


def test_each_names_a_line_of_the_hardware(drawn):
    for mutant in drawn.mutants:
        file, line = re.fullmatch(r"hdl/([\w/]+\.py):(\d+)", mutant.line).groups()
        assert int(line) <= len((HDL / file).read_text().splitlines())


def test_some_of_them_are_chosen_by_their_numbers(drawn, scratch):
    some = drawn.mutants[10:160:50]
    text = mutants.weave(drawn, some, scratch).verilog
    assert re.search(r"input \[6:0\] mutant;", text)
    assert sorted(map(int, re.findall(r"mutant == 7'd(\d+)", _decimal(text)))) == [11, 61, 111]


def _decimal(text):
    return re.sub(r"(\d+)'h(\w+)", lambda found: f"{found[1]}'d{int(found[2], 16)}", text)


def test_more_mutants_than_there_are(scratch, monkeypatch):
    made = {"flat.il": "", "list.txt": "mutate -mode inv -cell a -port CLK -portbit 0\n"}
    monkeypatch.setattr(mutants.tool, "execute", lambda *args: made)
    with pytest.raises(UserError, match=r"^the compressor has 0 mutants, expected at least 1$"):
        mutants.draw("compressor", SMALL, 1, 0, scratch)


def test_unknown_unit(scratch):
    with pytest.raises(ValueError, match="squeezer"):
        mutants.draw("squeezer", SMALL, 1, 0, scratch)
