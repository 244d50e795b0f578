"""What each port of the engine may have outstanding: for interconnects, and for what checks it."""

from dataclasses import dataclass

from cdma.engine_config import DESCRIPTOR_BYTES, EngineConfig

#: IDs of the link: streams; the index; descriptors and completions.
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


@dataclass(frozen=True)
class Outstanding:
    """Most bursts of one ID that a port has outstanding, and most beats of its reads.

    Parameters
    ----------
    reads : int
        Bursts from ARVALID to the last R.
    read_beats : int
        Beats of these bursts.
    writes : int
        Bursts from AWVALID to B.
    """

    reads: int
    read_beats: int
    writes: int


def outstanding(config: EngineConfig, *, is_link: bool) -> list[Outstanding]:
    """Limits of the link's port or of each channel's: one for each ID that the port uses.

    The engine never exceeds them, whatever the memories do. Few runs come to all of them.
    """
    return _of_link(config) if is_link else _of_channel(config)


def _of_channel(config):
    reads = config.channel_reads + _READS_IN_FRONT
    return [Outstanding(reads, _stage_beats(config), config.channel_writes)]


def _stage_beats(config):
    """Most beats for which STAGE has room: a stripe takes its beats and those of its growth."""
    growth = 1 if config.counts_early else config.growth_beats
    whole, rest = divmod(config.stage_bytes // config.beat_bytes, config.stripe_beats + growth)
    return whole * config.stripe_beats + max(rest - growth, 0)


def _of_link(config):
    # The buffers of the readers have room for all that is read. A burst has one beat or more.
    width = config.link_bytes
    data, index = config.link_fifo_bytes // width, _INDEX_AHEAD // width
    return [
        Outstanding(data, data, config.link_writes - _NOT_ISSUED),
        Outstanding(index, index, _INDEX_WRITES - _NOT_ISSUED),
        Outstanding(_DESCRIPTORS, _DESCRIPTORS * DESCRIPTOR_BYTES // width, _COMPLETIONS),
    ]
