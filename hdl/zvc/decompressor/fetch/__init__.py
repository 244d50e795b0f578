"""Fetching the masks of a stream: the feedback loop that limits the decompressor's clock."""

from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.fetch.counting import CountingFetcher
from cdma.hdl.zvc.decompressor.fetch.lookup import LookupFetcher


def fetcher_of(config: Config) -> type[CountingFetcher] | type[LookupFetcher]:
    """The mask fetcher for a size."""
    return CountingFetcher if config.counts_masks else LookupFetcher


__all__ = ["CountingFetcher", "LookupFetcher", "fetcher_of"]
