"""The items of one type are the stream of its packets, and come in its turns only."""

import pytest

from cdma.golden import zvcplus
from cdma.hdl.zvcplus.config import NAMED
from cdma.hdl.zvcplus.mixed.compressor.front import TypeFront
from cdma.hdl.zvcplus.mixed.compressor.records import ByteLanes
from cdma.sim import stimulus
from cdma.zvcplus import BEAT_BYTES

QUICK = ("zvcplus-bf16-left",)
SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in NAMED if name not in QUICK]


def beats_of(words):
    """Beats of a packet."""
    content = words.tobytes()
    beats = [content[at : at + BEAT_BYTES] for at in range(0, len(content), BEAT_BYTES)] or [b""]
    return [
        {"bytes": beat, "keep": (1 << len(beat)) - 1, "last": number + 1 == len(beats)}
        for number, beat in enumerate(beats)
    ]


def lanes_of(content: bytes, lanes: int) -> list[int]:
    size = BEAT_BYTES // lanes
    filled = content.ljust(BEAT_BYTES, b"\x5a")  # bytes that are not kept are anything
    return [int.from_bytes(filled[at : at + size], "little") for at in range(0, BEAT_BYTES, size)]


class Stream:
    """Packets of bits, as items append to them."""

    def __init__(self, items):
        self.packets, self.bits, self.size = [], 0, 0
        for item in items:
            control = (item["control"], item["control_bits"])
            before, behind = not item["is_after"], item.get("is_behind", 0)
            parts = [(item["payload"], item["total"])]
            if before:
                parts.insert(1 if behind else 0, control)
            for part in parts:
                self.append(*part)
            if item["last"]:
                self.packets.append(self.bits.to_bytes(-(-self.size // 8), "little"))
                self.bits = self.size = 0
            if not before:
                self.append(*control)

    def append(self, bits, size):
        self.bits |= (bits & ((1 << size) - 1)) << self.size
        self.size += size


def payload_of(fields, behind):
    """Bits of the bytes of an item, each at its place; those of a word go on behind its field."""
    bits = 0
    for lane, place in enumerate(behind):
        bits |= (fields >> 8 * lane & 255) << place
    return bits


@pytest.mark.parametrize("name", [*QUICK, *SLOW])
@pytest.mark.parametrize("share", [1, 0.6])
def test_items_make_the_stream(simulate, rng, name, share):
    config = NAMED[name]
    size = ByteLanes(config.front_bits, config.has_late_controls)
    front = TypeFront(config, size)
    fmt = config.format
    sizes = [int(fmt.block_words * blocks) for blocks in (2.3, 0.01, 1, 0, 3.5, 0.4, 0.3)]
    packets = [stimulus.random_words(count, rng.random(), fmt, rng) for count in sizes]
    expected = [zvcplus.compress(packet, fmt).tobytes() for packet in packets]
    beats = [beat for packet in packets for beat in beats_of(packet)]
    latency = TypeFront.control_latency(config)

    async def bench(ctx):
        items, entered, line, lasts = [], 0, [], 0
        flight = []  # items whose fields or control are to come
        for _ in range(4000):
            if lasts == len(packets):
                break
            turn, enable = rng.random() < share, rng.random() < share
            beat = beats[entered] if entered < len(beats) else None
            ctx.set(front.i.valid, beat is not None)
            if beat is not None:
                ctx.set(front.i.payload.words, lanes_of(beat["bytes"], config.lanes))
                ctx.set(front.i.payload.keep, beat["keep"])
                ctx.set(front.i.payload.last, beat["last"])
            ctx.set(front.has_room, len(line) < 40)
            ctx.set(front.turn, turn)
            ctx.set(front.may_follow, rng.random() < share)
            ctx.set(front.enable, enable)
            ctx.set(front.has_beat, bool(line))
            ctx.set(front.words, int.from_bytes(line[0], "little") if line else 0)
            item = ctx.get(front.item)
            is_here = {name: int(item[name]) for name in ("valid", "last", "total", "words")}
            if not turn:
                assert not any(is_here.values())
                assert not ctx.get(front.has_payload)
            # What comes of earlier items; all move together.
            for each in flight:
                if each["age"] == 2:
                    each["payload"] = payload_of(ctx.get(front.fields), each["behind"])
                if each["age"] == latency:
                    each["control"] = ctx.get(front.control)
            if ctx.get(front.enters) and len(line) < 40:
                keep = ctx.get(front.keep)
                assert keep == beat["keep"] or not beat["last"]
                line.append(beat["bytes"].ljust(BEAT_BYTES, b"\0"))
                entered += 1
            if enable:
                for each in flight:
                    each["age"] += 1
                flight = [each for each in flight if each["age"] <= latency]
                if is_here["valid"]:
                    names = [name for name, _ in item.shape() if name not in ("valid", "behind")]
                    found = {name: int(item[name]) for name in names}
                    found |= {"age": 1, "behind": [int(place) for place in item.behind]}
                    items.append(found)
                    flight.append(found)
                    lasts += found["last"]
                if ctx.get(front.has_payload):
                    line.pop(0)
            await ctx.tick()
        # The last control and fields.
        for _ in range(latency):
            ctx.set(front.turn, 0)
            ctx.set(front.enable, 1)
            for each in flight:
                if each["age"] == 2:
                    each["payload"] = payload_of(ctx.get(front.fields), each["behind"])
                if each["age"] == latency:
                    each["control"] = ctx.get(front.control)
                each["age"] += 1
            await ctx.tick()
        return items

    found = Stream(simulate(front, bench)).packets
    assert found == expected
