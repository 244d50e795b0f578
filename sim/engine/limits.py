"""Limits of the engine's ports as the rules of the simulated memories check them."""

from cdma.engine_config import EngineConfig
from cdma.engine_limits import outstanding
from cdma.sim.engine import pins

#: Most consecutive cycles without WVALID while data is due. A burst is whole at hand when its
#: address is issued. On a channel its first beat is valid with the address, on the link two cycles
#: after the writer has issued the address, of which the register in front of the port takes one.
_CHANNEL_BUBBLE, _LINK_BUBBLE = 0, 1


def port_limits(config: EngineConfig, number: int) -> pins.Limits:
    """Limits of a port. A channel's port has the number of the channel, the link's port is last."""
    is_link = number == config.channels
    most = outstanding(config, is_link=is_link)
    has_stripes = not is_link and config.channels > 1
    return pins.Limits(
        beat_bytes=config.link_bytes if is_link else config.beat_bytes,
        burst_bytes=config.burst_bytes,
        ids=len(most),
        reads=tuple(each.reads for each in most),
        read_beats=tuple(each.read_beats for each in most),
        writes=tuple(each.writes for each in most),
        bubble=_LINK_BUBBLE if is_link else _CHANNEL_BUBBLE,
        channels=1 if is_link else config.channels,
        channel=0 if is_link else number,
        stripe_bytes=config.stripe_bytes if has_stripes else 0,
    )
