"""Options and runs of the engine."""

from cdma.cli.engine.fuzz import ABOUT_FUZZ, add_fuzz_options, fuzz
from cdma.cli.engine.options import add_engine_options, engine_config_from
from cdma.cli.engine.runs import ABOUT, add_run_options, refuse_engine_options, round_trip
from cdma.engine_config import ENGINE

__all__ = [
    "ABOUT",
    "ABOUT_FUZZ",
    "ENGINE",
    "add_engine_options",
    "add_fuzz_options",
    "add_run_options",
    "engine_config_from",
    "fuzz",
    "refuse_engine_options",
    "round_trip",
]
