"""Makes random jobs of both rings, and jobs that the engine refuses."""

from dataclasses import replace
from random import Random

from cdma.engine_codes import Op
from cdma.golden.engine.descriptor import CONTROL, Descriptor
from cdma.golden.engine.rules import Bounds, refusal
from cdma.sim.engine.model import OFFLOAD
from cdma.verify.fuzz.engine.jobs.common import FIELDS
from cdma.verify.fuzz.engine.jobs.heap import Heap, Part
from cdma.verify.fuzz.engine.jobs.offloads import Offloads
from cdma.verify.fuzz.engine.jobs.plan import Plan
from cdma.verify.fuzz.engine.jobs.prefetches import Prefetches
from cdma.verify.fuzz.engine.jobs.words import Words
from cdma.verify.fuzz.engine.moods import Mood

_TRIES = 8


class Maker:
    """Makes the jobs of one round. Parameters as of :class:`Common` and :class:`Offloads`."""

    def __init__(self, words: Words, heap: Heap, random: Random, mood: Mood, arena: Part | None):
        self.random, self.config, self._kinds = random, words.config, mood.kinds
        common = (words, heap, random, mood)
        self._offloads = Offloads(*common, arena=arena)
        self._prefetches = Prefetches(*common)

    def make(self, ring: int) -> Plan:
        """A job of any kind. One of the kind "bad" is still to be refused, see :meth:`refuse`."""
        kinds = self._kinds[ring]
        (kind,) = self.random.choices(tuple(kinds), tuple(kinds.values()))
        if kind == "nop":
            return self._nop(ring)
        source = self._offloads if ring == OFFLOAD else self._prefetches
        usual = "offload" if ring == OFFLOAD else "prefetch"
        plan = getattr(source, usual if kind == "bad" else kind)()
        plan.kind = kind
        return plan

    def refuse(self, plan: Plan, bounds: Bounds) -> None:
        """Change a job so that the engine must refuse it: it breaks a rule, or leaves a window."""
        random, ring = self.random, plan.ring
        for _ in range(_TRIES):
            wrong = self._mutated(plan.descriptor)
            if wrong.append and wrong.op == Op.OFFLOAD:
                continue  # the arena tells
            if refusal(wrong, ring, self.config, bounds):
                break
        else:
            wrong = replace(plan.descriptor, op=random.choice((7 + random.randrange(9), 2 - ring)))
        plan.descriptor = wrong
        plan.refuse()

    def _mutated(self, good):
        random = self.random
        if random.random() < 0.4:
            name = random.choice(("op", "codec", "reserved", "raw", "word_bytes"))
            if name == "word_bytes":
                return replace(good, word_bytes=1 << random.randrange(4))
            return replace(good, **{name: random.randrange(1 << CONTROL[name][1])})
        if random.random() < 0.3:
            name = random.choice(("with_index", "crc", "append"))
            return replace(good, **{name: not getattr(good, name)})
        name = random.choice(tuple(FIELDS))
        value = getattr(good, name) ^ 1 << random.randrange(FIELDS[name])
        return replace(good, **{name: value})

    def _nop(self, ring):
        # No rule is about the other fields of a NOP.
        fields = {name: self.random.getrandbits(bits) for name, bits in FIELDS.items()}
        descriptor = Descriptor(Op.NOP, word_bytes=self.config.word_bytes, **fields)
        return Plan("nop", ring, replace(descriptor, **self._offloads.flags()))
