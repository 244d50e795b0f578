"""``cdma cosim``."""

import json
import re

import numpy as np
import pytest

from cdma import designs
from cdma.cli.main import main
from cdma.engine_config import EngineConfig
from cdma.golden import compress, zvcplus
from cdma.golden import engine as golden

UNIT_OF_TWO = ("--config", "zvcplus-fp32+bf16", "--unit", "roundtrip", "--sim", "fast")


@pytest.fixture
def tensor(tmp_path):
    """File with 300 small words of 16 bits, a third of them zero."""
    words = np.arange(300, dtype="<i2").reshape(3, 100)
    words[words % 3 == 0] = 0
    np.save(tmp_path / "tensor.npy", words)
    return tmp_path / "tensor.npy"


@pytest.fixture
def spoiled(monkeypatch):
    """Make the generated Verilog flip bit 0 of each beat that it emits."""
    generate = designs.unit

    def verilog(*unit):
        text, count = re.subn(
            r"assign m_axis_tdata = (.*?);",
            r"assign m_axis_tdata = (\1) ^ 1;",
            generate(*unit),
        )
        assert count == 1
        return text

    monkeypatch.setattr(designs, "unit", verilog)


def test_help_has_an_example_and_the_profiles(helped):
    text = helped("cosim")
    assert "\nexample:\n  cdma cosim " in text
    for name in ("never", "always-but-one", "alternating", "bernoulli", "bursts", "paused"):
        assert name in text


def test_report_and_output(report, tensor, tmp_path):
    result = report("cosim", tensor, "--lanes", 4, "-o", tmp_path / "out.bin")
    words = np.load(tensor)
    stream = compress(words).tobytes()
    assert (tmp_path / "out.bin").read_bytes() == stream
    fixed = {
        "unit": "compressor",
        "config": "4x16",
        "words": 300,
        "density": 2 / 3,
        "bytes_in": 600,
        "bytes_out": len(stream),
        "stream_bytes": len(stream),
        "ratio": 600 / len(stream),
        "beats_in": 75,
        "beats_out": -(-len(stream) // 8),
        "throughput": "met",
        "comparison": "equal",
        "simulator": "verilator",
        "stall": ["never"],
        "seed": 0,
    }
    assert {key: result[key] for key in fixed} == fixed
    assert 75 <= result["cycles"] <= result["most_cycles"]
    assert result["bytes_per_cycle"] == 600 / result["cycles"]


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["decompressor", "roundtrip"])
def test_output_of_the_other_units_is_the_data(report, tensor, tmp_path, unit):
    result = report("cosim", tensor, "--lanes", 4, "--unit", unit, "-o", tmp_path / "out.bin")
    assert (tmp_path / "out.bin").read_bytes() == np.load(tensor).tobytes()
    assert result["bytes_out"] == 600
    assert result["stream_bytes"] == compress(np.load(tensor)).size


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["compressor", "decompressor", "roundtrip"])
def test_zvcplus_of_several_types_gets_the_type_of_the_tensor(report, tmp_path, unit):
    words = np.maximum(np.random.default_rng(1).normal(size=(4, 100)), 0).astype(np.float32)
    np.save(tmp_path / "tensor.npy", words)
    size = ("--config", "zvcplus-fp32+bf16", "--sim", "fast")
    result = report("cosim", tmp_path / "tensor.npy", *size, "--unit", unit)
    assert (result["config"], result["lanes"]) == ("zvcplus-fp32+bf16", 8)
    assert result["stream_bytes"] == zvcplus.compress(words, zvcplus.Format("fp32")).size
    assert result["comparison"] == "equal"


@pytest.mark.slow
def test_words_get_a_type_by_name(report, tmp_path):
    """NumPy files have no name for bfloat16."""
    words = np.maximum(np.random.default_rng(1).normal(size=700), 0).astype("<f4").view("<u4")
    words = (words >> 16).astype("<u2")
    np.save(tmp_path / "tensor.npy", words)
    how = ("--dtype", "bfloat16", "--stall", "bernoulli:0.3", "-o", tmp_path / "out.bin")
    result = report("cosim", tmp_path / "tensor.npy", *UNIT_OF_TWO, *how)
    assert result["stream_bytes"] == zvcplus.compress(words, zvcplus.Format("bf16")).size
    assert (result["lanes"], result["comparison"]) == (16, "equal")
    assert (tmp_path / "out.bin").read_bytes() == words.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["compressor", "decompressor", "roundtrip"])
def test_zvcplus_takes_the_type_of_the_tensor(report, tmp_path, unit):
    words = np.maximum(np.random.default_rng(1).normal(size=(4, 100)), 0).astype(np.float16)
    np.save(tmp_path / "tensor.npy", words)
    stream = zvcplus.compress(words, zvcplus.Format("fp16"))
    result = report("cosim", tmp_path / "tensor.npy", "--codec", "zvcplus", "--unit", unit)
    assert (result["config"], result["lanes"], result["words"]) == ("zvcplus-fp16", 16, 400)
    assert result["stream_bytes"] == stream.size
    assert result["bytes_out"] == (stream.size if unit == "compressor" else words.nbytes)
    assert result["comparison"] == "equal"
    if unit != "roundtrip":
        assert result["throughput"] == "met"


@pytest.mark.parametrize(
    "unit",
    [
        "compressor",
        *(pytest.param(u, marks=pytest.mark.slow) for u in ("decompressor", "roundtrip")),
    ],
)
def test_fast_reports_the_same(report, tensor, tmp_path, unit):
    command = ["cosim", tensor, "--lanes", 4, "--unit", unit, "--stall", "sink=bernoulli:0.3"]
    result = report(*command)
    fast = report(*command, "--sim", "fast", "-o", tmp_path / "out.bin")
    assert fast == {**result, "simulator": "fast"}
    words = np.load(tensor)
    expected = compress(words).tobytes() if unit == "compressor" else words.tobytes()
    assert (tmp_path / "out.bin").read_bytes() == expected


def test_fast_names_the_difference(spoiled, tensor, capsys):
    assert main(["cosim", str(tensor), "--lanes", "4", "--sim", "fast"]) == 1
    assert "packet 0: byte 0 (cycle " in capsys.readouterr().err


def test_stalls_and_seed(report, tensor):
    command = ["cosim", tensor, "--lanes", 4, "--stall", "bernoulli:0.5", "--stall", "source=never"]
    runs = [report(*command, "--seed", seed) for seed in (1, 1, 2)]
    assert runs[0] == runs[1]
    assert runs[0]["cycles"] != runs[2]["cycles"]
    assert runs[0]["stalled_cycles"]["m_axis"] > 0
    assert runs[0]["throughput"] == "no rule applies"


def test_table(tensor, capsys):
    assert main(["cosim", str(tensor), "--lanes", "4"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "words           300" in lines
    assert "comparison      equal" in lines


def test_difference_is_named_and_the_status_is_1(spoiled, tensor, capsys, tmp_path):
    output = tmp_path / "out.bin"
    assert main(["cosim", str(tensor), "--lanes", "4", "--json", "-o", str(output)]) == 1
    out, err = capsys.readouterr()
    first = compress(np.load(tensor))[0]
    result = json.loads(out)["comparison"]
    where = (
        rf"packet 0: byte 0 \(cycle \d+, beat 0, block 0, .*\) is 0x{first ^ 1:02x}, expected 0x"
    )
    assert re.match(where, result)
    assert err.splitlines()[-1].startswith(f"cdma cosim: compressor 4x16: {result}; the same with ")
    assert output.read_bytes()[0] == first ^ 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--stall", "often"], "Stall profile must be one of never, "),
        (["--stall", "door=never"], "Port of the compressor to stall must be one of source, sink"),
        (["--stall", "command=never"], "of the compressor to stall must be one of source, sink,"),
        (["--waves", "waves.txt"], "waves.txt: waveforms are written as .fst or .vcd"),
        (["--verilog", "missing.v"], "missing.v: cannot read this Verilog"),
        (["--seed", "-1"], "--seed must be 0 or more, not -1"),
        (["--lanes", "3"], "Number of lanes must be a power of two in 2..64, not 3"),
        (["--word-bits", "32"], "Element size must be 4 bytes to be a word of 32 bits, not 2"),
        (["--block-words", "20"], "Block length must be a positive multiple of the word width"),
        (["--unit", "squeezer"], "invalid choice: 'squeezer'"),
        (["-o", "missing/out.bin"], "missing/out.bin: "),
    ],
)
def test_mistakes(refuse, tensor, options, message):
    assert message in refuse("cosim", tensor, *options)


def test_a_type_that_the_unit_lacks(refuse, tensor, tmp_path):
    message = "cdma cosim: Type of the tensor must be one of fp32, bf16, not "
    assert refuse("cosim", tensor, *UNIT_OF_TWO) == f"{message}int16"
    assert refuse("cosim", tensor, *UNIT_OF_TWO, "--dtype", "float16") == f"{message}fp16"
    refused = refuse("cosim", tensor, *UNIT_OF_TWO, "--dtype", "float32")
    assert refused.startswith("cdma cosim: --dtype float32 has 4 bytes an element, the tensor (")


def test_no_such_file(refuse, tmp_path):
    assert "missing.npy" in refuse("cosim", tmp_path / "missing.npy")


def test_missing_simulator_is_reported(refuse, tensor, monkeypatch):
    from cdma.toolchain import simulators

    which = simulators.shutil.which
    monkeypatch.setattr(
        simulators.shutil,
        "which",
        lambda name, path=None: None if name == "make" else which(name, path=path),
    )
    message = refuse("cosim", tensor, "--lanes", 4)
    assert message == (
        "cdma cosim: verilator needs make, which is not installed: "
        "install make (Debian: apt-get install make)"
    )


ENGINE = ("--unit", "engine", "--channels", "2", "--lanes", "4", "--stripe-bytes", "1024")
ENGINE += ("--link-bytes", "8", "--latency", "60")


@pytest.mark.slow
def test_engine(report, tmp_path):
    """Out to host memory and back; the file has the stream."""
    words = np.arange(3000, dtype="<i4") * (np.arange(3000) % 3 == 0)
    np.save(tmp_path / "tensor.npy", words)
    out = tmp_path / "out.bin"
    memories = ("--memory", "near", "--host-memory", "rough:latency=30")
    result = report("cosim", tmp_path / "tensor.npy", *ENGINE, *memories, "-o", out)
    assert (result["unit"], result["channels"], result["comparison"]) == ("engine", 2, "equal")
    assert result["stream_bytes"] == out.stat().st_size
    assert result["stripes"] == 12
    assert result["offload_cycles"] > result["least_offload_cycles"] > 0
    assert result["prefetch_cycles"] > result["least_prefetch_cycles"] > 0


@pytest.mark.slow
def test_engine_of_zvcplus(report, tmp_path):
    """The type is that of the tensor, and the stream that of the golden engine."""
    words = np.maximum(np.random.default_rng(0).standard_normal(3000), 0).astype("f4")
    np.save(tmp_path / "tensor.npy", words)
    out = tmp_path / "out.bin"
    sizes = ("--channels", 1, "--stripe-bytes", 1024, "--link-bytes", 16, "--latency", 60)
    command = ("cosim", tmp_path / "tensor.npy", "--unit", "engine", "--codec", "zvcplus", *sizes)
    result = report(*command, "-o", out)
    assert (result["config"], result["comparison"]) == ("1x8x32s1024l16-zvcplus-fp32", "equal")
    config = EngineConfig(1, stripe_bytes=1024, link_bytes=16, latency=60, codec="zvcplus")
    assert out.read_bytes() == golden.offload(words, config).stream.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
def test_engine_in_a_simulator(report, tmp_path, simulator):
    """The simulators under cocotb pass the same cycles as the compiled model."""
    words = np.arange(2100, dtype="<i4") * (np.arange(2100) % 3 == 0)
    np.save(tmp_path / "tensor.npy", words)
    memories = ("--memory", "near:r=bernoulli:0.3", "--host-memory", "near", "--seed", 3)
    command = ("cosim", tmp_path / "tensor.npy", *ENGINE, *memories)
    fast, waves = report(*command), tmp_path / "all.fst"
    result = report(*command, "--sim", simulator, "--waves", waves)
    assert result == {**fast, "simulator": simulator}
    assert (fast["comparison"], fast["simulator"]) == ("equal", "fast")
    assert waves.stat().st_size > 10_000


@pytest.mark.slow
def test_waveforms_of_the_engine(report, tmp_path, tensor):
    waves = tmp_path / "all.fst"
    options = ("--word-bits", 16, "--memory", "near", "--host-memory", "near")
    result = report("cosim", tensor, *ENGINE, *options, "--waves", waves)
    assert result["comparison"] == "equal"
    assert waves.read_bytes()[:1] == b"\x00", "the header block of an FST file"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--channels", "3"], "Number of channels must be 1, 2, 4 or 8, not 3"),
        (["--memory", "fast"], "Memory must be one of ideal, near, dram, far, host, rough"),
        (["--waves", "x.txt"], "x.txt: waveforms are written as .fst or .vcd"),
        (["--stall", "never"], "--stall is for units"),
        (["--codec", "zvcplus"], "--word-bits is not for --codec zvcplus, the type gives it"),
    ],
)
def test_engine_options_that_are_refused(capsys, tensor, options, message):
    base = ["cosim", str(tensor), "--unit", "engine", "--word-bits", "16"]
    assert main([*base, *options]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("unit", ["engine", "compressor"])
def test_verilog_that_is_no_text(refuse, tensor, tmp_path, unit):
    np.savez(tmp_path / "a.npz", np.float32([1]))
    verilog = ("--unit", unit, "--verilog", tmp_path / "a.npz")
    line = refuse("cosim", tensor, "--word-bits", 16, *verilog)
    assert line.startswith(f"cdma cosim: {tmp_path}/a.npz: cannot read this Verilog (")


def test_verilog_without_the_engine(refuse, tensor, tmp_path):
    (tmp_path / "other.v").write_text("module other; endmodule\n")
    verilog = ("--unit", "engine", "--verilog", tmp_path / "other.v")
    assert "has no module cdma_engine" in refuse("cosim", tensor, "--word-bits", 16, *verilog)


@pytest.mark.parametrize("unit", ["engine", "compressor"])
@pytest.mark.parametrize("option", ["--output", "--waves"])
def test_a_missing_folder_is_reported_before_the_design_is_made(
    refuse, tensor, monkeypatch, unit, option
):
    made = "the design was made before"
    monkeypatch.setattr("cdma.designs.engine", lambda *_: pytest.fail(made))
    monkeypatch.setattr("cdma.sim.simulate.bench_of", lambda *_: pytest.fail(made))
    command = ("cosim", tensor, "--unit", unit, "--word-bits", 16)
    line = refuse(*command, option, "missing/x.fst")
    assert "the folder missing does not exist, create it first" in line


@pytest.mark.parametrize("simulator", ["fast", "verilator", "icarus"])
def test_a_missing_program_is_reported_before_the_engine_is_made(
    refuse, tensor, monkeypatch, simulator
):
    monkeypatch.setattr("cdma.designs.engine", lambda *_: pytest.fail("it was made before"))
    monkeypatch.setenv("PATH", "")
    command = ("cosim", tensor, "--unit", "engine", "--word-bits", 16, "--sim", simulator)
    assert "not installed" in refuse(*command)


@pytest.mark.parametrize("option", ["--channels", "--memory", "--raw", "--link-bytes"])
def test_options_of_the_engine_are_not_for_units(capsys, tensor, option):
    value = {"--memory": "far", "--raw": "auto"}.get(option, "8")
    assert main(["cosim", str(tensor), option, value]) == 2
    assert f"{option} is for the engine, not for units" in capsys.readouterr().err
