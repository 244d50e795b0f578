"""Fetching the masks of a stream, the decompressor's critical loop."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.golden.format import ErrorCode
from cdma.hdl.beat import COUNT_BITS, DecompressorCommand, thermometer
from cdma.hdl.config import Config
from cdma.hdl.prefix import popcount
from cdma.hdl.ring import Ending, Place, available_words


class Block(data.StructLayout):
    """A block as the mask fetcher hands it on.

    Members
    -------
    mask : its mask, clear past the end of the data
    place : of its first non-zero word
    beats : output beats less one
    words : words of the last of these beats
    last : the packet ends with it
    void : there is no block: the packet is empty
    error : ``ErrorCode`` found in the mask
    """

    def __init__(self, config: Config, rows: int):
        super().__init__(
            {
                "mask": config.format.block_words,
                "place": Place(config, rows),
                "beats": range(config.block_beats),
                "words": config.lanes.bit_length(),
                "last": 1,
                "void": 1,
                "error": 2,
            }
        )


class MaskFetcher(wiring.Component):
    """Find where each block of a packet begins and fetch its mask.

    The loop that limits a decompressor is "where does the next mask stand": it is known once the
    ones of this one are counted. A block's beats take ``block_words / lanes`` cycles, and where
    that is two or more, counting has a cycle of its own; a block that takes one cycle is counted in
    the cycle in which its mask is read. Packets need not wait for each other.

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
    i_ending : In stream of :class:`Ending`, the packets' ends
    row : In, row that the ring writes next
    place : Out, where to read the ring
    bank_words : In, the words from ``place`` on, by bank
    o : Out stream of :class:`Block`
    """

    def __init__(self, config: Config, rows: int):
        self.config = config
        self.rows = rows
        super().__init__(
            {
                "i_command": In(stream.Signature(DecompressorCommand())),
                "i_ending": In(stream.Signature(Ending(config, rows))),
                "row": In((rows - 1).bit_length() + 1),
                "place": Out(Place(config, rows)),
                "bank_words": In(data.ArrayLayout(config.format.word_bits, config.lanes)),
                "o": Out(stream.Signature(Block(config, rows))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        lanes, fmt = self.config.lanes, self.config.format
        lane_bits = lanes.bit_length() - 1
        reads = -(-fmt.mask_words // lanes)  # of the ring, for one mask
        block = self.o.payload

        active = Signal()  # `left` and `place` are those of a packet
        left = Signal(COUNT_BITS)  # words of the packet not yet under a mask
        awaiting_end = Signal()  # all masks are fetched, the packet's last beat has not come
        counting = Signal()  # `place` lacks the ones of the mask just fetched
        place = self.place

        available = available_words(m, self.config, self.rows, self.row, self.i_ending, place)
        read_words = Signal(range(lanes + 1))  # that this read needs
        readable = Signal()
        is_last_read = Signal()
        void, last = Signal(), Signal()
        fetch = Signal()  # this cycle takes what it reads
        done = Signal()  # ... and has the whole mask
        switch = Signal()  # go on to the next packet
        m.d.comb += [
            void.eq(left == 0),
            last.eq(left <= fmt.block_words),
            readable.eq(available >= read_words),
            fetch.eq(
                active
                & ~awaiting_end
                & ~counting
                & self.o.ready
                & (readable | void | self.i_ending.valid)
            ),
            done.eq(fetch & is_last_read),
            switch.eq((done & last | awaiting_end) & self.i_ending.valid),
        ]

        # The words of the mask, from the bank where it begins on.
        window = rotated(m, self.bank_words, place.lane)
        fetched = Signal(fmt.block_words)
        complete = Signal()  # every read so far found its words
        if reads == 1:
            m.d.comb += [
                read_words.eq(fmt.mask_words),
                is_last_read.eq(1),
                fetched.eq(Cat(window)),
                complete.eq(readable),
            ]
        else:
            earlier = Signal(data.ArrayLayout(lanes * fmt.word_bits, reads - 1))
            earlier_complete = Signal(init=1)
            index = Signal(range(reads))
            final_words = fmt.mask_words - (reads - 1) * lanes
            m.d.comb += [
                read_words.eq(Mux(index == reads - 1, final_words, lanes)),
                is_last_read.eq((index == reads - 1) | void),
                fetched.eq(Cat(earlier, window)),
                complete.eq(readable & earlier_complete),
            ]
            with m.If(fetch):
                m.d.sync += [
                    earlier[index].eq(Cat(window)),
                    index.eq(Mux(is_last_read, 0, index + 1)),
                    earlier_complete.eq(complete | is_last_read),
                ]

        # What is handed on.
        inside = Signal(fmt.block_words)  # the words of the block that are data
        mask = Signal(fmt.block_words)
        m.d.comb += [
            inside.eq(Mux(last, thermometer(left[: fmt.block_words.bit_length()], len(mask)), ~0)),
            mask.eq(Mux(complete & ~void, fetched, 0)),
            self.o.valid.eq(done),
            block.mask.eq(mask & inside),
            block.place.as_value().eq(place.as_value() + Mux(void, 0, read_words)),
            block.beats.eq(
                Mux(
                    last & ~void,
                    (left[: fmt.block_words.bit_length()] - 1) >> lane_bits,
                    Mux(void, 0, self.config.block_beats - 1),
                )
            ),
            block.words.eq(Mux(last & (left[:lane_bits] != 0) | void, left[:lane_bits], lanes)),
            block.last.eq(last),
            block.void.eq(void),
        ]
        with m.If(~void & ~complete):
            m.d.comb += block.error.eq(ErrorCode.TRUNCATED)
        with m.Elif((mask & ~inside).any()):
            m.d.comb += block.error.eq(ErrorCode.MASK_PAST_END)

        # Where the next mask stands. Behind the end of a packet that was cut short nothing stands:
        # the place is kept, so that nothing is found there for the packet's other blocks either.
        with m.If(fetch & readable):
            if self.config.block_beats == 1:
                m.d.sync += place.as_value().eq(place.as_value() + read_words + popcount(m, mask))
            else:
                m.d.sync += place.as_value().eq(place.as_value() + read_words)
        if self.config.block_beats > 1:
            counted = Signal(fmt.block_words)
            m.d.sync += [counted.eq(mask), counting.eq(done & ~last)]
            with m.If(counting):
                m.d.sync += place.as_value().eq(place.as_value() + popcount(m, counted))
        with m.If(done):
            m.d.sync += left.eq(left - fmt.block_words)

        # From packet to packet.
        m.d.comb += [
            self.i_ending.ready.eq(switch),
            self.i_command.ready.eq(switch | ~active),
        ]
        with m.If(done & last & ~switch):
            m.d.sync += awaiting_end.eq(1)
        with m.If(switch):
            m.d.sync += [
                awaiting_end.eq(0),
                place.lane.eq(0),
                place.row.eq(self.i_ending.payload.next_row),
            ]
        with m.If(self.i_command.ready):
            m.d.sync += [active.eq(self.i_command.valid), left.eq(self.i_command.payload.words)]
        return m


def rotated(m, words, start):
    """The words from index ``start`` on, cyclically."""
    for bit in range(len(start)):
        level = Signal.like(words, name=f"rotated{bit}")
        for i in range(len(level)):
            m.d.comb += level[i].eq(Mux(start[bit], words[(i + (1 << bit)) % len(level)], words[i]))
        words = level
    return words
