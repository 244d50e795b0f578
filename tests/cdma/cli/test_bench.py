import argparse
import json
import re

import pytest

from cdma.cli import bench
from cdma.errors import UserError
from cdma.study import speed
from cdma.toolchain import simulators


def run(*arguments) -> int:
    parser = argparse.ArgumentParser()
    bench.add_parser(parser.add_subparsers())
    args = parser.parse_args(["bench", *arguments])
    return args.run(args)


@pytest.mark.slow
def test_json(capsys):
    assert run("--mib", "1", "--density", "0.25", "--json") == 0
    output = capsys.readouterr()
    result = json.loads(output.out)
    assert result["bytes"] == 1 << 20
    assert result["density"] == 0.25
    assert result["ratio"] == pytest.approx(1 / (0.25 + 1 / 32), rel=0.02)
    rows = {row["operation"]: row for row in result["operations"]}
    assert list(rows) == [
        *("zlib -6 compress", "compress", "container write"),
        *("zlib decompress", "decompress", "container read"),
    ]
    for name, row in rows.items():
        assert row["mb_per_s"] > 0
        assert (row["times_zlib"] is None) == name.startswith("zlib")
        if row["times_zlib"] is not None:
            assert 0 < row["peak_times_array"] < 10
    assert all(f"bench: {name}\n" in output.err for name in rows)
    cocotb, compiled = result["rtl"]
    assert cocotb["cycles"] == compiled["cycles"] > (1 << 20) / 32
    assert cocotb["times_cocotb"] is None
    assert compiled["times_cocotb"] == pytest.approx(compiled["mb_per_s"] / cocotb["mb_per_s"])


def test_table(capsys):
    assert run("--mib", "1") == 0
    out = capsys.readouterr().out
    assert out.startswith("1 MiB of fp32 at density 0.5: ratio 1.8")
    assert re.search(r"^decompress +[\d,.]+ +[\d.,]+ +[\d.]+$", out, re.MULTILINE)
    assert re.search(r"^compressor 8x32, compiled +[\d,]+ +[\d.,]+ +[\d.]+$", out, re.MULTILINE)


def test_rtl_is_left_out_without_its_tools(capsys, monkeypatch):
    monkeypatch.setattr(simulators, "SIMULATORS", ())
    assert run("--mib", "1", "--json") == 0
    output = capsys.readouterr()
    assert json.loads(output.out)["rtl"] == []
    assert "bench: RTL left out: " in output.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--mib", "0"), "--mib must be 1 or more, not 0"),
        (("--density", "1.5"), "--density must lie in 0..1, not 1.5"),
        (("--density", "nan"), "--density must lie in 0..1, not nan"),
    ],
)
def test_mistakes(arguments, message):
    with pytest.raises(UserError, match=f"^{re.escape(message)}$"):
        run(*arguments)


@pytest.mark.slow
def test_compiled_rtl_is_thirty_times_as_fast_as_cocotb():
    _, compiled = speed.measure_rtl(speed.RTL_BYTES, 0.5)
    assert compiled["times_cocotb"] >= 30
