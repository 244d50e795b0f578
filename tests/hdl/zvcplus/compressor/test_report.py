"""The status of the compressor."""

from cdma.hdl.zvcplus.compressor.report import StreamReport
from cdma.hdl.zvcplus.config import Config


def test_bytes_and_words_of_packets(play):
    rows, at, expected = [], [], []
    for full_rows, kept, words in [(0, 0, 0), (0, 1, 1), (0, 32, 8), (3, 31, 40), (300, 7, 9999)]:
        for row in range(full_rows + 1):
            last = row == full_rows
            record = {"bits": 0, "last": last, "bytes": kept if last else 5, "words": words}
            rows += [{"enable": 0}, {"enable": 1, "row": record}]
        at.append(len(rows))
        expected.append({"words": words, "bytes": 32 * full_rows + kept})
    seen = play(StreamReport(Config("fp32")), [*rows, {"enable": 0}], ["status"])
    assert [seen["status"][cycle] for cycle in at] == expected
