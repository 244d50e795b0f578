"""Which of several errors of a prefetch a job reports."""

import itertools

import pytest

from cdma.engine_codes import LINK, Status
from cdma.hdl.engine.prefetch.errors import Source, StripeErrors

SOURCES = (Source(), Source(halts=True), Source(5, at_offset=True), Source(6, halts=True))
#: Statuses of a stripe, the highest rank first.
ORDER = (
    Status.INDEX,
    Status.HOST_SLVERR,
    Status.DEVICE_DECERR,
    Status.CRC,
    Status.TRUNCATED,
)


def _report(slot, status=Status.CRC, where=7, job=2):
    return {"tag": {"job": job, "slot": slot}, "status": int(status), "where": where}


@pytest.fixture
def collect(exchange, small):
    """Function that gives reports to the sources, each a list; gives the outputs at the end.

    Slot ``k`` is of the stripe ``10 * k``, at the offset ``1000 * k``. ``delays`` are cycles until
    a source reports.
    """

    def run(reports, *, delays=(0, 0, 0, 0), slot=40, then=None):
        dut = StripeErrors(small(), SOURCES)
        for k, port in enumerate(dut.i):
            setattr(dut, f"i{k}", port)
        cycle, looked, waited = -1, 0, []

        def each(ctx, passed):
            nonlocal cycle, looked
            cycle += 1
            ctx.set(dut.slot, slot)
            ctx.set(dut.oldest, 1)
            ctx.set(dut.place, {"number": 10 * looked, "offset": 1000 * looked})
            looked = ctx.get(dut.look)
            if ctx.get(dut.waits):
                waited.append(cycle)
            if then:
                then(ctx, dut, cycle)
            found.update(
                found=ctx.get(dut.found),
                **{name: ctx.get(dut.error[name]) for name in ("status", "where", "channel")},
                **{name: ctx.get(dut.error.tag[name]) for name in ("job", "number", "offset")},
                **{f"halt_{name}": ctx.get(dut.halt[name]) for name, _ in dut.halt.shape()},
            )

        found = {}
        sends = {f"i{k}": list(each) for k, each in enumerate(reports)}
        stalls = {f"i{k}": f"paused:{delay}" for k, delay in enumerate(delays) if delay}
        exchange(dut, sends, {}, stalls=stalls, each=each)
        return found, waited

    return run


@pytest.mark.parametrize(("first", "second"), list(itertools.permutations(range(len(ORDER)), 2)))
def test_rank_within_a_stripe(collect, first, second):
    found, _ = collect([[_report(3, ORDER[first])], [], [], [_report(3, ORDER[second])]])
    assert found["status"] == ORDER[min(first, second)]


@pytest.mark.parametrize("shift", [0, 60, 124])
def test_the_first_stripe_counts(collect, shift):
    """Slots are counted around."""
    slots = [(slot + shift) % 128 for slot in (9, 11, 4, 6)]
    reports = [[_report(slots[0]), _report(slots[1])], [], [], [_report(slots[2])]]
    found, _ = collect(reports, slot=(20 + shift) % 128)
    assert (found["number"], found["offset"]) == (10 * slots[2], 1000 * slots[2])
    assert (found["job"], found["channel"], found["where"]) == (2, 6, 7)


@pytest.mark.parametrize("delays", [(0, 0, 0, 0), (0, 30, 0, 10), (40, 0, 0, 20)])
def test_the_first_that_halts(collect, delays):
    reports = [[_report(2)], [_report(9)], [], [_report(6, job=3), _report(12)]]
    found, _ = collect(reports, delays=delays)
    assert (found["number"], found["channel"]) == (20, LINK)
    assert (found["halt_above"], found["halt_slot"], found["halt_job"]) == (1, 6, 3)
    assert (found["halt_younger"], found["halt_oldest"], found["halt_age"]) == (1, 1, 1)


def test_what_halts_nothing(collect):
    found, _ = collect([[_report(2)], [], [], []])
    assert not found["halt_above"]
    assert found["halt_younger"]


@pytest.mark.parametrize("where", [0, 24, (1 << 20) - 4])
def test_a_place_from_the_offset_on(collect, where):
    found, waited = collect([[], [], [_report(3, where=where)], []])
    assert (found["where"], found["channel"]) == (3000 + where, 5)
    assert len(waited) <= 11


def test_a_stripe_that_is_done_stays_the_first(collect):
    """Its slot is given again, and so are slots before and behind that."""

    def go_on(ctx, dut, cycle):
        ctx.set(dut.slot, 20 + min(max(cycle - 10, 0), 120))

    reports = [[_report(15)], [], [], [_report(slot) for slot in (130 % 128, 135 % 128)]]
    found, _ = collect(reports, delays=(0, 0, 0, 150), then=go_on)
    assert (found["number"], found["channel"]) == (150, LINK)


def test_clear(collect):
    def clear(ctx, dut, cycle):
        ctx.set(dut.clear, cycle == 25)

    found, _ = collect([[], [], [], [_report(6)]], then=clear)
    assert not found["found"]
    assert not found["halt_above"]
