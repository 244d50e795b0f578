"""Fetching the masks of a stream: the feedback loop that limits the decompressor's clock."""

from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.fetch.counting import CountingFetcher
from cdma.hdl.zvc.decompressor.fetch.lookup import LookupFetcher

#: From so many beats a block on, there is time to count the ones of a mask.
COUNTED_BEATS = 4


def fetcher_of(config: Config) -> type[CountingFetcher] | type[LookupFetcher]:
    """The mask fetcher for a size."""
    return CountingFetcher if config.block_beats >= COUNTED_BEATS else LookupFetcher


__all__ = ["CountingFetcher", "LookupFetcher", "fetcher_of"]
