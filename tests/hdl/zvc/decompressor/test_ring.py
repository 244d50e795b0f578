"""The ring: what its rows hold, what is known of them, and when there is room."""

import pytest
from amaranth.hdl import Module, Signal

from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.ring import StreamRing
from cdma.hdl.zvc.decompressor.rows import RowIndex

CONFIGS = [Config.of(4, 16), Config.of(2, 8, 32), Config.of(8, 32)]
CONFIGS += map(Config.parse, ("4x16-asic", "2x8b8-asic"))  # a bit per row; a jump table: numbers
EVERY = pytest.mark.parametrize("config", CONFIGS, ids=[config.name for config in CONFIGS])


def random_beat(config, rng, kept=None, last=None):
    """A beat that keeps ``kept`` bytes, or any number of them."""
    last = bool(rng.random() < 0.3) if last is None else last
    kept = int(rng.integers(config.beat_bytes + 1)) if kept is None else kept
    words = rng.integers(1 << config.format.word_bits, size=config.lanes).tolist()
    return {"words": words, "keep": (1 << kept) - 1, "last": last}


def info_of(beat, config):
    """What is to be known of a beat."""
    whole, rest = divmod(beat["keep"].bit_length(), config.format.word_bytes)
    if not beat["last"]:
        whole, rest = config.lanes, 0
    return {"count": whole, "last": int(beat["last"]), "ragged": int(rest > 0)}


@EVERY
@pytest.mark.parametrize("rows", [2, 5, 8])
def test_rows_are_held_until_they_are_passed(simulate, rng, config, rows):
    """Against a list: what is known of what comes in, and any run of words."""
    ring, lanes = StreamRing(config, rows), config.lanes

    async def bench(ctx):
        taken, passed, met = [], 0, set()  # beats, and how many are passed
        for _ in range(300):
            room = rows - (len(taken) - passed)
            has_room = room > 0 and bool(rng.random() < 0.9)
            offered, valid = random_beat(config, rng), bool(rng.random() < 0.7)
            ctx.set(ring.i.payload, offered)
            ctx.set(ring.i.valid, valid)
            ctx.set(ring.has_room, has_room)
            assert ctx.get(ring.i.ready) == has_room
            assert ctx.get(ring.accept) == (valid and has_room)
            assert ctx.get(ring.tail) == ring.index.at(len(taken))
            info = ctx.get(ring.info)
            assert {name: info[name] for name in info_of(offered, config)} == info_of(
                offered, config
            )
            words = [word for beat in taken[passed:] for word in beat["words"]]
            if words:
                for bank_rows, bank_words in (
                    (ring.rows_a, ring.words_a),
                    (ring.rows_b, ring.words_b),
                ):
                    first = int(rng.integers(len(words) - lanes + 1))
                    places = [divmod(passed * lanes + first + k, lanes) for k in range(lanes)]
                    by_bank = {bank: row % rows for row, bank in places}
                    ctx.set(bank_rows, [ring.index.at(by_bank[bank]) for bank in range(lanes)])
                    found = [ctx.get(bank_words[bank]) for _, bank in places]
                    assert found == words[first : first + lanes]

            met.add((room, valid, has_room))
            if rng.random() < 0.5:
                passed += int(rng.integers(len(taken) - passed + 1))
            await ctx.tick()
            if valid and has_room:
                taken.append(offered)
        return met

    met = simulate(ring, bench)
    assert {room for room, *_ in met} == set(range(rows + 1))
    assert any(room and valid and not has_room for room, valid, has_room in met)


@EVERY
def test_every_number_of_kept_bytes_is_known(play, rng, config):
    beats = [
        random_beat(config, rng, kept, last)
        for kept in range(config.beat_bytes + 1)
        for last in (False, True)
    ]
    seen = play(StreamRing(config, 2), [{"i.payload": beat} for beat in beats], ["info"])["info"]
    assert seen == [info_of(beat, config) for beat in beats]


@pytest.mark.parametrize("rows", [2, 3, 5, 8, 13])
@pytest.mark.parametrize("one_hot", [False, True], ids=["number", "one-hot"])
def test_rows_are_counted_around_the_ring(simulate, rows, one_hot):
    m, index = Module(), RowIndex(rows, one_hot)
    row, step = Signal(index.shape), Signal(range(2 * rows + 1))
    fixed = [index.further(m, row, number) for number in range(rows)]
    moved = index.further(m, row, step, 2 * rows)
    there = [index.is_at(row, number) for number in range(rows)]

    async def bench(ctx):
        for first in range(rows):
            ctx.set(row, index.at(first))
            assert [ctx.get(value) for value in there] == [k == first for k in range(rows)]
            assert [ctx.get(value) for value in fixed] == [
                index.at(first + number) for number in range(rows)
            ]
            for number in range(2 * rows + 1):
                ctx.set(step, number)
                assert ctx.get(moved) == index.at(first + number)

    simulate(m, bench)


@pytest.mark.parametrize("rows", [1, 0, -4])
def test_rows_are_too_few(rows):
    with pytest.raises(ValueError, match=f"^Number of rows must be at least 2, not {rows}$"):
        StreamRing(CONFIGS[0], rows)
