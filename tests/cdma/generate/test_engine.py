"""The files of the generated engine."""

import hashlib
import json

import pytest

from cdma.cli.main import main
from cdma.engine_config import EngineConfig
from cdma.generate import engine

FILES = {"engine.v", "engine.json", "cdma_regs.h", "registers.md", "cdma.rdl"}


@pytest.fixture
def quick(monkeypatch):
    """Replace the hardware's part, which takes seconds; ``emit`` has tests of its own."""

    def verilog(config, name, with_sources):
        return f"module {name}; // {config.name}\nendmodule\n"

    def manifest(config, name, with_sources):
        text = verilog(config, name, with_sources)
        found = {"unit": "engine", "module": name, "config": config.name}
        return {**found, "verilog_sha256": hashlib.sha256(text.encode()).hexdigest()}

    monkeypatch.setattr(engine, "verilog", verilog)
    monkeypatch.setattr(engine, "manifest", manifest)


def test_writes_all_files(quick, tmp_path, capsys):
    argv = ["--channels", "2", "--lanes", "4", "--stripe-bytes", "1024", "-o", str(tmp_path)]
    assert main(["generate", "engine", *argv]) == 0
    assert {path.name for path in tmp_path.iterdir()} == FILES
    config = EngineConfig(channels=2, lanes=4, stripe_bytes=1024)
    assert (
        tmp_path / "engine.v"
    ).read_text() == f"module cdma_engine; // {config.name}\nendmodule\n"
    assert json.loads((tmp_path / "engine.json").read_text())["config"] == config.name
    out = capsys.readouterr().out
    assert f"engine {config.name}: 2 channels of 16 bytes a cycle, link of 8 bytes" in out


def test_an_engine_of_zvcplus(quick, tmp_path, capsys):
    argv = ["--channels", "1", "--codec", "zvcplus", "--type", "bf16", "-o", str(tmp_path)]
    assert main(["generate", "engine", *argv]) == 0
    config = EngineConfig(channels=1, codec="zvcplus", type="bf16")
    assert json.loads((tmp_path / "engine.json").read_text())["config"] == config.name
    assert "| 15:12 | TYPE | const | 2 |" in (tmp_path / "registers.md").read_text()
    assert "stripes of 4096 bytes, ZVC+ of bf16" in capsys.readouterr().out


def test_an_engine_of_zvcplus_has_no_repeats(tmp_path, refuse):
    options = ["--codec", "zvcplus", "--repeats", "left", "-o", tmp_path]
    message = "cdma generate: the engine has ZVC+ without repeats: leave --repeats out"
    assert refuse("generate", "engine", *options) == message


def test_the_registers_are_those_of_this_size(quick, tmp_path):
    engine.write_engine(tmp_path, EngineConfig(channels=1))
    one = (tmp_path / "registers.md").read_text()
    engine.write_engine(tmp_path, EngineConfig(channels=8))
    assert one != (tmp_path / "registers.md").read_text()


def test_a_name_is_that_of_module_and_files(quick, tmp_path):
    assert main(["generate", "engine", "--name", "mover", "-o", str(tmp_path)]) == 0
    assert (tmp_path / "mover.v").read_text().startswith("module mover;")
    assert json.loads((tmp_path / "mover.json").read_text())["module"] == "mover"


def test_an_edited_file_is_not_replaced(quick, tmp_path, refuse):
    engine.write_engine(tmp_path, EngineConfig())
    (tmp_path / "engine.v").write_text("module mine; endmodule\n")
    error = refuse("generate", "engine", "-o", tmp_path)
    assert error.startswith(f"cdma generate: {tmp_path}/engine.v: is not as it was generated")
    assert main(["generate", "engine", "--force", "-o", str(tmp_path)]) == 0
    assert (tmp_path / "engine.v").read_text().startswith("module cdma_engine;")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["engine", "--prefix", "a"], "--prefix is for units, not for the engine"),
        (["engine", "--template"], "--template is for units, not for the engine"),
        (["both", "--channels", "2"], "--channels is for the engine, not for units"),
        (
            ["engine", "--channels", "3"],
            "Number of channels must be 1, 2, 4 or 8, not 3",
        ),
    ],
)
def test_refusals(quick, tmp_path, refuse, argv, message):
    assert message in refuse("generate", *argv, "-o", tmp_path)
    assert not list(tmp_path.iterdir())
