"""Configurations as parameters of tests, of which some are slow."""

import pytest


def sized(quick=(), slow=()) -> list:
    """One parameter for each configuration, with its name; those of ``slow`` have that mark."""
    return [
        *(pytest.param(config, id=config.name) for config in quick),
        *(pytest.param(config, id=config.name, marks=pytest.mark.slow) for config in slow),
    ]


def corners(configs, quick: tuple[str, ...]) -> list:
    """``configs`` as :func:`sized` has them; all are slow but those whose names are ``quick``."""
    return sized(
        [config for config in configs if config.name in quick],
        [config for config in configs if config.name not in quick],
    )
