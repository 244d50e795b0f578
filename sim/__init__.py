"""Co-simulation of the generated Verilog with the golden model, and the Verilog as a function."""

from cdma.sim.axis import Violation
from cdma.sim.model import ModelResult, RtlModel
from cdma.sim.result import Result, Scenario
from cdma.sim.simulate import cosim, cosim_all
from cdma.sim.tools import SimulationError

__all__ = [
    "ModelResult",
    "Result",
    "RtlModel",
    "Scenario",
    "SimulationError",
    "Violation",
    "cosim",
    "cosim_all",
]
