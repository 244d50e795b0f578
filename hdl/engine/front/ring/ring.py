"""One ring: fetch, start, finish, and the registers that follow."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from cdma.engine_codes import Status
from cdma.engine_config import EngineConfig
from cdma.hdl.engine.front.registers import BlockSignature, address_of
from cdma.hdl.engine.front.ring.fetch import COUNT_BITS, Fetcher
from cdma.hdl.engine.front.ring.finish import Ended, Finisher
from cdma.hdl.engine.front.ring.start import Starter
from cdma.hdl.engine.front.ring.state import RingState
from cdma.hdl.engine.job import JobPort, ReadClient
from cdma.hdl.engine.registers import register_map


class Ring(wiring.Component):
    """A ring of descriptors with its completions.

    Parameters
    ----------
    config : EngineConfig
    number : int
        0 offload, 1 prefetch.

    Members
    -------
    registers : In, registers of this ring
    write_data : In, what is written to them
    reset : In, one cycle: abort
    clear : In, counts start over
    fatal : In, level: the link has failed
    link : Out, reads of descriptors
    ended : Out stream of :class:`~cdma.hdl.engine.front.ring.finish.Ended`
    written, written_is_failed, written_status, written_address : In, in the cycle of ``written`` a
        completion has arrived, or could not be written
    port : Out, jobs
    started, head, failed : Out, of this ring
    other_started, other_head, other_failed : In, the same of the other ring
    tail_moved : Out, one cycle: software has read completions, and not all
    is_drained : Out, nothing is started, outstanding or on its way
    alarm : Out, one cycle: the ring has entered HALTED or ERROR
    """

    ended: stream.Interface

    def __init__(self, config: EngineConfig, number: int):
        self.config, self.number = config, number
        bits = config.address_bits
        super().__init__(
            {
                "registers": In(BlockSignature(register_map(config).block("RING"))),
                "write_data": In(32),
                "reset": In(1),
                "clear": In(1),
                "fatal": In(1),
                "link": Out(ReadClient(bits, config.link_bytes)),
                "ended": Out(stream.Signature(Ended(bits))),
                "written": In(1),
                "written_is_failed": In(1),
                "written_status": In(8),
                "written_address": In(bits),
                "port": Out(JobPort(bits)),
                "started": Out(COUNT_BITS),
                "head": Out(COUNT_BITS),
                "failed": Out(1),
                "other_started": In(COUNT_BITS),
                "other_head": In(COUNT_BITS),
                "other_failed": In(1),
                "tail_moved": Out(1),
                "is_drained": Out(1),
                "alarm": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.machine = state = RingState(self.config.address_bits)
        m.submodules.fetcher = fetcher = Fetcher(self.config.address_bits, self.config.link_bytes)
        m.submodules.starter = starter = Starter(self.config, self.number)
        m.submodules.finisher = finisher = Finisher(self.config.address_bits)
        tail, completion_head, count_error = self._counts(m)
        self._wire_state(m, state, fetcher, starter, count_error)
        self._wire_fetch(m, state, fetcher, starter, tail, completion_head)
        self._wire_start(m, state, starter, finisher)
        self._wire_finish(m, finisher)
        self._arena(m, finisher, starter)
        connect(m, fetcher.o, starter.i)
        connect(m, starter.o, finisher.i)
        connect(m, fetcher.link, flipped(self.link))
        connect(m, starter.job, flipped(self.port.job))
        connect(m, flipped(self.port.done), finisher.done)
        connect(m, finisher.o, flipped(self.ended))
        m.d.comb += [
            self.started.eq(starter.started),
            self.failed.eq(state.state == 4),
            self.alarm.eq(state.alarm),
            self.port.abort.eq(state.aborts),
            self.is_drained.eq((starter.started == self.head) & fetcher.idle & ~self.port.busy),
        ]
        return m

    def _counts(self, m):
        """SQ TAIL, CQ HEAD and the count of completions, and whether software wrote nonsense."""
        regs = self.registers
        written = self.write_data[:COUNT_BITS]
        tail, completion_head = Signal(COUNT_BITS), Signal(COUNT_BITS)
        size, completion_size = Signal(COUNT_BITS), Signal(COUNT_BITS)
        submitted, unread = Signal(COUNT_BITS), Signal(COUNT_BITS)
        # Sizes stay while the ring runs, and no count is written in the cycle after one of them.
        m.d.sync += [
            size.eq(1 << regs.sq_size_log2),
            completion_size.eq(1 << regs.cq_size_log2),
        ]
        m.d.comb += [
            submitted.eq(written - self.head),
            unread.eq(self.head - written),
        ]
        is_wrong, is_wrong_head = submitted > size, unread > completion_size
        with m.If(self.clear):
            m.d.sync += [tail.eq(0), completion_head.eq(0), self.head.eq(0)]
        with m.Else():
            with m.If(regs.sq_tail_write & ~is_wrong):
                m.d.sync += tail.eq(written)
            with m.If(regs.cq_head_write & ~is_wrong_head):
                m.d.sync += completion_head.eq(written)
            m.d.sync += self.head.eq(self.head + self.written)
        m.d.comb += [
            regs.sq_tail_count.eq(tail),
            regs.sq_head_count.eq(self.head),
            regs.cq_tail_count.eq(self.head),
            regs.cq_head_count.eq(completion_head),
            self.tail_moved.eq(regs.cq_head_write & ~is_wrong_head & (unread != 0)),
        ]
        is_error = (regs.sq_tail_write & is_wrong) | (regs.cq_head_write & is_wrong_head)
        return tail, completion_head, is_error

    def _wire_state(self, m, state, fetcher, starter, count_error):
        regs, bits = self.registers, self.config.address_bits
        is_bad = self.written & (self.written_status != Status.OK)
        halts_now = is_bad & regs.ctrl_halt
        run = self.write_data[0]
        write_failed = self.written & self.written_is_failed
        m.d.comb += [
            state.start.eq(regs.ctrl_write & run & ~regs.ctrl_abort_pulse),
            state.stop.eq(regs.ctrl_write & ~run),
            state.abort.eq(regs.ctrl_abort_pulse | self.reset),
            state.halt.eq(halts_now | (starter.is_halted & (starter.started == self.head))),
            state.halt_status.eq(Mux(halts_now, self.written_status, starter.halt_status)),
            state.fail.eq(count_error | write_failed | self.fatal),
            state.fail_status.eq(
                Mux(write_failed, self.written_status, Mux(count_error, Status.OK, Status.TIMEOUT))
            ),
            state.fail_address.eq(Mux(write_failed, self.written_address, 0)),
            state.is_drained.eq(self.is_drained),
            state.submission_base.eq(address_of(regs, "SQ_BASE", align=6)),
            state.submission_log2.eq(regs.sq_size_log2),
            state.completion_base.eq(address_of(regs, "CQ_BASE", align=6)),
            state.completion_log2.eq(regs.cq_size_log2),
            state.host_base.eq(address_of(regs, "HOST_BASE")),
            state.host_end.eq(address_of(regs, "HOST_LIMIT")),
            regs.is_active.eq(state.is_active),
            regs.ctrl_run.eq(state.run),
            regs.ctrl_abort.eq(state.aborts),
            regs.state_state.eq(state.state),
            regs.state_busy.eq(~self.is_drained),
            regs.state_status.eq(state.status),
            regs.error_lo_low.eq(state.error_address[:32]),
        ]
        if bits > 32:
            m.d.comb += regs.error_hi_high.eq(state.error_address[32:])

    def _wire_fetch(self, m, state, fetcher, starter, tail, completion_head):
        regs = self.registers
        m.d.comb += [
            fetcher.run.eq(state.run),
            fetcher.base.eq(address_of(regs, "SQ_BASE", align=6)),
            fetcher.log2.eq(regs.sq_size_log2),
            fetcher.tail.eq(tail),
            fetcher.started.eq(starter.started),
            fetcher.completion_head.eq(completion_head),
            fetcher.completion_log2.eq(regs.cq_size_log2),
            fetcher.attr.eq(self._attributes()),
        ]

    def _wire_start(self, m, state, starter, finisher):
        regs = self.registers
        m.d.comb += [
            starter.run.eq(state.run),
            starter.clear.eq(self.clear),
            starter.base.eq(address_of(regs, "SQ_BASE", align=6)),
            starter.log2.eq(regs.sq_size_log2),
            starter.attr.eq(self._attributes()),
            starter.device_base.eq(address_of(regs, "DEV_BASE")),
            starter.device_end.eq(address_of(regs, "DEV_LIMIT")),
            starter.host_base.eq(address_of(regs, "HOST_BASE")),
            starter.host_end.eq(address_of(regs, "HOST_LIMIT")),
            starter.head.eq(self.head),
            starter.other_started.eq(self.other_started),
            starter.other_head.eq(self.other_head),
            starter.other_failed.eq(self.other_failed),
            starter.is_appending.eq(finisher.is_appending),
        ]

    def _wire_finish(self, m, finisher):
        regs = self.registers
        m.d.comb += [
            finisher.clear.eq(self.clear),
            finisher.base.eq(address_of(regs, "CQ_BASE", align=6)),
            finisher.log2.eq(regs.cq_size_log2),
            finisher.attr.eq(self._attributes()),
        ]

    def _arena(self, m, finisher, starter):
        """The pointer, which software writes in halves and APPEND advances."""
        regs, bits = self.registers, self.config.address_bits + 1
        pointer = Signal(bits)
        with m.If(self.clear):
            m.d.sync += pointer.eq(0)
        with m.Elif(finisher.append):
            m.d.sync += pointer.eq(finisher.append_pointer)
        with m.Else():
            with m.If(regs.arena_pointer_lo_write):
                m.d.sync += pointer[6:32].eq(self.write_data[6:])
            with m.If(regs.arena_pointer_hi_write):
                m.d.sync += pointer[32:].eq(self.write_data)
        m.d.comb += [
            regs.arena_pointer_lo_low.eq(pointer[6:32]),
            regs.arena_pointer_hi_high.eq(pointer[32:]),
            starter.arena_pointer.eq(pointer),
            starter.arena_end.eq(address_of(regs, "ARENA_LIMIT", align=6)),
        ]

    def _attributes(self):
        regs = self.registers
        return Cat(regs.attr_user, regs.attr_prot, regs.attr_cache)
