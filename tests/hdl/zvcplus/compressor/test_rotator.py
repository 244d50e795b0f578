"""Controls at their places in a row."""

from cdma.hdl.zvcplus.compressor.rotator import ControlRotator
from cdma.hdl.zvcplus.config import Config


def test_a_control_comes_to_its_place_cyclically(play, rng):
    config, rows, expected = Config("fp32"), [], []
    for at in range(0, 256, 3):
        control = int(rng.integers(1 << config.control_bits))
        rows.append({"enable": 1, "control": control, "at": at})
        moved = control << at
        expected.append((moved | moved >> 256) & (1 << 256) - 1)
    rows += [{"enable": 1}] * ControlRotator.LATENCY
    seen = play(ControlRotator(config), rows, ["bits"])
    assert seen["bits"][ControlRotator.LATENCY :] == expected
