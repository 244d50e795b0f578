"""The bench for cocotb: plays the runs of a job on any design with AXI4-Stream ports.

Each :class:`~cdma.sim.job.Stimulus` of the pickled list ``job.pickle`` in the working folder is one
cocotb test. The test writes a pickled :class:`~cdma.sim.job.Report` to ``report-<index>.pickle``.
"""

import pickle
import time
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from cdma.sim.backpressure import parse
from cdma.sim.cocotb.ports import Monitor, Sink, Source, Violation, junk
from cdma.sim.job import Report

PERIOD_NS = 2
#: Cycles that a run continues after the last packet, to detect surplus output.
QUIET_CYCLES = 40

JOB = pickle.loads(Path("job.pickle").read_bytes())
LIMIT_NS = PERIOD_NS * max(stimulus.most_cycles for stimulus in JOB)


@cocotb.test(timeout_time=LIMIT_NS, timeout_unit="ns")
@cocotb.parametrize(index=range(len(JOB)))
async def run(dut, index):
    """Play one stimulus and report, whether it succeeds or not."""
    stimulus, report = JOB[index], Report(failure="ended by its time limit")
    # The first edge comes after the pins have the values driven in reset.
    Clock(dut.aclk, PERIOD_NS, "ns").start(start_high=False)
    try:
        if stimulus.reset_at is not None:
            bench = _Bench(dut, stimulus.before or stimulus, Report())
            await bench.reset(stimulus.reset_cycles)
            await bench.play(stimulus.reset_at)
        bench = _Bench(dut, stimulus, report)
        await bench.reset(stimulus.reset_cycles)
        await bench.play()
        report.failure = ""
    except Exception as error:
        report.failure = str(error) if isinstance(error, Violation) else repr(error)
        raise
    finally:
        Path(f"report-{index}.pickle").write_bytes(pickle.dumps(report))


class _Bench:
    def __init__(self, dut, stimulus, report):
        self._dut, self._stimulus, self._report = dut, stimulus, report
        self._edge = RisingEdge(dut.aclk)
        self._noise = junk(stimulus.seed) if stimulus.is_dirty else None
        self._sources = [
            Source(dut, name, feed.packets, self._willing(feed), self._noise, stimulus.word_bytes)
            for name, feed in stimulus.inputs.items()
        ]
        self._expected = {name: drain.count for name, drain in stimulus.outputs.items()}
        self._expected |= stimulus.watched
        self._watchers = [
            Sink(dut, name, self._willing(drain)) for name, drain in stimulus.outputs.items()
        ]
        self._watchers += [Monitor(dut, name) for name in stimulus.watched]

    async def reset(self, cycles):
        """Hold reset for a number of cycles. Ports are idle, or driven with junk."""
        ports = [*self._sources, *self._watchers]
        for name, value in self._stimulus.constants.items():
            getattr(self._dut, name).value = value
        self._dut.aresetn.value = 0
        for cycle in range(cycles):
            if self._noise:
                for port in ports:
                    port.disturb(self._noise)
            await self._edge
            if cycle:
                self._check_silence()
        self._dut.aresetn.value = 1
        for port in ports:
            port.rest()
        await self._edge
        self._check_silence()

    def _check_silence(self):
        """Check the outputs from the first edge of a reset on."""
        for watcher in self._watchers:
            watcher.check_silence()

    async def play(self, cycles=None):
        """Run to the end of the stimulus, or for ``cycles`` cycles without results."""
        ports = [*self._sources, *self._watchers]
        report = self._report
        last_move = cycle = quiet = 0
        reported = time.monotonic()
        try:
            while quiet < QUIET_CYCLES and cycle != cycles:
                await self._edge
                moved = False
                for port in ports:
                    moved |= port.tick(cycle)
                if moved:
                    last_move = cycle
                elif cycle - last_move > self._stimulus.patience:
                    raise Violation(
                        f"hangs: no handshake since cycle {last_move}; {self._progress()}"
                    )
                quiet = quiet + 1 if self._is_done() else 0
                cycle += 1
                if not cycle % 4096 and time.monotonic() > reported + 1:
                    reported = time.monotonic()
                    Path("progress").write_text(f"cycle {cycle:,}: {self._progress()}")
        finally:
            report.cycles = cycle
            report.packets = {port.name: port.packets for port in ports}
            report.stalls = {port.name: port.stalls for port in ports}

    def _willing(self, port):
        return parse(port.stall).willing(self._stimulus.seed, port.port)

    def _is_done(self):
        return all(source.is_done for source in self._sources) and all(
            len(watcher.packets) >= self._expected[watcher.name] for watcher in self._watchers
        )

    def _progress(self):
        done = [
            f"{port.beats:,} of {port.total_beats:,} beats in at {port.name}"
            for port in self._sources
        ]
        done += [
            f"{len(port.packets):,} of {self._expected[port.name]:,} packets out at {port.name}"
            for port in self._watchers
        ]
        return ", ".join(done)
