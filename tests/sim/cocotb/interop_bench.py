"""cocotb module: a packet or two through AXI4-Stream ports that were not written here.

Reads ``job.pickle`` (packets in, by port prefix, and how many come out), leaves
``report-0.pickle`` (what came out, by port prefix).
"""

import pickle
import warnings
from itertools import cycle
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it uses names that cocotb 2 has renamed
    from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

(JOB,) = pickle.loads(Path("job.pickle").read_bytes())


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def run(dut):
    """Send everything, wait for everything, with pauses on both sides."""
    sources = {name: _port(AxiStreamSource, dut, name) for name in JOB["inputs"]}
    sinks = {name: _port(AxiStreamSink, dut, name) for name in JOB["outputs"]}
    Clock(dut.aclk, 2, "ns").start()
    dut.aresetn.value = 0
    for _ in range(4):
        await RisingEdge(dut.aclk)
    dut.aresetn.value = 1
    for port in (*sources.values(), *sinks.values()):
        port.set_pause_generator(cycle(JOB["pauses"]))
    for name, packets in JOB["inputs"].items():
        for packet in packets:
            await sources[name].send(AxiStreamFrame(packet))
    got = {}
    for name, count in JOB["outputs"].items():
        got[name] = [bytes((await sinks[name].recv()).tdata) for _ in range(count)]
    Path("report-0.pickle").write_bytes(pickle.dumps(got))


def _port(kind, dut, prefix):
    bus = AxiStreamBus.from_prefix(dut, prefix)
    # Without tkeep the model cannot know how many bytes a beat has.
    lanes = None if hasattr(dut, f"{prefix}_tkeep") else len(bus.tdata) // 8
    return kind(bus, dut.aclk, dut.aresetn, reset_active_level=False, byte_lanes=lanes)
