"""How long a tensor takes to host memory and back, by codec (equations 2 and 4)."""

import json
from dataclasses import dataclass
from pathlib import Path

from cdma.engine_config import EngineConfig
from cdma.errors import UserError
from cdma.offload import constants, records
from cdma.offload.profiles import Profile
from cdma.offload.tensors import Tensor
from cdma.tables import counted


@dataclass(frozen=True)
class Move:
    """One tensor on its way out and back.

    Parameters
    ----------
    tensor : Tensor
    down, up : float
        Seconds during which the way to the host, or back, is taken.
    link : float
        Bytes on the link, each way.
    host : float
        Bytes of pinned host memory.
    before, after : float
        Seconds of the GPU for a codec in software: after the layer's start, before its use.
    limit : str
        What bounds most of the way out: link or codec.
    """

    tensor: Tensor
    down: float
    up: float
    link: float
    host: float
    before: float = 0.0
    after: float = 0.0
    limit: str = "link"


@dataclass(frozen=True)
class Link:
    """Effective bandwidth between device and host in bytes per second, each way.

    Parameters
    ----------
    bandwidth : float
        Of the link.
    share : int
        GPUs that share it.
    host : float
        This GPU's share of the host's memory bandwidth.
    """

    bandwidth: float = constants.LINK.value
    share: int = 1
    host: float = float("inf")

    @property
    def effective(self) -> float:
        """Bandwidth that one GPU has."""
        return min(self.bandwidth / self.share, self.host)


@dataclass(frozen=True)
class Codec:
    """Throughput of a compressing engine, in raw bytes per second.

    Parameters
    ----------
    down, up : float
        Compressor and decompressor, all channels.
    latency : float
        Seconds from the start of a tensor to its first bytes.
    window : int
        Bytes of its buffers: bursts of dense data within them are smoothed.
    source : str
    """

    down: float = float("inf")
    up: float = float("inf")
    latency: float = 0.0
    window: int = 65536
    source: str = "ideal"


def measured_codec(config: EngineConfig, path: Path = records.UNITS) -> Codec:
    """Codec of an engine: channels times the measured rate of its units in standard cells.

    Raises
    ------
    UserError
        When there are no measurements, or none of these units.
    """
    units = units_of(config, path)
    clock = config.beat_bytes / min(unit["gb_per_s"] for unit in units.values())  # ns
    cycles = config.latency + sum(unit["latency"] for unit in units.values())
    return Codec(
        down=config.channels * units["compressor"]["gb_per_s"] * 1e9,
        up=config.channels * units["decompressor"]["gb_per_s"] * 1e9,
        latency=cycles * clock * 1e-9,
        window=config.channels * config.stage_bytes,
        source=f"{counted(config.channels, 'channel')} of {config.lanes}x{config.word_bits}, "
        "measured in "
        f"{units['compressor']['library']}",
    )


def units_of(config: EngineConfig, path: Path = records.UNITS) -> dict[str, dict]:
    """Measured rate, area and latency of the compressor and the decompressor of an engine."""
    try:
        units = json.loads(path.read_text(encoding="utf-8"))["records"]
    except (OSError, ValueError, KeyError) as error:
        raise UserError(
            f"{path}: measurements of the units cannot be read ({error}); "
            "give the engine's rate with --codec"
        ) from None
    found = {}
    for record in units:
        same = (record["lanes"], record["word_bits"]) == (config.lanes, config.word_bits)
        if same and "abc" in (record.get("asic") or {}):
            cells = record["asic"]["abc"]
            found[record["unit"]] = {
                "gb_per_s": cells["gb_per_s"],
                "area_um2": cells["area_um2"],
                "latency": record["latency_cycles"],
                "library": record["asic"]["library"],
            }
    if set(found) != {"compressor", "decompressor"}:
        size = f"{config.lanes}x{config.word_bits}"
        raise UserError(f"{path}: has no measurement of {size}; give the rate with --codec")
    return found


def raw_move(tensor: Tensor, link: Link) -> Move:
    """The bytes as they are."""
    seconds = tensor.bytes / link.effective
    return Move(tensor, seconds, seconds, tensor.bytes, tensor.bytes)


def coded_move(tensor: Tensor, profile: Profile, link: Link, codec: Codec) -> Move:
    """Through an engine: each window takes as long as the slower of link and codec."""
    bandwidth = link.effective
    size = profile.bytes(tensor.bytes)
    times = [
        codec.latency + tensor.bytes * profile.mean_of_max(1 / bandwidth, 1 / rate)
        for rate in (codec.down, codec.up)
    ]
    is_codec = tensor.bytes / codec.down > size / bandwidth
    return Move(tensor, *times, size, size, limit="codec" if is_codec else "link")
