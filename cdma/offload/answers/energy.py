"""Energy of a step's copies (equation 5): device memory, codec, link and host memory."""

import json
from dataclasses import dataclass
from pathlib import Path

from cdma.errors import UserError
from cdma.offload import records
from cdma.offload.schemes.registry import Result

#: Systems whose copies pass through the engine, and those without a codec.
ENGINE = ("cdma-zv", "async-zv")
PLAIN = ("oracle", "vdnn-all", "vdnn-conv", "async", "recompute", "recompute-async")


@dataclass(frozen=True)
class Prices:
    """Energy in pJ of a byte; the first three have no source here, so the user gives them.

    Parameters
    ----------
    dram, link, host : float
        Device memory, link and host memory, each way.
    codec : float
        Compressor and decompressor together, for a raw byte.
    """

    dram: float
    link: float
    host: float
    codec: float


def codec_price(lanes: int, word_bits: int = 32, path: Path = records.POWER) -> float:
    """Measured pJ of a raw byte through compressor and decompressor, the mean of the tensors.

    Raises
    ------
    UserError
        When these units were not measured.
    """
    try:
        units = json.loads(path.read_text(encoding="utf-8"))["records"]
        config, found = f"{lanes}x{word_bits}", {}
        for record in units:
            if record["config"] == config:
                energy = record["with_glitches"]["pj_per_byte"]
                found.setdefault(record["unit"], []).append(energy)
        return sum(sum(found[unit]) / len(found[unit]) for unit in ("compressor", "decompressor"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        text = f"{path}: no measured energy of units of {lanes}x{word_bits} ({error!r})"
        raise UserError(text) from None


def millijoules(result: Result, prices: Prices) -> float | None:
    """Energy of the copies of a step, both ways; ``None`` for a codec in software or of bits."""
    if result.name not in (*ENGINE, *PLAIN):
        return None
    codec = prices.codec if result.name in ENGINE else 0.0
    total = 0.0
    for move in result.moves:
        # Masks of dropout pass the engine as they are.
        own = 0.0 if move.tensor.kind == "mask" else codec
        total += move.tensor.bytes * (2 * prices.dram + own)
        total += 2 * move.link * (prices.link + prices.host)
    return total * 1e-9
