"""Profiles of back-pressure: what they do, and how they are written."""

from itertools import islice

import pytest

from cdma.errors import UserError
from cdma.sim.backpressure import PORTS, USAGE, parse, per_port

EXAMPLES = (
    "never",
    "always-but-one",
    "always-but-one:7",
    "alternating",
    "bernoulli:0.3",
    "bursts:3,5",
    "paused:20",
    "paused:20,10",
)


def willing(text, cycles=1000, seed=1, port="source"):
    return list(islice(parse(text).willing(seed, port), cycles))


def longest_stall(pattern):
    return max(map(len, "".join("x" if go else " " for go in pattern).split("x")))


@pytest.mark.parametrize("text", EXAMPLES)
def test_same_seed_same_stalls(text):
    assert willing(text) == willing(text)


@pytest.mark.parametrize("text", EXAMPLES)
def test_no_stall_is_longer_than_said(text):
    assert longest_stall(willing(text)) <= parse(text).longest


def test_never_stalls_never():
    assert all(willing("never"))


def test_always_but_one_is_willing_once_in_k():
    assert sum(willing("always-but-one:5")) == 200
    assert longest_stall(willing("always-but-one:5")) == 4


def test_alternating_is_willing_every_second_cycle():
    assert {a != b for a, b in zip(*[iter(willing("alternating"))] * 2, strict=True)} == {True}


def test_bernoulli_stalls_with_its_probability():
    assert 250 < willing("bernoulli:0.3").count(False) < 350


def test_bursts_are_as_long_as_said():
    runs = "".join("x" if go else " " for go in willing("bursts:3,5")).split()
    assert {len(run) for run in runs[1:-1]} == {3}
    assert longest_stall(willing("bursts:3,5")) == 5


def test_paused_stalls_once():
    assert willing("paused:20,10") == [True] * 10 + [False] * 20 + [True] * 970


def test_ports_and_seeds_differ():
    streams = {tuple(willing("bernoulli:0.5", seed=s, port=p)) for s in (0, 1) for p in PORTS}
    assert len(streams) == 2 * len(PORTS)


def test_every_profile_can_be_written_as_its_usage_says():
    names = {usage.partition(":")[0].partition("[")[0] for usage in USAGE}
    assert names == {example.partition(":")[0] for example in EXAMPLES}


def test_ports_of_one_stall():
    profiles = per_port(["bernoulli:0.5", "sink=never"])
    assert {port: profile.text for port, profile in profiles.items()} == {
        "source": "bernoulli:0.5",
        "sink": "never",
        "status": "bernoulli:0.5",
        "command": "bernoulli:0.5",
    }


def test_a_port_that_the_unit_lacks_is_refused():
    message = r"^Port of the compressor to stall must be one of source, sink, status, not 'com"
    with pytest.raises(UserError, match=message):
        per_port(["sink=never", "command=alternating"], "compressor")
    assert per_port({"command": "alternating"}, "decompressor")["command"].off == 1


def test_mapping_leaves_other_ports_willing():
    profiles = per_port({"sink": "alternating"})
    assert profiles["sink"].text == "alternating"
    assert {profiles[port].text for port in ("source", "status", "command")} == {"never"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sometimes", r"^Stall profile must be one of never, .*, not 'sometimes'$"),
        ("bernoulli:1", r"^Stall profile bernoulli must be written bernoulli:P with 0 <= P < 1, "),
        ("bernoulli", r"^Stall profile bernoulli must be written .*, not 'bernoulli'$"),
        ("bursts:3", r"^Stall profile bursts must be written bursts:ON,OFF .*, not 'bursts:3'$"),
        ("bursts:0,1", r"^Stall profile bursts must be written .*, not 'bursts:0,1'$"),
        ("paused:x", r"^Stall profile paused must be written .*, not 'paused:x'$"),
        ("never:1", r"^Stall profile never must be written never, not 'never:1'$"),
        ("door=never", r"^Port to stall must be one of source, .*, not 'door'$"),
    ],
)
def test_mistakes_are_reported(text, message):
    with pytest.raises(UserError, match=message):
        per_port(text)
