"""Monitor of functional coverage. It observes only the pins of the ports, in every cycle."""

import numpy as np

from cdma.golden import ErrorCode
from cdma.verify.coverage.codecs import codec_of
from cdma.verify.coverage.points import BEATS, Coverage, last_part, length_class

#: Port of the uncompressed data and port of the compressed stream, by unit.
_SIDES = {"compressor": ("s_axis", "m_axis"), "decompressor": ("m_axis", "s_axis")}
_NEVER = np.iinfo(np.int64).max


def observe(coverage: Coverage, trace: np.ndarray) -> None:
    """Count the bins that a run covers, from reset to the last status.

    Parameters
    ----------
    coverage : Coverage
        Counters to update.
    trace : structured array, shape (cycles,)
        See :class:`cdma.sim.compiled.run.Played`.
    """
    unit, config = coverage.unit, coverage.config
    codec = codec_of(config)
    data, stream = (_Packets(trace[port], config, unit, port) for port in _SIDES[unit])
    statuses = _Records(trace["m_axis_sts"])
    words, codes = _lengths(unit, trace, statuses)
    for index, code in enumerate(codes):
        if code == ErrorCode.NONE:
            codec.observe_packet(coverage, stream.content(index), words[index])
            coverage.hit("words of a packet's last beat", [data.last_words(index)])
            last = last_part(words[index], config.format.block_words)
            coverage.hit("words of a packet's last block", [last])
        else:
            offset = int(statuses.values[index] & 0xFFFFFFFF)
            codec.observe_error(coverage, stream.content(index), words[index], code, offset)
            coverage.hit("bytes of the last beat of a bad stream", [int(stream.last_bytes[index])])
    entering = data if unit == "compressor" else stream
    leaving = stream if unit == "compressor" else data
    joined = np.flatnonzero(_are_joined(trace["s_axis"], entering))
    kinds = [length_class(count, config) for count in words]
    coverage.hit("length x next length, back to back", [(kinds[k], kinds[k + 1]) for k in joined])
    commands = None
    if unit == "decompressor":
        name_of = {int(code): code.name for code in config.error_codes}
        names = [name_of[code] for code in codes]
        coverage.hit("error", names)
        coverage.hit("error x next error, back to back", [(names[k], names[k + 1]) for k in joined])
        commands = _Records(trace["s_axis_cmd"])
        late = (commands.cycles > entering.first).astype(int) + (commands.cycles > entering.last)
        kinds = ("before", "between", "behind")
        coverage.hit("command, next to its packet's beats", [kinds[k] for k in late])
    _observe_stalls(coverage, trace, leaving)
    taken = np.searchsorted(statuses.cycles, np.arange(len(trace)))
    given = np.searchsorted(leaving.last, np.arange(len(trace)))
    coverage.hit("statuses not taken", (given - taken).tolist())
    enough = np.full(len(codes), _NEVER)
    for index in np.flatnonzero(np.array(codes) == ErrorCode.TRAILING):
        needed = int(statuses.values[index] & 0xFFFFFFFF)
        enough[index] = entering.cycle_of_byte(index, max(needed, 1) - 1)
    _observe_phases(coverage, trace, entering, leaving, statuses, commands, codes, enough)


class _Packets:
    """Packets at a port: cycles of their first and last beats, arrays of shape (packets,)."""

    def __init__(self, pins, config, unit, port):
        moves = np.flatnonzero(pins["valid"] & pins["ready"])
        beats = pins[moves]
        ends = np.flatnonzero(beats["last"])
        starts = np.concatenate([[0], ends[:-1] + 1])
        self.first, self.last = moves[starts], moves[ends]
        size = config.format.word_bytes
        keep = np.unpackbits(beats["keep"][ends], axis=1, bitorder="little")
        if (unit, port) == ("compressor", "s_axis"):
            # A word is kept if its lowest byte is kept.
            self.last_bytes = keep[:, : config.beat_bytes : size].sum(axis=1, dtype=int) * size
        else:
            self.last_bytes = keep.sum(axis=1, dtype=int)
        self.beats = ends - starts + 1
        self._size = size
        self._moves, self._data = moves, beats["data"]
        self._starts = starts
        self._beat_bytes = config.beat_bytes

    def content(self, index):
        """Bytes of a packet."""
        start, beats = self._starts[index], self.beats[index]
        whole = self._data[start : start + beats].reshape(-1)
        return whole[: (beats - 1) * self._beat_bytes + self.last_bytes[index]]

    def cycle_of_byte(self, index, byte):
        """Cycle in which a byte of a packet crossed the port."""
        return self._moves[self._starts[index] + byte // self._beat_bytes]

    def last_words(self, index):
        return int(self.last_bytes[index]) // self._size


class _Records:
    """Records at a port: their cycles and values, arrays of shape (records,)."""

    def __init__(self, pins):
        self.cycles = np.flatnonzero(pins["valid"] & pins["ready"])
        data = pins["data"][self.cycles]
        values = np.zeros((len(data), 8), np.uint8)
        values[:, : data.shape[1]] = data
        self.values = values.view("<u8")[:, 0]


def _lengths(unit, trace, statuses):
    """Number of words and error code of each packet."""
    if unit == "compressor":
        words = statuses.values & 0xFFFFFFFF
        return words.astype(int).tolist(), [ErrorCode.NONE] * len(words)
    words = _Records(trace["s_axis_cmd"]).values
    return words.astype(int).tolist(), (statuses.values >> 32).astype(int).tolist()


def _are_joined(pins, packets):
    """For each packet but the last: whether the source offered the next packet without a pause."""
    offered = np.concatenate([[0], np.cumsum(pins["valid"])])
    between = packets.first[1:] - packets.last[:-1]
    return offered[packets.first[1:] + 1] - offered[packets.last[:-1] + 1] == between


def _observe_stalls(coverage, trace, leaving):
    """Observe the position in the packet of each beat that the sink stalls."""
    pins = trace["m_axis"]
    cycles = np.flatnonzero(pins["valid"] & ~pins["ready"] & 1)
    index = np.searchsorted(leaving.last, cycles)  # the offered packet
    is_first = cycles <= leaving.first[index]
    is_last = pins["last"][cycles] != 0
    kinds = np.where(is_first, np.where(is_last, 0, 1), np.where(is_last, 3, 2))
    coverage.hit("beat that the sink stalls", [BEATS[kind] for kind in kinds])


def _observe_phases(coverage, trace, entering, leaving, statuses, commands, codes, enough):
    """Observe the stalls in each phase of the oldest packet."""
    cycles = np.arange(len(trace))
    oldest = np.searchsorted(statuses.cycles, cycles)

    def passed(events):
        return np.append(events, _NEVER)[oldest] < cycles

    is_cut = np.append(np.array(codes) == ErrorCode.TRUNCATED, False)[oldest]
    in_first, in_last = passed(entering.first), passed(entering.last)
    out_first, out_last = passed(leaving.first), passed(leaving.last)
    commanded = np.ones(len(trace), bool) if commands is None else passed(commands.cycles)
    has_command = commanded & (commands is not None)
    phases = np.select(
        [
            out_last & in_last,
            in_first & ~commanded,
            passed(enough) & ~in_last,
            out_first & in_last & is_cut,
            out_first & in_last,
            out_first,
            in_last,
            in_first,
            has_command,
        ],
        [
            *("reporting", "uncommanded", "draining", "padding", "emptying", "flowing", "whole"),
            *("filling", "commanded"),
        ],
        "idle",
    )
    stalls = {
        "source pauses": _is(trace["s_axis"], valid=0, ready=1),
        "source waits": _is(trace["s_axis"], valid=1, ready=0),
        "sink stalls": _is(trace["m_axis"], valid=1, ready=0),
        "status stalls": _is(trace["m_axis_sts"], valid=1, ready=0),
    }
    if commands is not None:
        stalls["command pauses"] = _is(trace["s_axis_cmd"], valid=0, ready=1)
        stalls["command waits"] = _is(trace["s_axis_cmd"], valid=1, ready=0)
    for stall, where in stalls.items():
        coverage.hit("stall x phase", [(stall, str(phase)) for phase in phases[where]])


def _is(pins, valid, ready):
    return (pins["valid"] == valid) & (pins["ready"] == ready)
