"""Items become rows."""

import pytest

from cdma.hdl.zvcplus.compressor.assembler import BitAssembler
from cdma.hdl.zvcplus.config import Config

CONFIG = Config("fp32")
SIZE = CONFIG.beat_bits


def around(bits: int, at: int) -> int:
    """Bits from place ``at`` of a row on, cyclically."""
    moved = bits << at
    return (moved | moved >> SIZE) & (1 << SIZE) - 1


def landing_of(place: dict) -> dict:
    low, high = place["start"] % 16, place["start"] // 16
    return {
        "place": place,
        "below": sum(1 << h for h in range(16) if h > high),
        "here": 1 << high,
        "from_low": sum(1 << bit for bit in range(16) if bit >= low),
    }


def items_and_rows(rng, number: int, config: Config):
    """Inputs of the assembler, and the rows that they make."""
    items, rows = [], []
    stream = at = words = 0  # bits of the packet, and their number
    for _ in range(number):
        last = rng.random() < 0.25
        is_after = last and rng.random() < 0.6
        bits = (
            int(rng.integers(config.control_bits + 1))
            if is_after or (not last and rng.random() < 0.4)
            else 0
        )
        control = int.from_bytes(rng.bytes(32), "little") & (1 << bits) - 1
        total = int(rng.choice([0, 256, SIZE - at % SIZE, rng.integers(257)]))
        total = min(total, 562 - at % SIZE - bits)
        payload = int.from_bytes(rng.bytes(32), "little") & (1 << total) - 1
        before, first_row = at % SIZE, at // SIZE
        start = at + (0 if is_after else bits)
        if not is_after:
            stream |= control << at
        stream |= payload << start
        at, words = start + total, words + 3
        ends = max(1, -(-at // SIZE)) if last else at // SIZE
        kept = -(-((at - 1) % SIZE + 1) // 8) if at else 0
        place = {
            "at": 0 if is_after else before,
            "control_row": ends - first_row if is_after else 0,
            "start": start % SIZE,
            "start_row": start // SIZE - first_row,
            "rows": ends - first_row,
            "is_open": not last and at > 0 and at % SIZE == 0,
            "last": last,
            "bytes": kept,
            "words": 3,
        }
        items.append(
            {
                "landing": landing_of(place),
                "words": words,
                "payload": around(payload, start % SIZE),
                "control": around(control, place["at"]),
            }
        )
        if last:
            for row in range(ends):
                part = stream >> SIZE * row & (1 << SIZE) - 1
                is_last = row == ends - 1
                rows.append((part, is_last, kept if is_last else None, words if is_last else None))
            stream, at, words = (control, bits, 0) if is_after else (0, 0, 0)
    return items, rows


@pytest.mark.slow
@pytest.mark.parametrize("type_", ["fp32", "fp16", "int8"])
@pytest.mark.parametrize(("valid", "ready"), [(1, 1), (0.5, 1), (0.8, 0.5)])
def test_rows_are_those_of_the_stream(simulate, rng, type_, valid, ready):
    assembler = BitAssembler(Config(type_))
    items, rows = items_and_rows(rng, 250, Config(type_))

    async def bench(ctx):
        found, taken, cycles, is_offered = [], 0, 0, False
        while len(found) < len(rows):
            is_offered = taken < len(items) and (is_offered or rng.random() < valid)
            ctx.set(assembler.valid, is_offered)
            if is_offered:
                for name, value in items[taken].items():
                    ctx.set(getattr(assembler, name), value)
            is_ready = rng.random() < ready
            ctx.set(assembler.o.ready, is_ready)
            if ctx.get(assembler.o.valid) and is_ready:
                row = assembler.o.payload
                last = ctx.get(row.last)
                rest = (ctx.get(row.bytes), ctx.get(row.words)) if last else (None, None)
                found.append((ctx.get(row.bits), bool(last), *rest))
            if is_offered and ctx.get(assembler.ready):
                taken, is_offered = taken + 1, False
            cycles += 1
            assert cycles < 2000
            await ctx.tick()
        return found, cycles

    found, cycles = simulate(assembler, bench)
    assert found == rows
    if valid == ready == 1:
        assert cycles <= max(len(items), len(rows)) + len(rows) // 4
