"""Items of all types become the rows of their packets."""

import numpy as np
import pytest

from cdma.hdl.zvcplus.mixed.compressor.records import ByteLanes
from cdma.hdl.zvcplus.mixed.compressor.rows import ItemRows

CONTROL_LATENCY = 4
FRONT_BITS = 166


def random_item(rng, is_late: bool) -> dict:
    """Words of one, two or four bytes, each with a field of some bits, and a control or none."""
    word_bytes = int(rng.choice([1, 2, 4]))
    lanes = 32 // word_bytes
    widths = rng.integers(8 * word_bytes + 1, size=lanes) * (rng.random(lanes) < rng.random())
    values = [int(rng.integers(1 << int(width))) for width in widths]
    places = [int(place) for place in np.cumsum([0, *widths])]
    fields = sum(value << 8 * word_bytes * lane for lane, value in enumerate(values))
    size = int(rng.integers(FRONT_BITS + 1)) if rng.random() < 0.5 else 0
    control = int.from_bytes(rng.bytes(21), "little") & ((1 << size) - 1)
    return {
        "payload": sum(value << place for value, place in zip(values, places, strict=False)),
        "fields": fields,
        "control": control,
        "control_bits": size,
        "total": places[-1],
        "behind": [
            (places[lane // word_bytes] + 8 * (lane % word_bytes)) % 256 for lane in range(32)
        ],
        "words": int(rng.integers(33)),
        "is_behind": is_late and bool(rng.random() < 0.5),
        "is_after": False,
        "last": False,
    }


def items_of(rng, count, is_late):
    """Items, and the packets that they make: bytes and words of each."""
    items, packets, bits, size, words = [], [], 0, 0, 0

    def append(value, length):
        nonlocal bits, size
        bits |= value << size
        size += length

    for number in range(count):
        item = random_item(rng, is_late)
        item["last"] = number + 1 == count or rng.random() < 0.2
        if item["last"] and not item["is_behind"] and number + 1 < count:
            item["is_after"] = bool(rng.random() < 0.5)
        if item["last"] and item["is_behind"]:
            item["is_behind"] = False
        parts = [(item["payload"], item["total"])]
        control = (item["control"], item["control_bits"])
        if not item["is_after"]:
            parts.insert(1 if item["is_behind"] else 0, control)
        for part in parts:
            append(*part)
        words += item["words"]
        if item["last"]:
            packets.append((bits.to_bytes(-(-size // 8), "little"), words))
            bits = size = words = 0
        if item["is_after"]:
            append(*control)
        items.append(item)
    return items, packets


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("share", [1, pytest.param(0.5, marks=pytest.mark.slow)])
def test_rows_are_those_of_the_packets(simulate, rng, is_late, share):
    size = ByteLanes(FRONT_BITS, is_late)
    rows = ItemRows(size, CONTROL_LATENCY)
    items, expected = items_of(rng, 60, is_late)

    async def bench(ctx):
        found, packet, flight, sent = [], b"", [], 0
        for _ in range(3000):
            if len(found) == len(expected):
                break
            is_offered = sent < len(items) and rng.random() < share
            item = items[sent] if is_offered else {}
            ctx.set(rows.item.valid, is_offered)
            for name, _ in rows.item.shape():
                if name != "valid":
                    ctx.set(rows.item[name], item.get(name, [0] * 32 if name == "behind" else 0))
            ctx.set(rows.fields, sum(each["fields"] for age, each in flight if age == 2))
            late = (each["control"] for age, each in flight if age == CONTROL_LATENCY)
            ctx.set(rows.control, sum(late))
            ready = rng.random() < share
            ctx.set(rows.o.ready, ready)
            enable = ctx.get(rows.enable)
            if ctx.get(rows.o.valid) and ready:
                row = ctx.get(rows.o.payload)
                kept = int(row.bytes) if row.last else 32
                packet += int(row.bits).to_bytes(32, "little")[:kept]
                assert not row.last or not int(row.bits) >> 8 * kept
                if row.last:
                    found.append((packet, int(row.words)))
                    packet = b""
            await ctx.tick()
            if enable:
                flight = [(age + 1, each) for age, each in flight if age < CONTROL_LATENCY]
                if is_offered:
                    flight.append((1, item))
                    sent += 1
        return found

    assert simulate(rows, bench) == expected


@pytest.mark.parametrize("is_late", [False, True])
def test_latency(simulate, is_late):
    """From an item that ends a packet to its row."""
    size = ByteLanes(FRONT_BITS, is_late)
    rows = ItemRows(size, CONTROL_LATENCY)

    async def bench(ctx):
        ctx.set(rows.o.ready, 1)
        ctx.set(rows.item.valid, 1)
        ctx.set(rows.item.last, 1)
        cycles = 0
        while not ctx.get(rows.o.valid):
            await ctx.tick()
            ctx.set(rows.item.valid, 0)
            cycles += 1
        return cycles

    assert simulate(rows, bench) == ItemRows.latency(size, CONTROL_LATENCY)
