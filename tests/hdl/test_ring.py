"""The two rings: where words go, which of them is read, and when a row is free."""

import numpy as np
import pytest
from amaranth.hdl import Module, Signal

from cdma.hdl.config import Config
from cdma.hdl.ring import BlockBuffer, Ending, Place, StreamRing, available_words, bank_row

SMALL = Config.of(4, 16)


def beat(words, config, kept_bytes=None, last=False):
    kept_bytes = config.beat_bytes if kept_bytes is None else kept_bytes
    return {"words": words, "keep": (1 << kept_bytes) - 1, "last": last}


def run_of(words, place, rows, lanes):
    """A write of consecutive words from ``place`` (a number of words) on, and where each goes."""
    row, start = divmod(place, lanes)
    banks = [(start + rank) % lanes for rank in range(len(words))]
    by_bank = dict(zip(banks, words, strict=True))
    write = {
        "enable": sum(1 << bank for bank in banks),
        "words": [by_bank.get(bank, 0xBAD) for bank in range(lanes)],
        "row": row % rows,
        "start": start,
    }
    return write, {(place + rank) % (rows * lanes): word for rank, word in enumerate(words)}


@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_a_run_that_begins_in_a_bank_goes_on_in_the_next_row_below_it(compute, lanes):
    bits = lanes.bit_length() - 1
    values = range(8 * lanes)
    for bank in range(lanes):
        rows = compute(lambda m, v, bank=bank: bank_row(v[bits:], v[:bits], bank), bits + 3, values)
        assert rows == [((value >> bits) + (bank < value % lanes)) % 8 for value in values]


@pytest.mark.parametrize("config", [SMALL, Config.of(8, 32), Config.of(2, 8)])
def test_data_and_mask_are_written_in_one_cycle_anywhere(simulate, rng, config):
    """Against a model: each kind has its memory, and a flag tells which of them a row gives."""
    rows, lanes = 4, config.lanes
    buffer = BlockBuffer(config, rows)
    memory = {"data": {}, "mask": {}}
    flagged = set()  # places where a mask's word is
    met = set()

    async def bench(ctx):
        for _ in range(400):
            read, take = int(rng.integers(rows)), bool(rng.integers(2))
            set_now = set()
            for name in memory:
                words = rng.integers(1, 1 << config.format.word_bits, int(rng.integers(lanes + 1)))
                place = int(rng.integers(rows * lanes))
                write, places = run_of(words.tolist(), place, rows, lanes)
                ctx.set(getattr(buffer, name), write)
                memory[name] |= places
                if name == "mask":
                    set_now = set(places)
            ctx.set(buffer.take, take)
            ctx.set(buffer.row, read)
            await ctx.tick()
            ctx.set(buffer.take, 0)
            # A place whose mask arrives while its row is taken keeps the flag of the new word.
            taken = {read * lanes + lane for lane in range(lanes)} if take else set()
            met.add((bool(taken & set_now), bool(taken & flagged - set_now)))
            flagged.difference_update(taken)
            flagged.update(set_now)
            for row in range(rows):
                ctx.set(buffer.row, row)
                for lane in range(lanes):
                    place = row * lanes + lane
                    kind = memory["mask" if place in flagged else "data"]
                    if place in kind:
                        assert ctx.get(buffer.words[lane]) == kind[place]

    simulate(buffer, bench)
    assert met == {(a, b) for a in (False, True) for b in (False, True)}


def test_flags_are_cleared_when_the_row_is_taken(play):
    nothing = run_of([], 0, 4, 4)[0]
    rows = [
        {"data": run_of([1, 2, 3, 4], 4, 4, 4)[0], "mask": run_of([0xAA], 5, 4, 4)[0], "row": 1},
        {"data": nothing, "mask": nothing},
        {"take": 1, "row": 0},  # another row: nothing happens here
        {"take": 0, "row": 1},
        {"take": 1},
        {"take": 0},
    ]
    seen = play(BlockBuffer(SMALL, 4), rows, ["words"])["words"]
    assert seen[1] == seen[3] == seen[4] == [1, 0xAA, 3, 4]
    assert seen[5] == [1, 2, 3, 4]


@pytest.mark.parametrize("ring", [BlockBuffer, StreamRing])
@pytest.mark.parametrize("rows", [0, 1, 3, 12])
def test_rows_of_a_ring_are_no_power_of_two(ring, rows):
    message = f"^Number of rows must be a power of two of at least 2, not {rows}$"
    with pytest.raises(ValueError, match=message):
        ring(SMALL, rows)


@pytest.mark.parametrize("config", [SMALL, Config.of(2, 8), Config.of(8, 32)])
def test_both_readers_see_consecutive_words_from_any_place(simulate, rng, config):
    rows, lanes = 8, config.lanes
    ring = StreamRing(config, rows)
    beats = rng.integers(1 << config.format.word_bits, size=(3 * rows, lanes)).tolist()
    words = [word for words in beats for word in words]

    async def bench(ctx):
        ctx.set(ring.i.valid, 1)
        for number, content in enumerate(beats):
            assert ctx.get(ring.row) == number % (2 * rows)
            ctx.set(ring.free, max(0, number - rows + 2) % (2 * rows))
            ctx.set(ring.i.payload, beat(content, config))
            assert ctx.get(ring.i.ready)
            await ctx.tick()
            # The run must lie in the rows written and not yet written over.
            oldest, end = max(0, number + 1 - rows) * lanes, (number + 1) * lanes
            for reader in "ab":
                first = int(rng.integers(oldest, end - lanes + 1))
                row, lane = divmod(first, lanes)
                place = {"lane": lane, "row": row % (2 * rows)}
                ctx.set(getattr(ring, f"place_{reader}"), place)
                banks = getattr(ring, f"bank_words_{reader}")
                seen = [ctx.get(banks[(lane + rank) % lanes]) for rank in range(lanes)]
                assert seen == words[first : first + lanes]

    simulate(ring, bench)


def test_a_row_stays_empty(simulate):
    rows = 4
    ring = StreamRing(SMALL, rows)

    async def bench(ctx):
        ctx.set(ring.i.valid, 1)
        accepted = []
        for cycle in range(3 * rows):
            accepted.append(ctx.get(ring.i.ready))
            if cycle == 2 * rows:
                ctx.set(ring.free, 2)  # two rows at once
            await ctx.tick()
        return accepted, ctx.get(ring.row)

    accepted, row = simulate(ring, bench)
    assert accepted == [1] * (rows - 1) + [0] * (rows + 2) + [1] * 1 + [0] * (rows - 2)
    assert row == rows + 1


@pytest.mark.parametrize("config", [SMALL, Config.of(2, 8), Config.of(2, 64)])
def test_ends_say_where_they_are_and_whether_ragged(exchange, config):
    size = config.format.word_bytes
    sizes = [*range(config.beat_bytes + 1), 0, config.beat_bytes]
    # Every number of kept bytes, each time behind two whole beats; the ring is freed by nobody, so
    # it has room for all.
    beats = [
        beat([0] * config.lanes, config, kept, last)
        for last_kept in sizes
        for kept, last in ((3, False), (config.beat_bytes, False), (last_kept, True))
    ]
    rows = 1 << len(beats).bit_length()
    owed = {"ends_a": len(sizes), "ends_b": len(sizes)}
    stalls = {"ends_a": "bernoulli:0.6", "ends_b": "never"}
    passed = exchange(StreamRing(config, rows), {"i": beats}, owed, stalls=stalls)
    expected = []
    for number, kept in enumerate(sizes):
        row, lane = divmod((3 * number + 2) * config.lanes + kept // size, config.lanes)
        place = {"lane": lane, "row": row}
        ragged = int(kept % size > 0)
        expected.append({"place": place, "next_row": 3 * number + 3, "ragged": ragged})
    assert passed["ends_a"].payloads == expected
    assert passed["ends_b"].payloads == expected
    assert passed["i"].cycles == list(range(len(beats)))


@pytest.mark.parametrize("is_ended", [False, True])
def test_words_that_are_available(simulate, is_ended):
    """Every place that is within the ring of the limit, laps included."""
    config, rows = Config.of(2, 8), 4
    laps = 2 * rows
    m = Module()
    row = Signal(range(laps))
    place = Signal(Place(config, rows))
    ending = Signal(Ending(config, rows))
    has_ended = Signal()

    class End:
        valid, payload = has_ended, ending

    available = available_words(m, config, rows, row, End, place)
    cases = [
        (limit, ahead)
        for limit in range(laps * config.lanes)
        for ahead in range(-rows * config.lanes, rows * config.lanes)
        if is_ended or limit % config.lanes == 0
    ]

    async def bench(ctx):
        ctx.set(has_ended, is_ended)
        seen = []
        for limit, ahead in cases:
            limit_row, lane = divmod(limit, config.lanes)
            # The limit is the row written next, or the end of the packet if that is known.
            ctx.set(row, (limit_row + 3) % laps if is_ended else limit_row)
            ctx.set(ending.place, {"lane": lane, "row": limit_row})
            at = (limit - ahead) % (laps * config.lanes)
            ctx.set(place, {"lane": at % config.lanes, "row": at // config.lanes})
            seen.append(ctx.get(available))
        return seen

    assert simulate(m, bench) == [ahead for _, ahead in cases]


def test_places_tell_laps_apart():
    for config, rows in ((Config.of(2, 8), 4), (Config.of(64, 8, 64), 16)):
        place = Place(config, rows)
        assert 1 << place["lane"].width == config.lanes
        assert 1 << place["row"].width == 2 * rows
        assert np.log2(rows * config.lanes) == place.size - 1
