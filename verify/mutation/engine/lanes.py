"""The engine with many lanes."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from cdma.sim.engine import build, pins
from cdma.verify.mutation import lanes
from cdma.verify.mutation.lanes.model import ALWAYS
from cdma.verify.mutation.lanes.source import Source
from cdma.verify.mutation.mutants import Drawn, Mutant


class EngineLanes(lanes.Lanes):
    """A model of an engine with faults."""

    @property
    def compiled(self) -> build.Compiled:
        """The model, for :class:`cdma.sim.engine.engine.Engine`."""
        return build.Compiled(self.library, pins.managers(self.pins))


def build_lanes(
    drawn: Drawn,
    mutants: list[Mutant],
    cache: str | os.PathLike | None = None,
    progress: Callable[[str], None] | None = None,
) -> EngineLanes:
    """Build the model of an engine: parameters and errors as of
    :func:`cdma.verify.mutation.lanes.build_lanes`."""
    source = Path(build.__file__).with_name("model.cpp")
    loop = lanes.Loop(source, build.SOURCES, _compared, headers=pins.bind)
    return EngineLanes(**vars(lanes.build_lanes(drawn, mutants, loop, cache, progress)))


def _compared(source: Source, name: str) -> Iterator[tuple[slice, str]]:
    """Fields of a channel are compared where its VALID is high, bytes where they are enabled."""
    outputs = source.outputs
    prefix, _, pin = name.rpartition("_")
    channel = re.match(r"(aw|ar|w|r|b)(?!ready|valid)", pin)
    if channel is None or f"{prefix}_{channel[1]}valid" not in outputs:
        yield slice(None), ALWAYS
        return
    (valid,) = outputs[f"{prefix}_{channel[1]}valid"]
    where = source.name(valid)
    if pin != "wdata" or f"{prefix}_wstrb" not in outputs:
        yield slice(None), where
        return
    for byte, strobe in enumerate(outputs[f"{prefix}_wstrb"]):
        yield slice(8 * byte, 8 * byte + 8), f"{where} & {source.name(strobe)}"
