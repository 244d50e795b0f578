"""Places of controls and words, against sums."""

import pytest

from cdma.hdl.zvcplus.compressor.place import BitPlacer
from cdma.hdl.zvcplus.config import Config


class Stream:
    """Rows of packets: where bits are appended, and how many rows lie behind."""

    def __init__(self):
        self.at = 0  # bits from the start of the row that was being filled before the item
        self.is_fresh = True

    def append(self, bits: int) -> int:
        first, self.at = self.at, self.at + bits
        self.is_fresh = self.is_fresh and not bits
        return first

    def end(self) -> int:
        """End the packet; bytes of its last row."""
        used = 0 if self.is_fresh else (self.at - 1) % 256 + 1
        self.at = max(-(-self.at // 256), int(self.is_fresh)) * 256
        self.is_fresh = True
        return -(-used // 8)


def place_of(stream: Stream, item: dict) -> dict:
    if not item["is_after"]:
        at = stream.append(item["control_bits"])
    start = stream.append(item["total"])
    place = {"start": start % 256, "start_row": start // 256, "last": item["last"]}
    if item["last"]:
        place["bytes"] = stream.end()
    place["rows"] = stream.at // 256
    place["is_open"] = int(not item["last"] and stream.at % 256 == 0 and not stream.is_fresh)
    if item["is_after"]:
        at = stream.append(item["control_bits"])
    stream.at -= 256 * place["rows"]
    return place | {"at": at % 256, "control_row": at // 256, "words": item["words"]}


@pytest.mark.parametrize("type_", ["fp32", pytest.param("fp16", marks=pytest.mark.slow)])
def test_items_follow_each_other(play, rng, type_):
    config, stream, rows, expected, starts = Config(type_), Stream(), [], [], []
    for number in range(150):
        last = int(rng.random() < 0.2)
        is_after = int(last and rng.random() < 0.5)
        has_control = is_after or (not last and rng.random() < 0.4)
        total = int(rng.choice([0, 32, 256, rng.integers(257)]))
        if not last and stream.at and number % 5 == 0:
            total = 256 - stream.at  # fills the row
            has_control = False
        item = {
            "control_bits": int(rng.integers(config.control_bits + 1)) * has_control,
            "is_after": is_after,
            "last": last,
            "total": total,
            "words": int(rng.integers(config.lanes + 1)),
        }
        behind = rng.integers(256, size=config.lanes).tolist()
        rows.append({"enable": 1, "valid": 1, "behind": behind, **item})
        rows += [{"enable": 1, "valid": 0}] * int(rng.integers(2)) + [{"enable": 0, "valid": 1}]
        expected.append(place_of(stream, item))
        starts.append([(expected[-1]["start"] + each) % 256 for each in behind])
    rows += [{"enable": 1, "valid": 0}] * 2
    seen = play(BitPlacer(config), rows, ["enable", "o_valid", "place", "starts"])
    seen = zip(*(seen[name] for name in ("enable", "o_valid", "place", "starts")), strict=True)
    found = [(place, each) for enable, valid, place, each in seen if enable and valid]
    for place, _ in found:
        if not place["last"]:
            del place["bytes"]
    assert found == list(zip(expected, starts, strict=True))
    assert {place["rows"] for place in expected} == {0, 1, 2}
    assert {place["control_row"] for place in expected} == {0, 1, 2}
