"""Co-simulation of the generated Verilog with the golden model, and the Verilog as a function."""

from cdma.errors import SimulationError
from cdma.sim.cocotb.ports import Violation
from cdma.sim.compiled.model import ModelResult, RtlModel
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import EngineModel
from cdma.sim.result import Result, Scenario
from cdma.sim.simulate import cosim, cosim_all

__all__ = [
    "EngineModel",
    "Memory",
    "ModelResult",
    "Result",
    "RtlModel",
    "Scenario",
    "SimulationError",
    "Violation",
    "cosim",
    "cosim_all",
]
