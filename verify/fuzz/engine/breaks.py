"""Scenarios of rounds that are broken off: aborts, timeouts and resets, at any stage.

What a job had done by then is not known: each byte that it writes is as before, or as it must be at
the end. A job that a channel has failed has the results of all stripes before.
"""

from dataclasses import replace
from functools import partial

from cdma.engine_codes import State, Status
from cdma.golden.engine.descriptor import Completion
from cdma.sim.engine.engine import DEVICE
from cdma.verify.fuzz.engine.scenarios import RINGS, plain

#: Cycles without a handshake after which a port has timed out, and those of a late answer.
TIMEOUT, LATE = 500, 2500
_OFF = 1 << 20
_NEVER = 1 << 40
#: Bits of :meth:`~cdma.verify.fuzz.engine.rounds.Round.alarms_differ`.
_QUARANTINE, _FATAL = 4, 8


def abort(round_) -> str:
    """A ring is aborted. What was not started is dropped, or done later."""
    model = round_.model
    round_.submit()
    ring = round_.random.randrange(2)
    round_.run()
    model.abort(ring)
    plans, number = round_.plans[ring], model.started(ring)
    problem = round_.gather(ring, plans[:number], adapt=partial(_expect_abort, round_.config))
    if problem:
        return problem
    if round_.random.random() < 0.5:
        left = model.resync(ring)
        if left != len(plans) - number:
            return f"{left} jobs are left in the ring, expected {len(plans) - number}"
        for plan in plans[number:]:
            plan.forget()
        number = len(plans)
    model.start(ring)
    problem = round_.gather(ring, plans[number:], number)
    problem = problem or round_.gather(1 - ring, round_.plans[1 - ring])
    return problem or round_.alarms_differ()


def _expect_abort(config, plan, found):
    """Expect that a job was aborted at any place, if it was."""
    size = plan.descriptor.raw_bytes
    most = max(config.padded(config.bound(size)), plan.completion.stream_bytes)
    is_possible = found.stripe <= config.stripes(size) and found.stream_bytes <= most
    if found.status == Status.ABORTED and is_possible:
        where = {"stripe": found.stripe, "stream_bytes": found.stream_bytes}
        plan.completion, plan.others = Completion(Status.ABORTED, **where), []
        plan.is_partial = True


def timeout(round_) -> str:
    """A read or a write of a channel is answered late: TIMEOUT, quarantine, recovery."""
    model = round_.model
    victims = [
        (plan, fault) for plan in round_.jobs for fault in plan.faults if fault["space"] == DEVICE
    ]
    if not victims:
        return plain(round_)
    victim, late = round_.random.choice(victims)
    model.engine.clear_faults()
    for fault in (fault for plan in round_.jobs for fault in plan.faults):
        if fault is late:
            # Whatever the response is, it comes when the job is over.
            response = round_.random.choice((0, 0, 2, 3))
            fault = {**fault, "response": response, "delay": LATE, "count": 1}
        model.engine.fault(**fault)
    channel = round_.config.channel(late["address"])
    lost, failed = [], set()

    def adapt(ring, plan, found):
        was_halted = ring in failed
        if found.status != Status.OK:
            failed.add(ring)
        if channel not in plan.channels:
            return
        expected = plan.completion
        is_same = found.status == expected.status
        is_late = found.status == Status.TIMEOUT and found.channel == channel
        if is_late and plan is victim and not was_halted:
            # Behind a job that has failed it may begin again, and find the channel in quarantine.
            is_late = found.stripe == expected.stripe
        if is_late and plan.fail(found):
            lost.append(plan)
        elif is_same and found.status == Status.OVERFLOW:
            # The stream bytes may be those before a higher stripe that timed out.
            plan.leave_all_open()
            nbytes = min(found.stream_bytes, expected.stream_bytes)
            plan.completion = replace(expected, stream_bytes=nbytes)
        elif is_same and found.status != Status.OK and found.stripe == expected.stripe:
            # An error of a lower stripe hides a TIMEOUT: the stripes behind it may be missing.
            plan.leave_all_open()

    model.write("ENGINE", "TIMEOUT", TIMEOUT)
    round_.submit()
    problem = ""
    for ring in RINGS:
        problem = problem or round_.gather(ring, round_.plans[ring], adapt=partial(adapt, ring))
    model.write("ENGINE", "TIMEOUT", _OFF)
    if not problem and not any(plan is victim for plan in lost):
        problem = f"{round_.name(victim)} did not end with TIMEOUT"
    return problem or _clear_quarantine(round_, channel)


def _clear_quarantine(round_, channel):
    """Wait until nothing is outstanding, then clear."""
    model = round_.model
    model.engine.run(LATE)
    for _ in range(100):
        model.write("CHANNEL", "QUARANTINE", 1, channel)
        if not model.read("CHANNEL", "QUARANTINE", channel):
            break
        model.engine.run(100)
    else:
        return f"channel {channel} stays in quarantine"
    if model.read("CHANNEL", "OUTSTANDING", channel) & 0xFFFF:
        return f"channel {channel} left quarantine with bursts outstanding"
    return round_.alarms_differ(_QUARANTINE)


def link(round_) -> str:
    """The link does not answer: both rings enter ERROR, and only a reset recovers."""
    model = round_.model
    model.write("ENGINE", "TIMEOUT", TIMEOUT)
    channel = round_.random.choice(("ar", "r", "aw", "w", "b"))
    model.engine.hold(model.engine.link, channel, _NEVER)
    round_.submit()
    if round_.jobs:
        for ring in RINGS:
            model.until_state(ring, State.ERROR)
        if not model.read("ENGINE", "STATUS") & 4:
            return "the link has timed out, but STATUS.FATAL is 0"
        problem = round_.alarms_differ(_FATAL | 3)
        if problem:
            return problem
    model.engine.hold(model.engine.link, channel, 0)
    return _reset(round_)


def reset(round_) -> str:
    """The reset pin."""
    round_.submit()
    round_.run()
    return _reset(round_)


def _reset(round_):
    round_.model.engine.reset()
    round_.give_up(round_.jobs)
    round_.batch.set_up()
    return ""


def clear(round_) -> str:
    """CTRL.RESET."""
    model = round_.model
    round_.submit()
    round_.run()
    model.write("ENGINE", "CTRL", 1)
    for _ in range(4000):
        if not model.read("ENGINE", "CTRL"):
            break
        model.engine.run(20)
    else:
        return "CTRL.RESET stays 1"
    round_.give_up(round_.jobs)
    round_.batch.set_up()
    return ""
