"""The manager of the AXI4-Lite port: gaps before READY, and the rules of a response."""

import pytest

from cdma.sim.cocotb.ports import Violation
from cdma.sim.engine import pins
from cdma.sim.engine.bank import Lite
from cdma.sim.engine.engine import ACCESS_CYCLES

ACCESSES = 200


class Subordinate:
    """Registers behind the manager's pins, with one fault.

    A response is valid some cycles after the last of its handshakes. ``early`` is the handshake
    that it does not wait for, and which comes late where ``is_slow``; ``change`` is what happens to
    a response in its second cycle; ``is_eager`` is false for one that waits for READY.
    """

    def __init__(self, seed=0, early="", change="", *, is_slow=True, is_eager=True, delay=2):
        self.lite = Lite(seed)
        self.early, self.change, self.is_slow, self.is_eager = early, change, is_slow, is_eager
        self.delay = delay
        self.cycle, self.taken, self.wait, self.age = 0, set(), None, 0
        self.lite.pins.awready = self.lite.pins.wready = self.lite.pins.arready = 0

    def access(self, data=None, order=0):
        """One access, with the response OKAY and, of a read, the data 0x1234."""
        access = pins.Access(address=8, data=data or 0, write=data is not None)
        access.strobe, access.order = 15, order
        self.taken, self.wait, self.age = set(), self.delay, 0
        self.lite.begin(access)
        for _ in range(ACCESS_CYCLES):
            self.step(access)
            if not self.lite.is_busy:
                break
        return access

    def accesses(self, data=None, order=0):
        """Many accesses: some of them have gaps."""
        return [self.access(data, order) for _ in range(ACCESSES)]

    def step(self, access):
        """Pass one edge."""
        port = self.lite.pins
        before = {name: getattr(port, name) for name, _ in port._fields_}
        self.lite.tick(self.cycle)
        self.cycle += 1
        answer, ready = ("bvalid", "bready") if access.write else ("rvalid", "rready")
        for channel in ("aw", "w", "ar"):
            if before[f"{channel}valid"] and before[f"{channel}ready"]:
                self.taken.add(channel)
        if before[answer] and before[ready]:
            setattr(port, answer, 0)
            return
        # A new request waits a cycle for its READY.
        for channel in ("aw", "w", "ar"):
            is_held = self.is_slow and channel == self.early
            ready_pin = before[f"{channel}valid"] and channel not in self.taken and not is_held
            setattr(port, f"{channel}ready", ready_pin)
        if before[answer]:
            self.age += 1
            self._spoil(port, answer)
            return
        due = {"aw", "w"} if access.write else {"ar"}
        if due - {self.early} <= self.taken:
            self.wait -= 1
        if self.wait <= 0 and (self.is_eager or before[ready]):
            setattr(port, answer, 1)
            port.bresp, port.rresp, port.rdata = 0, 0, 0x1234

    def _spoil(self, port, answer):
        if self.change == "valid":
            setattr(port, answer, 0)
        elif self.change == "resp":
            port.bresp = port.rresp = 2
        elif self.change == "data":
            port.rdata = 0x1235


def test_accesses_and_their_cycles():
    """Most answers are taken at once; the others wait for READY, each number of cycles."""
    subordinate, gaps = Subordinate(), []
    for number in range(ACCESSES):
        access = subordinate.access(number if number % 2 else None, order=number % 3)
        assert access.done > access.taken >= 0
        assert access.response == 0
        assert access.write or access.data == 0x1234
        gaps.append(access.done - access.taken)
    quick = min(gaps)
    assert {gap - quick for gap in gaps} >= set(range(9))
    assert gaps.count(quick) > ACCESSES // 2


def test_gaps_follow_from_the_seed():
    def gaps(subordinate):
        accesses = [subordinate.access(number) for number in range(ACCESSES)]
        return [access.done - access.taken for access in accesses]

    first = Subordinate(1)
    seen = gaps(first)
    assert seen == gaps(Subordinate(1)) != gaps(Subordinate(2))
    assert seen != gaps(first)
    first.lite.tick(first.cycle, reset=2)
    assert seen == gaps(first), "behind a reset they begin anew"


@pytest.mark.parametrize(
    ("data", "order", "early", "message"),
    [
        (1, 0, "aw", "B: a response before AW was accepted"),
        (1, 1, "w", "B: a response before W was accepted"),
        (1, 2, "aw", "B: a response before AW was accepted"),
        (None, 0, "ar", "R: a response before AR was accepted"),
    ],
)
def test_a_response_before_its_request_is_a_violation(data, order, early, message):
    with pytest.raises(Violation, match=message):
        Subordinate(early=early).access(data, order)


@pytest.mark.parametrize(("order", "early"), [(1, "w"), (2, "aw")])
def test_address_and_data_may_be_far_apart(order, early):
    """One that is always ready, and forgets to wait for the second of AW and W."""
    subordinate = Subordinate(early=early, is_slow=False)
    with pytest.raises(Violation, match=f"B: a response before {early.upper()} was accepted"):
        subordinate.accesses(1, order)


def test_a_response_in_the_cycle_of_its_request_is_a_violation():
    """A subordinate without a register between AR and R."""
    lite = Lite()
    lite.begin(pins.Access(address=8, write=0))
    lite.pins.arready = lite.pins.rvalid = 1
    with pytest.raises(Violation, match="R: a response before AR was accepted"):
        lite.tick(0)


@pytest.mark.parametrize(
    ("data", "change", "message"),
    [
        (1, "valid", "B: BVALID fell without a handshake"),
        (1, "resp", "B: BRESP changed"),
        (None, "valid", "R: RVALID fell without a handshake"),
        (None, "resp", "R: RRESP changed"),
        (None, "data", "R: RDATA changed"),
    ],
)
def test_a_response_stays_until_it_is_taken(data, change, message):
    subordinate = Subordinate(change=change)
    with pytest.raises(Violation, match=message):
        subordinate.accesses(data)


@pytest.mark.parametrize("data", [1, None])
def test_valid_must_not_wait_for_ready(data):
    subordinate = Subordinate(is_eager=False)
    assert any(access.done < 0 for access in subordinate.accesses(data))


@pytest.mark.parametrize(
    ("data", "pin", "message"),
    [
        (1, "rvalid", "R: a response without a read"),
        (None, "bvalid", "B: a response without a write"),
    ],
)
def test_a_response_of_the_other_kind_is_a_violation(data, pin, message):
    lite = Lite()
    lite.begin(pins.Access(address=8, data=data or 0, write=data is not None))
    setattr(lite.pins, pin, 1)
    with pytest.raises(Violation, match=message):
        lite.tick(0)


@pytest.mark.parametrize("pin", ["bvalid", "rvalid"])
def test_a_response_without_an_access_is_a_violation(pin):
    subordinate = Subordinate()
    subordinate.access(1)
    setattr(subordinate.lite.pins, pin, 1)
    with pytest.raises(Violation, match="a response without"):
        subordinate.lite.tick(subordinate.cycle)


def test_a_reset_drops_a_response():
    lite = Lite()
    lite.begin(pins.Access(address=8, data=1, write=1))
    lite.pins.awready = lite.pins.wready = 1
    lite.tick(0)
    lite.pins.bvalid, lite.pins.bready = 1, 0
    lite.tick(1)
    lite.tick(2, reset=2)
    lite.pins.bvalid = 0
    lite.tick(3, reset=1)
    lite.tick(4)
    assert not lite.is_busy


@pytest.mark.parametrize("pin", ["bvalid", "rvalid"])
def test_silence_in_reset(pin):
    lite = Lite()
    setattr(lite.pins, pin, 1)
    lite.tick(0, reset=2)  # the first cycle may be anything
    with pytest.raises(Violation, match="VALID is 1 in reset in cycle 1"):
        lite.tick(1, reset=1)
