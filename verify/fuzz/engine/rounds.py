"""Rounds: jobs of both rings at once, in a scenario, and the comparison of all that they did."""

from collections.abc import Callable
from random import Random

import numpy as np

from cdma.engine_codes import Op
from cdma.errors import UserError
from cdma.golden.engine.descriptor import Completion
from cdma.golden.engine.rules import Bounds, Window, refusal
from cdma.sim.engine.engine import DEVICE, HOST
from cdma.sim.engine.model import OFFLOAD
from cdma.verify.fuzz.engine import breaks, registers, scenarios
from cdma.verify.fuzz.engine.jobs.maker import Maker
from cdma.verify.fuzz.engine.jobs.plan import Plan
from cdma.verify.fuzz.engine.jobs.words import MOST_BYTES
from cdma.verify.fuzz.engine.scenarios import RINGS

#: Scenarios and their weights.
SCENARIOS: dict[str, tuple[int, Callable]] = {
    "plain": (70, scenarios.plain),
    "windows": (7, scenarios.plain),
    "abort": (7, breaks.abort),
    "stop": (5, scenarios.stop),
    "halt": (4, scenarios.halt),
    "entry": (3, scenarios.entry),
    "completion": (1, scenarios.completion),
    "timeout": (2, breaks.timeout),
    "reset": (2, breaks.reset),
    "clear": (1, breaks.clear),
    "link": (1, breaks.link),
}
#: Scenarios in which a slow memory would be taken for one that does not answer, or goes on with
#: other bursts until the late answer has come.
_PROMPT = ("timeout", "link")
#: Scenarios that end with a reset: rings then have other memory.
_RESETS = ("reset", "clear", "link")
#: Share of the rounds with an arena of APPEND, and of those whose bursts are logged.
_ARENAS, _LOGGED = 0.2, 0.15
#: Share of the rounds after which registers and counters are read back.
_READ = 0.04
#: Jobs of a ring in a round.
_MOST_JOBS = 28


class Round:
    """One round.

    Parameters
    ----------
    batch : cdma.verify.fuzz.engine.batch.Batch
    number : int
        Determines, with the batch, all that is random.
    only : int or None
        Play this job alone.

    Attributes
    ----------
    plans : list of list of Plan
        Jobs of each ring, in order.
    random : Random
        Draws all of the round.
    """

    def __init__(self, batch, number: int, only: int | None = None):
        self.batch, self.config, self.model = batch, batch.config, batch.model
        self.random = random = Random(f"{batch.seed} {batch.number} {number}")
        weights = [weight for weight, _ in SCENARIOS.values()]
        (scenario,) = random.choices(tuple(SCENARIOS), weights)
        self.scenario = scenario if batch.is_prompt or scenario not in _PROMPT else "plain"
        self.is_logged = random.random() < _LOGGED and self.scenario not in _RESETS
        self.is_read = random.random() < _READ or batch.is_read
        batch.heap.begin(random, are_apart=self.is_logged)
        self.arena = self._arena()
        maker = Maker(batch.words, batch.heap, random, batch.mood, self.arena)
        self.plans: list[list[Plan]] = [self._draw(maker, ring) for ring in RINGS]
        self.addresses: list[list[int]] = [[], []]  # of the descriptors
        self._set_bounds(maker)
        if only is not None:
            if only >= len(self.jobs):
                raise UserError(f"round {number} has {len(self.jobs)} jobs, there is no job {only}")
            chosen = self.jobs[only]
            self.plans = [[each for each in plans if each is chosen] for plans in self.plans]

    @property
    def jobs(self) -> list[Plan]:
        """All jobs."""
        return [plan for plans in self.plans for plan in plans]

    def _arena(self):
        is_calm = self.scenario in ("plain", "windows")
        if not is_calm or self.random.random() >= _ARENAS:
            return None
        size = 64 * self.random.randrange(1, 512)
        return self.batch.heap.place(HOST, size, OFFLOAD, writable=True)

    def _draw(self, maker, ring):
        """Jobs of a ring: none, some, or as many as the ring has room for."""
        most = min(_MOST_JOBS, 1 << self.model.rings[ring].log2)
        plans = []
        for _ in range(self.random.randrange(most + 1)):
            if self.batch.heap.room < 4 * MOST_BYTES:
                break
            plans.append(maker.make(ring))
        return plans

    def _set_bounds(self, maker):
        """Windows of the rings, and jobs that the engine refuses."""
        end = self.model.end
        self._windows = [{"base": [0, 0], "limit": [end, end]} for _ in RINGS]
        if self.scenario == "windows":
            for ring in RINGS:
                self._narrow(ring)
        for ring, plans in enumerate(self.plans):
            bounds = self._bounds(ring)
            for plan in plans:
                if plan.kind == "bad":
                    maker.refuse(plan, bounds)
                elif not plan.descriptor.append and refusal(
                    plan.descriptor, ring, self.config, bounds
                ):
                    plan.refuse()  # VERIFY of a tensor without a buffer

    def _narrow(self, ring):
        """Windows from the first to the last byte of what the ring may access."""
        window, memory = self._windows[ring], self.model.rings[ring]
        rings = (memory.descriptors, memory.completions)
        parts = [each for each in self.batch.heap.parts if each.ring == ring and each.data.size]
        for space in (DEVICE, HOST):
            held = [each for each in parts if each.space == space]
            held += rings if space == HOST else ()
            if held:
                window["base"][space] = min(each.address for each in held)
                window["limit"][space] = max(each.end for each in held)

    def _bounds(self, ring):
        window = self._windows[ring]
        device, host = (Window(window["base"][k], window["limit"][k]) for k in (DEVICE, HOST))
        return Bounds(device, host)

    # Playing

    def play(self) -> str:
        """Play the round. Returns the first difference."""
        model, heap = self.model, self.batch.heap
        engine = model.engine
        is_programmed = self.scenario == "windows" or self.arena is not None
        if is_programmed:
            self._program(self._windows)
        parts = [part for plan in self.jobs for part in plan.parts if part.data.size]
        parts += [] if self.arena is None else [self.arena]
        for part in parts:
            engine.add(part, readable=part.readable, writable=part.writable)
        for fault in (fault for plan in self.jobs for fault in plan.faults):
            engine.fault(**fault)
        before = heap.copy()
        if self.is_logged:
            for port in range(self.config.channels + 1):
                engine.start_log(port)
        problem = SCENARIOS[self.scenario][1](self) or self._memory_differs(before)
        problem = problem or model.entries_differ()
        if self.is_logged:
            problem = problem or model.attributes_differ(heap.parts)
        if self.is_read:
            problem = problem or registers.difference(model) or self.batch.counted.difference()
        if problem:
            return problem  # jobs may still be in work
        engine.clear_faults()
        for part in parts:
            engine.remove(part)
        if self.scenario == "windows":
            end = model.end
            self._program([{"base": [0, 0], "limit": [end, end]} for _ in RINGS])
        return ""

    def _program(self, windows):
        """Write windows and the arena of stopped rings."""
        model = self.model
        for ring, window in zip(RINGS, windows, strict=True):
            model.stop(ring)
            values = {
                f"{name}_{which.upper()}": window[which][space]
                for space, name in ((DEVICE, "DEV"), (HOST, "HOST"))
                for which in ("base", "limit")
            }
            if ring == OFFLOAD and self.arena is not None:
                values["ARENA_BASE"] = values["ARENA_POINTER"] = self.arena.address
                values["ARENA_LIMIT"] = self.arena.end
            model.program(ring, **values)
            model.start(ring)

    def submit(self, flips: dict[int, dict[int, int]] | None = None) -> None:
        """Enter all jobs and ring the doorbells, one ring after the other, sometimes in parts.

        ``flips`` has, by ring and place, the jobs whose phase is wrong.
        """
        model, random = self.model, self.random
        self._started = model.engine.cycle
        for ring in random.sample(RINGS, 2):
            plans, wrong = self.plans[ring], (flips or {}).get(ring, {})
            cut = len(plans)
            if random.random() < 0.3:
                cut = random.randrange(len(plans) + 1)
            self.addresses[ring] += model.enter(ring, plans[:cut], wrong)
            model.doorbell(ring)
            if cut < len(plans):
                model.engine.run(random.randrange(1, 150))
                late = {place - cut: flip for place, flip in wrong.items()}
                self.addresses[ring] += model.enter(ring, plans[cut:], late)
                model.doorbell(ring)

    def run(self) -> None:
        """Run for some cycles: to any stage of the round."""
        most = 60 * (1 + len(self.jobs)) + 2 * self.batch.latency
        self.model.engine.run(int(self.random.random() ** 2 * most) + 1)

    def gather(
        self,
        ring: int,
        plans: list[Plan],
        first: int = 0,
        *,
        adapt: Callable[[Plan, Completion], None] = lambda plan, completion: None,
        halts: bool = False,
    ) -> str:
        """Wait for the completions of jobs of a ring, and compare them.

        Parameters
        ----------
        ring : int
        plans : list of Plan
        first : int
            Place of the first of them in the round.
        adapt : callable
            Called with each job and its completion before they are compared: changes what is
            expected of a job that was broken off.
        halts : bool
            The ring may halt, and is started again.
        """
        model = self.model
        head = model.rings[ring].head
        found = model.gather(ring, len(plans), halts=halts)
        most = model.engine.cycle - self._started
        for number, (plan, completion) in enumerate(zip(plans, found, strict=True)):
            self.batch.count(plan, completion)
            adapt(plan, completion)
            address = self.addresses[ring][first + number]
            expected_head = (head + number + 1) & 0xFFFF
            cycles = self._least_cycles(plan), most
            problem = plan.difference(completion, expected_head, address, cycles)
            if problem:
                return f"{self.name(plan)}: {problem}"
        return ""

    def _least_cycles(self, plan):
        """Cycles in which the ports can carry the data of a job."""
        descriptor, config = plan.descriptor, self.config
        if descriptor.op == Op.NOP:
            return 0
        beats = descriptor.raw_bytes // (config.beat_bytes * config.channels)
        stream_bytes = 0 if descriptor.op == Op.MEASURE else plan.completion.stream_bytes
        return max(beats, stream_bytes // config.link_bytes)

    def gather_all(self, **how) -> str:
        """Completions of all jobs."""
        problem = ""
        for ring in RINGS:
            problem = problem or self.gather(ring, self.plans[ring], **how)
        return problem

    def give_up(self, plans: list[Plan]) -> None:
        """These jobs were broken off at any place."""
        for plan in plans:
            plan.is_partial = True

    def alarms_differ(self, expected: int = 0) -> str:
        """Compare the interrupts that are not of completions, and clear all.

        ``expected`` has the bits ERROR0, ERROR1, QUARANTINE and FATAL from bit 0 on.
        """
        found = self.model.take_interrupts()[0] >> 2
        return "" if found == expected else f"alarms are {found:#x}, expected {expected:#x}"

    def name(self, plan: Plan) -> str:
        """A job by its number in the round, and its kind."""
        number = next(k for k, each in enumerate(self.jobs) if each is plan)
        return f"job {number} ({plan.kind})"

    # Memory

    def _memory_differs(self, before) -> str:
        """The first byte of any buffer that is not as it must be."""
        now = [self.batch.heap.now(space) for space in (DEVICE, HOST)]
        for plan in self.jobs:
            for part, at, data in plan.writes:
                at += part.at
                there = slice(at, at + data.size)
                if plan.is_partial:
                    data = np.where(now[part.space][there] == data, data, before[part.space][there])
                before[part.space][there] = data
        for plan in self.jobs:
            for part, first, last in plan.opens:
                bytes_ = slice(part.at + first, part.at + last)
                before[part.space][bytes_] = now[part.space][bytes_]
        for space, expected in enumerate(before):
            if not np.array_equal(now[space], expected):
                at = int(np.argmax(now[space] != expected))
                return self._byte(space, at, now[space][at], expected[at])
        return ""

    def _byte(self, space, at, found, expected):
        """Name a byte that differs."""
        part = next(
            each
            for each in self.batch.heap.parts
            if each.space == space and each.at <= at < each.at + each.data.size
        )
        owners = [plan for plan in self.jobs if part in plan.parts]
        name = self.name(owners[0]) if owners else "a buffer without a job"
        where = f"byte {at - part.at:,} of {part.data.size:,} at {part.address:#x}"
        return f"{name}: {where} is {found}, expected {expected}"
