"""The ring of rows, against lists of rows."""

import pytest

from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.rows import RowRing

CONFIG = Config("fp32")
SIZE = CONFIG.beat_bytes
DEPTH = 4


def beat(content: bytes, *, last: bool) -> dict:
    """A beat with rubbish behind its bytes; before the last, ``keep`` is ignored."""
    padded = content.ljust(SIZE, b"\xff")
    words = [int.from_bytes(padded[k : k + 4], "little") for k in range(0, SIZE, 4)]
    return {"words": words, "keep": (1 << len(content)) - 1 if last else 0, "last": last}


def rows_of(rng, sizes):
    """Rows of packets: bytes, whether it is the last, and parity of the packet."""
    for number, size in enumerate(sizes):
        content = rng.bytes(size)
        rows = [content[k : k + SIZE] for k in range(0, max(size, 1), SIZE)]
        for k, row in enumerate(rows):
            yield row, k == len(rows) - 1, number % 2


@pytest.mark.parametrize("share", [0.3, 1])
def test_rows_stay_until_they_are_given_back(simulate, rng, share):
    """The bench gives back rows in order, at most two a cycle."""
    rows = list(rows_of(rng, [100, 0, 32, 64, 1, 31, 33, *[200] * 10]))
    ring = RowRing(CONFIG, DEPTH)

    async def bench(ctx):
        came = freed = cycles = 0
        seen = []
        ctx.set(ring.accept, 1)
        while freed < len(rows):
            count = min(came - freed, int(rng.integers(3))) if rng.random() < share else 0
            # Rows of one packet at once.
            parities = {parity for *_, parity in rows[freed : freed + count]}
            count = count if len(parities) == 1 else 0
            ctx.set(ring.free, sum(1 << (freed + k) % DEPTH for k in range(count)))
            ctx.set(ring.free_parity, rows[freed][2])
            valid = came < len(rows) and rng.random() < 0.9
            ctx.set(ring.i.valid, valid)
            if came < len(rows):
                content, last, _ = rows[came]
                ctx.set(ring.i.payload, beat(content, last=last))
            enters = valid and ctx.get(ring.i.ready)
            assert ctx.get(ring.arrives) == (enters and last)
            if enters and last:
                end = SIZE * came + len(content)
                found = SIZE * ctx.get(ring.end.row) + ctx.get(ring.end.byte)
                assert found == end % (SIZE << len(ring.row))
                assert ctx.get(ring.end.rest) == (content[-1] if content else 0)
                assert ctx.get(ring.end.start) == (came + 1) % (1 << len(ring.row))
                assert not ctx.get(ring.end.dropped)
            assert came - freed < DEPTH or not enters
            for k in range(freed, came):
                held = ctx.get(ring.rows[k % DEPTH]).to_bytes(SIZE, "little")
                assert held[: len(rows[k][0])] == rows[k][0]
            assert ctx.get(ring.row) == came % (1 << len(ring.row))
            seen.append((came - freed, bool(enters)))
            await ctx.tick()
            came, freed, cycles = came + enters, freed + count, cycles + 1
            assert cycles < 1000
        return seen

    seen = simulate(ring, bench)
    if share == 1:
        assert {level for level, _ in seen} >= {0, 1, 2}
    else:
        assert (DEPTH, False) in seen


def test_pairs_are_shown_a_cycle_later(play):
    rows = [{"accept": 1, "i.valid": 0}]
    rows += [{"i.valid": 1, "i.payload": beat(bytes(SIZE), last=False)}] * 3
    rows += [{"i.valid": 0}] * 4
    seen = play(RowRing(CONFIG, DEPTH), rows, ["pairs", "i.ready"])
    assert seen["i.ready"][:4] == [0, 1, 1, 1]
    # Rows come from the second cycle on; the pair of the first two is there two cycles later.
    assert seen["pairs"] == [[here, 0] for here in (0, 0, 0, 0, 1, 3, 3, 3)]


def test_rows_of_two_packets_are_no_pair(play):
    """A row of the packet before, not given back, must not count as a packet's next row."""
    rows = [{"accept": 1, "i.valid": 0}]
    rows += [{"i.valid": 1, "i.payload": beat(bytes(SIZE), last=last)} for last in (0, 1, 0, 0)]
    rows += [{"i.valid": 0}] * 2
    seen = play(RowRing(CONFIG, DEPTH), rows, ["pairs"])
    assert seen["pairs"][-1] == [0b0001, 0b0100]


def test_a_row_is_not_given_back_with_the_packet_before(play):
    """Rows behind the first packet's end are given back while the next packet comes into them."""
    full, done = beat(bytes(SIZE), last=False), beat(bytes(SIZE), last=True)
    rows = [{"accept": 1, "i.valid": 0, "free_parity": 0}]
    rows += [{"i.valid": 1, "i.payload": full}] * (DEPTH - 1) + [{"i.payload": done}]
    rows += [{"i.valid": 0, "free": 0b1111}]
    rows += [{"i.valid": 1, "i.payload": full, "free": 1 << slot} for slot in range(2)]
    rows += [{"i.valid": 0, "free": 0}] * 3
    seen = play(RowRing(CONFIG, DEPTH), rows, ["pairs", "i.ready"])
    assert seen["i.ready"][:8] == [0, 1, 1, 1, 1, 0, 1, 1]
    assert seen["pairs"][-2:] == [[0, 1], [0, 1]]


def test_a_ring_that_drains_drops_rows_of_the_packet_only(simulate, rng):
    rows = list(rows_of(rng, [200, 60]))
    ring = RowRing(CONFIG, DEPTH)

    async def bench(ctx):
        ctx.set(ring.accept, 1)
        ctx.set(ring.drain, 1)
        ctx.set(ring.i.valid, 1)
        await ctx.tick()
        for content, last, parity in rows:
            ctx.set(ring.i.payload, beat(content, last=last))
            assert ctx.get(ring.i.ready)
            assert ctx.get(ring.arrives) == last
            if last:
                assert ctx.get(ring.end.dropped) == (parity == 0)
            await ctx.tick()
        ctx.set(ring.i.valid, 0)
        await ctx.tick().repeat(2)
        assert ctx.get(ring.pairs[0]) == 0
        assert ctx.get(ring.pairs[1]) == 1 << (len(rows) - 2) % DEPTH

    simulate(ring, bench)


def test_no_row_comes_when_none_is_accepted(play):
    rows = [{"accept": 1, "i.valid": 1}] * 2 + [{"accept": 0}] * 3
    seen = play(RowRing(CONFIG, DEPTH), rows, ["i.ready", "row"])
    assert seen["i.ready"] == [0, 1, 1, 0, 0]
    assert seen["row"] == [0, 0, 1, 2, 2]


@pytest.mark.parametrize("depth", [2, 6])
def test_depth_is_refused(depth):
    message = f"^Depth of a ring must be a power of two of at least 4, not {depth}$"
    with pytest.raises(ValueError, match=message):
        RowRing(CONFIG, depth)
