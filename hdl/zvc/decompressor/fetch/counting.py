"""The mask fetcher for long blocks: a mask's ones are counted once it is fetched."""

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import wiring

from cdma.hdl.lib.prefix import tree
from cdma.hdl.lib.signals import duplicates, registered
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.fetch.base import MaskFetcher, reads_of
from cdma.hdl.zvc.decompressor.fetch.end_control import control_of
from cdma.hdl.zvc.decompressor.fetch.ends import PacketEnds
from cdma.hdl.zvc.decompressor.fetch.window import MaskWindow

#: Cycles from a mask to the place of the next: groups of 8 bits, their sum, the move.
COUNT_CYCLES = 3


class CountingFetcher(MaskFetcher):
    """Count the ones of a mask in three cycles, then move to the next mask.

    For blocks of four beats and more. Throughput one block each ``block_beats`` cycles at least;
    a mask that is longer than a beat is read a beat a cycle. The ports are those of
    :class:`~cdma.hdl.zvc.decompressor.fetch.base.MaskFetcher`; ``o`` is combinational from
    ``bank_words``.
    """

    @staticmethod
    def latency(config: Config) -> int:
        """Cycles from the row in which a mask ends to its block, the same cycle counted as 0."""
        return reads_of(config) - 1 - CountingFetcher.sees_arrivals(config)

    @staticmethod
    def sees_arrivals(config: Config) -> bool:
        """A mask is read from the beat that arrives, a cycle before its row is in the ring. That
        saves a row of the ring, which is the tenth part of a unit of standard cells; the memories
        of an FPGA have rows enough."""
        return config.is_asic

    @property
    def group_bits(self) -> int:
        """Bits of a mask that are counted together, in the first of the cycles."""
        words = self.config.format.block_words
        return 16 if self.config.is_asic and words >= 128 and words % 16 == 0 else 8

    def elaborate(self, platform):
        m = Module()
        config, lanes, block = self.config, self.config.lanes, self.o.payload
        m.submodules.ends = ends = PacketEnds(config, self.rows, self.number_bits)
        m.submodules.control = control = control_of(config)
        m.submodules.window = window = MaskWindow(config)
        lane = Signal(range(lanes), init=self.first_words - 1)  # of the last word to read
        ahead = Signal(signed(self.number_bits))  # rows of the packet in the ring, from there on
        is_stored = Signal()  # `ahead` is positive: the row is in the ring
        moves, next_lane, rows_on = self._count(m, control.moves_on, lane)
        arrives = Signal()  # the mask is whole with the row that arrives
        if self.sees_arrivals(config):
            is_next = self.accept & (ahead == 0) & ~ends.end.known
            m.d.comb += arrives.eq(is_next & (lane < self.info.count))
        if not config.format.ends_itself:
            wiring.connect(m, wiring.flipped(self.i_command), control.i_command)
        m.d.comb += [
            ends.accept.eq(self.accept),
            ends.tail.eq(self.tail),
            ends.info.eq(self.info),
            ends.switch.eq(control.switch),
            control.is_there.eq(is_stored | arrives),
            control.is_complete.eq(
                arrives | is_stored & ~(ends.end.known & (ahead == 1) & (lane >= ends.end.count))
            ),
            control.end_known.eq(ends.end.known),
            control.is_last_read.eq(window.is_last_read),
            # Only the last read of a mask waits for the next stage.
            control.can_read.eq(self.o.ready | ~window.is_last_read),
            control.next_free.eq(self.next_ready),
            window.fetch.eq(control.fetch),
            window.void.eq(control.block.void),
            self.o.valid.eq(control.done),
            block.eq(control.block),
            block.mask.eq(window.mask),
        ]
        if reads_of(config) > 1:
            final_words = config.format.mask_words - lanes
            with m.If(control.fetch & control.is_complete & ~window.is_last_read):
                m.d.comb += [moves.eq(1), Cat(next_lane, rows_on).eq(lane + final_words)]
        self._move(m, lane, is_stored, moves, next_lane, rows_on, ends, control.switch, window)
        self._follow(m, ahead, is_stored, moves, rows_on, ends, control.switch)
        # While the ones are counted the place is kept, and nothing is fetched.
        m.d.comb += control.is_busy.eq(self.next_stages.any())
        return m

    def _count(self, m, starts, lane):
        """Count the mask that was handed on. Gives when to move, to which lane and how far."""
        fmt = self.config.format
        stages = Signal(COUNT_CYCLES)
        self.next_stages = Signal(COUNT_CYCLES, name="next_stages")
        m.d.comb += self.next_stages.eq(Cat(starts, stages[:-1]))
        m.d.sync += stages.eq(self.next_stages)
        # The place of the mask is added with them.
        behind = Signal(len(lane) + 1)
        m.d.comb += behind.eq(lane + self.first_words)
        groups = []
        size = self.group_bits
        for start in range(0, fmt.block_words, size):
            terms = [*self.mask[start : start + size], *([] if start else [behind])]
            groups.append(registered(m, tree(m, terms), f"ones{start}"))
        # For sums as long as the last one a carry chain is faster.
        half = len(groups) // 2
        total = tree(m, groups[:half]) + tree(m, groups[half:]) if half else groups[0]
        place = registered(m, total, "place")
        moves, next_lane = Signal(), Signal.like(lane)
        rows_on = Signal(range(self.row_reach + 1))
        m.d.comb += [moves.eq(stages[-1]), Cat(next_lane, rows_on).eq(place)]
        return moves, next_lane, rows_on

    def _move(self, m, lane, is_stored, moves, next_lane, rows_on, ends, switch, window):
        """Place of the mask: lane, the banks that are read, and row of the ring."""
        config, lanes, start = self.config, self.config.lanes, self.first_words - 1
        first_at = sum(1 << (start - k) % lanes for k in range(window.width(config)))
        index = Signal(self.index.shape, init=self.index.at(0))
        next_index = Signal(self.index.shape)
        next_at = Signal(lanes)
        # The last banks give words of the row before when the mask wraps.
        next_wraps = Signal(start)  # per bank of these
        if start:
            m.d.comb += window.lane.eq(lane)
        m.d.sync += index.eq(next_index)
        with m.If(switch):
            m.d.sync += lane.eq(start)
            m.d.comb += [next_index.eq(ends.end.next_index), next_at.eq(first_at)]
        with m.Elif(moves):
            m.d.sync += lane.eq(next_lane)
            m.d.comb += [
                next_index.eq(self.index.further(m, index, rows_on, self.row_reach)),
                next_at.eq(window.banks(config, next_lane)),
                next_wraps.eq(Cat(next_lane <= k for k in range(start))),
            ]
        with m.Else():
            m.d.comb += next_index.eq(index)
        at = Signal(lanes, init=first_at, name="banks")
        wraps = Signal(start)
        with m.If(switch | moves):
            m.d.sync += [at.eq(next_at), wraps.eq(next_wraps)]
        copies = [index] if self.index.one_hot else duplicates(m, next_index, "index")
        for bank, row in enumerate(self.bank_rows):
            held, wrap = copies[bank * len(copies) // lanes], 0
            if bank >= lanes - start:
                wrap = wraps[bank - (lanes - start)]
                held = Mux(wrap, self.index.further(m, held, self.rows - 1), held)
            if self.sees_arrivals(config):
                self._read_either(m, bank, held, at[bank], is_stored | wrap, window)
            else:
                m.d.comb += [row.eq(held), window.bank_words[bank].eq(self.bank_words[bank])]
        m.d.comb += window.at.eq(-1 if self.sees_arrivals(config) else at)

    def _read_either(self, m, bank, row, is_read, is_in_ring, window):
        """A bank's word from the ring, or from the beat that arrives; zero if it is not read."""
        beat_word = self.beat_words[bank]
        from_ring, from_beat = is_read & is_in_ring, is_read & ~is_in_ring
        m.d.comb += [
            self.bank_rows[bank].eq(row & from_ring.replicate(self.rows)),
            window.bank_words[bank].eq(
                self.bank_words[bank] | (beat_word & from_beat.replicate(len(beat_word)))
            ),
        ]

    def _follow(self, m, ahead, is_stored, moves, rows_on, ends, switch):
        """How many rows of the packet are in the ring from the mask's row on."""
        end = ends.end

        def candidate(name, value):
            rows = Signal.like(ahead, name=f"ahead_{name}")
            m.d.comb += rows.eq(value)
            return Cat(rows, rows > 0)

        def with_arrival(name, value, value_1):
            # Whether a row arrives is known late and drives the mux.
            arrives = self.accept & ~end.known
            return Mux(arrives, candidate(f"{name}_1", value_1), candidate(name, value))

        new_packet = Mux(
            self.accept,
            candidate("new_packet_1", ends.rows_in + 1 - end.row),
            candidate("new_packet", ends.rows_in - end.row),
        )
        known_packet = candidate("known_packet", ends.next_row - end.row)
        following = Mux(ends.has_next, known_packet, new_packet)
        at_next_mask = with_arrival("next_mask", ahead - rows_on, ahead - rows_on + 1)
        same = Mux(moves, at_next_mask, with_arrival("still", ahead, ahead + 1))
        m.d.sync += Cat(ahead, is_stored).eq(Mux(switch, following, same))
