"""The first error of a packet, in the order of the stream, and the bytes before it."""

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
import pytest

from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.check import METER_CYCLES, StreamCheck
from cdma.hdl.zvcplus.decompressor.layouts import row_bits
from cdma.zvcplus import ErrorCode

DEPTH = 8
ROWS = 1 << row_bits(DEPTH)  # numbers of rows
OF_CONTROL = {"is_reserved": 6, "is_past": 3, "is_many": 7, "is_long": 8}
CONFIGS = (Config("fp32"), Config("fp32", "left"), Config("int8", "left"))


def errors_of(config: Config) -> list[str]:
    """Errors of a control: the length of int8 with repeats is compared with the payload only."""
    counts = config.has_repeats and config.word.is_float
    return [name for name in OF_CONTROL if counts or name != "is_many"]


@dataclass
class Packet:
    """Bits of controls and payloads, bytes of the stream, and errors of blocks."""

    controls: list[int]
    payloads: list[int]
    size: int
    rest: int = 0  # last byte
    wrong: dict = field(default_factory=dict)  # names by block
    miscounted: tuple = ()  # blocks
    dropped: bool = False
    row: int = 0  # its first

    @property
    def places(self):
        """Of each control, of the last payload and behind it; and behind each control."""
        places, behind = [0], []
        for number, control in enumerate(self.controls):
            behind.append(places[-1] + control)
            places.append(behind[-1] + (self.payloads[number - 1] if number else 0))
        places.append(places[-1] + self.payloads[-1])
        return places, behind

    def place(self, number: int) -> int:
        """Place of a control, of the last payload, or behind it, in the ring."""
        return (self.places[0][number] + 256 * self.row) % (256 * ROWS)

    def place_behind(self, control: int) -> int:
        """Place behind a control, in the ring."""
        return (self.places[1][control] + 256 * self.row) % (256 * ROWS)

    @property
    def judged(self):
        """The first error in the order of the stream, the bytes in front of it, and whether it is
        found before the packet's end."""
        places, behind = self.places
        right, blocks = 0, len(self.controls)
        total = 8 * self.size if not self.dropped else 1 << 30
        for step in range(1, blocks + 1):
            block = step - 1
            codes = [OF_CONTROL[name] for name in OF_CONTROL if name in self.wrong.get(block, ())]
            if behind[block] > total:
                return ErrorCode.TRUNCATED, right, True
            if codes:
                return codes[0], right, True
            if places[step] > total:
                return ErrorCode.TRUNCATED, right, True
            if block - 1 in self.miscounted:
                return ErrorCode.COUNT, right, True
            right = -(-places[step] // 8)
        end = places[-1]
        if end > total:
            return ErrorCode.TRUNCATED, right, False
        if blocks - 1 in self.miscounted:
            return ErrorCode.COUNT, right, False
        left = self.rest >> end % 8 if end % 8 else 0
        is_trailing = total > 8 * -(-end // 8) or left
        return ErrorCode.TRAILING if is_trailing else ErrorCode.NONE, -(-end // 8), False

    def end(self):
        """As a layout."""
        rows = -(-max(self.size, 1) // 32)
        end = 32 * self.row + self.size
        return {
            "row": end // 32 % ROWS,
            "byte": end % 32,
            "start": (self.row + rows) % ROWS,
            "rest": self.rest,
            "dropped": self.dropped,
        }


def packets_of(rng, number: int, config: Config) -> list[Packet]:
    """Right packets and wrong ones, in rows behind each other."""
    packets, row = [], 0
    for _ in range(number):
        blocks = int(rng.integers(1, 5))
        controls = rng.integers(2, 60, size=blocks).tolist()
        payloads = (rng.integers(0, 1025, size=blocks) * rng.integers(2, size=blocks)).tolist()
        packet = Packet(controls, payloads, 0, row=row)
        bits = packet.places[0][-1]
        kind = int(rng.integers(6))
        packet.size = -(-bits // 8)
        if kind == 0:  # the ring never has more than eight rows that are not read
            packet.size = max(0, packet.size - int(rng.integers(1, 120)))
        elif kind == 1:
            packet.size += int(rng.integers(1, 100))
        elif kind == 2:
            packet.rest = int(rng.integers(256))
        elif kind == 3:
            names = errors_of(config)
            for block in range(blocks):
                packet.wrong[block] = [name for name in names if rng.random() < 0.2]
        elif kind == 4 and config.has_repeats:
            packet.miscounted = tuple(rng.integers(blocks, size=1).tolist())
        elif kind == 5:
            packet.dropped = bool(rng.random() < 0.2)
        row += -(-max(packet.size, 1) // 32)
        packets.append(packet)
    return packets


@dataclass
class Step:
    """What a step has: a control and its number, the tail and the end of packets, by number."""

    control: tuple[int, int] | None = None
    tail: int | None = None
    end: int | None = None


def steps_of(rng, packets, has_repeats: bool, late: int) -> list[Step]:
    """Steps of packets that share up to two steps with the next, or with repeats one. ``late``:
    cycles by which reports are late."""
    steps, start = defaultdict(Step), 0
    for number, packet in enumerate(packets):
        blocks = len(packet.controls)
        for k in range(blocks):
            steps[start + k].control = (number, k)
        steps[start + blocks].tail = number
        steps[start + blocks + 1].end = number
        # The packet after the next starts when the end of this one is checked.
        starts = start + blocks + int(rng.integers(has_repeats, 3))
        checked = max((at for at, each in steps.items() if each.end == number - 1), default=0)
        start = max(starts, checked + 1 + (late > 0))
    return [steps[at] for at in range(max(steps) + 1)]


def rows_of(rng, packets, steps, config: Config) -> list[dict]:
    """Inputs by cycle."""
    rows, late = [], []  # late: inputs that come two cycles behind the step
    none = dict.fromkeys(errors_of(config), 0)
    tail = behind = 0
    for at, step in enumerate(steps):
        was = steps[at - 1] if at else Step()
        follows = steps[at + 1].control if at + 1 < len(steps) else None
        number, k = step.control or (None, None)
        owner = number if step.tail is None else step.tail  # of the step's place
        has_block = step.tail is not None or bool(k)
        newest = max(each for each in (number, step.tail, step.end) if each is not None)
        oldest = min(each for each in (number, step.tail, step.end) if each is not None)
        if was.control is not None:
            newest = max(newest, was.control[0])
        ahead = packets[newest].places[0][k or 0] // 256 + DEPTH
        common = {
            "has_block": has_block,
            "parity": has_block and owner % 2,
            "owner": owner,
            "is_second": has_block and was.control is not None and was.control[1] == 0,
            "is_end": step.end is not None,
            "shares_tail": step.tail is not None and step.control is not None,
            "shares_end": step.end is not None and newest != step.end,
            "current": packets[newest].end(),
            "first": packets[oldest].end(),
            "ended": step.end == newest or packets[newest].size // 32 <= ahead,
        }
        place = tail
        if step.control != (number, 0) and owner is not None:
            blocks = k if step.tail is None else len(packets[owner].controls)
            place = packets[owner].place(blocks)
        wrong = dict(none)
        if has_block:
            block = (k if step.tail is None else len(packets[owner].controls)) - 1
            wrong |= {name: name in packets[owner].wrong.get(block, ()) for name in none}
        if config.has_repeats:
            judged = (owner, block - 1) if has_block else None
            if step.end is not None:
                judged = (step.end, len(packets[step.end].controls) - 1)
            common["is_miscounted"] = bool(judged) and judged[1] in packets[judged[0]].miscounted
        for phase in (*[0] * int(rng.choice([1, 1, 3])), 1, 2, 3):
            row = common | {"phase": 1 << phase, "tail": tail if phase < 2 else place}
            row |= {"behind": behind, "starts": phase == 3 and bool(follows) and follows[1] == 0}
            rows.append(row | {"step": at})
        late.append((len(rows) + 1, wrong))
        # Behind the step: its tail or its control, and the payload in front of the next.
        if step.tail is not None:
            tail = packets[step.tail].place(len(packets[step.tail].controls) + 1)
        elif step.control is not None:
            tail = packets[number].place(k + 1)
        if step.control is not None:
            behind = packets[number].place_behind(k)
    rows += [rows[-1] | {"phase": 1, "step": len(steps)}] * 12
    for number, (cycle, wrong) in enumerate(late):
        until = late[number + 1][0] if number + 1 < len(late) else len(rows)
        rows[cycle:until] = [row | wrong for row in rows[cycle:until]]
    return rows


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.name)
def test_first_error_and_length(play, config, seed):
    rng = np.random.default_rng(seed)
    late = METER_CYCLES * (config.has_repeats and not config.word.is_float)
    packets = packets_of(rng, 60, config)
    steps = steps_of(rng, packets, config.has_repeats, late)
    rows = rows_of(rng, packets, steps, config)
    ends = [
        cycle
        for cycle, row in enumerate(rows)
        if row["phase"] == 8 and steps[row["step"]].end is not None
    ]
    known = ("step", "owner")
    inputs = [{name: row[name] for name in row if name not in known} for row in rows]
    if late:  # the length is compared eight cycles behind the step in front
        come = [row["is_miscounted"] for row in inputs]
        inputs = [
            row | {"is_miscounted": bit} for row, bit in zip(inputs, [0] * 7 + come, strict=False)
        ]
    names = ["checked", "o_valid", "end", "fails", "failing"]
    seen = play(StreamCheck(config, DEPTH), inputs, names)
    assert [cycle for cycle, bit in enumerate(seen["checked"]) if bit] == [
        cycle + late for cycle in ends
    ]
    told = [cycle for cycle, bit in enumerate(seen["o_valid"]) if bit]
    assert told == [cycle + 3 + late for cycle in ends]
    met = set()
    for number, cycle in enumerate(told):
        error, size, _ = packets[number].judged
        met.add(error)
        assert seen["end"][cycle] == {"error": error, "bytes": size}, number
    assert len(met) >= 5
    # Four cycles behind the step of its report.
    failed = [(rows[at - 4 - late]["owner"], at) for at, bit in enumerate(seen["fails"]) if bit]
    assert {number for number, _ in failed} == {
        number for number, packet in enumerate(packets) if packet.judged[2]
    }
    assert all(seen["failing"][at] == number % 2 for number, at in failed)
