"""The files of the generated engine."""

import hashlib
import json
from dataclasses import asdict

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
        found["parameters"] = asdict(config)
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
    for channels in (1, 8):
        engine.write_engine(tmp_path / str(channels), EngineConfig(channels=channels))
    one, eight = (tmp_path / name / "registers.md" for name in ("1", "8"))
    assert one.read_text() != eight.read_text()


def test_a_name_is_that_of_module_and_files(quick, tmp_path):
    assert main(["generate", "engine", "--name", "mover", "-o", str(tmp_path)]) == 0
    assert (tmp_path / "mover.v").read_text().startswith("module mover;")
    assert json.loads((tmp_path / "mover.json").read_text())["module"] == "mover"


@pytest.fixture
def older(monkeypatch):
    """Write as an older version of cdma, all of whose files differ from those of this one."""

    def write(folder):
        config = EngineConfig()
        with monkeypatch.context() as patch:
            for name in ("c_header", "markdown", "system_rdl"):
                patch.setattr(engine, name, lambda _, name=name: f"older {name}\n")
            text = "module older; endmodule\n"
            patch.setattr(engine, "verilog", lambda *_, **__: text)
            entry = {"unit": "engine", "module": "cdma_engine", "config": config.name}
            entry |= {"parameters": asdict(config), "verilog_sha256": engine._sha256(text)}
            patch.setattr(engine, "manifest", lambda *_, **__: dict(entry))
            engine.write_engine(folder, config)

    return write


def contents(folder):
    """What each file holds, by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("name", sorted(FILES))
def test_an_edited_file_is_not_replaced(quick, older, tmp_path, refuse, name):
    older(tmp_path)
    text = (tmp_path / name).read_text()
    edited = json.dumps(json.loads(text) | {"note": "mine"}) if name == "engine.json" else "mine"
    (tmp_path / name).write_text(edited)
    before = contents(tmp_path)
    error = refuse("generate", "engine", "-o", tmp_path)
    assert error.startswith(f"cdma generate: {tmp_path}/{name}: is not as it was generated")
    assert error.endswith("Rename it, take another folder, or --force to replace")
    assert contents(tmp_path) == before
    assert main(["generate", "engine", "--force", "-o", str(tmp_path)]) == 0
    assert (tmp_path / name).read_text() != edited
    assert (tmp_path / "engine.v").read_text().startswith("module cdma_engine;")


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_file_of_somebody_else_is_not_replaced(quick, tmp_path, refuse, name):
    (tmp_path / name).write_text("{}")
    error = refuse("generate", "engine", "-o", tmp_path)
    assert error.startswith(f"cdma generate: {tmp_path}/{name}: is not as it was generated")
    assert contents(tmp_path) == {name: b"{}"}


def test_an_unedited_folder_is_generated_again(quick, older, tmp_path):
    older(tmp_path / "older")
    for folder in ("older", "older", "new"):
        assert main(["generate", "engine", "-o", str(tmp_path / folder)]) == 0
    assert contents(tmp_path / "older") == contents(tmp_path / "new")


def test_a_manifest_without_checksums_of_the_register_files(quick, tmp_path, refuse):
    """As the first versions wrote it."""
    engine.write_engine(tmp_path, EngineConfig())
    entry = json.loads((tmp_path / "engine.json").read_text())
    del entry["file_sha256"], entry["manifest_sha256"]
    (tmp_path / "engine.json").write_text(json.dumps(entry))
    engine.write_engine(tmp_path, EngineConfig())
    assert "file_sha256" in json.loads((tmp_path / "engine.json").read_text())
    (tmp_path / "engine.json").write_text(json.dumps(entry))
    (tmp_path / "cdma.rdl").write_text("mine")
    error = refuse("generate", "engine", "-o", tmp_path)
    assert error.startswith(f"cdma generate: {tmp_path}/cdma.rdl: is not as it was generated")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--channels", 2), "size: 4x8x32s4096l16, and this run writes 2x8x32s4096l16. Take"),
        (("--address-bits", 40), "writes 4x8x32s4096l16 (address_bits 48 and 40). Take"),
    ],
)
def test_another_size_is_refused_and_can_be_forced(
    quick, tmp_path, refuse, monkeypatch, options, message
):
    """It is refused before minutes of generating."""
    engine.write_engine(tmp_path, EngineConfig())
    before = contents(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(engine, "manifest", lambda *_, **__: pytest.fail("it was generated before"))
        error = refuse("generate", "engine", *options, "-o", tmp_path)
    assert error.startswith(f"cdma generate: {tmp_path}/engine.json: describes cdma_engine of ano")
    assert message in error
    assert error.endswith("Take another folder, or --force to replace")
    assert contents(tmp_path) == before
    argv = ["generate", "engine", *map(str, options), "--force", "-o", str(tmp_path)]
    assert main(argv) == 0
    assert contents(tmp_path)["engine.json"] != before["engine.json"]


def test_a_second_engine_in_the_folder_has_the_same_size(quick, tmp_path, refuse):
    """Their register files have the same names."""
    engine.write_engine(tmp_path, EngineConfig(channels=1), "one")
    engine.write_engine(tmp_path, EngineConfig(channels=1), "other")
    before = contents(tmp_path)
    options = ("--name", "two", "--channels", 2, "-o", tmp_path)
    error = refuse("generate", "engine", *options)
    assert error.startswith(f"cdma generate: {tmp_path}/registers.md: is not as it was generated, ")
    assert "or is of another engine, and would be lost" in error
    assert contents(tmp_path) == before


def test_an_engine_of_another_name_in_the_same_files_is_refused(quick, tmp_path, refuse):
    engine.write_engine(tmp_path, EngineConfig())
    error = refuse("generate", "engine", "--name", "engine", "-o", tmp_path)
    assert "describes an engine that is called cdma_engine, and this run writes engine." in error


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (
            ["engine", "--prefix", "a"],
            "--prefix is for units, not for the engine: see --name",
        ),
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
