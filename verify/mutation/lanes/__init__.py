"""A model of a design with hundreds of lanes: each has its own fault, all have the same inputs.

As long as the outputs of a lane are those of the design without a fault, its environment would do
the same. So one environment drives all lanes, and a lane whose outputs differ once is done.
"""

from cdma.verify.mutation.lanes.build import LANES, Lanes, Loop, build_lanes

__all__ = ["LANES", "Lanes", "Loop", "build_lanes"]
