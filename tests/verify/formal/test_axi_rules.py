"""Both checkers of AXI report each rule of the one list when it is broken."""

from dataclasses import dataclass
from itertools import accumulate
from unittest import mock

import numpy as np
import pytest
from amaranth.hdl import Array, Const, Cover, Elaboratable, Module, Signal

from cdma.hdl.axi.full import Manager
from cdma.sim.cocotb.ports import Violation
from cdma.sim.engine import pins
from cdma.sim.engine.bank import Ask, Bank
from cdma.sim.engine.memory import Memory
from cdma.verify.formal import axi_rules, prover
from cdma.verify.formal.axi_rules import RULES, Writes, check_strobes

BEAT, BASE, ALL = 16, 0x1000, 0xFFFF
CYCLES = 14  # of a proof
MOST = {"reads": 9, "read_beats": 99, "writes": 2}  # outstanding, of each ID


@dataclass(frozen=True)
class Script:
    """What a manager does: addresses with beats and IDs, and beats with strobes and WLAST.

    ``falls`` drops AWVALID after one cycle; ``late`` keeps it low until a beat was taken. Once all
    is done, nothing is valid.
    """

    addresses: tuple = ((BASE, 1, 0),)
    beats: tuple = ((ALL, 1),)
    falls: bool = False
    late: bool = False


GOOD = Script(((BASE, 2, 1),), ((0xFFF0, 0), (0x00FF, 1)))
WRONG = {
    "stable": Script(falls=True),
    "burst": Script(((BASE, 33, 0),), ((ALL, 0),) * 32 + ((ALL, 1),)),
    "page": Script(((BASE + 0xFF0, 2, 0),), ((ALL, 0), (ALL, 1))),
    "id": Script(((BASE, 1, 3),)),
    "outstanding": Script(((BASE, 1, 0),) * 3, ((ALL, 1),) * 3),
    "last": Script(((BASE, 2, 0),), ((ALL, 1), (ALL, 1))),
    "address": Script(((BASE, 2, 0),), ((ALL, 0), (ALL, 1)), late=True),
    "gap": Script(((BASE, 2, 0),), ((ALL, 0),)),
    "strobes": Script(((BASE, 1, 0),), ((0xF0F0, 1),)),
}


class Plays(Elaboratable):
    """Plays a script, with the formal statements about it. No beat overtakes its address, unless
    that is late."""

    def __init__(self, script):
        self.script = script

    def elaborate(self, platform):
        m = Module()
        port = Manager(14, BEAT, 3).create()
        addresses, beats = self.script.addresses, self.script.beats[:CYCLES]  # not more are taken
        address, beat, begun = Signal(4), Signal(4), Signal()
        aw, w, due = port.aw, port.w, Signal(8)
        m.d.sync += begun.eq(1)
        is_left = address < len(addresses)
        ends = accumulate(beats for _, beats, _ in addresses)
        m.d.comb += [
            due.eq(Array([*ends, len(beats)])[address]),
            aw.valid.eq(is_left & (~begun if self.script.falls else 1)),
            w.valid.eq((beat < len(beats)) & (beat < due)),
        ]
        if self.script.late:
            m.d.comb += aw.valid.eq(is_left & (beat != 0))
        for k, name in enumerate(("address", "length", "id")):
            values = Array([Const(each[k] - (name == "length"), 14) for each in addresses])
            m.d.comb += getattr(aw.payload, name).eq(values[address])
        for k, name in enumerate(("strobe", "last")):
            values = Array([Const(each[k], 16) for each in beats])
            m.d.comb += getattr(w.payload, name).eq(values[beat])
        m.d.sync += [
            address.eq(address + (aw.valid & aw.ready)),
            beat.eq(beat + (w.valid & w.ready)),
        ]
        writes = Writes(m, aw, w, port.b, BEAT, most=2, depth=3, gap=8, ids=3)
        check_strobes(m, w, writes, 0)
        m.d.comb += Cover(begun)
        return m


def played(script):
    """Play a script on the checker of simulations."""
    bank = Bank(Memory(latency=100, stalls={"aw": "paused:3"}))
    limits = {"beat_bytes": BEAT, "burst_bytes": 512, "ids": 3}
    limits |= {name: (most,) * pins.MOST_IDS for name, most in MOST.items()}
    limits |= {"bubble": 8, "channels": 1, "channel": 0, "stripe_bytes": 0}
    port = bank.add_port("m_axi", pins.Limits(**limits))
    data = np.zeros(1 << 14, np.uint8)
    bank.add_buffer(BASE, data)
    ask = Ask(rready=1, bready=1)
    bank.tick(port, ask, 0, reset=2)
    address = beat = 0
    for cycle in range(1, 3000):
        channel = ask.aw
        channel.valid = address < len(script.addresses) and not (script.falls and cycle > 1)
        if address < len(script.addresses):
            channel.addr, beats, channel.id = script.addresses[address]
            channel.len, channel.burst, channel.size = beats - 1, 1, BEAT.bit_length() - 1
        ask.wvalid = beat < len(script.beats)
        if ask.wvalid:
            strobe, ask.wlast = script.beats[beat]
            ask.wstrb[:2] = [strobe & 255, strobe >> 8]
        answer = bank.answer(port)
        taken = channel.valid and answer.awready, ask.wvalid and answer.wready
        bank.tick(port, ask, cycle)
        address, beat = address + taken[0], beat + taken[1]


def test_each_rule_is_broken_once():
    assert set(WRONG) == set(RULES)


@pytest.mark.parametrize("name", [name for name in RULES if RULES[name].message])
def test_simulation_reports(name):
    with pytest.raises(Violation, match=RULES[name].message):
        played(WRONG[name])


def proven(script, rules):
    """Play a script, and check some of the rules."""
    obeys, hold = axi_rules.obeys, axi_rules.hold_to_rule

    def stated(rule, test):
        return obeys(rule, test if rule in rules else Const(1))

    def held(*port):
        return hold(*port) if "stable" in rules else None

    with (
        mock.patch.object(axi_rules, "obeys", stated),
        mock.patch.object(axi_rules, "hold_to_rule", held),
    ):
        return prover.prove(Plays(script), CYCLES, mode=prover.BOUNDED)


QUICK = ("last", "outstanding")
NAMES = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in RULES]


@pytest.mark.parametrize("name", NAMES)
def test_proof_reports(name):
    assert proven(WRONG[name], {name}).outcome == "refuted"


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_manager_breaks_no_other_rule(name):
    assert proven(WRONG[name], set(RULES) - {name}).outcome == "proven"


@pytest.mark.slow
def test_a_manager_that_obeys_passes_both():
    played(GOOD)
    assert prover.prove(Plays(GOOD), CYCLES, mode=prover.BOUNDED).outcome == "proven"
