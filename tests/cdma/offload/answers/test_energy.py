"""Energy of the copies: what each byte costs, and what is not known."""

import pytest

from cdma.cli.main import main
from cdma.errors import UserError
from cdma.offload.answers import energy
from cdma.offload.schemes.registry import results

PRICES = energy.Prices(dram=10.0, link=20.0, host=5.0, codec=2.0)


def test_each_byte_costs_both_ways(setup_of):
    found = {each.name: each for each in results(setup_of("nin"))}
    plain, coded = found["vdnn-all"], found["cdma-zv"]
    masks = sum(move.tensor.bytes for move in coded.moves if move.tensor.kind == "mask")
    raw = sum(move.tensor.bytes for move in coded.moves)
    assert energy.millijoules(plain, PRICES) == pytest.approx(1e-9 * raw * 2 * (10 + 20 + 5))
    wanted = 1e-9 * (raw * 2 * 10 + (raw - masks) * 2 + 2 * coded.link * 25)
    assert energy.millijoules(coded, PRICES) == pytest.approx(wanted)
    assert energy.millijoules(coded, PRICES) < energy.millijoules(plain, PRICES)
    assert energy.millijoules(found["oracle"], PRICES) == 0
    assert energy.millijoules(found["static"], PRICES) is None


def test_the_codec_was_measured(tmp_path):
    assert 0.1 < energy.codec_price(8) < 100
    with pytest.raises(UserError, match="no measured energy of units of 3x32"):
        energy.codec_price(3)
    with pytest.raises(UserError, match="no measured energy"):
        energy.codec_price(8, path=tmp_path / "none.json")


def test_the_column(report, refuse, capsys):
    options = ("offload", "run", "nin", "--ratio", "2.6", "--energy")
    rows = {row["scheme"]: row for row in report(*options, "10,20,5")["rows"]}
    assert rows["cdma-zv"]["energy_mj"] < rows["vdnn-all"]["energy_mj"]
    assert rows["static"]["energy_mj"] is None
    assert main([*options, "10,20,5"]) == 0
    assert "copies, mJ" in capsys.readouterr().out
    assert "must be three numbers with commas, not '1,2'" in refuse(*options, "1,2")
    assert "must be a number above 0" in refuse(*options, "1,2,x")
