"""Both rings: fetch, start, finish, and the registers that follow."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from cdma.engine_codes import State, Status
from cdma.engine_config import EngineConfig
from cdma.hdl.engine.front.completion import CompletionWriter
from cdma.hdl.engine.front.fields import BlockSignature, address_of
from cdma.hdl.engine.front.ring.arena import Arena
from cdma.hdl.engine.front.ring.counts import Counts
from cdma.hdl.engine.front.ring.fetch import RINGS, Fetcher
from cdma.hdl.engine.front.ring.finish import Finisher
from cdma.hdl.engine.front.ring.records import FLIGHT_BITS
from cdma.hdl.engine.front.ring.start import Starter
from cdma.hdl.engine.front.ring.state import RingState
from cdma.hdl.engine.job import JobPort, ReadClient, WriteClient
from cdma.hdl.engine.registers import ADDRESS_BITS, register_map


class Rings(wiring.Component):
    """The rings of descriptors with their completions: 0 offload, 1 prefetch.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    registers0, registers1 : In, registers of the rings
    write_data, write_address : In, what is written to them; the data is stable for two more cycles
    reset : In, one cycle: abort both
    resets : In, level, behind ``reset`` and up to ``clear``: RUN is ignored
    clear : In, counts start over
    fatal : In, level: the link has failed
    reads, writes : Out, clients of the link, for descriptors and completions
    port0, port1 : Out, jobs
    is_stopped : Out, both are in STOPPED, and nothing is started, outstanding or on its way
    busy : Out, a bit for each ring: something is
    alarm : Out, a bit for each ring, one cycle: it has entered HALTED or ERROR
    rearm : Out, a bit for each ring, one cycle: software has read completions, and not all
    completed : Out, a bit for each ring, one cycle: a completion that asks for an interrupt
    urgent : Out, a bit for each ring, one cycle: a completion with a status other than OK
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        bits, link = config.address_bits, config.link_bytes
        block = BlockSignature(register_map(config).block("RING"))
        super().__init__(
            {
                **{f"registers{ring}": In(block) for ring in range(RINGS)},
                "write_data": In(32),
                "write_address": In(ADDRESS_BITS),
                "reset": In(1),
                "resets": In(1),
                "clear": In(1),
                "fatal": In(1),
                "reads": Out(ReadClient(bits, link)),
                "writes": Out(WriteClient(bits, link)),
                **{f"port{ring}": Out(JobPort(bits)) for ring in range(RINGS)},
                "is_stopped": Out(1),
                "busy": Out(RINGS),
                "alarm": Out(RINGS),
                "rearm": Out(RINGS),
                "completed": Out(RINGS),
                "urgent": Out(RINGS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, bits = self.config, self.config.address_bits
        m.submodules.counts = counts = Counts()
        m.submodules.fetcher = fetcher = Fetcher(bits, config.link_bytes)
        m.submodules.starter = starter = Starter(config)
        m.submodules.finisher = finisher = Finisher(bits)
        m.submodules.writer = writer = CompletionWriter(bits, config.link_bytes)
        m.submodules.arena = arena = Arena(bits)
        connect(m, finisher.o, writer.i)
        connect(m, fetcher.link, flipped(self.reads))
        connect(m, writer.link, flipped(self.writes))
        completes = Signal(RINGS)  # a completion has arrived
        m.d.comb += completes.eq(Cat(~writer.ring, writer.ring) & writer.written.replicate(RINGS))
        states = []
        for number in range(RINGS):
            m.submodules[f"state{number}"] = state = RingState(bits)
            states.append(state)
            self._state(m, number, state, counts, fetcher, starter, writer, arena, completes)
            self._fetch(m, number, state, counts, fetcher, starter)
            self._start(m, number, state, counts, starter, finisher)
            self._finish(m, number, starter, finisher)
            port = getattr(self, f"port{number}")
            connect(m, starter.job[number], flipped(port.job))
            connect(m, flipped(port.done), finisher.done[number])
            m.d.comb += port.abort.eq(state.aborts)
        self._counts(m, counts, completes)
        self._shared(m, counts, fetcher, starter, finisher, completes)
        self._arena(m, states[0], arena, starter, finisher)
        is_bad = (writer.status != Status.OK).replicate(RINGS)
        m.d.comb += [
            self.is_stopped.eq(
                Cat(state.state == State.STOPPED for state in states).all() & ~self.busy.any()
            ),
            self.alarm.eq(Cat(state.alarm for state in states)),
            self.rearm.eq(counts.has_read),
            self.completed.eq(completes & writer.interrupt.replicate(RINGS)),
            self.urgent.eq(completes & is_bad),
        ]
        return m

    def _registers(self, number):
        return getattr(self, f"registers{number}")

    def _attributes(self, number):
        regs = self._registers(number)
        return Cat(regs.attr_user, regs.attr_prot, regs.attr_cache)

    def _counts(self, m, counts, completes):
        """What software writes: the addresses of both counts differ in one bit, and so do those of
        the rings."""
        block = self._registers(0).signature.block
        addresses = [block.address(name) for name in ("SQ_TAIL", "CQ_HEAD")]
        kind = (addresses[0] ^ addresses[1]) & addresses[1]
        assert kind, "the lower address of the two is that of SQ_TAIL"
        regs = [self._registers(number) for number in range(RINGS)]
        m.d.comb += [
            counts.ring.eq(self.write_address[block.stride.bit_length() - 1]),
            counts.is_read.eq(self.write_address[kind.bit_length() - 1]),
            counts.writes.eq(
                Cat(each for r in regs for each in (r.sq_tail_write, r.cq_head_write)).any()
            ),
            counts.written.eq(self.write_data),
            counts.completes.eq(completes),
            counts.clear.eq(self.clear),
        ]
        for number, each in enumerate(regs):
            m.d.comb += [
                counts.log2[number].eq(each.sq_size_log2),
                each.sq_tail_count.eq(counts.tail[number]),
                each.sq_head_count.eq(counts.head[number]),
                each.cq_tail_count.eq(counts.head[number]),
                each.cq_head_count.eq(counts.completion_head[number]),
            ]

    def _state(self, m, number, state, counts, fetcher, starter, writer, arena, completes):
        regs, bits = self._registers(number), self.config.address_bits
        port = getattr(self, f"port{number}")
        flight = slice(0, FLIGHT_BITS)
        is_idle = starter.started[number][flight] == counts.head[number][flight]
        is_here = starter.place.ring == number
        begins = is_here & (starter.offers | starter.starts)
        is_drained = Signal(name=f"is_drained{number}")
        # What begins in a cycle counts in that cycle, and what may have been taken in it.
        rests = is_idle & fetcher.idle[number] & ~port.busy & ~begins
        m.d.sync += is_drained.eq(rests & ~arena.adds if number == 0 else rests)
        run = self.write_data[0]
        halts_now = completes[number] & (writer.status != Status.OK) & regs.ctrl_halt
        write_failed, is_error = completes[number] & writer.is_failed, counts.is_error[number]
        has_halted = starter.is_halted[number] & is_idle
        m.d.comb += starter.is_idle[number].eq(is_idle)
        m.d.comb += [
            state.start.eq(regs.ctrl_write & run & ~regs.ctrl_abort_pulse & ~self.resets),
            state.stop.eq(regs.ctrl_write & ~run),
            state.abort.eq(regs.ctrl_abort_pulse | self.reset),
            state.halt.eq(halts_now | has_halted),
            state.halt_status.eq(Mux(halts_now, writer.status, starter.halt_status[number])),
            # During a reset a ring that has stopped stays so: the reset waits for both of them.
            state.fail.eq((is_error | write_failed | self.fatal) & ~self.resets),
            state.fail_status.eq(
                Mux(write_failed, writer.status, Mux(is_error, Status.OK, Status.TIMEOUT))
            ),
            state.clear.eq(self.clear),
            state.is_drained.eq(is_drained),
            state.answered.eq(starter.answered[number]),
            state.is_inside.eq(starter.is_inside),
            state.address.eq(
                Mux(
                    starter.answered[number],
                    starter.address,
                    Mux(write_failed, writer.address, 0),
                )
            ),
            self.busy[number].eq(~is_drained),
            regs.is_active.eq(state.is_active),
            regs.ctrl_run.eq(state.is_wanted),
            regs.ctrl_abort.eq(state.aborts),
            regs.state_state.eq(state.state),
            regs.state_busy.eq(~is_drained),
            regs.state_status.eq(state.status),
            regs.error_lo_low.eq(state.error_address[:32]),
        ]
        if bits > 32:
            m.d.comb += regs.error_hi_high.eq(state.error_address[32:])

    def _fetch(self, m, number, state, counts, fetcher, starter):
        regs = self._registers(number)
        m.d.comb += [
            fetcher.run[number].eq(state.run),
            fetcher.base[number].eq(address_of(regs, "SQ_BASE", align=6)),
            fetcher.log2[number].eq(regs.sq_size_log2),
            fetcher.attr[number].eq(self._attributes(number)),
            fetcher.tail[number].eq(counts.tail[number]),
            fetcher.started[number].eq(starter.started[number]),
            fetcher.completion_head[number].eq(counts.completion_head[number]),
            fetcher.completion_log2[number].eq(regs.cq_size_log2),
        ]

    def _start(self, m, number, state, counts, starter, finisher):
        regs, window = self._registers(number), starter.window[number]
        m.d.comb += [
            starter.run[number].eq(state.run),
            starter.asks[number].eq(state.asks),
            window.device_base.eq(address_of(regs, "DEV_BASE")),
            window.device_end.eq(address_of(regs, "DEV_LIMIT")),
            window.host_base.eq(address_of(regs, "HOST_BASE")),
            window.host_end.eq(address_of(regs, "HOST_LIMIT")),
            starter.base[number].eq(address_of(regs, "SQ_BASE", align=6)),
            starter.log2[number].eq(regs.sq_size_log2),
            starter.completion_base[number].eq(address_of(regs, "CQ_BASE", align=6)),
            starter.completion_log2[number].eq(regs.cq_size_log2),
            starter.attr[number].eq(self._attributes(number)),
            starter.head[number].eq(counts.head[number]),
            finisher.started[number].eq(starter.started[number]),
        ]

    def _finish(self, m, number, starter, finisher):
        regs = self._registers(number)
        m.d.comb += [
            finisher.base[number].eq(address_of(regs, "CQ_BASE", align=6)),
            finisher.log2[number].eq(regs.cq_size_log2),
            finisher.attr[number].eq(self._attributes(number)),
        ]

    def _shared(self, m, counts, fetcher, starter, finisher, completes):
        m.d.comb += [
            fetcher.doorbell.eq(counts.doorbell),
            fetcher.doorbell_ring.eq(counts.doorbell_ring),
            fetcher.doorbell_tail.eq(self.write_data),
            fetcher.is_refused.eq(counts.is_error.any()),
            fetcher.next_place.eq(starter.next_place),
            fetcher.place.eq(starter.place),
            fetcher.wants_address.eq(starter.wants_address),
            starter.has.eq(fetcher.has),
            starter.awaited.eq(fetcher.awaited),
            starter.descriptor.eq(fetcher.descriptor),
            starter.response.eq(fetcher.response),
            starter.descriptor_address.eq(fetcher.address),
            starter.has_address.eq(fetcher.has_address),
            starter.completes.eq(completes),
            starter.has_room.eq(finisher.has_room),
            starter.clear.eq(self.clear),
            finisher.clear.eq(self.clear),
            finisher.may_start.eq(starter.may_start),
            finisher.ring.eq(starter.place.ring),
            finisher.record.eq(starter.record),
            finisher.arena_pointer.eq(starter.arena_pointer),
        ]

    def _arena(self, m, state, arena, starter, finisher):
        """Ring 0 has an arena; that of ring 1 is never used, but its pointer can be written."""
        regs = self._registers(0)
        m.d.comb += [
            arena.run.eq(state.run),
            arena.write_low.eq(regs.arena_pointer_lo_write),
            arena.write_high.eq(regs.arena_pointer_hi_write),
            arena.write_data.eq(self.write_data),
            arena.clear.eq(self.clear),
            arena.end.eq(address_of(regs, "ARENA_LIMIT", align=6)),
            arena.takes.eq(starter.appends),
            arena.ends.eq(finisher.ends_append),
            arena.advances.eq(finisher.ends_append & finisher.advances),
            arena.size.eq(finisher.size),
            starter.arena_pointer.eq(arena.pointer),
            starter.arena_room.eq(arena.room),
            starter.arena_end.eq(arena.end),
            starter.arena_is_free.eq(arena.is_free),
            regs.arena_pointer_lo_low.eq(arena.pointer[6:32]),
            regs.arena_pointer_hi_high.eq(arena.pointer[32:]),
        ]
        other = self._registers(1)
        low, high = other.arena_pointer_lo_low, other.arena_pointer_hi_high
        with m.If(self.clear):
            m.d.sync += [low.eq(0), high.eq(0)]
        with m.Else():
            with m.If(other.arena_pointer_lo_write):
                m.d.sync += low.eq(self.write_data[6:])
            with m.If(other.arena_pointer_hi_write):
                m.d.sync += high.eq(self.write_data)
