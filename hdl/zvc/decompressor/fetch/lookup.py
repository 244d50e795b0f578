"""The mask fetcher for short blocks: the way to the next mask is looked up."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring

from cdma.hdl.lib.prefix import add
from cdma.hdl.lib.signals import duplicates, registered, select
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.fetch.base import MaskFetcher
from cdma.hdl.zvc.decompressor.fetch.end_control import control_of
from cdma.hdl.zvc.decompressor.fetch.ends import PacketEnds
from cdma.hdl.zvc.decompressor.fetch.jump import JumpTable
from cdma.hdl.zvc.decompressor.fetch.window import MaskWindow


class LookupFetcher(MaskFetcher):
    """Look up where the next mask is, without waiting for this one.

    For blocks of fewer than four beats, which leave no time to count. Each word of the stream is
    counted as it comes in (:class:`~cdma.hdl.zvc.decompressor.fetch.jump.JumpTable`), as if it were
    the end of a mask. The place of the next mask is looked up and taken a cycle later, or at once
    where a block is one beat. The mask itself is read one cycle after its place is known.

    Throughput one block each ``block_beats`` cycles, or one packet a cycle where packets are
    shorter than a beat. The ports are those of
    :class:`~cdma.hdl.zvc.decompressor.fetch.base.MaskFetcher`; a mask is never longer than a beat.
    """

    @staticmethod
    def latency(config: Config) -> int:
        """Cycles from the row in which a mask ends to its block: the table, and the read."""
        return 2

    @staticmethod
    def sees_arrivals(config: Config) -> bool:
        """A mask is read from the ring only."""
        return False

    def elaborate(self, platform):
        m = Module()
        config, lanes = self.config, self.config.lanes
        m.submodules.ends = ends = PacketEnds(config, self.rows, self.number_bits)
        m.submodules.control = control = control_of(config)
        m.submodules.jumps = jumps = JumpTable(config, self.rows)
        lane = Signal(range(lanes), init=self.first_words - 1)  # of the last word to read
        index = Signal(self.index.shape, init=self.index.at(0))
        next_index = Signal(self.index.shape)
        ahead = Signal(signed(self.number_bits))  # rows of the packet in the ring, from there on
        is_there, free = Signal(), Signal()
        # A row counts as arrived when its words have been counted.
        accept = registered(m, self.accept, "accept", is_reset=True)
        if not config.format.ends_itself:
            wiring.connect(m, wiring.flipped(self.i_command), control.i_command)
        m.d.comb += [
            ends.accept.eq(accept),
            ends.tail.eq(registered(m, self.tail, "tail")),
            ends.info.eq(registered(m, self.info, "info")),
            ends.switch.eq(control.switch),
            control.is_there.eq(is_there),
            control.is_complete.eq(
                is_there & ~(ends.end.known & (ahead == 1) & (lane >= ends.end.count))
            ),
            control.end_known.eq(ends.end.known),
            control.is_last_read.eq(1),
            control.can_read.eq(free),
            jumps.accept.eq(self.accept),
            jumps.tail.eq(self.tail),
            jumps.words.eq(self.beat_words),
            jumps.row.eq(index),
            jumps.lane.eq(lane),
        ]
        self._read(m, free, control, lane, index)
        moves, next_lane, rows_on = self._look_up(m, control, jumps)
        state = self._follow(m, ahead, index, moves, rows_on, jumps.most, ends, accept, control)
        m.d.sync += [Cat(ahead, is_there).eq(state), index.eq(next_index)]
        m.d.comb += next_index.eq(state[len(ahead) + 1 :])
        with m.If(control.switch):
            m.d.sync += lane.eq(self.first_words - 1)
        with m.Elif(moves):
            m.d.sync += lane.eq(next_lane)
        return m

    def _read(self, m, free, control, lane, index):
        """The mask is read, and its block handed on, one cycle after its place is known."""
        lanes, first_words = self.config.lanes, self.first_words
        block = Signal.like(self.o.payload, reset_less=True)
        at = Signal(lanes)
        next_valid = Mux(free, control.done, self.o.valid)
        m.submodules.window = window = MaskWindow(self.config)
        m.d.comb += [
            free.eq(~self.o.valid | self.o.ready),
            control.next_free.eq(~next_valid | self.next_ready),
            window.bank_words.eq(self.bank_words),
            window.at.eq(at),
            self.o.payload.eq(block),
            self.o.payload.mask.eq(window.mask),
        ]
        m.d.sync += self.o.valid.eq(next_valid)
        with m.If(free):
            m.d.sync += [block.eq(control.block), at.eq(window.banks(self.config, lane))]
        if first_words > 1:
            with m.If(free):
                m.d.sync += window.lane.eq(lane)
        read_index = duplicates(m, index, "read_index", enable=free)
        for bank, row in enumerate(self.bank_rows):
            # The last banks give words of the row before when the mask wraps.
            below = first_words + bank - lanes
            if below <= 0:
                m.d.comb += row.eq(read_index[bank * len(read_index) // lanes])
            else:
                before = self.index.further(m, index, self.rows - 1)
                with m.If(free):
                    m.d.sync += row.eq(Mux(lane < below, before, index))

    def _look_up(self, m, control, jumps):
        """When to move, to which lane and how far."""
        place, moves = Cat(jumps.to_lane, jumps.rows_on), Signal()
        if self.config.block_beats > 1:
            place = registered(m, place, "place")
            m.d.comb += control.is_busy.eq(control.moves_on)
            m.d.sync += moves.eq(control.moves_on)
        else:
            m.d.comb += moves.eq(control.fetch & control.is_complete)
        next_lane, rows_on = Signal.like(jumps.to_lane), Signal.like(jumps.rows_on)
        m.d.comb += Cat(next_lane, rows_on).eq(place)
        return moves, next_lane, rows_on

    def _follow(self, m, ahead, index, moves, rows_on, most, ends, accept, control):
        """Next state: how many rows of the packet are in the ring from the mask's row on, whether
        there are any, and the index of that row. The distance to the next mask arrives last, so the
        state is computed for each and it drives the mux."""
        end = ends.end

        def candidate(name, value):
            rows = Signal.like(ahead, name=f"ahead_{name}")
            m.d.comb += rows.eq(value)
            return Cat(rows, ~rows[-1] & rows.any())  # a comparison would be a chain of carries

        def with_arrival(name, value, value_1):
            arrives = accept & ~end.known
            return Mux(arrives, candidate(f"{name}_1", value_1), candidate(name, value))

        def further(step):
            return add(m, ahead, Const(step, self.number_bits))

        new_packet = Mux(
            accept,
            candidate("new_packet_1", ends.rows_in + 1 - end.row),
            candidate("new_packet", ends.rows_in - end.row),
        )
        known_packet = candidate("known_packet", ends.next_row - end.row)
        following = Mux(ends.has_next, known_packet, new_packet)
        still = with_arrival("still", ahead, further(1))
        states = []
        for step in range(most + 1):
            at_next_mask = with_arrival(f"next_mask{step}", further(-step), further(1 - step))
            same = Mux(moves, at_next_mask, still)
            row = Mux(moves, self.index.further(m, index, step), index)
            to_next = Mux(control.switch, following, same)
            states.append(Cat(to_next, Mux(control.switch, end.next_index, row)))
        return select(m, rows_on, states, "next_state")
