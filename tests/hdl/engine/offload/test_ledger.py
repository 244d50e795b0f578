"""Accounts of a stream: entries, the limit, errors."""

import pytest

from cdma.engine_codes import LINK, Op, Status
from cdma.hdl.engine.offload.ledger import Ledger

SIZES = [7, 64, 1, 20]  # words of the stripes


@pytest.fixture
def account(exchange, begin, small, job, rows_of, noise):
    """Function that passes stripes through the ledger; gives what passed and its state."""

    def run(errors=0, starts=4, crc=0, status=(), **fields):
        config = small()
        dut = Ledger(config)
        items = []
        for number, size in enumerate(SIZES):
            state = {"raw": number == 1, "exceeds": 0, "error": dict(status).get(number, 0)}
            items += [
                {"row": row, "channel": 0, "status": state}
                for row in rows_of(noise(size, 1.0, seed=number), config)
            ]
        state = {}

        def watch(ctx, cycle, passed):
            state.update(offset=ctx.get(dut.offset), raw_stripes=ctx.get(dut.raw_stripes))
            ctx.set(dut.where[0], 0x123)

        receives = {"o": len(items), "o_start": starts, "o_error": errors}
        receives |= {"o_entry": len(SIZES), "o_crc": len(items) if crc else 0}
        fields = job(**{"op": int(Op.OFFLOAD), "index": 1, "crc": crc, **fields})
        each = begin(dut, watch, job=fields)
        stalls = {"i": "paused:3", "o_entry": "alternating", "o": "bernoulli:0.7"}
        return exchange(dut, {"i": items}, receives, stalls=stalls, each=each), state

    return run


@pytest.mark.parametrize("crc", [0, 1])
def test_entries_and_sums(account, crc):
    passed, state = account(crc=crc)
    entries = passed["o_entry"].payloads
    assert [entry["bytes"] for entry in entries] == [4 * size for size in SIZES]
    assert [entry["raw"] for entry in entries] == [0, 1, 0, 0]
    offsets = [4 * sum(SIZES[:k]) for k in range(len(SIZES))]
    assert [entry["tag"]["offset"] for entry in entries] == offsets
    assert [tag["offset"] for tag in passed["o_start"].payloads] == offsets
    assert state == {"offset": 4 * sum(SIZES), "raw_stripes": 1}


@pytest.mark.parametrize("words", [0, 1, 7, 8, 40, sum(SIZES) - 1, sum(SIZES)])
def test_the_limit(account, words):
    starts = sum(sum(SIZES[:k]) < words for k in range(len(SIZES)))
    is_short = words < sum(SIZES)
    overflows = sum(sum(SIZES[: k + 1]) > words for k in range(len(SIZES)))
    passed, state = account(errors=overflows, starts=starts, limit=4 * words)
    assert sum(group["count"] for group in passed["o"].payloads) == words
    assert state["offset"] == 4 * sum(SIZES)
    if is_short:
        report = passed["o_error"].payloads[0]
        assert report["status"] == Status.OVERFLOW
        assert report["where"] == 4 * words
        assert report["channel"] == LINK
        assert not report["halts"]
        number = next(k for k in range(len(SIZES)) if sum(SIZES[: k + 1]) > words)
        assert report["tag"]["number"] == number


def test_measure_lets_nothing_pass(account):
    passed, state = account(starts=0, op=int(Op.MEASURE), limit=0)
    assert not any(group["count"] for group in passed["o"].payloads)
    assert state["offset"] == 4 * sum(SIZES)


def test_errors_of_the_device(account):
    passed, _ = account(errors=1, status={2: int(Status.DEVICE_DECERR)}.items())
    (report,) = passed["o_error"].payloads
    assert report["status"] == Status.DEVICE_DECERR
    assert report["tag"] == {"job": 0, "number": 2, "offset": 4 * sum(SIZES[:2])}
    assert report["where"] == 0x123
    assert report["halts"]
