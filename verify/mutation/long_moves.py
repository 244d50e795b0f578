"""Amounts that advance the counters in the middle of a packet, so that each part carries.

See :mod:`cdma.verify.mutation.long_packets`.
"""

from dataclasses import dataclass

import numpy as np

from cdma.hdl.lib.counter import PART_BITS
from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.hdl.zvc.config import Config
from cdma.verify.formal.aiger import Graph

#: Number of parallel runs. Each has its own stalls and counts.
RUNS = 256
#: Blocks of the packet whose counters are moved.
BLOCKS = 30
#: The two times of a move, as shares of the packet's beats that are in.
MOVES = (0.3, 0.6)
# Shares of a count at which a part carries, after the first and after the second move. A counter of
# remaining words borrows earlier, and is moved back in the end.
_CARRIES = ((0.42, 0.5), (0.75, 0.9))
_BORROWS = ((0.1, 0.2), (0.42, 0.5))
_COUNTS = 1 << COUNT_BITS
_IS_EVEN = np.arange(RUNS) % 2 == 0


@dataclass(frozen=True)
class Moves:
    """Amounts of the moves in each run: arrays of int64, shape (RUNS,).

    Members
    -------
    registers : amounts of both moves, by name of the counter
    commanded : additional words in the command of the packet
    counted : expected difference of each field of the status
    """

    registers: dict[str, tuple[np.ndarray, np.ndarray]]
    commanded: np.ndarray
    counted: tuple[np.ndarray, ...]


def compressor_moves(config: Config, status: tuple[int, int], numbers: dict, rng) -> Moves:
    """Moves of the compressor's counters, input words and output rows, for random densities."""
    fmt = config.format
    row_bytes = config.lanes * fmt.word_bytes
    # The counter of words drops the low bits that are zero for whole blocks.
    per_block = fmt.block_words // (fmt.block_words & -fmt.block_words)
    words_in, rows_out = (numbers[f"core.report.{name}"] for name in ("words_in", "rows_out"))
    by_words = _carries(words_in, BLOCKS * per_block, rng)
    by_rows = _carries(rows_out, status[1] // row_bytes, rng)
    words = rng.uniform(fmt.mask_words + 1, fmt.mask_words + fmt.block_words - 1, RUNS)
    blocks, rows = _together(by_words // per_block, by_rows, words / config.lanes)
    return Moves(
        {
            "core.report.words_in": (blocks[0] * per_block, (blocks[1] - blocks[0]) * per_block),
            "core.report.rows_out": (rows[0], rows[1] - rows[0]),
        },
        np.zeros(RUNS, np.int64),
        (blocks[1] * fmt.block_words, rows[1] * row_bytes),
    )


def tail_moves(config: Config, status: tuple[int, int, int], numbers: dict, rng) -> Moves:
    """Moves of a decompressor whose streams end themselves: words read, and rows of the output."""
    fmt = config.format
    by_rows = _carries(numbers["core.report.rows"], BLOCKS * config.block_beats, rng)
    by_words = _carries(numbers["core.report.used"], status[0] // fmt.word_bytes, rng)
    words = rng.uniform(fmt.mask_words + 1, fmt.mask_words + fmt.block_words - 1, RUNS)
    blocks, used = _together(by_rows // config.block_beats, by_words, words)
    rows = [each * config.block_beats for each in blocks]
    moved = (used[0], used[1] - used[0])
    return Moves(
        {
            "core.report.used": moved,
            "core.report.block_start": moved,
            "core.report.rows": (rows[0], rows[1] - rows[0]),
        },
        np.zeros(RUNS, np.int64),
        (used[1] * fmt.word_bytes, rows[1] * config.lanes, np.zeros(RUNS, np.int64)),
    )


def _together(by_blocks, by_others, rates):
    """Amounts of two counts at both moves, of which the second has ``rates`` in each block.

    The first carries in one half of the runs, the second in the other half. The other count stays
    consistent: each block has between one and almost all of its words.
    """
    blocks, others = [], []
    for block, other in zip(by_blocks, by_others, strict=True):
        blocks.append(np.where(_IS_EVEN, block, other / rates).astype(np.int64))
        others.append(np.where(_IS_EVEN, block * rates, other).astype(np.int64))
    return blocks, others


def decompressor_moves(config: Config, status: tuple[int, int], numbers: dict, rng) -> Moves:
    """Moves of the decompressor's counters: words read from the stream, and remaining words."""
    fmt = config.format
    used = _carries(numbers["core.report.used"], status[0] // fmt.word_bytes, rng)
    # Each move makes a part borrow. In the end, the remaining words match the remaining beats.
    left = numbers["core.fetcher.control.left"]
    start, digits, upper = _part_values(left, 1, rng)
    words = BLOCKS * fmt.block_words
    first, second = (words * (1 - rng.uniform(*share, RUNS)) for share in _BORROWS)
    more = np.maximum(upper + (digits << start) - first.astype(np.int64), 0)
    then = np.maximum(upper + (digits - 1 << start) - second.astype(np.int64), 0)
    then = np.minimum(then, more)
    moved = (used[0], used[1] - used[0])
    return Moves(
        {
            "core.report.used": moved,
            "core.report.block_start": moved,
            "core.fetcher.control.left": (then - more, -then),
        },
        more,
        (used[1] * fmt.word_bytes, np.zeros(RUNS, np.int64)),
    )


def _carries(number, count, rng):
    """Amounts to add to a number at both moves, on its way to ``count``, so that a part that is all
    ones, or nearly, carries into the next part. Shape (2, RUNS)."""
    start, digits, upper = _part_values(number, -2, rng)
    first, second = ((count * rng.uniform(*share, RUNS)).astype(int) for share in _CARRIES)
    add = np.maximum(upper + (digits + 1 << start) - first, 0)
    return np.stack([add, np.maximum(upper + (digits + 2 << start) - second, add)])


def _part_values(number, value, rng):
    """For each run a part of a number: its start bit, a value that differs from ``value`` in at
    most one bit, and the bits above, which are random or propagate a carry or borrow."""
    run, parts = np.arange(RUNS) // 2, np.array(number.parts)
    starts, sizes = parts[run % len(parts)].T
    run //= len(parts)
    bit = run % (PART_BITS + 1)
    digits = (value ^ np.where(bit < sizes, 1 << bit, 0)) & (1 << sizes) - 1
    width = parts[-1].sum()
    passing = (1 << width) - 1 if value < 0 else 0
    above = np.where(run // (PART_BITS + 1) % 2, rng.integers(0, 1 << width, RUNS), passing)
    return starts, digits, above >> starts + sizes << starts + sizes


class Number:
    """A counter in registers, split into parts with a flag for all ones or zero.

    ``parts`` has the start bit and the bits of each part.
    """

    def __init__(self, graph: Graph, name: str):
        registers = graph.registers
        self._bits, self._flags, self.parts = [], [], []
        for low in (f"{name}.first", f"{name}.words", name):
            self._bits += _bits_of(registers, low)
        while part := _bits_of(registers, f"{name}.part{len(self._bits)}"):
            start, size = len(self._bits), len(part)
            self._bits += part
            self.parts.append((start, size))
            for kind, digits in (("full", (1 << size) - 1), ("zero", 0)):
                flag = registers.get(f"{name}.is_{kind}{start}")
                if flag is not None:
                    self._flags.append((flag, start, size, digits))
        if not self._bits:
            raise ValueError(f"Unit must have registers of a counter named {name!r}")

    def add(self, state: dict[int, int], more: np.ndarray) -> None:
        """Add to the number. The flag of an unchanged part keeps its value."""
        before = sum(
            unpacked(state[variable]).astype(np.int64) << place
            for place, variable in enumerate(self._bits)
        )
        after = before + more
        for place, variable in enumerate(self._bits):
            state[variable] = packed(after >> place & 1 != 0)
        for flag, start, size, digits in self._flags:
            part, old = (each >> start & (1 << size) - 1 for each in (after, before))
            state[flag] = packed(np.where(part == old, unpacked(state[flag]), part == digits))


def _bits_of(registers, name):
    """Variables of the bits of a register, lowest first."""
    if name in registers:
        return [registers[name]]
    found = []
    while f"{name}[{len(found)}]" in registers:
        found.append(registers[f"{name}[{len(found)}]"])
    return found


def packed(bits: np.ndarray) -> int:
    """Pack one bit per run into one number."""
    return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")


def unpacked(number: int) -> np.ndarray:
    """Reverse :func:`packed`: bool, shape (RUNS,)."""
    data = np.frombuffer(number.to_bytes(RUNS // 8, "little"), np.uint8)
    return np.unpackbits(data, bitorder="little").astype(bool)
