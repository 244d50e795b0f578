"""Index entries in beats of the link."""

import numpy as np
import pytest

from cdma.golden.engine.index import pack_index
from cdma.hdl.engine.offload.index import IndexPacker


@pytest.mark.parametrize("link_bytes", [8, 32])
@pytest.mark.parametrize("crc", [False, True], ids=["plain", "crc"])
@pytest.mark.parametrize(("first", "count"), [(0, 1), (8, 3), (24, 9), (0, 8)])
def test_entries(exchange, begin, small, link_bytes, crc, first, count):
    config = small(link_bytes=link_bytes)
    sizes = np.arange(count) * 77 + 4
    raw = np.arange(count) % 3 == 0
    crcs = np.arange(count, dtype=np.uint32) * 0x01234567 + 9 if crc else None
    expected = pack_index(sizes, raw, crcs).tobytes()
    items = [
        {"bytes": int(size), "raw": int(is_raw), "tag": {"number": k, "offset": 4 * k}}
        for k, (size, is_raw) in enumerate(zip(sizes, raw, strict=True))
    ]
    sends = {"i": items, "i_crc": [int(value) for value in crcs] if crc else []}
    beats = (first + 8 * count - 1) // link_bytes - first // link_bytes + 1
    dut = IndexPacker(config)

    def flush(ctx, cycle, passed):
        ctx.set(dut.flush, len(passed["i"].cycles) == count)

    stalls = {"i": "paused:3", "i_crc": "alternating", "o": "bernoulli:0.5"}
    each = begin(dut, flush, address=0x4000 + first, has_crc=int(crc))
    passed = exchange(dut, sends, {"o": beats}, stalls=stalls, each=each)
    memory = {}
    for beat in passed["o"].payloads:
        assert beat["address"] % link_bytes == 0
        for k, byte in enumerate(beat["data"].to_bytes(link_bytes, "little")):
            if beat["strobe"] >> k & 1:
                memory[beat["address"] + k] = byte
        number = max(0, (beat["address"] - 0x4000 - first) // 8)
        assert beat["tag"]["number"] == number
    assert sorted(memory) == list(range(0x4000 + first, 0x4000 + first + 8 * count))
    assert bytes(memory[address] for address in sorted(memory)) == expected
