"""Fetching the masks of a stream, the decompressor's critical loop."""

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.beat import DecompressorCommand
from cdma.hdl.config import Config
from cdma.hdl.jump import JumpTable
from cdma.hdl.prefix import popcount, tree
from cdma.hdl.queue import Queue
from cdma.hdl.remaining import Remaining
from cdma.hdl.ring import RowInfo, add_row

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
    counted as it came in (:class:`~cdma.hdl.jump.JumpTable`), as if it were the end of a mask.

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
        block = self.o.payload

        # Rows are numbered on and on; the differences of numbers are what counts.
        reach = max(self.config.block_beats + reads + 1, self.rows)
        number = (2 * reach).bit_length()
        place = Signal(  # of the last word to read
            data.StructLayout({"lane": lane_bits, "row": number}), init={"lane": first_words - 1}
        )
        index = Signal(range(self.rows))  # of that row in the ring
        end = Signal(_End(self.config, self.rows, number))

        switch = Signal()  # go on to the next packet
        accept, tail, info = self._arrival(m)
        self._follow_ends(m, end, number, switch, accept, tail, info)

        active = Signal()  # there is a command
        awaiting_end = Signal()  # all masks are fetched, the packet's last beat has not come
        counting = Signal()  # the place lacks the ones of the mask fetched last
        distance = Signal(signed(number))
        is_there, complete, fetch, done, is_last_read = (Signal() for _ in range(5))
        m.submodules.left = left = Remaining(fmt.block_words)
        void, last = left.is_zero, left.is_last
        m.d.comb += [
            distance.eq(end.row - place.row),
            is_there.eq(distance > 0),
            complete.eq(is_there & ~(end.known & (distance == 1) & (place.lane >= end.count))),
            fetch.eq(
                active & ~awaiting_end & ~counting & self.o.ready & (is_there | void | end.known)
            ),
            done.eq(fetch & is_last_read),
            switch.eq((done & last | awaiting_end) & end.known),
        ]

        # The words up to the place, the last of which are the mask's.
        before = add_row(m, index, self.rows - 1, self.rows)
        m.d.comb += [
            row.eq(Mux(place.lane < bank, before, index)) for bank, row in enumerate(self.bank_rows)
        ]
        shifted = [self.bank_words[(bank + 1) % lanes] for bank in range(lanes)]
        window = rotated(m, shifted, place.lane)
        whole = Signal()  # the mask was there in every read
        if reads == 1:
            m.d.comb += [
                is_last_read.eq(1),
                block.mask.eq(Cat(window[lanes - fmt.mask_words :])),
                whole.eq(complete),
            ]
        else:
            final_words = fmt.mask_words - (reads - 1) * lanes
            read = Signal(range(reads))
            earlier = Signal(data.ArrayLayout(lanes * fmt.word_bits, reads - 1), reset_less=True)
            earlier_whole = Signal(init=1)
            m.d.comb += [
                is_last_read.eq((read == reads - 1) | void),
                block.mask.eq(Cat(earlier, window[lanes - final_words :])),
                whole.eq(complete & earlier_whole),
            ]
            with m.If(fetch):
                m.d.sync += [
                    earlier[read].eq(Cat(window)),
                    read.eq(Mux(is_last_read, 0, read + 1)),
                    earlier_whole.eq(whole | is_last_read),
                ]

        # What is handed on.
        ending_words = left.words[: fmt.block_words.bit_length()]
        m.d.comb += [
            self.o.valid.eq(done),
            block.beats.eq(
                Mux(
                    void,
                    0,
                    Mux(last, (ending_words - 1) >> lane_bits, self.config.block_beats - 1),
                )
            ),
            block.words.eq(
                Mux(void | last & (ending_words[:lane_bits] != 0), ending_words[:lane_bits], lanes)
            ),
            block.last.eq(last),
            block.void.eq(void),
            block.truncated.eq(~whole & ~void),
        ]

        # Where the next mask stands. Behind the end of a packet that was cut short nothing stands:
        # the place is kept, so that nothing is found there for the packet's other blocks either.
        step = Signal(number + lane_bits)  # words to the next place
        moves = Signal()
        if self.is_counted(self.config):
            stages = Signal(3)
            m.d.sync += stages.eq(Cat(done & ~last & whole, stages[:-1]))
            groups = [
                _registered(m, popcount(m, self.mask[start : start + 8]), f"ones{start}")
                for start in range(0, fmt.block_words, 8)
            ]
            ones = Signal(range(fmt.block_words + first_words + 1))
            m.d.sync += ones.eq(tree(m, groups) + first_words)
            m.d.comb += [
                counting.eq(stages.any()),
                moves.eq(stages[-1]),
                step.eq(ones),
            ]
            if reads > 1:
                next_words = Mux(read == reads - 2, final_words, lanes)
                with m.If(fetch & complete & ~is_last_read):
                    m.d.comb += [moves.eq(1), step.eq(next_words)]
            there = Signal(lane_bits + number)
            carried = Signal(lane_bits + 1)
            m.d.comb += [
                there.eq(place.as_value() + step),
                carried.eq(place.lane + step[:lane_bits]),
            ]
            with m.If(moves):
                rows_on = step[lane_bits:][: reach.bit_length()] + carried[-1]
                m.d.sync += [
                    place.as_value().eq(there),
                    index.eq(add_row(m, index, rows_on, self.rows)),
                ]
        else:
            m.submodules.jumps = jumps = JumpTable(self.config, self.rows)
            m.d.comb += [
                jumps.accept.eq(self.accept),
                jumps.tail.eq(self.tail),
                jumps.words.eq(self.beat_words),
                jumps.row.eq(index),
                jumps.lane.eq(place.lane),
            ]
            with m.If(fetch & complete):
                m.d.sync += [
                    place.lane.eq(jumps.to_lane),
                    place.row.eq(place.row + jumps.rows_on),
                    index.eq(add_row(m, index, jumps.rows_on, self.rows)),
                ]

        # From packet to packet.
        m.d.comb += [
            self.i_command.ready.eq(switch | ~active),
            left.load.eq(self.i_command.ready),
            left.load_words.eq(self.i_command.payload.words),
            left.step.eq(done),
        ]
        with m.If(self.i_command.ready):
            m.d.sync += active.eq(self.i_command.valid)
        with m.If(switch):
            m.d.sync += [
                awaiting_end.eq(0),
                place.lane.eq(first_words - 1),
                place.row.eq(end.row),
                index.eq(end.next_index),
            ]
        with m.Elif(done & last):
            m.d.sync += awaiting_end.eq(1)
        return m

    def _arrival(self, m):
        """A beat's arrival: where words are counted, a cycle later, when the counts are there."""
        if self.is_counted(self.config):
            return self.accept, self.tail, self.info
        accept = Signal()
        m.d.sync += accept.eq(self.accept)
        return accept, _registered(m, self.tail, "tail"), _registered(m, self.info, "info")

    def _follow_ends(self, m, end, number, switch, accept, tail, info):
        """Keep ``end`` that of the packet whose masks are being fetched; others' ends wait."""
        arriving = Signal.like(end)
        rows_in = Signal(number)  # number of the next row to come in
        closes = Signal()
        # The rows may all be packets, while those of a packet that was cut short are free already.
        m.submodules.ends = ends = Queue(end.shape(), self.rows)
        m.d.comb += [
            closes.eq(accept & info.last),
            arriving.row.eq(rows_in + accept),
            arriving.known.eq(closes),
            arriving.count.eq(info.count),
            arriving.next_index.eq(add_row(m, tail, 1, self.rows)),
            ends.i.payload.eq(arriving),
            ends.i.valid.eq(closes & Mux(switch, ends.o.valid, end.known)),
            ends.o.ready.eq(switch),
        ]
        m.d.sync += rows_in.eq(rows_in + accept)
        with m.If(switch & ends.o.valid):
            m.d.sync += end.eq(ends.o.payload)
        with m.Elif(switch | ~end.known):
            m.d.sync += end.eq(arriving)


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


def rotated(m, words, start):
    """The words from index ``start`` on, cyclically."""
    for bit in range(len(start)):
        level = [Signal.like(word, name=f"rotated{bit}_{i}") for i, word in enumerate(words)]
        for i, word in enumerate(level):
            m.d.comb += word.eq(Mux(start[bit], words[(i + (1 << bit)) % len(level)], words[i]))
        words = level
    return words


def _registered(m, value, name):
    register = Signal.like(value, name=name, reset_less=True)
    m.d.sync += register.eq(value)
    return register
