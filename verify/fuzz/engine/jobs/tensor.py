"""Tensors in device memory: of one row, or of several with any pitch."""

from dataclasses import dataclass
from random import Random

import numpy as np

from cdma.engine_config import EngineConfig
from cdma.sim.engine.engine import DEVICE
from cdma.sim.engine.model import PREFETCH
from cdma.verify.fuzz.engine.jobs.heap import Heap, Part
from cdma.verify.fuzz.engine.jobs.plan import Plan
from cdma.verify.fuzz.engine.jobs.words import MOST_ROWS, MOST_STEP, MOST_STRIPES, Words

#: Share of the tensors that have several rows.
_ROWS = 0.06


@dataclass(frozen=True)
class Tensor:
    """A tensor of a job.

    Attributes
    ----------
    config : EngineConfig
    part : Part or None
        Device memory from the lowest to the highest row. ``None``: no memory is accessed.
    size : int
        Bytes of all rows.
    fields : dict
        Fields of the descriptor: ``device``, ``row_bytes``, and for rows ``rows``, ``pitch``.
    words : np.ndarray or None
        The words, row after row.
    """

    config: EngineConfig
    part: Part | None
    size: int
    fields: dict
    words: np.ndarray | None = None

    @property
    def _pitch(self):
        return self.fields.get("pitch", 0) if self.fields.get("rows", 1) > 1 else 0

    @property
    def is_plain(self) -> bool:
        """No byte belongs to more than one row."""
        return self.fields.get("rows", 1) <= 1 or abs(self._pitch) >= self.fields["row_bytes"]

    @property
    def channels(self) -> set[int]:
        """Channels of the rows."""
        stripe = self.config.stripe_bytes
        return {self.channel(at // stripe) for at in range(0, self.size, stripe)}

    def at(self, byte: int) -> tuple[int, int]:
        """Stripe and address of a byte, counted over all rows."""
        row, rest = divmod(byte, self.fields["row_bytes"])
        address = self.fields["device"] + row * self._pitch + rest
        return byte // self.config.stripe_bytes, address

    def channel(self, stripe: int) -> int:
        """Channel of a stripe."""
        return self.config.channel(self.at(stripe * self.config.stripe_bytes)[1])

    def _pieces(self, first, last):
        """Bytes ``first`` to ``last`` of the rows: offset in ``part``, and place."""
        row = self.fields["row_bytes"]
        while first < last:
            end = min(last, (first // row + 1) * row)
            yield self.at(first)[1] - self.part.address, first, end
            first = end

    def expect(self, plan: Plan, data: np.ndarray) -> None:
        """Expect the first bytes of the tensor to be written."""
        for offset, first, end in self._pieces(0, data.size):
            plan.write(self.part, data[first:end], offset)

    def open(self, plan: Plan, first: int, last: int) -> None:
        """Expect anything in some bytes of the tensor."""
        for offset, start, end in self._pieces(first, last):
            plan.opens.append((self.part, offset, offset + end - start))


def tensor_to_read(heap: Heap, words: Words, random: Random, ring: int) -> Tensor:
    """A tensor for an offload, with its words in memory."""
    config = words.config
    if random.random() >= _ROWS:
        drawn = words.draw(random)
        part = _place(heap, config, random, drawn.nbytes, ring, readable=True)
        part.data[:] = drawn.view(np.uint8)
        fields = {"device": part.address, "row_bytes": drawn.nbytes} | _one_row(random)
        return Tensor(config, part, drawn.nbytes, fields, drawn)
    row = config.stripe_bytes * random.randrange(1, MOST_STRIPES + 1)
    rows = random.randrange(2, MOST_ROWS + 1)
    step = config.stripe_bytes * random.randrange(MOST_STEP + 1)
    span = row + step * (rows - 1)
    drawn = words.draw(random, span // config.word_bytes)
    part = _place(heap, config, random, span, ring, readable=True)
    part.data[:] = drawn.view(np.uint8)
    at = [k * step for k in range(rows)]
    fields = {"device": part.address, "row_bytes": row, "rows": rows, "pitch": step}
    if random.random() < 0.5:
        at.reverse()
        fields |= {"device": part.address + span - row, "pitch": -step}
    parts = [part.data[each : each + row] for each in at]
    gathered = np.concatenate(parts).view(drawn.dtype)
    return Tensor(config, part, rows * row, fields, gathered)


def tensor_to_write(heap: Heap, config: EngineConfig, random: Random, size: int) -> Tensor:
    """Memory for a prefetch of so many bytes."""
    stripe = config.stripe_bytes
    stripes, rest = divmod(size, stripe)
    if rest or stripes < 2 or random.random() >= 3 * _ROWS:
        part = _place(heap, config, random, size, PREFETCH, writable=True)
        fields = {"device": part.address, "row_bytes": size} | _one_row(random)
        return Tensor(config, part, size, fields)
    rows = random.choice([each for each in range(2, stripes + 1) if stripes % each == 0])
    row = size // rows
    step = row + stripe * random.randrange(3)
    span = row + step * (rows - 1)
    part = _place(heap, config, random, span, PREFETCH, writable=True)
    fields = {"device": part.address, "row_bytes": row, "rows": rows, "pitch": step}
    if random.random() < 0.5:
        fields |= {"device": part.address + span - row, "pitch": -step}
    return Tensor(config, part, size, fields)


def _one_row(random):
    """Fields that do not matter with one row."""
    return {"rows": random.randrange(2), "pitch": random.randrange(-(1 << 63), 1 << 63)}


def _place(heap, config, random, size, ring, **access):
    lap = config.stripe_bytes * config.channels
    offset = config.stripe_bytes * random.randrange(config.channels)
    if config.channels == 1:
        lap = config.beat_bytes
        offset = 0
    return heap.place(DEVICE, size, ring, align=lap, offset=offset, **access)
