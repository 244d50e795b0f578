"""What was measured of the units, as the tables of several pages need it."""

from pathlib import Path

import tables

from cdma.format import Format
from cdma.hdl.zvc.compressor import Compressor
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor import Decompressor
from cdma.synth.flow.columns import Column
from cdma.synth.flow.report import spread

DOCS = Path(__file__).parents[1]
UNITS = ("compressor", "decompressor")
_CLASSES = {"compressor": Compressor, "decompressor": Decompressor}


def records(name: str) -> list[dict]:
    """Records of one file of measurements."""
    return tables.read(name)["records"]


def baseline() -> dict[tuple[str, str], dict]:
    """Records of the named configurations, by unit and configuration."""
    return Measured({(each["unit"], each["config"]): each for each in records("baseline")})


class Measured(dict):
    """Records, where a missing one is :class:`tables.NotMeasured`."""

    def __missing__(self, key):
        raise tables.NotMeasured(key)


def shown(record: dict, column: Column) -> str:
    """A figure as text: Fmax with its spread over the seeds."""
    value = column.value(record)
    if value is None:
        return "-"
    if column.path == "ecp5.fmax_mhz":
        return spread(record["ecp5"])
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.2f}"


def configs(found: list[dict]) -> dict[str, Config]:
    """Configuration of each record's name.

    A name does not contain a default block length, and an earlier default was 32 words. The
    latencies show which default applies: all records of a file have the same default.

    Raises
    ------
    ValueError
        When the latencies are those of neither.
    """
    for default in (None, 32):
        taken = {each["config"]: _config(each, default) for each in found}
        if None not in taken.values() and all(
            _CLASSES[each["unit"]].latency(taken[each["config"]]) == each["latency_cycles"]
            for each in found
        ):
            return taken
    raise ValueError("The latencies that were measured are not those of the units: measure again")


def _config(record, default):
    name, _, block = record["config"].partition("b")
    try:
        return Config.parse(f"{name}b{block or default}" if block or default else name)
    except ValueError:
        return None


def is_default(config: Config) -> bool:
    """Whether a configuration has the default block of its word width."""
    return config.format.block_words == Format(config.format.word_bits).block_words
