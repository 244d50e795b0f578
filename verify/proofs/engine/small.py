"""Sizes for proofs: engines that are smaller than any that is built."""

from dataclasses import dataclass

from cdma.engine_config import EngineConfig


@dataclass(frozen=True)
class SmallConfig(EngineConfig):
    """An engine with short bursts and few stripes: the logic is that of every other size.

    The rules of :class:`~cdma.engine_config.EngineConfig` about useful sizes do not apply.
    """

    def __post_init__(self):
        """Accept any size."""

    @property
    def burst_bytes(self) -> int:
        """Four beats."""
        return 4 * self.beat_bytes

    @property
    def reads(self) -> int:
        """So few that a reader has room for four bursts."""
        return -6

    @property
    def name(self) -> str:
        """Short name of channels, lanes and word bits."""
        return f"{self.channels}x{self.lanes}x{self.word_bits}"


def small(channels: int = 1, lanes: int = 2) -> SmallConfig:
    """Bytes as words, bursts of four beats, stripes of two bursts, one block a burst."""
    return SmallConfig(
        channels=channels,
        lanes=lanes,
        word_bits=8,
        block_words=8,
        stripe_bytes=8 * lanes,
        stage_bytes=32,
        queue_bytes=8 * lanes,
        link_fifo_bytes=16 * lanes,
        link_bytes=lanes,
        address_bits=8,
        latency=0,
    )


def tiny(link_bytes: int, link_beats: int, address_bits: int) -> SmallConfig:
    """For whole directions and engines: beats of two bytes, and stripes of 16 bytes; a buffer of
    ``link_beats`` beats for what the link reads."""
    return SmallConfig(
        channels=1,
        lanes=2,
        word_bits=8,
        block_words=8,
        stripe_bytes=16,
        stage_bytes=64,
        queue_bytes=16,
        link_fifo_bytes=link_beats * link_bytes,
        link_bytes=link_bytes,
        address_bits=address_bits,
        latency=0,
    )


@dataclass(frozen=True)
class LateConfig(SmallConfig):
    """A small engine whose codec knows the size of a stripe when its stream is complete."""

    @property
    def counts_early(self) -> bool:
        """It does not."""
        return False

    @property
    def growth_beats(self) -> int:
        """Two beats."""
        return 2


def small_late() -> LateConfig:
    """As :func:`small`, with a codec that counts late."""
    return LateConfig(**vars(small()))
