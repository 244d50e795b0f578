"""The way out: beats, what they keep, and when a status follows."""

import pytest
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.zvc.beat import Beat, CompressorStatus, Row
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.output import PacketOutput

CONFIG = Config.of(4, 16)


class CountedOutput(wiring.Component):
    """The way out, and a status that counts the packets that left: it changes with each beat."""

    def __init__(self, config=CONFIG):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(Row(config))),
                "o": Out(stream.Signature(Beat(config))),
                "o_status": Out(stream.Signature(CompressorStatus())),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.output = output = PacketOutput(self.config, CompressorStatus())
        for name in ("i", "o", "o_status"):
            wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(output, name))
        with m.If(output.i.valid & output.i.ready):
            m.d.sync += output.i_status.bytes.eq(output.i_status.bytes + 1)
            m.d.sync += output.i_status.words.eq(output.i_status.words + output.i.payload.last)
        return m


def row(count, last=True, config=CONFIG):
    top = (1 << config.format.word_bits) - 1
    words = [top - lane for lane in range(config.lanes)]
    return {"words": words, "keep": (1 << count) - 1, "last": last}


def packets_of(rng, number):
    """Rows of packets of 1 to 4 beats, with the words that each beat keeps."""
    rows, kept = [], []
    for _ in range(number):
        for left in reversed(range(int(rng.integers(1, 5)))):
            kept.append(CONFIG.lanes if left else int(rng.integers(CONFIG.lanes + 1)))
            rows.append(row(kept[-1], last=left == 0))
    return rows, kept


def statuses_of(rows):
    """Packets and beats that left when each packet's last beat had."""
    lasts = [index for index, item in enumerate(rows) if item["last"]]
    return [{"words": n, "bytes": last + 1} for n, last in enumerate(lasts, 1)]


def expected_beat(row, kept, config=CONFIG):
    words = [word if lane < kept else 0xBAD for lane, word in enumerate(row["words"])]
    keep = (1 << kept * config.format.word_bytes) - 1
    return {"words": words[:kept], "keep": keep, "last": int(row["last"])}


def kept_of(beat, config=CONFIG):
    """The beat without the words that it does not keep, which are as they came."""
    kept = beat["keep"].bit_length() // config.format.word_bytes
    return beat | {"words": beat["words"][:kept]}


@pytest.mark.parametrize("config", [CONFIG, Config.of(2, 8, 32), Config.of(32, 8)])
def test_bytes_of_kept_words_are_kept(exchange, config):
    counts = list(range(config.lanes + 1))
    rows = [row(count, config=config) for count in counts]
    passed = exchange(CountedOutput(config), {"i": rows}, {"o": len(rows), "o_status": len(rows)})
    assert [kept_of(beat, config) for beat in passed["o"].payloads] == [
        expected_beat(item, count, config) for item, count in zip(rows, counts, strict=True)
    ]


def test_beats_pass_in_the_cycle_in_which_they_come(exchange):
    """Packets of one beat with a status each lose no cycle; a status follows two cycles later."""
    rows = [row(3) for _ in range(40)]
    passed = exchange(CountedOutput(), {"i": rows}, {"o": 40, "o_status": 40})
    assert passed["i"].cycles == passed["o"].cycles == list(range(40))
    assert passed["o_status"].cycles == list(range(2, 42))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("stalls", ["bernoulli:0.5", "alternating", "bursts:5,9"])
def test_a_status_comes_after_its_packets_last_beat(exchange, rng, stalls, seed):
    """Taken over before it changes with the next beat, whatever stalls."""
    rows, kept = packets_of(rng, 30)
    passed = exchange(
        CountedOutput(),
        {"i": rows},
        {"o": len(rows), "o_status": 30},
        stalls={"i": "bernoulli:0.2", "o": stalls, "o_status": stalls},
        seed=seed,
    )
    beats = passed["o"].payloads
    expected = [expected_beat(*item) for item in zip(rows, kept, strict=True)]
    assert [kept_of(beat) for beat in beats] == expected
    assert passed["o_status"].payloads == statuses_of(rows)
    lasts = [c for c, beat in zip(passed["o"].cycles, beats, strict=True) if beat["last"]]
    for after, cycle in zip(passed["o_status"].cycles, lasts, strict=True):
        assert after > cycle


def test_a_status_waits_for_a_last_beat_that_is_not_taken(exchange):
    stalls = {"o": "paused:25"}
    passed = exchange(CountedOutput(), {"i": [row(1)]}, {"o": 1, "o_status": 1}, stalls=stalls)
    assert passed["o"].cycles == [25]
    assert passed["o_status"].cycles == [27]


def test_two_statuses_wait_then_beats_are_held(exchange):
    """A third is due, and no other beat leaves before there is room for it."""
    rows = [
        row(1 if last else CONFIG.lanes, last)
        for last in (True, False, True, False, True, False, False, True, True)
    ]
    owed = {"o": len(rows), "o_status": 5}
    passed = exchange(CountedOutput(), {"i": rows}, owed, stalls={"o_status": "paused:60"})
    assert passed["o"].cycles[:5] == list(range(5))
    assert passed["o"].cycles[5:] == [61, 62, 63, 64]
    assert passed["o_status"].payloads == statuses_of(rows)


def test_a_beat_that_is_offered_stays_though_statuses_are_not_taken(exchange):
    """``exchange`` fails when valid falls or a payload changes before it is taken."""
    rows = [row(1) for _ in range(12)]
    stalls = {"o": "bernoulli:0.6", "o_status": "always-but-one:7"}
    for seed in range(4):
        passed = exchange(
            CountedOutput(), {"i": rows}, {"o": 12, "o_status": 12}, stalls=stalls, seed=seed
        )
        assert passed["o_status"].payloads == statuses_of(rows)
