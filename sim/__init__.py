"""Co-simulation of the generated Verilog with the golden model, and the Verilog as a function.

This project has four drivers of streams, for different purposes:

- ``sim/cocotb/ports.py`` runs the Verilog in Verilator and Icarus Verilog under cocotb. Two
  simulators and an independent AXI4-Stream package check the protocol, at thousands of cycles a
  second.
- ``sim/compiled/streams.h`` does the same in C++ at millions of cycles a second: for large tensors,
  the fuzzer, coverage and mutants. A test compares the cycles of both.
- ``exchange`` in ``tests/hdl/conftest.py`` drives components in Amaranth's simulator. The payloads
  of their streams are not AXI4-Stream, and no Verilog is generated.
- The test bench in ``synth/power/switching.py`` drives a mapped netlist in Icarus Verilog, counts
  the changes of each net, and never stalls.

All use the same back-pressure (``sim/backpressure.py``) and stimulus (``sim/stimulus.py``).
"""

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
