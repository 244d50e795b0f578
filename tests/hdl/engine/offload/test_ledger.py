"""Accounts of a stream: entries, tags, errors."""

import pytest

from cdma.engine_codes import LINK, Op, Status
from cdma.hdl.engine.common.errors import ReadError
from cdma.hdl.engine.offload.ledger import Ledger

SIZES = [7, 64, 1, 20, 3]  # words of the stripes
OFFSETS = [4 * sum(SIZES[:k]) for k in range(len(SIZES))]


@pytest.fixture
def account(simulate, rng, small, job, rows_of, noise):
    """Function that passes stripes through the ledger; gives what came, by the name of the port."""

    def run(status=(), limit=1 << 20, slow=True, **fields):
        config = small()
        dut, found = Ledger(config), {"tags": [], "index_tags": [], "entry": [], "o_error": []}
        rows, left = [], limit
        for number, size in enumerate(SIZES):
            state = {"raw": number == 1, "exceeds": 0, "error": dict(status).get(number, 0)}
            for row in rows_of(noise(size, 1.0, seed=number), config):
                kept = min(left, row["count"])
                left -= kept
                cut = kept < row["count"]
                rows.append(
                    {**row, "kept": kept, "live": 1, "cut": cut, "channel": 0, "status": state}
                )
        fields = job(**{"op": int(Op.OFFLOAD), "index": 1, "limit": 4 * limit, **fields})

        async def bench(ctx):
            cycle, wait = 0, 0

            async def tick():
                nonlocal cycle, wait
                for name in ("tags", "index_tags"):
                    if ctx.get(getattr(dut, name)):
                        tag = dut.tag
                        found[name].append(
                            (ctx.get(tag.job), ctx.get(tag.number), ctx.get(tag.offset))
                        )
                if ctx.get(dut.entry_valid):
                    found["entry"].append((ctx.get(dut.entry.bytes), ctx.get(dut.entry.raw)))
                wait = wait + 1 if ctx.get(dut.o_error.valid) else 0
                ctx.set(dut.o_error.ready, wait > 3)
                if wait > 3:
                    report = dut.o_error.payload
                    names = ("status", "where", "channel", "halts")
                    found["o_error"].append(
                        {name: ctx.get(report[name]) for name in names}
                        | {
                            "number": ctx.get(report.tag.number),
                            "offset": ctx.get(report.tag.offset),
                        }
                    )
                await ctx.tick()
                cycle += 1

            ctx.set(dut.job, fields)
            ctx.set(dut.number, 3)
            ctx.set(dut.where[0], 0x123)
            ctx.set(dut.start, 1)
            await tick()
            ctx.set(dut.start, 0)
            opened, words = [], 0
            for row in rows:
                ctx.set(dut.valid, 0)
                ctx.set(dut.opens, 0)
                while ctx.get(dut.hold) or (slow and rng.random() < 0.3):
                    await tick()
                ctx.set(dut.i, row)
                ctx.set(dut.valid, 1)
                # A burst begins with every eighth word.
                opens = words // 8 != (words + row["count"]) // 8
                ctx.set(dut.opens, opens)
                opened += [words] if opens else []
                words += row["count"]
                await tick()
            ctx.set(dut.valid, 0)
            ctx.set(dut.opens, 0)
            for _ in range(40):
                await tick()
            assert ctx.get(dut.idle)
            found["sums"] = [ctx.get(getattr(dut, n)) for n in ("offset", "stripes", "raw_stripes")]
            found["opened"] = opened

        simulate(dut, bench)
        return found

    return run


@pytest.mark.parametrize("slow", [False, True], ids=["flowing", "with gaps"])
def test_entries_tags_and_sums(account, slow):
    found = account(slow=slow, index_address=0x1000 - 16)
    assert found["entry"] == [(4 * size, number == 1) for number, size in enumerate(SIZES)]
    assert found["sums"] == [4 * sum(SIZES), len(SIZES), 1]
    numbers = [max(n for n, at in enumerate(OFFSETS) if at <= 4 * word) for word in found["opened"]]
    assert found["tags"] == [(3, number, OFFSETS[number]) for number in numbers]
    # The index begins in the middle of a burst: its third entry begins the next one.
    assert found["index_tags"] == [(3, number, OFFSETS[number]) for number in (0, 2)]
    assert not found["o_error"]


@pytest.mark.parametrize("words", [0, 1, 7, 8, 40, sum(SIZES) - 1, sum(SIZES)])
def test_the_first_stripe_that_does_not_fit(account, words):
    found = account(limit=words)
    assert found["sums"] == [4 * sum(SIZES), len(SIZES), 1]
    assert len(found["entry"]) == len(SIZES)
    number = next((k for k in range(len(SIZES)) if sum(SIZES[: k + 1]) > words), None)
    assert found["o_error"] == (
        []
        if number is None
        else [
            {
                "status": Status.OVERFLOW,
                "where": 4 * words,
                "channel": LINK,
                "halts": 0,
                "number": number,
                "offset": OFFSETS[number],
            }
        ]
    )


def test_measure_never_overflows(account):
    found = account(op=int(Op.MEASURE), limit=0)
    assert not found["o_error"]
    assert found["sums"][0] == 4 * sum(SIZES)


@pytest.mark.parametrize("number", range(len(SIZES)))
def test_errors_of_the_device(account, number):
    found = account(status={number: ReadError.DECERR}.items())
    assert found["o_error"] == [
        {
            "status": Status.DEVICE_DECERR,
            "where": 0x123,
            "channel": 0,
            "halts": 1,
            "number": number,
            "offset": OFFSETS[number],
        }
    ]
    assert found["sums"] == [4 * sum(SIZES), len(SIZES), 1]
    assert len(found["entry"]) == len(SIZES)


def test_no_index(account):
    found = account(index=0)
    assert not found["entry"]
    assert not found["index_tags"]
