"""Several sizes of the engine, beside those of units."""

import argparse
from collections.abc import Iterable

from cdma.cli.engine.options import engine_config_of, engine_of, refuse
from cdma.cli.options import config_named
from cdma.engine_config import ENGINE, EngineConfig
from cdma.errors import UserError


def engine_configs_from(args: argparse.Namespace, names: Iterable[str]) -> list[EngineConfig]:
    """Engines with units of these sizes; none when ``--unit`` does not name the engine.

    Raises
    ------
    UserError
        When a size is refused, or options of the engine are given without it.
    """
    if ENGINE in (args.unit or ()):
        return [engine_config_of(args, config_named(name)) for name in dict.fromkeys(names)]
    refuse(args)
    return []


def add_channels_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--channels`` of engines of several sizes."""
    sizes = "channels of the engine: 1, 2, 4 or 8 (default: 4)"
    parser.add_argument("--channels", nargs="+", type=int, metavar="N", help=sizes)


def engines_from(args: argparse.Namespace, configs: Iterable) -> list[EngineConfig]:
    """An engine of each unit's ``Config`` and each of ``--channels``; none without ``--unit``.

    Raises
    ------
    UserError
        When a size is refused, ``--channels`` is given without the engine, or ``--sweep`` with it.
    """
    if ENGINE not in (args.unit or ()):
        refuse(args)
        return []
    if args.sweep:
        raise UserError("--sweep is for units: name the sizes of the engine with --config")
    return [
        engine_of(unit, channels=channels)
        for unit in configs
        for channels in dict.fromkeys(args.channels or [4])
    ]
