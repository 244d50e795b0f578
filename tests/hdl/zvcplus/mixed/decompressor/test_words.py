"""Words of beats of all types, against those of units of one type."""

import pytest
from amaranth.hdl import Signal
from amaranth.lib import data

from cdma.hdl.zvcplus.decompressor.layouts import BeatTags
from cdma.hdl.zvcplus.decompressor.payload.copy import LeftCopy
from cdma.hdl.zvcplus.decompressor.payload.words import WordBuilder
from cdma.hdl.zvcplus.mixed.config import NAMED
from cdma.hdl.zvcplus.mixed.decompressor.records import ByteRows, TypedTags
from cdma.hdl.zvcplus.mixed.decompressor.words import TypedWords

ALL = [NAMED["zvcplus-all-left"], NAMED["zvcplus-fp32+bf16"]]


def random_beat(part, rng):
    """Tags and fields of a beat of one type."""
    word, lanes = part.word, part.lanes
    is_raw = bool(rng.random() < 0.2)
    words = int(rng.integers(lanes + 1)) if rng.random() < 0.3 else lanes
    code = {"raw": is_raw}
    tags = {"mask": int.from_bytes(rng.bytes(4), "little") & ((1 << lanes) - 1)}
    if word.is_float:
        k = 7 if is_raw else int(rng.choice([*range(min(word.exponent, 6) + 1), 7]))
        base = 0 if k == 7 else int(rng.integers(1 << word.exponent))
        code |= {"wide": is_raw or bool(rng.random() < 0.5), "k": k, "base": base}
    else:
        widths = rng.integers(9, size=part.beat_groups)
        tags["widths"] = [8] * part.beat_groups if is_raw else widths.tolist()
    if part.has_repeats:
        tags["repeated"] = tags["mask"] & int.from_bytes(rng.bytes(4), "little")
        tags["failed"] = bool(rng.random() < 0.1)
    flags = {name: bool(rng.random() < 0.3) for name in ("given", "last", "final", "parity")}
    tags |= {"code": code, "words": words, **flags}
    return tags, int.from_bytes(rng.bytes(32), "little")


def bits_of(layout, value) -> int:
    return int(layout.const(value).as_bits())


def value_of(content: int, size: int, bits: int) -> list[int]:
    return [content >> at & ((1 << bits) - 1) for at in range(0, size, bits)]


def alone(play, part, beats):
    """Words of the beats of a type, and whether a raw word is past the packet's end."""
    size, bits = part.beat_bits, part.word.bits
    rows = [
        {
            "enable": 1,
            "tags": tags,
            "fields": value_of(fields, size, bits),
            **({"o_tags": beats[number - 1][0]} if number else {}),
        }
        for number, (tags, fields) in enumerate([*beats, beats[-1]])
    ]
    found = play(WordBuilder(part), rows, ["words", "is_past"])
    words, past = found["words"][1:], found["is_past"][1:]
    if part.has_repeats:
        copied = [
            {
                "words": each,
                "repeated": tags["repeated"] & ((1 << tags["words"]) - 1),
                "final": tags["final"],
                "take": 1,
            }
            for each, (tags, _) in zip(words, beats, strict=True)
        ]
        words = play(LeftCopy(part), copied, ["o"])["o"]
    joined = [sum(word << bits * lane for lane, word in enumerate(each)) for each in words]
    return list(zip(joined, past, strict=True))


@pytest.mark.parametrize("config", ALL, ids=lambda config: config.name)
@pytest.mark.parametrize("share", [1, 0.6])
def test_words_of_each_type(simulate, play, rng, config, share):
    size = ByteRows(config)
    parts = list(config.parts.values())
    beats = {part.type: [random_beat(part, rng) for _ in range(40)] for part in parts}
    expected = {part.type: alone(play, part, beats[part.type]) for part in parts}
    order = rng.permutation([number for number in range(len(parts)) for _ in range(40)])
    dut, layout = TypedWords(size), TypedTags(size)

    def tags_of(number, part, tags):
        names = [name for name, _ in BeatTags(part) if name not in (*COMMON, "words")]
        own = bits_of(
            data.StructLayout({n: dict(BeatTags(part))[n].shape for n in names}),
            {name: tags[name] for name in names},
        )
        common = {name: tags[name] for name in COMMON if name in tags}
        words = tags["words"] * (part.word.bits // 8)
        return {"select": 1 << number, "own": own, "words": words, **common}

    async def bench(ctx):
        found, given, at = [], [], dict.fromkeys(range(len(parts)), 0)
        sent = 0
        for _ in range(2000):
            if len(found) == len(order):
                break
            takes = rng.random() < share
            is_offered = sent < len(order) and rng.random() < share
            number = int(order[min(sent, len(order) - 1)])
            tags, fields = beats[parts[number].type][min(at[number], 39)]
            typed = tags_of(number, parts[number], tags)
            ctx.set(dut.i_valid, is_offered)
            ctx.set(dut.tags, typed)
            ctx.set(dut.fields, fields)
            enable = takes or not ctx.get(dut.o_valid)
            ctx.set(dut.enable, enable)
            ctx.set(dut.take, bool(takes and ctx.get(dut.o_valid)))
            if takes and ctx.get(dut.o_valid):
                found.append(
                    (
                        number_of(ctx.get(dut.o_tags.select)),
                        ctx.get(dut.words),
                        ctx.get(dut.is_past),
                    )
                )
            if enable and is_offered:
                at[number] += 1
                given.append(number)
                sent += 1
            await ctx.tick()
        return found

    found = simulate(dut, bench)
    assert layout.size == Signal(layout).shape().size
    assert [number for number, *_ in found] == order.tolist()
    for number, part in enumerate(parts):
        own = [(words, past) for each, words, past in found if each == number]
        assert own == expected[part.type], part.type


COMMON = ("given", "last", "final", "parity", "failed")


def number_of(select: int) -> int:
    assert select
    assert not select & (select - 1)
    return select.bit_length() - 1


def test_latency():
    assert [TypedWords.latency(ByteRows(config)) for config in ALL] == [2, 1]
