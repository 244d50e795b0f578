"""Co-simulation of the generated Verilog with the golden model, and its benches."""

from cdma.sim.simulate import Result, Scenario, cosim, cosim_all
from cdma.sim.tools import SimulationError

__all__ = ["Result", "Scenario", "SimulationError", "cosim", "cosim_all"]
