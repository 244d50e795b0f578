"""``cdma generate``: the files it writes, and what it refuses."""

import hashlib
import json
import subprocess
import sys

import pytest

from cdma.cli.main import main
from cdma.generate import files
from cdma.hdl.emit.verilog import _generate


@pytest.fixture
def quick(monkeypatch):
    """Replace the hardware's part, which takes seconds; ``emit`` has tests of its own."""

    def verilog(unit, config, name, with_sources):
        return f"module {name or f'cdma_{unit}'}; // {config}\nendmodule\n"

    def manifest(unit, config, name, with_sources):
        text = verilog(unit, config, name, with_sources)
        return {
            "unit": unit,
            "module": name or f"cdma_{unit}",
            "config": config.name,
            "latency_cycles": 9,
            "verilog_sha256": hashlib.sha256(text.encode()).hexdigest(),
        }

    monkeypatch.setattr(files, "verilog", verilog)
    monkeypatch.setattr(files, "manifest", manifest)


@pytest.fixture
def generate(quick, tmp_path, capsys):
    """Run the verb into ``tmp_path`` without a word on the terminal."""

    def run(*argv):
        assert main(["generate", *argv, "-o", str(tmp_path)]) == 0
        capsys.readouterr()

    return run


def test_help_has_an_example(helped):
    assert "examples:\n  cdma generate " in helped("generate")


@pytest.mark.parametrize("unit", ["compressor", "decompressor"])
def test_writes_both_files(quick, tmp_path, capsys, unit):
    folder = tmp_path / "made" / "for it"
    argv = ["--word-bits", "16", "--lanes", "4", "--block-words", "48", "-o", str(folder)]
    assert main(["generate", unit, *argv]) == 0
    assert (folder / f"{unit}.v").read_text().startswith(f"module cdma_{unit};")
    assert json.loads((folder / f"{unit}.json").read_text())["config"] == "4x16b48"
    assert {path.suffix for path in folder.iterdir()} == {".v", ".json"}
    out = capsys.readouterr().out
    assert f"wrote {folder}/{unit}.v, {folder}/{unit}.json" in out
    assert "4 lanes of 16 bits, blocks of 48 words, 8 bytes a cycle, latency 9 cycles" in out


def test_both_by_name_of_the_configuration(quick, report, tmp_path):
    argv = ["--config", "16x16", "--prefix", "act", "--template"]
    printed = report("generate", "both", *argv, "-o", tmp_path)
    assert printed.keys() == {"compressor", "decompressor"}
    assert {entry["config"] for entry in printed.values()} == {"16x16"}
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "act_compressor.json",
        "act_compressor.v",
        "act_decompressor.json",
        "act_decompressor.v",
        "act_roundtrip_tb.sv",
    ]
    bench = (tmp_path / "act_roundtrip_tb.sv").read_text()
    assert "\nmodule act_roundtrip_tb;\n" in bench
    assert "--top-module act_roundtrip_tb <" in bench
    assert "  act_compressor compressor (" in bench
    assert "LANES = 16;" in bench


@pytest.mark.parametrize("argv", [("--target", "asic"), ("--config", "8x32-asic")])
def test_units_for_standard_cells(quick, report, tmp_path, argv):
    manifest = report("generate", "compressor", *argv, "-o", tmp_path)
    assert manifest["config"] == "8x32-asic"


def test_the_engine_has_no_units_for_standard_cells(refuse, tmp_path):
    message = "cdma generate: the engine has units for an FPGA: leave --target out"
    assert refuse("generate", "engine", "--target", "asic", "-o", tmp_path) == message


def test_json_is_the_manifest(quick, report, tmp_path):
    printed = report("generate", "compressor", "-o", tmp_path)
    assert printed == json.loads((tmp_path / "compressor.json").read_text())
    assert printed["config"] == "8x32"


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["compressor", "decompressor"])
def test_the_same_bytes_in_every_process(tmp_path, unit):
    written = []
    for seed in ("1", "2"):
        size = ("--lanes", "2", "--word-bits", "8", "--block-words", "32")
        argv = [sys.executable, "-m", "cdma", "generate", unit, *size]
        done = subprocess.run(
            [*argv, "-o", str(tmp_path / seed)],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        told = [line for line in done.stderr.splitlines() if not line.endswith(": still running")]
        assert told == []
        written.append({path.name: path.read_bytes() for path in (tmp_path / seed).iterdir()})
    assert written[0] == written[1]
    assert f"module cdma_{unit}".encode() in written[0][f"{unit}.v"]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("--lanes", 3), "Number of lanes must be a power of two in 2..64, not 3"),
        (
            ("--lanes", 64),
            "Number of lanes must divide the block length 32, not 64: take blocks of 64 words",
        ),
        (("--word-bits", 24), "Word width must be 8, 16, 32 or 64 bits, not 24"),
        (
            ("--block-words", 40),
            "Block length must be a positive multiple of the word width 32, not 40",
        ),
        (
            ("--config", "8by32"),
            "Configuration must be lanes x word bits such as 8x32 or 8x32b64, not '8by32'",
        ),
        (
            ("--config", "8x32", "--word-bits", 16),
            "--config names the whole size: leave out --word-bits",
        ),
        (
            ("--codec", "zvcplus", "--type", "fp64"),
            "Type must be one of fp32, fp16, bf16, int8, not 'fp64'",
        ),
        (
            ("--codec", "zvcplus", "--zero-port"),
            "--zero-port is not for --codec zvcplus, words are zero in all bits: leave it out",
        ),
        (
            ("--codec", "zvcplus", "--target", "asic"),
            "--target is not for --codec zvcplus, whose units are the same: leave it out",
        ),
        (
            ("--config", "8x32", "--target", "asic"),
            "--config names the whole size: leave out --target",
        ),
        (("--template",), "The test bench connects both units: generate both"),
        (
            ("--name", "a", "--prefix", "b"),
            "A name is for one unit, without a prefix; give a prefix for both units",
        ),
        (("--name", "a-b"), "Name of a module must be a plain Verilog identifier, not 'a-b'"),
        (("--name", "module"), "Name of a module must be no keyword of Verilog, not 'module'"),
    ],
)
def test_refuses_and_makes_no_folder(refuse, tmp_path, argv, message):
    folder = tmp_path / "out"
    assert refuse("generate", "compressor", *argv, "-o", folder) == f"cdma generate: {message}"
    assert not folder.exists()


def test_a_keyword_is_no_name_of_an_engine(refuse, tmp_path):
    line = refuse("generate", "engine", "--name", "wire", "-o", tmp_path / "out")
    assert line == "cdma generate: Name of a module must be no keyword of Verilog, not 'wire'"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("fault", [TypeError("fault"), ValueError("fault")])
def test_a_fault_is_not_reported_as_one_of_the_user(monkeypatch, capsys, tmp_path, fault):
    def verilog(*args, **kwargs):
        raise fault

    monkeypatch.setattr(files, "verilog", verilog)
    monkeypatch.setattr("cdma.generate.engine.manifest", verilog)
    for unit in ("compressor", "engine"):
        assert main(["generate", unit, "-o", str(tmp_path)]) == 3
        assert "a fault of cdma, please report it" in capsys.readouterr().err


def test_unknown_unit(refuse, tmp_path):
    line = refuse("generate", "codec", "-o", tmp_path)
    assert line.startswith("cdma generate: argument unit: invalid choice: 'codec' ")


def test_without_yosys(refuse, tmp_path, monkeypatch):
    monkeypatch.setenv("AMARANTH_USE_YOSYS", "system")
    monkeypatch.setenv("PATH", "")
    _generate.cache_clear()
    line = refuse("generate", "compressor", "-o", tmp_path / "out")
    assert line.startswith("cdma generate: Yosys, which writes Verilog, is missing or failed: ")
    assert not (tmp_path / "out").exists()


def test_a_file_where_the_folder_should_be(quick, refuse, tmp_path):
    (tmp_path / "file").write_text("mine")
    line = refuse("generate", "compressor", "-o", tmp_path / "file")
    assert f"-o/--output: {tmp_path}/file: is a file, expected a folder" in line
    assert (tmp_path / "file").read_text() == "mine"


def test_all_files_or_none(quick, refuse, tmp_path):
    (tmp_path / "compressor.json").mkdir()
    line = refuse("generate", "compressor", "-o", tmp_path)
    assert line.startswith(f"cdma generate: {tmp_path}/compressor.json: is a folder")
    assert len(list(tmp_path.iterdir())) == 1


def test_another_size_is_refused_and_can_be_forced(generate, refuse, tmp_path):
    generate("both")
    before = (tmp_path / "compressor.v").read_text()
    for unit in ("compressor", "both"):
        line = refuse("generate", unit, "--config", "16x16", "-o", tmp_path)
        assert "describes cdma_compressor of size 8x32, and this run writes 16x16" in line
        assert "--prefix" in line
        assert "--force" in line
    assert (tmp_path / "compressor.v").read_text() == before
    generate("both", "--config", "16x16", "--force")
    assert (tmp_path / "compressor.v").read_text() != before


def test_a_partner_of_another_size_is_refused(generate, refuse, tmp_path):
    generate("decompressor")
    line = refuse("generate", "compressor", "--config", "16x16", "-o", tmp_path)
    assert "decompressor.json: describes cdma_decompressor of size 8x32" in line
    assert not (tmp_path / "compressor.v").exists()


def test_a_unit_with_the_name_of_the_other_is_refused(generate, refuse, tmp_path):
    generate("both")
    options = ("--config", "16x32", "--name", "cdma_decompressor", "-o", tmp_path)
    line = refuse("generate", "compressor", *options)
    assert "decompressor.json: describes a decompressor that is called cdma_decompressor" in line
    assert not (tmp_path / "cdma_decompressor.v").exists()


def test_empty_names_are_refused(refuse, tmp_path, monkeypatch):
    """As of a variable that is not set in a script."""
    monkeypatch.chdir(tmp_path)
    line = refuse("generate", "both", "-o", "")
    assert "argument -o/--output: the name of the folder to write into is empty" in line
    line = refuse("generate", "both", "--prefix", "", "-o", tmp_path)
    assert line == "cdma generate: --prefix is empty: give a name, or leave it out"
    assert list(tmp_path.iterdir()) == []


def test_a_zero_value_beside_its_port_is_refused(refuse, tmp_path):
    options = ("--zero-value", "5", "--zero-port", "-o", tmp_path)
    line = refuse("generate", "both", *options)
    assert line.endswith(
        "The zero value comes from s_zero with a zero port: leave --zero-value out"
    )
    assert list(tmp_path.iterdir()) == []


def test_two_sizes_under_two_prefixes(generate, tmp_path):
    for name in ("8x32", "16x16"):
        generate("both", "--config", name, "--prefix", f"z{name}")
    assert len(list(tmp_path.glob("*.v"))) == 4
    generate("compressor", "--name", "squeeze")
    assert "module squeeze;" in (tmp_path / "squeeze.v").read_text()


@pytest.mark.parametrize("has_manifest", [True, False])
def test_an_edited_file_is_not_lost(generate, refuse, tmp_path, has_manifest):
    generate("compressor")
    generate("compressor")  # the same once more
    (tmp_path / "compressor.v").write_text("mine")
    if not has_manifest:
        (tmp_path / "compressor.json").unlink()
    line = refuse("generate", "compressor", "-o", tmp_path)
    assert line.startswith(f"cdma generate: {tmp_path}/compressor.v: is not as it was generated")
    assert (tmp_path / "compressor.v").read_text() == "mine"
    generate("compressor", "--force")
