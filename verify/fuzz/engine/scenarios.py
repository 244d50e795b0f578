"""Scenarios of rounds whose jobs all have the results that were expected.

A scenario is a function of a round that plays its jobs. It returns the first difference.
"""

from cdma.engine_codes import Op, State, Status
from cdma.golden.engine.descriptor import Completion, Descriptor
from cdma.sim.engine.engine import HOST
from cdma.sim.engine.model import OFFLOAD, PREFETCH
from cdma.verify.fuzz.engine.jobs.plan import Plan

RINGS = (OFFLOAD, PREFETCH)
_HOST_ERRORS = {2: Status.HOST_SLVERR, 3: Status.HOST_DECERR}


def plain(round_) -> str:
    """Jobs of both rings, and the interrupts that they ask for."""
    round_.submit()
    problem = ""
    for ring in round_.random.sample(RINGS, 2):
        problem = problem or round_.gather(ring, round_.plans[ring])
    return problem or _interrupts(round_)


def _interrupts(round_):
    """Interrupts that the completions ask for are there, and no others."""
    if round_.batch.coalesces:
        return round_.alarms_differ()
    expected = 0
    for ring, plans in enumerate(round_.plans):
        asks = any(each.descriptor.interrupt or each.completion.status for each in plans)
        expected |= asks << ring
    found, line = round_.model.take_interrupts()
    is_on = int(expected & round_.batch.irq_enable != 0)
    if found != expected:
        return f"IRQ_STATUS is {found:#x}, expected {expected:#x}"
    return "" if line == is_on else f"irq is {line}, expected {is_on}"


def stop(round_) -> str:
    """A ring is stopped and started again."""
    round_.submit()
    ring = round_.random.randrange(2)
    round_.run()
    round_.model.stop(ring)
    round_.model.engine.run(round_.random.randrange(200))
    round_.model.start(ring)
    return round_.gather_all() or round_.alarms_differ()


def halt(round_) -> str:
    """Rings that halt after each error."""
    for ring in RINGS:
        round_.model.start(ring, halts=True)
    round_.submit()
    problem = round_.gather_all(halts=True)
    for ring in RINGS:
        _leave_halt(round_.model, ring)
    fails = [any(plan.completion.status for plan in plans) for plans in round_.plans]
    return problem or round_.alarms_differ(fails[0] | fails[1] << 1)


def _leave_halt(model, ring):
    """A ring runs, whether it has halted or not."""
    model.engine.run(100)
    model.start(ring)
    model.until_state(ring, State.RUNNING)


def entry(round_) -> str:
    """An entry with the wrong phase, or one that cannot be fetched: the ring halts behind it."""
    model, ring = round_.model, round_.random.randrange(2)
    plans = round_.plans[ring]
    place = round_.random.randrange(len(plans) + 1)
    if len(plans) == 1 << model.rings[ring].log2:
        plans.pop()
        place = min(place, len(plans))
    bad, flips = _bad_entry(round_, ring, place)
    plans.insert(place, bad)
    round_.submit(flips)
    problem = round_.gather(1 - ring, round_.plans[1 - ring])
    problem = problem or round_.gather(ring, plans[: place + 1])
    if problem:
        return problem
    model.until_state(ring, State.HALTED)
    reason = model.state(ring)[1]
    if reason != bad.completion.status:
        return f"ring {ring} halted with {reason.name}"
    model.start(ring)
    problem = round_.gather(ring, plans[place + 1 :], place + 1)
    _leave_halt(model, ring)
    return problem or round_.alarms_differ(1 << ring)


def _bad_entry(round_, ring, place):
    """The job of the entry, and by ring and place whose phase is wrong."""
    bad = Plan("entry", ring, Descriptor(Op.NOP))
    if round_.random.random() < 0.5:
        bad.completion = Completion(Status.BAD_DESCRIPTOR)
        return bad, {ring: {place: 1}}
    memory = round_.model.rings[ring]
    at = (memory.tail + place) % (1 << memory.log2)
    address = memory.descriptors.address + 64 * at
    response = round_.random.choice((2, 3))
    beat = round_.random.randrange(64) & -round_.config.link_bytes
    round_.model.engine.fault(HOST, address + beat, 1, response=response, on="read")
    bad.completion = Completion(_HOST_ERRORS[response], where=address)
    return bad, {}


def completion(round_) -> str:
    """Completions that cannot be written: the ring enters ERROR.

    Its jobs are broken off, as in an abort.
    """
    model, ring = round_.model, round_.random.randrange(2)
    if not round_.plans[ring]:
        return plain(round_)
    memory = model.rings[ring].completions
    response = round_.random.choice((2, 3))
    model.engine.fault(HOST, memory.address, memory.data.size, response=response)
    round_.submit()
    problem = round_.gather(1 - ring, round_.plans[1 - ring])
    if problem:
        return problem
    model.until_state(ring, State.ERROR)
    reason = model.state(ring)[1]
    halves = [model.read("RING", f"ERROR_{half}", ring) for half in ("LO", "HI")]
    where = halves[1] << 32 | halves[0]
    if reason != _HOST_ERRORS[response] or not memory.address <= where < memory.end:
        return f"ring {ring} is in ERROR with {reason.name} at {where:#x}"
    model.abort(ring)
    round_.batch.counted.lose()
    round_.give_up(round_.plans[ring])
    model.engine.clear_faults()
    model.resync(ring)
    model.turn(ring)
    model.start(ring)
    return round_.alarms_differ(1 << ring)
