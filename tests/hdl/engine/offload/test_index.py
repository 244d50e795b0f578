"""Index entries with their CRCs."""

import numpy as np
import pytest

from cdma.golden.engine.index import pack_index
from cdma.hdl.engine.offload.index import IndexEntries
from cdma.sim.backpressure import parse


@pytest.mark.parametrize("crc", [False, True], ids=["plain", "crc"])
@pytest.mark.parametrize("hold", ["never", "bernoulli:0.5"])
def test_entries(exchange, begin, small, crc, hold):
    """Entries come as long as there is room, and in the two cycles after."""
    count = 40
    sizes = np.arange(count) * 7 + 4
    raw = np.arange(count) % 3 == 0
    crcs = np.arange(count, dtype=np.uint32) * 0x01234567 + 9 if crc else None
    dut, sent, found, tight = IndexEntries(small()), 0, [], [0, 0, 0]
    willing = parse(hold).willing(3)

    def send(ctx, cycle, passed):
        nonlocal sent
        tight.append(ctx.get(dut.is_tight))
        valid = sent < count and not tight[-3]
        ctx.set(dut.valid, valid)
        if valid:
            ctx.set(dut.i, {"bytes": int(sizes[sent]), "raw": int(raw[sent])})
            sent += 1
        ctx.set(dut.hold, not next(willing))
        if ctx.get(dut.o_valid):
            assert ctx.get(dut.o.count) == 1
            found.append(ctx.get(dut.o.words[0]))

    sends = {"i_crc": [int(value) for value in crcs] if crc else []}
    each = begin(dut, send, has_crc=int(crc))
    exchange(dut, sends, {}, stalls="alternating", each=each, idle=200)
    expected = pack_index(sizes, raw, crcs).view("<u8")
    assert found == expected.tolist()
