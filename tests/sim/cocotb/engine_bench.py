"""cocotb module: the engine behind AXI models of another project (cocotbext-axi).

Reads ``job.pickle``: memories of the device and of the host, writes of registers, and completions
to wait for. Leaves ``report-0.pickle``: the memories after that, and some registers.
"""

import pickle
import warnings
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it uses names that cocotb 2 has renamed
    from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam

(JOB,) = pickle.loads(Path("job.pickle").read_bytes())
_PATIENCE = 20_000


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def run(dut):
    """Program the engine, ring a doorbell, wait for a completion, read memories."""
    options = {"reset_active_level": False}
    device, host = bytearray(JOB["device"]), bytearray(JOB["host"])
    for prefix, memory in [*((each, device) for each in JOB["channels"]), (JOB["link"], host)]:
        bus = AxiBus.from_prefix(dut, prefix)
        AxiRam(bus, dut.aclk, dut.aresetn, mem=memory, **options)
    bus = AxiLiteBus.from_prefix(dut, "s_axil")
    registers = AxiLiteMaster(bus, dut.aclk, dut.aresetn, **options)
    Clock(dut.aclk, 2, "ns").start()
    dut.aresetn.value = 0
    for _ in range(4):
        await RisingEdge(dut.aclk)
    dut.aresetn.value = 1
    await RisingEdge(dut.aclk)
    for step in JOB["steps"]:
        if "write" in step:
            address, value = step["write"]
            await registers.write_dword(address, value)
        else:
            address, value = step["until"]
            for _ in range(_PATIENCE):
                if host[address] == value:
                    break
                await RisingEdge(dut.aclk)
            else:
                raise AssertionError(f"no completion at {address:#x}")
    report = {"device": bytes(device), "host": bytes(host)}
    report["registers"] = [await registers.read_dword(address) for address in JOB["registers"]]
    Path("report-0.pickle").write_bytes(pickle.dumps(report))
