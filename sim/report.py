"""Results of the simulation of one packet, for tables and for JSON."""

from collections.abc import Mapping

import numpy as np

from cdma.sim.result import PacketResult, Result
from cdma.sim.typed import config_for, untyped

_THROUGHPUT = {None: "no rule applies", True: "met", False: "missed"}


def record(result: Result, words: np.ndarray) -> dict:
    """Sizes, cycles and verdicts of a simulation.

    Parameters
    ----------
    result : Result
        Result of a scenario with one packet. The scenario may have failed.
    words : ndarray, shape (words,)
        Words of the uncompressed packet.

    Returns
    -------
    dict
        Bytes, cycles and beats as integers; ``density``, ``ratio`` and ``bytes_per_cycle`` of the
        uncompressed packet; ``throughput`` is ``met``, ``missed`` or ``no rule applies``, and
        ``comparison`` is ``equal`` or the first difference. Unknown figures are ``None``.
    """
    packet = result.packets[0] if result.packets else None
    config = config_for(result.config, result.scenario.packets[0])
    stream_bytes = _stream_bytes(result, packet)
    is_decompressor = result.unit == "decompressor"
    return {
        "unit": result.unit,
        "config": result.config.name,
        "lanes": config.lanes,
        "word_bits": config.format.word_bits,
        "block_words": config.format.block_words,
        "words": int(words.size),
        "density": int(np.count_nonzero(words)) / words.size if words.size else None,
        "bytes_in": stream_bytes if is_decompressor else words.nbytes,
        "bytes_out": len(packet.output) if packet else None,
        "stream_bytes": stream_bytes,
        "ratio": words.nbytes / stream_bytes if stream_bytes else None,
        "cycles": result.cycles if packet else None,
        "most_cycles": result.bound,
        "beats_in": packet.beats_in if packet else None,
        "beats_out": packet.beats_out if packet else None,
        "bytes_per_cycle": words.nbytes / result.cycles if packet else None,
        "stalled_cycles": result.stalls,
        "throughput": _THROUGHPUT[result.is_fast_enough],
        "comparison": result.failure or result.difference or "equal",
    }


def text(report: Mapping) -> str:
    """A line for each figure of a report: its name, and its value or ``-``."""
    width = max(16, *(len(key) + 1 for key in report))
    lines = []
    for key, value in report.items():
        if isinstance(value, dict):
            value = ", ".join(f"{name} {count:,}" for name, count in value.items())
        elif isinstance(value, list):
            value = " ".join(value)
        elif isinstance(value, float):
            value = f"{value:.4g}"
        elif isinstance(value, int) and key != "seed":
            value = f"{value:,}"
        lines.append(f"{key.replace('_', ' '):<{width}}{'-' if value is None else value}")
    return "\n".join(lines)


def _stream_bytes(result: Result, packet: PacketResult | None) -> int | None:
    """Bytes of the compressed packet, which is the input or the output."""
    if result.unit == "decompressor":
        return len(untyped(result.scenario.packets[0])[0])
    if packet is None:
        return None
    return len(packet.output if packet.link is None else packet.link)
