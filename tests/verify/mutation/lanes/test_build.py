"""The engine with lanes does what the compiled engine does; verdicts are of the mutants."""

import re
from contextlib import suppress
from dataclasses import replace

import pytest

from cdma import designs
from cdma.sim.cocotb.ports import Violation
from cdma.sim.engine.memory import Memory
from cdma.toolchain.cache import cache_folder
from cdma.verify.mutation.engine import campaign, jobs, queues
from cdma.verify.mutation.engine.land import MarkedModel
from cdma.verify.mutation.engine.lanes import build_lanes

CONFIG = campaign.small_engine()


@pytest.fixture(scope="module")
def drawn():
    return campaign.draw(CONFIG, 60, 4, cache_folder(None, "mutation"))


@pytest.fixture(scope="module")
def built(drawn):
    return build_lanes(drawn, drawn.mutants)


def model(design, **options):
    return MarkedModel(CONFIG, Memory(latency=4), Memory(latency=7), 1, verilog=design, **options)


@pytest.mark.slow
@pytest.mark.parametrize(("play", "log2"), [(jobs.few_jobs, 2), (queues.queues, 4)])
def test_lanes_do_what_verilator_does(built, play, log2):
    built.choose([])
    made = [model(design, log2=log2) for design in (built.compiled, designs.engine(CONFIG))]
    here, there = (play(each) for each in made)
    assert here == there
    assert made[0].engine.cycle == made[1].engine.cycle
    assert not built.found([])


@pytest.mark.slow
def test_a_verdict_does_not_depend_on_the_lane(built, drawn):
    """All mutants, the same in another order, and some of them alone."""
    verdicts = []
    groups = [drawn.mutants, drawn.mutants[::-1], drawn.mutants[20:40]]
    for group in groups:
        built.choose(group)
        jobs.few_jobs(model(built.compiled, log2=2))
        verdicts.append(built.found(group))
    assert 10 < len(verdicts[0]) < len(drawn.mutants) - 10
    assert verdicts[1] == verdicts[0]
    assert verdicts[2] == {each: verdicts[0][each] for each in groups[2] if each in verdicts[0]}
    assert all("differs in cycle" in each for each in verdicts[0].values())


@pytest.mark.slow
@pytest.mark.parametrize("play", [jobs.few_jobs, jobs.rings, jobs.quarantine])
def test_nothing_of_power_up_reaches_an_output(built, play):
    """Each lane has values of its own in registers and memories before the reset."""
    built.scatter()
    play(model(built.compiled, log2=0))
    assert built.scattered() == []


@pytest.mark.slow
def test_registers_that_lost_their_reset_are_found(drawn):
    """Counters that begin with any value, which software reads."""
    cells = (
        r"(cell \$mux \$flatten\\front\.\\counters\.\S+\n(?:    .*\n)*?    connect \\S )\\aresetn"
    )
    spoiled, count = re.subn(cells, r"\g<1>1'1", drawn.rtlil)
    assert count
    lanes = build_lanes(replace(drawn, rtlil=spoiled), [])
    lanes.scatter()
    with suppress(Violation):  # a counter of turns that is past its end gives no snapshot
        jobs.few_jobs(model(lanes.compiled, log2=0))
    assert "s_axil_rdata" in " ".join(lanes.scattered())
