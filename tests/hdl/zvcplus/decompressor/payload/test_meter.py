"""The length of a payload of int8 with repeats, against a sum over its words."""

from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.payload.meter import PayloadMeter

CONFIG = Config("int8", "left")
GROUPS, WORDS = 8, 16


def test_another_length_is_wrong(play, rng):
    """Payloads every fourth cycle, and later ones. Bits behind the last word are anything."""
    rows, expected = [], {}
    for number in range(200):
        share = [0, 0.3, 0.9, 1][number % 4]
        marks = rng.random((GROUPS, WORDS)) < share
        words = marks.sum(1).tolist()
        widths = rng.integers(9, size=GROUPS).tolist()
        repeated = rng.random(int(marks.sum())) < rng.choice([0, 0.5, 0.9, 1])
        owners = [width for width, count in zip(widths, words, strict=True) for _ in range(count)]
        length = sum(
            1 if again else 1 + width for width, again in zip(owners, repeated, strict=True)
        )
        wrong = int(rng.choice([0, 0, 1, -1, 16, 512]))
        given = (length + wrong) % 1024
        uses = bool(rng.random() < 0.8)
        bits = int.from_bytes(rng.bytes(16), "little") >> len(repeated) << len(repeated)
        bits |= sum(int(again) << rank for rank, again in enumerate(repeated))
        known = {"words": words, "widths": widths, "length": given, "uses": uses}
        loaded = len(rows)
        rows += [{**known, "load": 1}, {"load": 0, "repeated": bits}, {"repeated": 0}]
        rows += [{} for _ in range(int(rng.choice([1, 1, 2, 5])))]
        expected[loaded + PayloadMeter.LATENCY] = int(uses and length != given)
    rows += [{}] * PayloadMeter.LATENCY
    seen = play(PayloadMeter(CONFIG), rows, ["is_wrong"])["is_wrong"]
    for cycle, is_wrong in expected.items():
        assert seen[cycle : cycle + 4] == [is_wrong] * len(seen[cycle : cycle + 4]), cycle
    assert {0, 1} == set(expected.values())
