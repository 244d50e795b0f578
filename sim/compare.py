"""Comparison of the RTL's output with the golden model."""

from dataclasses import dataclass

import numpy as np

from cdma.golden.codecs import codec_of
from cdma.hdl.codecs import UnitConfig

#: Bytes or words shown on either side of a difference.
AROUND = 3


@dataclass(frozen=True)
class Expected:
    """Expected output of a unit for one packet.

    Attributes
    ----------
    words : np.ndarray, shape (n,)
        The uncompressed data.
    output : bytes
        Bytes of the output packet, all or the first.
    status : tuple of int
        The status record.
    unit_bytes : int
        Bytes of an item in messages about differences: 1 for a stream, a word for data.
    is_well_formed : bool
        The unit should report no error.
    size : int or None
        Bytes of the output packet, of which those behind ``output`` may be anything. ``None``:
        those of ``output``.
    link, link_status
        For a roundtrip: the stream between the units, and the compressor's status.
    """

    words: np.ndarray
    output: bytes
    status: tuple[int, ...]
    unit_bytes: int
    is_well_formed: bool = True
    size: int | None = None
    link: bytes | None = None
    link_status: tuple[int, int] | None = None

    @property
    def packet_bytes(self) -> int:
        """Bytes of the output packet."""
        return len(self.output) if self.size is None else self.size


def first_difference(
    packets, expected: list[Expected], configs: UnitConfig | list[UnitConfig]
) -> str:
    """First difference in the order of packets, in one line, or an empty string.

    Missing and surplus packets are not compared, see :func:`wrong_count`.

    Parameters
    ----------
    packets : list of PacketResult
        Output packets.
    expected : list of Expected
        Expected packets.
    configs : UnitConfig or list of UnitConfig
        Lanes and format, to describe the position of a difference; of all packets, or of each.
    """
    each = configs if isinstance(configs, list) else [configs] * len(expected)
    for index, (got, want, config) in enumerate(zip(packets, expected, each, strict=False)):
        found = (
            _difference("stream ", got.link, want.link, 1, want, got.link_cycles, config)
            or _status_difference(got.link_status, want.link_status, "compressor status")
            or _difference("", *_known(got, want), want.unit_bytes, want, got.output_cycles, config)
            or _beats_difference(got.beats_out, want.packet_bytes, config)
            or _status_difference(got.status, want.status, "status")
        )
        if not found and got.status_cycle <= got.last_cycle:
            found = "status came before the last beat was taken"
        if found:
            return f"packet {index}: {found}"
    return ""


def wrong_count(counts: dict[str, int], expected: int) -> str:
    """First port with another number of packets than ``expected``, or an empty string.

    Parameters
    ----------
    counts : dict of str to int
        Number of packets, or records, at each output port.
    expected : int
        Expected number.
    """
    for port, count in counts.items():
        if count != expected:
            return f"{port} gave {count} packets, expected {expected}"
    return ""


def _known(got, want):
    """Both output packets, with what was expected of those bytes that may be anything."""
    known = len(want.output)
    rest = got.output[known : want.packet_bytes]
    return got.output, want.output + rest + bytes(want.packet_bytes - known - len(rest))


def _difference(what, got, want, unit_bytes, expected, cycles, config):
    """The first byte or word that differs: place, cycle, meaning, and the values around it."""
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
    beat = start // config.beat_bytes
    role = _stream_role if unit_bytes == 1 else _word_role
    place = [f"beat {beat}", role(start, expected.words, config)]
    if beat < len(cycles):
        place.insert(0, f"cycle {cycles[beat]}")
    first = max(0, item - AROUND)
    span = slice(first * unit_bytes, (item + AROUND + 1) * unit_bytes)
    return (
        f"{what}{name} {item} ({', '.join(place)}) is {_hex(got[start:end])}, "
        f"expected {_hex(want[start:end])}; from {name} {first} on: "
        f"{_items(got[span], unit_bytes)}, expected {_items(want[span], unit_bytes)}"
    )


def _word_role(start, words, config):
    """Word and block of a byte of the data."""
    block, index = divmod(start // config.format.word_bytes, config.format.block_words)
    return f"block {block}, word {index}"


def _stream_role(start, words, config):
    """Meaning of a byte of the stream."""
    return codec_of(config.format).place_of(start, words, config.format)


def _beats_difference(got, size, config):
    want = max(1, -(-size // config.beat_bytes))
    return "" if got == want else f"output took {got} beats, expected {want}"


def _status_difference(got, want, what):
    if got == want:
        return ""
    is_, expected = (", ".join(map(str, status)) for status in (got, want))
    return f"{what} is {is_}, expected {expected}"


def _items(data, unit_bytes):
    """Numbers in hexadecimal, separated by blanks."""
    parts = [data[at : at + unit_bytes] for at in range(0, len(data), unit_bytes)]
    return " ".join(_hex(part)[2:] for part in parts)


def _hex(data):
    return f"0x{int.from_bytes(data, 'little'):0{2 * len(data)}x}"
