"""Where the stripes of a tensor are."""

import pytest

from cdma.engine_config import EngineConfig
from cdma.golden.engine.stripes import channels_of, placement

CONFIG = EngineConfig(channels=2, lanes=2, stripe_bytes=1024, address_bits=64)
LAST = (1 << 64) - 1024


@pytest.mark.parametrize(
    ("device", "row_bytes", "rows", "pitch", "expected"),
    [
        (4096, 0, 7, 1024, []),
        (4096, 1032, 1, 0, [4096, 5120]),
        (4096, 2048, 2, -3072, [4096, 5120, 1024, 2048]),
        (LAST, 4, 1, 12345, [LAST]),
        (LAST, 1024, 2, -1024, [LAST, LAST - 1024]),
        (0, 1024, 2, LAST, [0, LAST]),
    ],
)
def test_addresses_of_stripes(device, row_bytes, rows, pitch, expected):
    addresses = placement(CONFIG, device, row_bytes, rows, pitch)
    assert addresses.tolist() == expected
    channels = channels_of(CONFIG, addresses)
    assert channels.tolist() == [CONFIG.channel(address) for address in expected]
