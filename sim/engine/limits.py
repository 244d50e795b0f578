"""What each port of the engine may have outstanding, and other limits that its rules check."""

from cdma.engine_config import DESCRIPTOR_BYTES, EngineConfig
from cdma.sim.engine import pins

#: IDs of the link (``docs/integrating-the-engine.md``).
DATA, INDEX, RINGS = range(3)
#: Bursts that a channel reads at a time beyond those that its reader has room for: one waits in
#: front of the pipeline.
_READS_IN_FRONT = 1
#: Bursts of data or index that have begun and are not issued: they take room of those that the
#: writer may have outstanding.
_NOT_ISSUED = 4
#: Bursts of the index that the engine writes at a time, and bytes of the index that it reads ahead:
#: four bursts.
_INDEX_WRITES, _INDEX_AHEAD = 32, 2048
#: Descriptors on their way, eight of each ring, and completions on their way (``docs/engine.md``).
_DESCRIPTORS, _COMPLETIONS = 2 * 8, 16
#: Most consecutive cycles without WVALID while data is due. A burst is whole at hand when its
#: address is issued. On a channel its first beat is valid with the address, on the link two cycles
#: after the writer has issued the address, of which the register in front of the port takes one.
_CHANNEL_BUBBLE, _LINK_BUBBLE = 0, 1


def port_limits(config: EngineConfig, number: int) -> pins.Limits:
    """Limits of a port. A channel's port has the number of the channel, the link's port is last."""
    return _link_limits(config) if number == config.channels else _channel_limits(config, number)


def _channel_limits(config, number):
    return pins.Limits(
        beat_bytes=config.beat_bytes,
        burst_bytes=config.burst_bytes,
        ids=1,
        reads=(config.channel_reads + _READS_IN_FRONT,),
        read_beats=(_stage_beats(config),),
        writes=(config.channel_writes,),
        bubble=_CHANNEL_BUBBLE,
        channels=config.channels,
        channel=number,
        stripe_bytes=0 if config.channels == 1 else config.stripe_bytes,
    )


def _stage_beats(config):
    """Most beats for which STAGE has room: a stripe takes its beats and those of its growth."""
    growth = 1 if config.counts_early else config.growth_beats
    whole, rest = divmod(config.stage_bytes // config.beat_bytes, config.stripe_beats + growth)
    return whole * config.stripe_beats + max(rest - growth, 0)


def _link_limits(config):
    link = config.link_bytes
    # The buffers of the readers have room for all that is read. A burst has one beat or more.
    beats = (
        config.link_fifo_bytes // link,
        _INDEX_AHEAD // link,
        _DESCRIPTORS * DESCRIPTOR_BYTES // link,
    )
    return pins.Limits(
        beat_bytes=link,
        burst_bytes=config.burst_bytes,
        ids=len(beats),
        reads=(beats[DATA], beats[INDEX], _DESCRIPTORS),
        read_beats=beats,
        writes=(config.link_writes - _NOT_ISSUED, _INDEX_WRITES - _NOT_ISSUED, _COMPLETIONS),
        bubble=_LINK_BUBBLE,
        channels=1,
        channel=0,
        stripe_bytes=0,
    )
