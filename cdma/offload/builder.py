"""A setup from a user's wishes, in the units in which they are given."""

import math
from dataclasses import dataclass, replace

from cdma.engine_config import EngineConfig
from cdma.errors import UserError, refusals_as_user_errors
from cdma.offload import constants
from cdma.offload.compute import BOARDS, times_of
from cdma.offload.lossy.bound import bound_of
from cdma.offload.moves import Codec, Link, measured_codec
from cdma.offload.networks.zoo import network
from cdma.offload.profiles import CODECS, Library, Uniform
from cdma.offload.setup import Setup
from cdma.offload.times import read_times


@dataclass(frozen=True)
class Wishes:
    """One point of the model; bandwidths in GB/s, ``None`` where a default is meant.

    Parameters
    ----------
    network, board : str
    batch : int or None
    times : str or None
        File of layer times; see ``read_times``.
    compute : float
        All times are divided by it.
    link, host, dram, codec : float or None
    share, channels, lanes : int
    ratio : float or None
        One ratio for sparse tensors; else they are measured on ``densities``.
    densities : tuple of str
    everything : bool
        Whether the ratio holds for dense tensors too.
    lossy : str or None
        Bound of the lossy codec, measured on ``densities``; see ``bound_of``.
    lossy_ratio : float or None
        Its ratio in place of a bound.
    cpu_codec : float or None
        See ``Setup.cpu``.
    other_traffic : float
        What else uses the link, each way.
    """

    network: str
    batch: int | None = None
    board: str = "titan-x"
    times: str | None = None
    compute: float = 1.0
    link: float | None = None
    share: int = 1
    host: float = math.inf
    dram: float | None = None
    channels: int = 4
    lanes: int = 8
    codec: float | None = None
    ratio: float | None = None
    densities: tuple[str, ...] = ()
    everything: bool = False
    lossy: str | None = None
    lossy_ratio: float | None = None
    cpu_codec: float | None = None
    other_traffic: float = 0.0


def config_of(wishes: Wishes) -> EngineConfig:
    """Size of the engine. UserError when there is none such."""
    with refusals_as_user_errors():
        return EngineConfig(channels=wishes.channels, lanes=wishes.lanes)


def build(wishes: Wishes) -> Setup:
    """Setup of wishes.

    Raises
    ------
    UserError
        When a value is refused.
    """
    net = network(wishes.network)
    batch = wishes.batch or net.batch
    config = config_of(wishes)
    if wishes.codec is None:
        codec = measured_codec(config)
    else:
        rate = wishes.codec * 1e9
        window = config.channels * config.stage_bytes
        codec = Codec(rate, rate, window=window, source="given")
    board = BOARDS[wishes.board]
    times = times_of(net.features, batch, board)
    if wishes.times:
        times = read_times(wishes.times, net.features, times, batch, wishes.board)
    link = constants.LINK.value if wishes.link is None else wishes.link * 1e9
    link -= wishes.other_traffic * 1e9
    if link <= 0:
        raise UserError("other traffic takes the whole link: expected less than its bandwidth")
    return Setup(
        net, batch, profiles_of(wishes, config, codec.window), board,
        Link(link, wishes.share, wishes.host * 1e9), codec, constants.ZLIB.value,
        None if wishes.dram is None else wishes.dram * 1e9, times.scaled(1 / wishes.compute),
        None if wishes.cpu_codec is None else wishes.cpu_codec * 1e9,
    )  # fmt: skip


def profiles_of(wishes: Wishes, config: EngineConfig, window: int) -> dict:
    """Profiles by codec; a given ratio is one for zero-value compression only."""
    files = wishes.densities
    if wishes.ratio is not None:
        found = {"zv": Uniform(wishes.ratio, config, wishes.everything)}
    else:
        found = {key: Library.read(files, config, window, key, wishes.network) for key in CODECS}
    if wishes.lossy is not None and (wishes.ratio or wishes.lossy_ratio):
        raise UserError("an error bound needs tensors: leave the given ratios out")
    if wishes.lossy_ratio is not None:
        found["lossy"] = Uniform(wishes.lossy_ratio, config, everything=True)
    elif wishes.lossy is not None:
        bound = bound_of(wishes.lossy)
        found["lossy"] = Library.read(files, config, window, "lossy", wishes.network, bound=bound)
    return found


def at_link(setup: Setup, bandwidth: float) -> Setup:
    """The same with another link, in bytes per second."""
    return replace(setup, link=replace(setup.link, bandwidth=bandwidth))
