"""Random jobs: their results are those of the engine in software, and their memory is apart."""

import itertools
from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from cdma.driver.software.execute import Execution
from cdma.engine_codes import Status
from cdma.engine_config import EngineConfig
from cdma.golden.engine.descriptor import Completion, Descriptor
from cdma.golden.engine.rules import Bounds, Window, refusal
from cdma.sim.engine.engine import DEVICE, HOST
from cdma.sim.engine.model import OFFLOAD, PREFETCH
from cdma.verify.fuzz.engine import SIZES
from cdma.verify.fuzz.engine.jobs.damage import damaged
from cdma.verify.fuzz.engine.jobs.heap import Heap
from cdma.verify.fuzz.engine.jobs.maker import Maker
from cdma.verify.fuzz.engine.jobs.plan import Plan
from cdma.verify.fuzz.engine.jobs.words import Words
from cdma.verify.fuzz.engine.moods import MOODS, Mood

CONFIGS = [config for config, _ in SIZES]
NAMES = [config.name for config in CONFIGS]


class Memory:
    """Memory of the engine in software: the buffers of a round."""

    def __init__(self, parts):
        self._parts = [part for part in parts if part.data.size]

    def view(self, address, size):
        for part in self._parts:
            if part.address <= address and address + size <= part.end:
                return part.data[address - part.address :][:size]
        assert not size
        return np.zeros(0, np.uint8)

    def read(self, address, size):
        return self.view(address, size).copy()

    def write(self, address, data):
        self.view(address, len(data))[:] = data

    def fault(self, address, size):
        """No access fails."""


@pytest.fixture(scope="module", params=CONFIGS, ids=NAMES)
def drawn(request):
    """Jobs of both rings without faults, with the heap that has their memory."""
    config = request.param
    rng = np.random.default_rng(5)
    heap, words, random = Heap(config, rng), Words(config, rng), Random(7)
    heap.begin(random)
    arena = heap.place(HOST, 1 << 14, OFFLOAD, writable=True)
    maker = Maker(words, heap, random, Mood(faults=0), arena)
    plans = [maker.make(number % 2) for number in range(160)]
    return config, heap, arena, plans


def test_results_are_those_of_the_engine_in_software(drawn):
    config, heap, arena, plans = drawn
    before = heap.copy()
    device = Memory([part for part in heap.parts if part.space == DEVICE])
    host = Memory([part for part in heap.parts if part.space == HOST])
    pointer, kinds = arena.address, Counter()
    for plan in plans:
        descriptor, expected = plan.descriptor, plan.completion
        kinds[plan.kind] += 1
        address, limit = descriptor.host, descriptor.limit
        if descriptor.append:
            address, limit = pointer, min(limit, arena.end - pointer)
        found = Execution(config, host, device, descriptor, address, limit).run()
        if found.status == Status.OK and descriptor.append:
            found = Completion(**{**vars(found), "where": address})
            pointer += found.stream_bytes + 63 & -64
        assert found == expected, plan.kind
    for plan in plans:
        for part, at, data in plan.writes:
            before[part.space][part.at + at :][: data.size] = data
        for part, first, last in plan.opens:
            there = slice(part.at + first, part.at + last)
            before[part.space][there] = heap.now(part.space)[there]
    assert all(np.array_equal(before[space], heap.now(space)) for space in (DEVICE, HOST))
    assert set(kinds) == {kind for ring in Mood().kinds.values() for kind in ring}


def test_buffers_are_apart_and_no_rule_is_broken(drawn):
    config, heap, _, plans = drawn
    for space in (DEVICE, HOST):
        parts = sorted(
            (part.address, part.end)
            for part in heap.parts
            if part.space == space and part.data.size
        )
        assert all(first < end for first, end in parts)
        assert all(a[1] < b[0] for a, b in itertools.pairwise(parts))
        assert parts[-1][1] <= 1 << config.address_bits
    end = 1 << config.address_bits
    bounds = Bounds(Window(0, end), Window(0, end), arena_limit=end)
    assert not any(refusal(plan.descriptor, plan.ring, config, bounds) for plan in plans)


def test_jobs_that_are_refused_break_a_rule(drawn):
    config, heap, _, plans = drawn
    end = 1 << config.address_bits
    bounds = Bounds(Window(0, end), Window(0, end))
    maker = Maker(None or Words(config, np.random.default_rng(1)), heap, Random(3), Mood(), None)
    reasons = Counter()
    for plan in plans:
        bad = Plan("bad", plan.ring, plan.descriptor)
        maker.refuse(bad, bounds)
        reasons[refusal(bad.descriptor, bad.ring, config, bounds)] += 1
        assert bad.completion.status == Status.BAD_DESCRIPTOR
        assert not bad.parts
    assert None not in reasons
    assert len(reasons) > 5


def _maker(faults: int):
    """A heap, and a maker of jobs of a small engine of which all or none meet an error."""
    config = EngineConfig(channels=2, lanes=4, stripe_bytes=1024, link_bytes=32)
    rng = np.random.default_rng(5)
    heap, words, random = Heap(config, rng), Words(config, rng), Random(7)
    heap.begin(random)
    return heap, Maker(words, heap, random, Mood(faults=faults), None)


def test_faults_are_of_every_place():
    """An error of a memory: at tensor, stream and index, of reads and of writes."""
    _, maker = _maker(faults=1)
    seen = Counter()
    for number in range(300):
        plan = maker.make(number % 2)
        for fault in plan.faults:
            (part,) = [part for part in plan.parts if part.address <= fault["address"] < part.end]
            seen[plan.ring, part.space, fault["on"], fault["response"]] += 1
            assert plan.completion.status in (32, 33, 34, 35)
            assert plan.completion.where <= fault["address"]
    pairs = [(OFFLOAD, DEVICE, "read"), (OFFLOAD, HOST, "write")]
    pairs += [(PREFETCH, DEVICE, "write"), (PREFETCH, HOST, "read")]
    assert {(*pair, response) for pair in pairs for response in (2, 3)} == set(seen)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("status", 17),
        ("cookie", 8),
        ("stream_bytes", 1),
        ("stripe", 3),
        ("channel", 2),
        ("head", 5),
        ("where", 1),
        ("where", 100 << 32),
        ("where", 79 << 32),
    ],
)
def test_each_field_of_a_completion_is_compared(name, value):
    plan = Plan("offload", OFFLOAD, Descriptor(1, cookie=7))
    good = Completion(Status.OK, cookie=7, head=4, where=90 << 32)
    assert plan.difference(good, 4, 0, (80, 95)) == ""
    wrong = Completion(**{**vars(good), name: value})
    assert plan.difference(wrong, 4, 0, (80, 95))


def test_an_error_of_a_write_is_of_the_longest_burst_or_of_a_shorter_one():
    _, maker = _maker(faults=1)
    plans = [maker.make(OFFLOAD) for _ in range(200)]
    seen = Counter()
    for plan in plans:
        seen[len(plan.others)] += 1
        first = plan.completion
        for other in plan.others:
            assert first.where < other.where <= plan.faults[0]["address"]
            assert not other.where % 128
            assert (other.stripe, other.stream_bytes) >= (first.stripe, first.stream_bytes)
            found = replace(other, cookie=plan.descriptor.cookie)
            assert plan.difference(found, 0, 0, (0, 0)) == ""
            assert plan.difference(replace(found, where=other.where + 64), 0, 0, (0, 0))
            assert plan.difference(replace(found, stripe=other.stripe + 1), 0, 0, (0, 0))
    assert set(seen) == {0, 1, 2, 3}


def test_a_job_that_a_channel_failed_has_the_stripes_before():
    """A job without errors is failed at each stripe: what it writes before stays expected."""
    heap, maker = _maker(faults=0)
    plans = [maker.make(number % 2) for number in range(160)]
    kinds = Counter()
    for plan in plans:
        good = plan.completion
        if good.status != Status.OK or not plan.channels or plan.kind == "verify":
            continue
        kinds[plan.kind] += 1
        written, _ = _image(plan, heap)
        before = -1
        device = next(part for part in plan.parts if part.space == DEVICE)
        for stripe in range(good.stripe):
            found = Completion(Status.TIMEOUT, where=device.end, stripe=stripe, channel=1)
            assert not plan.fail(found)
            places = range(device.address, device.end, maker.config.beat_bytes)
            where = next(at for at in places if plan.fail(replace(found, where=at)))
            last = plan.completion
            assert (last.status, last.stripe, last.where) == (Status.TIMEOUT, stripe, where)
            assert before < last.stream_bytes <= good.stream_bytes
            before = last.stream_bytes
            now, opened = _image(plan, heap)
            assert np.array_equal(now[now >= 0], written[now >= 0])
            assert opened[(written >= 0) & (now < 0)].all()
    assert {"offload", "measure", "copy_out", "prefetch", "copy_in"} <= set(kinds)


def _image(plan, heap):
    """What a job must write to both memories, -1 for nothing, and what may have any value."""
    written = np.full((2, max(heap.now(space).size for space in (DEVICE, HOST))), -1, np.int16)
    opened = np.zeros(written.shape, bool)
    for part, at, data in plan.writes:
        written[part.space, part.at + at :][: data.size] = data
    for part, first, last in plan.opens:
        opened[part.space, part.at + first : part.at + last] = True
    return written, opened


def test_damage_changes_stream_index_or_limit():
    config, random = CONFIGS[0], Random(3)
    stream, index = np.arange(64, dtype=np.uint8), np.zeros(16, np.uint8)
    same = 0
    for _ in range(200):
        other, entries, limit = damaged(stream, index, config, random)
        assert limit == other.size
        assert limit % config.word_bytes == 0
        same += np.array_equal(other, stream) and np.array_equal(entries, index)
    assert same < 20, "a size may change by zero"


@pytest.mark.parametrize("name", MOODS)
def test_moods_give_jobs_of_their_kinds_and_lengths(name):
    _, mood = MOODS[name]
    config, rng = CONFIGS[0], np.random.default_rng(5)
    words = Words(config, rng, mood.lengths)
    heap, random = Heap(config, rng), Random(7)
    heap.begin(random)
    maker = Maker(words, heap, random, mood, None)
    made = [maker.make(number % 2) for number in range(60)]
    assert {plan.kind for plan in made} <= {kind for ring in mood.kinds.values() for kind in ring}
    counts = [words.count(random) for _ in range(200)]
    assert mood.lengths != "long" or max(counts) > 20 * config.stripe_words
    assert (max(counts) < config.stripe_words) == (mood.lengths == "tiny")
