"""A round trip in numbers."""

import numpy as np

from cdma.engine_config import EngineConfig
from cdma.sim.engine.cosim import Trip
from cdma.sim.engine.report import record


def test_figures_that_were_not_reached_are_missing():
    tensor, config = np.zeros(5000, "<u4"), EngineConfig(stripe_bytes=1024)
    found = record(tensor, config, Trip(None, None, np.zeros(0, "u1"), (10, 20), "it hangs"))
    assert (found["unit"], found["config"], found["stripes"]) == ("engine", config.name, 20)
    assert (found["bytes_in"], found["least_offload_cycles"]) == (20000, 10)
    names = ("stream_bytes", "ratio", "raw_stripes", "offload_cycles", "prefetch_cycles")
    assert {found[name] for name in (*names, "bytes_per_cycle")} == {None}
