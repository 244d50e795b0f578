"""Comparison of what the RTL emitted with what the golden model says."""

from dataclasses import dataclass

import numpy as np

from cdma.hdl.zvc.config import Config


@dataclass(frozen=True)
class Expected:
    """What a unit owes for one packet.

    Attributes
    ----------
    words : np.ndarray, shape (n,)
        The data, whichever side of the unit it is on.
    output : bytes
        Bytes of the output packet.
    status : tuple of int
        The status record.
    unit_bytes : int
        Bytes of what a difference is counted in: 1 for a stream, a word's for data.
    is_well_formed : bool
        Whether the unit should report no error.
    link, link_status
        Of a roundtrip, the stream between the units and the compressor's status.
    """

    words: np.ndarray
    output: bytes
    status: tuple[int, int]
    unit_bytes: int
    is_well_formed: bool = True
    link: bytes | None = None
    link_status: tuple[int, int] | None = None


def first_difference(packets, expected: list[Expected], config: Config) -> str:
    """First difference in the order of packets, in one line, or an empty string.

    Packets that one side lacks are not looked at, see :func:`wrong_count`.

    Parameters
    ----------
    packets : list of PacketResult
        What came out.
    expected : list of Expected
        What should have.
    config : Config
        Lanes, to say in which beat a difference is.
    """
    for index, (got, want) in enumerate(zip(packets, expected, strict=False)):
        told = (
            _bytes_difference(got.link, want.link, 1, config, "stream ")
            or _status_difference(got.link_status, want.link_status, "compressor status")
            or _bytes_difference(got.output, want.output, want.unit_bytes, config)
            or _beats_difference(got.beats_out, len(want.output), config)
            or _status_difference(got.status, want.status, "status")
        )
        if not told and got.status_cycle <= got.last_cycle:
            told = "status came before the last beat was taken"
        if told:
            return f"packet {index}: {told}"
    return ""


def wrong_count(counts: dict[str, int], expected: int) -> str:
    """First port that gave another number of packets than ``expected``, or an empty string.

    Parameters
    ----------
    counts : dict of str to int
        Packets, or records, that came out of each port.
    expected : int
        How many should have.
    """
    for port, count in counts.items():
        if count != expected:
            return f"{port} gave {count} packets, expected {expected}"
    return ""


def _bytes_difference(got, want, unit_bytes, config, what=""):
    if got == want:
        return ""
    common = min(len(got), len(want))
    left, right = (np.frombuffer(data, np.uint8)[:common] for data in (got, want))
    differs = np.flatnonzero(left != right)
    if not differs.size:
        return f"{what}output has {len(got)} bytes, expected {len(want)} (the same up to there)"
    item = int(differs[0]) // unit_bytes
    start = item * unit_bytes
    end = start + unit_bytes
    name = "byte" if unit_bytes == 1 else "word"
    return (
        f"{what}{name} {item} (beat {start // config.beat_bytes}) is "
        f"{_hex(got[start:end])}, expected {_hex(want[start:end])}"
    )


def _beats_difference(got, size, config):
    want = max(1, -(-size // config.beat_bytes))
    return "" if got == want else f"output took {got} beats, expected {want}"


def _status_difference(got, want, what):
    return "" if got == want else f"{what} is {got[0]}, {got[1]}, expected {want[0]}, {want[1]}"


def _hex(data):
    return f"0x{int.from_bytes(data, 'little'):0{2 * len(data)}x}"
