"""Options of the engine's size, and the object that they describe."""

import argparse

from cdma.cli.options import config_from, flag
from cdma.engine_config import EngineConfig
from cdma.errors import UserError, refusals_as_user_errors

#: Name of the engine among the units.
ENGINE = "engine"
#: Options of a round trip that are of the engine alone.
TRIP = ("memory", "host_memory", "raw")
#: Options of an ``EngineConfig`` and their help; lanes and words are those of the units.
SIZES = {
    "channels": "memory channels: 1, 2, 4 or 8 (default: 4)",
    "stripe_bytes": "bytes in a stripe: a power of two, 1024 to 65536 (default: 4096)",
    "link_bytes": "bytes of a beat to the host: 8, 16, 32 or 64 (default: half a beat)",
    "address_bits": "bits of an address, 32 to 64 (default: 48)",
    "latency": "cycles of memory latency that the buffers cover (default: 350)",
    "stage_bytes": "bytes of each channel's output buffer (default: what the latency needs)",
    "queue_bytes": "bytes of each channel's input buffer (default: two stripes)",
    "link_fifo_bytes": "bytes of the link reader's buffer (default: 16384)",
}


def add_engine_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the engine's size, beside those of ``add_config_options``."""
    group = parser.add_argument_group("of the engine")
    for name, text in SIZES.items():
        group.add_argument(f"--{name.replace('_', '-')}", type=int, metavar="N", help=text)


def refuse_engine_options(args: argparse.Namespace) -> None:
    """Refuse options of the engine for a unit."""
    for option in (*SIZES, *TRIP):
        if getattr(args, option, None) is not None:
            raise UserError(f"{flag(option)} is for the engine, not for units")


def given_sizes(args: argparse.Namespace) -> dict[str, int]:
    """Sizes of the engine that were given."""
    return {name: value for name in SIZES if (value := getattr(args, name)) is not None}


def engine_config_from(args: argparse.Namespace, word_bits: int = 32) -> EngineConfig:
    """``EngineConfig`` that the options describe; ``word_bits`` replaces an option not given.

    Raises
    ------
    UserError
        When the size is refused.
    """
    unit = config_from(args, word_bits)
    words = {"word_bits": unit.format.word_bits, "block_words": unit.format.block_words}
    with refusals_as_user_errors():
        return EngineConfig(lanes=unit.lanes, **words, **given_sizes(args))
