"""Stripes joined with their entries, and which entries are impossible."""

import itertools

import pytest

from cdma.engine_codes import Op, Status
from cdma.hdl.engine.prefetch.tasks import TaskMaker

STRIPE = 1024
MASKS = 32  # bytes of masks of a whole stripe


def _stripe(number, size=STRIPE):
    return {"address": 0x10000 + STRIPE * number, "bytes": size, "number": number, "raw": 0}


def _entry(size, **fields):
    plain = {"raw": 0, "has_crc": 0, "reserved": 0, "crc": 0, "resp": 0}
    return {"bytes": size, **plain, **fields}


@pytest.fixture
def join(exchange, begin, small, job):
    """Function that joins stripes and entries of a job.

    Gives the tasks, and the errors: ``number`` and ``offset`` of the end, and the failure.
    """

    def run(stripes, entries, tasks, errors=0, config=None, **fields):
        dut = TaskMaker(config or small())

        def last(ctx, cycle, passed):
            ctx.set(dut.i_last, len(passed["i"].cycles) >= len(stripes) - 1)

        fields = {"op": int(Op.PREFETCH), "index": 1, "limit": 1 << 20, **fields}
        sends = {"i": stripes, "i_entry": entries}
        stalls = {"i": "paused:3", "i_entry": "paused:4", "o": "alternating"}
        passed = exchange(
            dut,
            sends,
            {"o": tasks + 1, "o_failure": errors},
            stalls=stalls,
            each=begin(dut, last, job=job(**fields)),
        )
        *given, end = passed["o"].payloads
        assert end["end"]
        assert not any(task["end"] for task in given)
        assert end["number"] == tasks
        found = {name: end[name] for name in ("number", "offset")}
        return given, [{**found, **failure} for failure in passed["o_failure"].payloads]

    return run


def test_tasks(join):
    stripes = [_stripe(0), _stripe(1), _stripe(2, 40)]
    entries = [_entry(100), _entry(STRIPE, raw=1, has_crc=1, crc=5), _entry(4)]
    tasks, _ = join(stripes, entries, 3, limit=100 + STRIPE + 4, crc=1)
    assert [task["size"] for task in tasks] == [100, STRIPE, 4]
    assert [task["offset"] for task in tasks] == [0, 100, 100 + STRIPE]
    assert [task["raw"] for task in tasks] == [0, 1, 0]
    assert [task["has_crc"] for task in tasks] == [0, 1, 0]
    assert [task["bytes"] for task in tasks] == [STRIPE, STRIPE, 40]
    assert tasks[1]["crc"] == 5


@pytest.mark.parametrize(
    ("entry", "is_good"),
    [
        (_entry(MASKS), True),
        (_entry(MASKS - 4), False),
        (_entry(0), False),
        (_entry(STRIPE + MASKS), True),
        (_entry(STRIPE + MASKS + 4), False),
        (_entry(102), False),
        (_entry(STRIPE, raw=1), True),
        (_entry(STRIPE - 4, raw=1), False),
        (_entry(STRIPE + 4, raw=1), False),
        (_entry(100, reserved=1), False),
        (_entry(100, reserved=32), False),
    ],
)
def test_possible_entries(join, entry, is_good):
    stripes = [_stripe(0), _stripe(1), _stripe(2)]
    entries = [_entry(100), entry, _entry(100)] if is_good else [_entry(100), entry]
    total = 200 + entry["bytes"]
    _, errors = join(stripes, entries, 3 if is_good else 1, not is_good, limit=total)
    if not is_good:
        assert errors[0]["status"] == Status.INDEX
        assert (errors[0]["number"], errors[0]["offset"], errors[0]["where"]) == (1, 100, 100)


def test_a_sum_beyond_the_limit(join):
    _, errors = join([_stripe(0), _stripe(1)], [_entry(100), _entry(104)], 1, 1, limit=200)
    assert (errors[0]["status"], errors[0]["number"]) == (Status.INDEX, 1)


def test_a_sum_below_the_limit(join):
    _, errors = join([_stripe(0), _stripe(1)], [_entry(100), _entry(100)], 2, 1, limit=204)
    assert errors[0]["status"] == Status.INDEX
    assert (errors[0]["number"], errors[0]["offset"], errors[0]["where"]) == (2, 200, 200)


@pytest.mark.parametrize(("bits", "page"), [(48, 0x8000_0000), (60, 0xFFF_0000_8000_0000)])
def test_an_entry_that_cannot_be_read(join, small, bits, page):
    entries = [_entry(100), _entry(100, resp=3)]
    stripes, config = [_stripe(0), _stripe(1), _stripe(2)], small(address_bits=bits)
    _, errors = join(stripes, entries, 1, 1, config, index_address=page - 8)
    assert errors[0]["status"] == Status.HOST_DECERR
    assert errors[0]["number"] == 1
    assert errors[0]["where"] == page, "the address of its beat"


def test_copies_need_no_entries(join):
    tasks, _ = join([_stripe(0), _stripe(1, 8)], [], 2, op=int(Op.COPY_IN), index=0)
    assert [(task["raw"], task["size"]) for task in tasks] == [(1, STRIPE), (1, 8)]


@pytest.mark.parametrize("nbytes", [STRIPE, 40])
def test_a_task_in_five_cycles(exchange, begin, small, job, nbytes):
    """Where the next stripe is there two cycles after the last; seven for partial ones."""
    stripes, entries = [_stripe(k, nbytes) for k in range(20)], [_entry(36)] * 20
    dut, was_taken = TaskMaker(small()), 0

    def pause(ctx, cycle, passed):
        nonlocal was_taken
        taken = len(passed["i"].cycles)
        ctx.set(dut.i_last, taken == 19)
        if taken > was_taken:
            ctx.set(dut.i.valid, 0)
        was_taken = taken

    each = begin(dut, pause, job=job(op=int(Op.PREFETCH), limit=20 * 36))
    sends = {"i": stripes, "i_entry": entries}
    passed = exchange(dut, sends, {"o": 21, "o_failure": 0}, stalls={"i": "paused:3"}, each=each)
    cycles = passed["o"].cycles
    step = 5 if nbytes == STRIPE else 7
    assert [late - early for early, late in itertools.pairwise(cycles)] == [step] * 19 + [6]


@pytest.mark.slow
def test_a_stream_longer_than_32_bits_count(exchange, begin, small, job):
    """Offsets and the sum of 2^32 + 4 bytes: stripes of 64 KiB, all raw."""
    size, config = 65536, small(stripe_bytes=65536)
    stripes = [_stripe(number, size) for number in range(1 << 16)] + [_stripe(1 << 16, 4)]
    entries = [_entry(stripe["bytes"], raw=1) for stripe in stripes]
    dut = TaskMaker(config)

    def last(ctx, cycle, passed):
        ctx.set(dut.i_last, len(passed["i"].cycles) >= len(stripes) - 1)

    fields = job(op=int(Op.PREFETCH), index=1, limit=(1 << 32) + 4)
    passed = exchange(
        dut,
        {"i": stripes, "i_entry": entries},
        {"o": len(stripes) + 1, "o_failure": 0},
        stalls={"i": "paused:3", "i_entry": "paused:4"},
        each=begin(dut, last, job=fields),
        cycles=6 * len(stripes),
    )
    offsets = [task["offset"] for task in passed["o"].payloads]
    assert offsets == [size * number for number in range(len(stripes))] + [(1 << 32) + 4]


@pytest.mark.parametrize(
    ("entry", "is_good"),
    [
        (_entry(1), False),
        (_entry(2), True),
        (_entry(101), True),
        (_entry(1029), True),
        (_entry(1030), False),
        (_entry(STRIPE, raw=1), True),
        (_entry(STRIPE - 1, raw=1), False),
        (_entry((1 << 24) - 1), False),
    ],
)
def test_entries_of_zvcplus(join, small, entry, is_good):
    """8 blocks of 2 to 1,029 bits; streams fill whole words, which the limit counts."""
    config = small(lanes=None, codec="zvcplus")
    stripes = [_stripe(0), _stripe(1), _stripe(2)]
    entries = [_entry(99), entry, _entry(97)] if is_good else [_entry(99), entry]
    place = 100 + (entry["bytes"] + 3 & ~3)
    tasks, errors = join(
        stripes, entries, 3 if is_good else 1, not is_good, config, limit=place + 100
    )
    if is_good:
        assert [task["size"] for task in tasks] == [99, entry["bytes"], 97]
        assert [task["offset"] for task in tasks] == [0, 100, place]
    else:
        assert errors[0]["status"] == Status.INDEX
