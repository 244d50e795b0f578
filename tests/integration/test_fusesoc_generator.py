"""The generator for FuseSoC without FuseSoC: what it refuses, and how."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from cdma.generate.files import Written

pytest.importorskip("yaml", reason="PyYAML is not installed: pip install 'cdma-engine[fusesoc]'")

GENERATOR = Path(__file__).parents[2] / "integration" / "fusesoc" / "generate.py"


@pytest.fixture(scope="module")
def generator():
    """The module ``generate``."""
    spec = importlib.util.spec_from_file_location("fusesoc_generate", GENERATOR)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def refused(generator, tmp_path, monkeypatch, capsys):
    """Run the generator with arguments that it refuses; gives its one line on stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*argv):
        assert generator.main(list(argv)) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert [path.name for path in tmp_path.iterdir() if path.name != "request.yml"] == []
        return err.removeprefix("cdma: ").removesuffix("\n")

    return run


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the request must be a mapping with vlnv and parameters"),
        ("[1]", "the request must be a mapping with vlnv and parameters"),
        (
            "parameters: {unit: both}",
            "vlnv must be the name of the core to write, such as a:b:c:1, not None",
        ),
        ("vlnv: 1", "vlnv must be the name of the core to write, such as a:b:c:1, not 1"),
        ("vlnv: a/b:1", "a/b_1.core: the folder a does not exist, create it first"),
        (
            "{vlnv: 'a:b:c:1', parameters: [unit]}",
            "parameters must be a mapping of names to values, not ['unit']",
        ),
    ],
)
def test_requests_that_are_none(refused, tmp_path, text, message):
    (tmp_path / "request.yml").write_text(text)
    assert refused("request.yml") == message


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("bench: 'false'", "bench must be true or false without quotes, not 'false'"),
        ("bench: 'no'", "bench must be true or false without quotes, not 'no'"),
        ("bench: 0", "bench must be true or false without quotes, not 0"),
        ("prefix: 1", "prefix must be a text, not 1"),
        ("prefix: ''", "prefix is empty: give a name, or leave it out"),
        (
            "{1: a, size: b}",
            "parameter of unit both must be one of unit, prefix, config, bench, not 1",
        ),
        (
            "{unit: compressor, channels: 2}",
            "parameter of unit compressor must be one of unit, prefix, config, bench, "
            "not 'channels'",
        ),
        (
            "unit: [both]",
            "unit must be one of compressor, decompressor, both, engine, not ['both']",
        ),
        ("{unit: engine, channels: 3}", "Number of channels must be 1, 2, 4 or 8, not 3"),
        ("{unit: engine, lanes: '8'}", "Number of lanes must be an integer, not '8'"),
        (
            "{unit: engine, prefix: a b}",
            "Name of a module must be a plain Verilog identifier, not 'a b_engine'",
        ),
        ("config: zvcplus-fp8", "Type must be one of fp32, fp16, bf16, int8, not 'fp8'"),
    ],
)
def test_parameters_that_are_none(refused, tmp_path, parameters, message):
    (tmp_path / "request.yml").write_text(f"vlnv: a:b:c:1\nparameters:\n  {parameters}\n")
    assert refused("request.yml") == message


@pytest.mark.parametrize("content", [b"{vlnv: [", b"a: b: c", b"\xff", b"1999-99-99", b"{[a]: b}"])
def test_files_that_are_no_yaml(refused, tmp_path, content):
    (tmp_path / "request.yml").write_bytes(content)
    message = "request.yml: cannot read this request, expected YAML ("
    assert refused("request.yml").startswith(message)


def test_arguments(refused):
    assert refused() == "expected one argument, the YAML file of the request"
    assert refused("a", "b") == "expected one argument, the YAML file of the request"
    message = "missing.yml: cannot read this request, expected YAML (No such file or directory)"
    assert refused("missing.yml") == message


def test_the_exit_status_of_the_script(tmp_path):
    command = [sys.executable, GENERATOR]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    message = "cdma: expected one argument, the YAML file of the request\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)


@pytest.mark.parametrize("bench", [True, False])
def test_a_bench_only_when_asked_for(generator, tmp_path, monkeypatch, bench):
    def write(folder, config, units, *, prefix, with_template):
        assert with_template is bench
        return Written({}, [Path("compressor.v")], [])

    monkeypatch.setattr(generator, "write", write)
    file = generator.generate({"vlnv": "a:b:c:1", "parameters": {"bench": bench}}, tmp_path)
    assert file == tmp_path / "a_b_c_1.core"
    assert '"name": "a:b:c:1"' in file.read_text()


@pytest.mark.parametrize(
    ("config", "name"), [({}, "8x32"), ({"config": "zvcplus-bf16"}, "zvcplus-bf16")]
)
def test_units_of_both_codecs(generator, tmp_path, monkeypatch, config, name):
    def write(folder, config, units, *, prefix, with_template):
        assert (config.name, units, prefix) == (name, ("decompressor",), "my")
        return Written({}, [Path("my_decompressor.v")], [])

    monkeypatch.setattr(generator, "write", write)
    parameters = {"unit": "decompressor", "prefix": "my"} | config
    generator.generate({"vlnv": "a:b:c:1", "parameters": parameters}, tmp_path)


def test_an_engine(generator, tmp_path):
    size = {"channels": 1, "lanes": 2, "stripe_bytes": 1024, "link_bytes": 8, "latency": 20}
    parameters = {"unit": "engine", "prefix": "my", **size}
    file = generator.generate({"vlnv": "a:b:c:1", "parameters": parameters}, tmp_path)
    core = json.loads(file.read_text().removeprefix("CAPI=2:\n"))
    (listed,) = core["filesets"]["generated"]["files"]
    assert listed == {"my_engine.v": {"file_type": "verilogSource"}}
    assert "module my_engine (" in (tmp_path / "my_engine.v").read_text()
    assert (tmp_path / "cdma_regs.h").is_file()
    made = json.loads((tmp_path / "my_engine.json").read_text())["parameters"]
    assert size.items() <= made.items()
