"""Test the counters for packets that are too long to simulate.

A packet of 2^32 words takes minutes. But only the counters of a unit depend on the number of words
that have passed. So short packets run twice on the and-inverter graph of a unit, a few hundred runs
in parallel. In the second run, in the middle of the first packet, the counters are advanced as if
more words had passed: to a value near a carry, or to a random value. Then the status of this packet
must count the additional words, and all other outputs must be equal in every cycle.

The unit can reach such a state in a packet with more blocks of suitable density. For the counter of
remaining words, the command has a larger count, and the counter is moved back after the carries.
"""

import numpy as np

from cdma import golden
from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.hdl.zvc.config import Config
from cdma.sim import stimulus
from cdma.verify.formal.aiger import UNKNOWN, Graph, value
from cdma.verify.mutation.graph import choice, offered_by
from cdma.verify.mutation.long_moves import (
    BLOCKS,
    MOVES,
    RUNS,
    Number,
    compressor_moves,
    decompressor_moves,
    packed,
    tail_moves,
    unpacked,
)

#: Words of the packets before and after the tested one. Their counts restart from zero.
_LONG = 1
_SHORT = (3, 5, 0, 40, 17)
#: Probabilities that a port does not stall.
_WILLING = (0.6, 0.85, 1.0)
_CYCLES_PER_BEAT = 4
_ONES = (1 << RUNS) - 1
_NUMBERS = {
    compressor_moves: ("core.report.words_in", "core.report.rows_out"),
    decompressor_moves: (
        "core.report.used",
        "core.report.block_start",
        "core.fetcher.control.left",
    ),
    tail_moves: ("core.report.used", "core.report.block_start", "core.report.rows"),
}


class LongPackets:
    """The packets and moves that a unit, or its mutants, run.

    Parameters
    ----------
    unit : str
        ``compressor`` or ``decompressor``.
    config : Config
        Its size.
    graph : Graph
        The unit with its mutants, see :func:`cdma.verify.mutation.proof.graph`.
    seed : int
        Seed of stalls, words and moves.
    is_cut : bool
        Remove the last beat of the first packet, so that its stream is truncated.
    """

    def __init__(
        self, unit: str, config: Config, graph: Graph, seed: int = 0, *, is_cut: bool = False
    ):
        self._graph = graph
        self._evaluate = graph.evaluator()
        rng = np.random.default_rng([seed, 4])
        fmt = config.format
        words = [
            stimulus.random_words(count, 0.5, fmt, rng)
            for count in (_SHORT[0], BLOCKS * fmt.block_words, *_SHORT[1:])
        ]
        self._commands = None
        self._constants = {
            f"{name}[{bit}]": _ONES * (number >> bit & 1)
            for name, number in config.constants.items()
            for bit in range(fmt.word_bits)
        }
        if unit == "compressor":
            words = stimulus.fed(unit, words, config)
            packets = [packet.tobytes() for packet in words]
            self._statuses = [
                (packet.size, golden.compress(packet, fmt).nbytes) for packet in words
            ]
        else:
            packets = [stream for stream, _ in stimulus.streams(words, config)]
            if is_cut:
                packets[_LONG] = packets[_LONG][: -config.beat_bytes]
            if not fmt.ends_itself:
                self._commands = [packet.size for packet in words]
            self._statuses = [
                _status_of(stream, packet.size, config)
                for stream, packet in zip(packets, words, strict=True)
            ]
        self._beats = _beats(packets, config)
        beats = -(-len(packets[_LONG]) // config.beat_bytes)
        self._move_at = [int(share * beats) for share in MOVES]
        decompresses = tail_moves if fmt.ends_itself else decompressor_moves
        moves = compressor_moves if unit == "compressor" else decompresses
        self._numbers = {name: Number(graph, name) for name in _NUMBERS[moves]}
        self._moves = moves(config, self._statuses[_LONG], self._numbers, rng)
        willing = rng.choice(_WILLING, RUNS)
        ports = [name for name in graph.inputs if name.endswith(("_tvalid", "_tready"))]
        cycles = _CYCLES_PER_BEAT * len(self._beats["tlast"])
        self._willing = [
            {port: rng.random(RUNS) < willing for port in ports} for _ in range(cycles)
        ]
        # In half of the runs, the statuses stall.
        for cycle in range(cycles // 2):
            self._willing[cycle]["m_axis_sts_tready"] &= np.arange(RUNS) % 4 < 2

    def fault(self, mutant: int = 0) -> str:
        """The wrong status of the unit or of a mutant, or an empty text."""
        statuses, _ = self._play(mutant)
        for run, each in enumerate(statuses):
            more = [int(field[run]) for field in self._moves.counted]
            expected = self._statuses.copy()
            expected[_LONG] = tuple(
                (a + b) % (1 << COUNT_BITS) for a, b in zip(expected[_LONG], more, strict=True)
            )
            if each != expected:
                return f"other statuses when counters are moved by {more}"
        return ""

    def ports_change(self) -> bool:
        """Whether a move changes any output of the unit other than the statuses."""
        return self._play(0)[1] != self._play(0, is_moved=False)[1]

    def _play(self, mutant, is_moved=True):
        """Statuses of each run, and all other outputs in each cycle."""
        graph, rng = self._graph, np.random.default_rng(0)
        chosen = {name: _ONES * bit for name, bit in choice(graph, mutant).items()}
        state = {variable: packed(rng.random(RUNS) < 0.5) for variable, _ in graph.latches}
        feeds = {"s_axis": _Feed(self._beats)}
        if self._commands is not None:
            commands = np.tile(np.array(self._commands)[:, None], RUNS)
            commands[_LONG] += self._moves.commanded * is_moved
            bits = {f"tdata[{bit}]": commands >> bit & 1 for bit in range(COUNT_BITS)}
            feeds["s_axis_cmd"] = _Feed(bits)
        undefined = [name for name in graph.inputs if name.startswith(UNKNOWN)]
        moved = np.zeros(RUNS, int)
        statuses, seen = [[] for _ in range(RUNS)], []
        for cycle, willing in enumerate(self._willing):
            for time, beats in enumerate(self._move_at * is_moved):
                due = (moved == time) & (feeds["s_axis"].taken >= beats)
                moved += due
                if due.any():
                    for name, number in self._numbers.items():
                        number.add(state, np.where(due, self._moves.registers[name][time], 0))
            inputs = {"aclk": 0, "aresetn": _ONES if cycle else 0} | chosen | self._constants
            inputs |= {name: packed(rng.random(RUNS) < 0.5) for name in undefined}
            for name, bits in willing.items():
                prefix, _, pin = name.rpartition("_")
                if pin == "tready":
                    inputs[name] = packed(bits)
                else:
                    pins = feeds[prefix].pins(bits & (cycle > 0))
                    inputs |= {f"{prefix}_{pin}": driven for pin, driven in pins.items()}
            values = self._evaluate(state, inputs, _ONES)
            outputs, state = (
                {key: value(values, literal, _ONES) for key, literal in literals}
                for literals in (graph.outputs.items(), graph.latches)
            )
            if not cycle:
                continue
            if all(feed.is_done for feed in feeds.values()) and all(
                len(each) >= len(self._statuses) for each in statuses
            ):
                break
            for prefix, feed in feeds.items():
                feed.accept(unpacked(outputs[f"{prefix}_tready"]))
            leaves = unpacked(outputs["m_axis_sts_tvalid"] & inputs["m_axis_sts_tready"])
            if leaves.any():
                fields = _status(outputs, len(self._statuses[0]))
                for run in np.flatnonzero(leaves):
                    statuses[run].append(tuple(int(field[run]) for field in fields))
            seen.append(
                [
                    bits & outputs.get(offered_by(name), _ONES)
                    for name, bits in outputs.items()
                    if not name.startswith("m_axis_sts_tdata")
                ]
            )
        return statuses, seen


class _Feed:
    """The input of a port, with the position of each run.

    ``beats`` gives the bits of each pin, shape (beats,) or (beats, RUNS).
    """

    def __init__(self, beats: dict[str, np.ndarray]):
        self._beats = beats
        self._count = len(next(iter(beats.values())))
        self.taken = np.zeros(RUNS, int)
        self._offers = np.zeros(RUNS, bool)

    def pins(self, willing: np.ndarray) -> dict[str, int]:
        """Values of the pins. An offered beat is held."""
        self._offers = (self._offers | willing) & (self.taken < self._count)
        at = np.minimum(self.taken, self._count - 1)
        found = {"tvalid": packed(self._offers)}
        for pin, bits in self._beats.items():
            now = bits[at] if bits.ndim == 1 else bits[at, np.arange(RUNS)]
            found[pin] = packed(now != 0)
        return found

    @property
    def is_done(self) -> bool:
        """Whether all beats of all runs were accepted."""
        return bool((self.taken == self._count).all())

    def accept(self, ready: np.ndarray) -> None:
        """Advance the runs in which the unit accepts the offered beat."""
        taken = self._offers & ready
        self.taken += taken
        self._offers &= ~taken


def _beats(packets, config):
    """Bits of each pin of a stream of words, by beat."""
    size = config.beat_bytes
    rows, keeps, lasts = [], [], []
    for packet in packets:
        count = max(1, -(-len(packet) // size))
        padded = np.zeros(count * size, np.uint8)
        padded[: len(packet)] = np.frombuffer(packet, np.uint8)
        rows.append(padded.reshape(count, size))
        keeps.append((np.arange(count * size) < len(packet)).reshape(count, size))
        lasts.append(np.arange(count) == count - 1)
    bits = np.unpackbits(np.concatenate(rows), axis=1, bitorder="little")
    keep = np.concatenate(keeps)
    return {
        "tlast": np.concatenate(lasts),
        **{f"tdata[{bit}]": bits[:, bit] for bit in range(bits.shape[1])},
        **{f"tkeep[{byte}]": keep[:, byte] for byte in range(size)},
    }


def _status_of(stream, count, config):
    """Fields of the status of a decompressor, in the order of their bits."""
    if not config.format.ends_itself:
        return golden.salvage(stream, count, config.format)[1:]
    words, consumed, code = golden.salvage(stream, None, config.format)
    return consumed, words.size, code


def _status(outputs, fields):
    """The fields of a status, by run."""
    bits = [
        outputs[f"m_axis_sts_tdata[{bit}]"]
        for bit in range(sum(name.startswith("m_axis_sts_tdata") for name in outputs))
    ]
    # All have COUNT_BITS, but for the last, which has the rest.
    starts = [number * COUNT_BITS for number in range(fields)]
    return [
        sum(unpacked(each).astype(np.int64) << place for place, each in enumerate(bits[start:end]))
        for start, end in zip(starts, [*starts[1:], len(bits)], strict=True)
    ]
