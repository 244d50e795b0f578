"""Files of the repository that are generated from the register table."""

from pathlib import Path

import pytest

import cdma
from cdma.engine_config import EngineConfig
from cdma.generate import registers
from cdma.hdl.engine.registers import register_map

ROOT = Path(cdma.__file__).parents[1]


@pytest.mark.skipif(not (ROOT / "docs").exists(), reason="installed without docs/")
@pytest.mark.parametrize("name", registers.FILES)
def test_the_files_of_the_repository_are_current(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    expected = registers.FILES[name](register_map(EngineConfig()))
    assert text == expected, "run python -m cdma.generate.registers"


def test_they_are_written_below_the_package(tmp_path, monkeypatch):
    for name in registers.FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(registers.cdma, "__file__", str(tmp_path / "cdma" / "__init__.py"))
    registers.main()
    for name in registers.FILES:
        assert (tmp_path / name).stat().st_size > 1000
