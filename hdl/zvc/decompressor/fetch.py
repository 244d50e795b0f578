"""Fetching the masks of a stream, the decompressor's critical loop."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.countdown import Remaining
from cdma.hdl.lib.prefix import add, tree
from cdma.hdl.lib.queue import Queue
from cdma.hdl.lib.signals import copies, registered, select
from cdma.hdl.zvc.beat import DecompressorCommand
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.jump import JumpTable
from cdma.hdl.zvc.decompressor.ring import RowInfo, add_row

#: From so many beats a block on, there is time to count a mask's ones in three steps.
COUNTED_BEATS = 4


class Block(data.StructLayout):
    """A block as the mask fetcher hands it on.

    Members
    -------
    mask : its mask, with whatever stands past the end of the data
    beats : output beats less one
    words : words of the last of these beats
    last : the packet ends with it
    void : there is no block: the packet is empty
    truncated : the stream ends before the mask's end
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "mask": config.format.block_words,
                "beats": range(config.block_beats),
                "words": config.lanes.bit_length(),
                "last": 1,
                "void": 1,
                "truncated": 1,
            }
        )


class MaskFetcher(wiring.Component):
    """Find where each block of a packet begins and fetch its mask.

    The loop that limits a decompressor is "where does the next mask stand": it is known once the
    ones of this one are counted. A block's beats take ``block_words / lanes`` cycles. Where that is
    four or more, the ones are counted in three steps; where it is less, each word of the stream was
    counted as it came in (:class:`~cdma.hdl.zvc.decompressor.jump.JumpTable`), as if it were the end of a mask, and
    the place is looked up, to go there a cycle later, or at once where a block is a beat.

    Throughput a block each ``max(block_words / lanes, 1)`` cycles, or a packet a cycle when they
    are shorter than a beat; where a mask is longer than a beat, it is read a beat a cycle.

    Parameters
    ----------
    config : Config
        Lanes and format.
    rows : int
        Rows of the ring.

    Members
    -------
    i_command : In stream of :class:`DecompressorCommand`
    accept, tail, info, beat_words : In, what the ring takes in
    bank_rows : Out, which row of the ring each bank is to give
    bank_words : In, a word per bank
    next_ready : In, ``o.ready`` of the next cycle
    mask : In, the block handed on in the cycle before
    o : Out stream of :class:`Block`
    """

    def __init__(self, config: Config, rows: int):
        self.config = config
        self.rows = rows
        words = data.ArrayLayout(config.format.word_bits, config.lanes)
        super().__init__(
            {
                "i_command": In(stream.Signature(DecompressorCommand())),
                "accept": In(1),
                "tail": In(range(rows)),
                "info": In(RowInfo(config)),
                "beat_words": In(words),
                "bank_rows": Out(data.ArrayLayout(range(rows), config.lanes)),
                "bank_words": In(words),
                "next_ready": In(1),
                "mask": In(config.format.block_words),
                "o": Out(stream.Signature(Block(config))),
            }
        )

    @staticmethod
    def is_counted(config: Config) -> bool:
        """Whether masks are counted once they are fetched, not word by word before."""
        return config.block_beats >= COUNTED_BEATS

    @staticmethod
    def reads(config: Config) -> int:
        """Cycles in which a mask is read."""
        return -(-config.format.mask_words // config.lanes)

    def elaborate(self, platform):
        m = Module()
        lanes, fmt = self.config.lanes, self.config.format
        lane_bits = lanes.bit_length() - 1
        reads = self.reads(self.config)
        first_words = min(fmt.mask_words, lanes)  # of a mask, that the first read gives

        # Rows are numbered on and on; the differences of numbers are what counts.
        reach = max(self.config.block_beats + reads + 1, self.rows)
        number = (2 * reach).bit_length()
        lane = Signal(lane_bits, init=first_words - 1)  # of the last word to read
        index = Signal(range(self.rows))  # of its row in the ring
        next_index = Signal.like(index)
        ahead = Signal(signed(number))  # rows of the packet that are there, from that one on
        end = Signal(_End(self.config, self.rows, number))

        switch = Signal()  # go on to the next packet
        accept, tail, info = self._arrival(m)
        rows_in, ends = self._follow_ends(m, end, number, switch, accept, tail, info)

        active = Signal()  # there is a command
        awaiting_end = Signal()  # all masks are fetched, the packet's last beat has not come
        counts = Signal()  # in the next cycle the place lacks the ones of the mask fetched last
        may_fetch = Signal()  # active, not awaiting the end, and the place is known
        goes = Signal()  # that, and the block is taken over
        next_free = Signal()
        is_there = Signal()  # `ahead` is positive
        complete, fetch, done, is_last_read, free = (Signal() for _ in range(5))
        m.submodules.left = left = Remaining(fmt.block_words)
        void, last = left.is_zero, left.is_last
        m.d.comb += [
            complete.eq(is_there & ~(end.known & (ahead == 1) & (lane >= end.count))),
            # All reads but a mask's last do not wait for whoever takes it.
            fetch.eq(may_fetch & (free | ~is_last_read) & (is_there | void | end.known)),
            done.eq(goes & is_last_read & (is_there | void | end.known)),
            switch.eq(end.known & (awaiting_end | (goes & is_last_read & last))),
        ]

        # The words up to there, the last of which are the mask's.
        block = Signal(Block(self.config))
        offered = self.o.payload
        if self.is_counted(self.config):
            at = Signal(lanes, init=1 << first_words - 1)  # the lane, one-hot
            read_at, read_index = at, copies(m, next_index, "index")
            m.d.comb += [self.o.valid.eq(done), free.eq(self.o.ready), offered.eq(block)]
            m.d.comb += next_free.eq(self.next_ready)
        else:
            # The way on does not depend on the mask: that is read in a cycle of its own.
            read_at = Signal(lanes)  # the lane, one-hot
            held = Signal.like(block, reset_less=True)
            next_valid = Mux(free, done, self.o.valid)
            m.d.comb += [free.eq(~self.o.valid | self.o.ready), offered.eq(held)]
            m.d.comb += next_free.eq(~next_valid | self.next_ready)
            m.d.sync += self.o.valid.eq(next_valid)
            with m.If(free):
                m.d.sync += [held.eq(block), read_at.eq(Cat(lane == bank for bank in range(lanes)))]
            read_index = copies(m, index, "read_index", enable=free)
        for bank, row in enumerate(self.bank_rows):
            held_index = read_index[bank * len(read_index) // lanes]
            # Words of the row before are wanted of the last banks only, when the mask wraps.
            below = first_words + bank - lanes
            if below <= 0:
                m.d.comb += row.eq(held_index)
            elif self.is_counted(self.config):
                wraps = read_at[:below].any()
                before = add_row(m, held_index, self.rows - 1, self.rows)
                m.d.comb += row.eq(Mux(wraps, before, held_index))
            else:
                before = add_row(m, index, self.rows - 1, self.rows)
                with m.If(free):
                    m.d.sync += row.eq(Mux(lane < below, before, index))
        window = [
            _chosen(m, read_at, [self.bank_words[(at - k) % lanes] for at in range(lanes)])
            for k in reversed(range(first_words))
        ]
        if reads == 1:
            m.d.comb += [is_last_read.eq(1), offered.mask.eq(Cat(window))]
        else:
            # Where the first beat is not complete, the place is kept, so the second is not either.
            final_words = fmt.mask_words - lanes
            is_second = Signal()
            earlier = Signal(lanes * fmt.word_bits, reset_less=True)
            m.d.comb += [
                is_last_read.eq(is_second | void),
                offered.mask.eq(Cat(earlier, window[lanes - final_words :])),
            ]
            with m.If(fetch):
                m.d.sync += [earlier.eq(Cat(window)), is_second.eq(~is_last_read)]

        # What is handed on.
        ending_words = left.words[: fmt.block_words.bit_length()]
        rest, whole_beats = ending_words[:lane_bits], ending_words[lane_bits:]
        m.d.comb += [
            block.beats.eq(
                Mux(
                    void,
                    0,
                    Mux(last, whole_beats - (rest == 0), self.config.block_beats - 1),
                )
            ),
            block.words.eq(Mux(void | last & (rest != 0), rest, lanes)),
            block.last.eq(last),
            block.void.eq(void),
            block.truncated.eq(~complete & ~void),
        ]

        # Where the next mask stands. Behind the end of a packet that was cut short nothing stands:
        # the place is kept, so that nothing is found there for the packet's other blocks either.
        moves = Signal()
        next_lane = Signal(lane_bits)
        rows_on = Signal(range(reach + 1))
        if self.is_counted(self.config):
            stages, next_stages = Signal(3), Signal(3)
            m.d.comb += next_stages.eq(Cat(done & ~last & complete, stages[:-1]))
            m.d.sync += stages.eq(next_stages)
            # The place itself is counted with them: it stays until then.
            behind = Signal(lane_bits + 1)
            m.d.comb += behind.eq(lane + first_words)
            groups = []
            for start in range(0, fmt.block_words, 8):
                terms = [*self.mask[start : start + 8], *([] if start else [behind])]
                groups.append(registered(m, tree(m, terms), f"ones{start}"))
            # Of sums as long as the last a carry chain is the quicker way.
            half = len(groups) // 2
            total = tree(m, groups[:half]) + tree(m, groups[half:]) if half else groups[0]
            place = registered(m, total, "place")
            m.d.comb += [counts.eq(next_stages.any()), moves.eq(stages[-1])]
        else:
            m.submodules.jumps = jumps = JumpTable(self.config, self.rows)
            place = Cat(jumps.to_lane, jumps.rows_on)
            m.d.comb += [
                jumps.accept.eq(self.accept),
                jumps.tail.eq(self.tail),
                jumps.words.eq(self.beat_words),
                jumps.row.eq(index),
                jumps.lane.eq(lane),
            ]
            if self.config.block_beats > 1:
                # There is time to go there a cycle later.
                place = registered(m, place, "place")
                m.d.comb += counts.eq(done & ~last & complete)
                m.d.sync += moves.eq(counts)
            else:
                m.d.comb += moves.eq(fetch & complete)
        m.d.comb += Cat(next_lane, rows_on).eq(place)
        if reads > 1:
            with m.If(fetch & complete & ~is_last_read):
                m.d.comb += [moves.eq(1), Cat(next_lane, rows_on).eq(lane + final_words)]

        # From packet to packet.
        m.d.comb += [
            self.i_command.ready.eq(switch | ~active),
            left.load.eq(self.i_command.ready),
            left.load_words.eq(self.i_command.payload.words),
            left.step.eq(done),
        ]
        next_active = Mux(self.i_command.ready, self.i_command.valid, active)
        next_awaiting = ~switch & (awaiting_end | (done & last))
        next_may_fetch = next_active & ~next_awaiting & ~counts
        m.d.sync += [
            active.eq(next_active),
            awaiting_end.eq(next_awaiting),
            may_fetch.eq(next_may_fetch),
            goes.eq(next_may_fetch & next_free),
        ]
        # Rows of the packet that are there in the next cycle: of the next packet, from the next
        # mask on, or still from this one on.
        arrives = accept & ~end.known

        def candidate(name, value):
            rows = Signal.like(ahead, name=f"ahead_{name}")
            m.d.comb += rows.eq(value)
            if self.is_counted(self.config):
                return Cat(rows, rows > 0)
            return Cat(rows, ~rows[-1] & rows.any())  # a comparison would be a chain of carries

        def with_arrival(name, value, value_1):
            # Whether a row arrives comes late and only selects.
            return Mux(arrives, candidate(f"{name}_1", value_1), candidate(name, value))

        following = Mux(
            ends.o.valid,
            candidate("known_packet", ends.o.payload.row - end.row),
            Mux(
                accept,
                candidate("new_packet_1", rows_in + 1 - end.row),
                candidate("new_packet", rows_in - end.row),
            ),
        )
        if self.is_counted(self.config):
            at_next_mask = with_arrival("next_mask", ahead - rows_on, ahead - rows_on + 1)
            same = Mux(moves, at_next_mask, with_arrival("still", ahead, ahead + 1))
            m.d.sync += Cat(ahead, is_there).eq(Mux(switch, following, same))
            m.d.comb += next_index.eq(index)
        else:
            # How far it is to the next mask comes last: it only selects.
            def further(step):
                return add(m, ahead, Const(step, number))

            still = with_arrival("still", ahead, further(1))
            states = []
            for step in range(jumps.most + 1):
                at_next_mask = with_arrival(f"next_mask{step}", further(-step), further(1 - step))
                same = Mux(moves, at_next_mask, still)
                row = Mux(moves, add_row(m, index, step, self.rows), index)
                states.append(Cat(Mux(switch, following, same), Mux(switch, end.next_index, row)))
            state = select(m, rows_on, states, "next_state")
            m.d.sync += Cat(ahead, is_there).eq(state)
            m.d.comb += next_index.eq(state[len(ahead) + 1 :])
        m.d.sync += index.eq(next_index)
        with m.If(switch):
            m.d.sync += lane.eq(first_words - 1)
            if self.is_counted(self.config):
                m.d.sync += at.eq(1 << first_words - 1)
                m.d.comb += next_index.eq(end.next_index)
        with m.Else(), m.If(moves):
            m.d.sync += lane.eq(next_lane)
            if self.is_counted(self.config):
                m.d.sync += at.eq(Cat(next_lane == bank for bank in range(lanes)))
                m.d.comb += next_index.eq(add_row(m, index, rows_on, self.rows))
        return m

    def _arrival(self, m):
        """A beat's arrival: where words are counted, a cycle later, when the counts are there."""
        if self.is_counted(self.config):
            return self.accept, self.tail, self.info
        accept = Signal()
        m.d.sync += accept.eq(self.accept)
        return accept, registered(m, self.tail, "tail"), registered(m, self.info, "info")

    def _follow_ends(self, m, end, number, switch, accept, tail, info):
        """Keep ``end`` that of the packet whose masks are being fetched; others' ends wait. Gives
        the number of the next row to come in, and those ends."""
        arriving = Signal.like(end)
        rows_in = Signal(number)  # number of the next row to come in
        closes = Signal()
        # The rows may all be packets, while those of a packet that was cut short are free already.
        m.submodules.ends = ends = Queue(end.shape(), self.rows)
        m.d.comb += [
            closes.eq(accept & info.last),
            arriving.row.eq(Mux(accept, rows_in + 1, rows_in)),
            arriving.known.eq(closes),
            arriving.count.eq(info.count),
            arriving.next_index.eq(add_row(m, tail, 1, self.rows)),
            ends.i.payload.eq(arriving),
            ends.i.valid.eq(closes & Mux(switch, ends.o.valid, end.known)),
            ends.o.ready.eq(switch),
        ]
        with m.If(accept):
            m.d.sync += rows_in.eq(rows_in + 1)
        following = Signal.like(end)
        m.d.comb += following.eq(Mux(ends.o.valid, ends.o.payload, arriving))
        with m.If(switch):
            m.d.sync += end.eq(following)
        with m.Elif(~end.known):
            m.d.sync += end.eq(arriving)
        return rows_in, ends


class _End(data.StructLayout):
    """How far a packet reaches: ``row`` is the number of the first row that is not, or not yet, the
    packet's. Once the end is ``known``: the whole words of the row before, and where in the ring
    the next packet begins."""

    def __init__(self, config: Config, rows: int, number: int):
        super().__init__(
            {
                "row": number,
                "known": 1,
                "count": config.lanes.bit_length(),
                "next_index": range(rows),
            }
        )


def _chosen(m, is_chosen, words):
    """The word whose bit of ``is_chosen`` is set."""
    terms = [word & bit.replicate(len(word)) for word, bit in zip(words, is_chosen, strict=True)]
    while len(terms) > 1:
        terms = [a | b for a, b in zip(terms[::2], terms[1::2], strict=True)]
    chosen = Signal(len(words[0]))
    m.d.comb += chosen.eq(terms[0])
    return chosen
