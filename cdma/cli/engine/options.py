"""Options of the engine's size, and the object that they describe."""

import argparse

from cdma.cli.options import config_from, flag, one_type
from cdma.engine_config import EngineConfig
from cdma.errors import UserError, refusals_as_user_errors

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


def engine_config_from(args: argparse.Namespace, word_bits=32, type_="fp32") -> EngineConfig:
    """``EngineConfig`` of the options; ``word_bits`` and ``type_`` replace those not given.

    Raises
    ------
    UserError
        When the size is refused.
    """
    return engine_config_of(args, config_from(args, word_bits, type_))


def engine_config_of(args: argparse.Namespace, unit) -> EngineConfig:
    """``EngineConfig`` with the units' ``Config`` and the options of the engine; may be refused."""
    given = {name: getattr(args, name) for name in SIZES if getattr(args, name) is not None}
    return engine_of(unit, **given)


def engine_of(unit, **sizes: int) -> EngineConfig:
    """``EngineConfig`` with the units' ``Config`` and sizes of the engine.

    Raises
    ------
    UserError
        When the size is refused.
    """
    one_type(unit, "the engine")
    if unit.codec == "zvcplus":
        if unit.repeats != "none":
            raise UserError("the engine has ZVC+ without repeats: leave --repeats out")
        with refusals_as_user_errors():
            return EngineConfig(codec=unit.codec, type=unit.type, **sizes)
    if unit.has_options:
        refused = "leave --tail and the options of zeros out"
        raise UserError(f"the engine has a tail of zeros, and omits zero words only: {refused}")
    if unit.is_asic:
        raise UserError("the engine has units for an FPGA: leave --target out")
    fmt = unit.format
    with refusals_as_user_errors():
        return EngineConfig(
            lanes=unit.lanes, word_bits=fmt.word_bits, block_words=fmt.block_words, **sizes
        )


def refuse(args: argparse.Namespace, *more: str) -> None:
    """Refuse, by a UserError, options of the engine's size and ``more`` of its own for a unit."""
    for name in (*SIZES, *more):
        if getattr(args, name, None) is not None:
            raise UserError(f"{flag(name)} is for the engine, not for units")
