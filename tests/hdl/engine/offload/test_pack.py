"""Rows packed densely into beats of the link."""

import pytest

from cdma.hdl.engine.offload.pack import Packer


@pytest.mark.parametrize("link_bytes", [8, 16, 64])
@pytest.mark.parametrize("stall", ["never", "bernoulli:0.5"])
def test_dense(exchange, begin, small, rows_of, noise, link_bytes, stall):
    config = small(lanes=4, link_bytes=link_bytes)
    sizes = [5, 64, 1, 1, 2, 31, 8]
    stripes = [noise(n, 1.0, seed=n + 1) for n in sizes]
    offsets = [4 * sum(sizes[:k]) for k in range(len(sizes))]
    items, starts = [], []
    for number, words in enumerate(stripes):
        starts.append({"number": number, "offset": offsets[number]})
        items += [{"words": row["words"], "count": row["count"]} for row in rows_of(words, config)]
    data = b"".join(words.tobytes() for words in stripes)
    beats = -(-len(data) // link_bytes)
    dut = Packer(config)

    def flush(ctx, cycle, passed):
        ctx.set(dut.flush, len(passed["i"].cycles) == len(items))

    sends = {"i": items, "i_start": starts}
    stalls = {"i": "paused:3", "i_start": "paused:2", "o": stall}  # `start` comes first
    each = begin(dut, flush, address=0x1000)
    passed = exchange(dut, sends, {"o": beats}, stalls=stalls, each=each)
    found = b""
    for k, beat in enumerate(passed["o"].payloads):
        assert beat["address"] == 0x1000 + link_bytes * k
        kept = beat["strobe"].bit_length()
        assert beat["strobe"] == (1 << kept) - 1
        assert kept == link_bytes or k == beats - 1
        found += beat["data"].to_bytes(link_bytes, "little")[:kept]
        number = max(n for n, offset in enumerate(offsets) if offset <= link_bytes * k)
        assert beat["tag"] == {"job": 0, "number": number, "offset": offsets[number]}
    assert found == data
