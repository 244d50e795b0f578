"""The decompressor."""

from amaranth.hdl import Cat, Module, Mux, Signal, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.golden.format import ErrorCode
from cdma.hdl.beat import (
    COUNT_BITS,
    Beat,
    DecompressorCommand,
    DecompressorStatus,
    Row,
    count_thermometer,
    kept_words,
    thermometer,
)
from cdma.hdl.buffers import PacketOutput, Queue
from cdma.hdl.butterfly import Expander
from cdma.hdl.config import Config
from cdma.hdl.prefix import PrefixSum, popcount


class Place(data.StructLayout):
    """Place of a word in the ring; the row has one bit more than the ring needs, to tell laps apart.

    Members
    -------
    lane, row : bank and row
    """

    def __init__(self, config: Config, rows: int):
        super().__init__(
            {"lane": (config.lanes - 1).bit_length(), "row": (rows - 1).bit_length() + 1}
        )


class Ending(data.StructLayout):
    """Where a packet ends in the ring.

    Members
    -------
    row : its last row
    words : words that are whole in that row
    ragged : bytes follow that make no whole word
    """

    def __init__(self, config: Config, rows: int):
        super().__init__(
            {
                "row": (rows - 1).bit_length() + 1,
                "words": config.lanes.bit_length(),
                "ragged": 1,
            }
        )


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


class StreamRing(wiring.Component):
    """Ring of rows that holds the stream's beats, read at any word.

    A bank per lane. Each of two readers sees ``lanes`` consecutive words from any place on, every
    bank giving its row combinationally. A packet begins in a row of its own.

    Parameters
    ----------
    config : Config
        Lanes and word width.
    rows : int
        Rows of the ring, a power of two.

    Members
    -------
    i : In stream of :class:`Beat`
    row : Out, the row that the next beat is written to
    ends_a, ends_b : Out streams of :class:`Ending`, in the order of the packets, one per reader
    free : In, rows before this one are free
    place_a, place_b : In, where the readers stand
    bank_words_a, bank_words_b : Out, a word per bank
    """

    def __init__(self, config: Config, rows: int):
        self.config = config
        self.rows = rows
        place = Place(config, rows)
        words = data.ArrayLayout(config.format.word_bits, config.lanes)
        ending = stream.Signature(Ending(config, rows))
        super().__init__(
            {
                "i": In(stream.Signature(Beat(config))),
                "row": Out((rows - 1).bit_length() + 1),
                "free": In((rows - 1).bit_length() + 1),
                "ends_a": Out(ending),
                "ends_b": Out(ending),
                "place_a": In(place),
                "place_b": In(place),
                "bank_words_a": Out(words),
                "bank_words_b": Out(words),
            }
        )

    def elaborate(self, platform):
        m = Module()
        lanes, size = self.config.lanes, self.config.format.word_bytes
        row_bits = (self.rows - 1).bit_length()
        accept = Signal()
        used = Signal(row_bits + 1)
        m.d.comb += [
            used.eq(self.row - self.free),
            # A row stays empty, so that the words before a reader are always fewer than the ring
            # holds and a place past the end of a packet can be told from them.
            self.i.ready.eq(used != self.rows - 1),
            accept.eq(self.i.valid & self.i.ready),
        ]
        with m.If(accept):
            m.d.sync += self.row.eq(self.row + 1)

        for bank in range(lanes):
            memory = Memory(shape=self.config.format.word_bits, depth=self.rows, init=[])
            m.submodules[f"bank{bank}"] = memory
            write = memory.write_port()
            m.d.comb += [
                write.en.eq(accept),
                write.addr.eq(self.row),
                write.data.eq(self.i.payload.words[bank]),
            ]
            for place, words in (
                (self.place_a, self.bank_words_a),
                (self.place_b, self.bank_words_b),
            ):
                read = memory.read_port(domain="comb")
                m.d.comb += [
                    read.addr.eq((place.row + (bank < place.lane))[:row_bits]),
                    words[bank].eq(read.data),
                ]

        keep = self.i.payload.keep
        whole = kept_words(keep, self.config)
        for ends in (self.ends_a, self.ends_b):
            queue = Queue(Ending(self.config, self.rows), self.rows)
            m.submodules += queue
            wiring.connect(m, queue.o, wiring.flipped(ends))
            m.d.comb += [
                queue.i.valid.eq(accept & self.i.payload.last),
                queue.i.payload.row.eq(self.row),
                queue.i.payload.words.eq(count_thermometer(whole)),
                queue.i.payload.ragged.eq((keep[::size] & ~whole).any()),
            ]
        return m


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
        ending = self.i_ending.payload
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
                place.row.eq(ending.row + 1),
            ]
        with m.If(self.i_command.ready):
            m.d.sync += [active.eq(self.i_command.valid), left.eq(self.i_command.payload.words)]
        return m


def available_words(m, config, rows, row, ending, place):
    """Words from ``place`` on that are in the ring and of this packet; negative past its end."""
    limit = Signal(Place(config, rows))
    last = ending.payload
    with m.If(ending.valid):
        m.d.comb += limit.as_value().eq(Cat(place.lane ^ place.lane, last.row) + last.words)
    with m.Else():
        m.d.comb += limit.row.eq(row)
    available = Signal(signed(len(limit.as_value())))
    m.d.comb += available.eq(limit.as_value() - place.as_value())
    return available


def rotated(m, words, start):
    """The words from index ``start`` on, cyclically."""
    for bit in range(len(start)):
        level = Signal.like(words, name=f"rotated{bit}")
        for i in range(len(level)):
            m.d.comb += level[i].eq(Mux(start[bit], words[(i + (1 << bit)) % len(level)], words[i]))
        words = level
    return words


class Decompressor(wiring.Component):
    """Turn packets of a zero-value-compressed stream back into packets of words.

    The stream's beats go into a ring as they come. One reader runs ahead through the masks
    (:class:`MaskFetcher`), another takes the words of one output beat a cycle from the ring and
    sends them through the expander. Nothing behind the ring stalls: a beat sets out only when the
    output queue has room for it.

    Throughput one beat a cycle on the side that has more of them, for any data, as the
    :class:`~cdma.hdl.compressor.Compressor` has it. Latency see :meth:`latency`. The output beat is
    registered; ``i.ready`` comes from registers.

    On an error the output packet still has the commanded number of words (a word that did not
    arrive is zero), the input is drained to ``last``, the status names the first error, and the
    next packet is decoded as if nothing had been.

    Parameters
    ----------
    config : Config
        Lanes and format.

    Members
    -------
    i_command : In stream of :class:`DecompressorCommand`, one for each packet
    i : In stream of :class:`Beat`, packets of the stream's bytes; ``keep`` by bytes
    o : Out stream of :class:`Beat`, packets of words
    o_status : Out stream of :class:`DecompressorStatus`, one after each packet's last beat
    """

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "i_command": In(stream.Signature(DecompressorCommand())),
                "i": In(stream.Signature(Beat(config))),
                "o": Out(stream.Signature(Beat(config))),
                "o_status": Out(stream.Signature(DecompressorStatus())),
            }
        )

    @staticmethod
    def latency(config: Config) -> int:
        """Cycles from a packet's first beat in to its first beat out, both included, when its first
        words are in that beat; and the most by which a packet takes longer than its beats."""
        reads = -(-config.format.mask_words // config.lanes)
        # The ring, the mask's reads, the prefix sum, setting out, the expander, queue and output.
        return 1 + reads + 1 + 1 + (config.lanes.bit_length() - 1) + 3

    @staticmethod
    def rows(config: Config) -> int:
        """Rows of the ring: for a block and what masks and words are ahead of each other."""
        block = config.format.block_words + config.format.mask_words
        return max(16, 1 << (-(-block // config.lanes) + 6).bit_length())

    def elaborate(self, platform):
        m = Module()
        lanes, fmt = self.config.lanes, self.config.format
        lane_bits = lanes.bit_length() - 1
        rows, room = self.rows(self.config), 16

        m.submodules.ring = ring = StreamRing(self.config, rows)
        m.submodules.fetcher = fetcher = MaskFetcher(self.config, rows)
        m.submodules.blocks = blocks = Queue(Block(self.config, rows), 4)
        wiring.connect(m, wiring.flipped(self.i), ring.i)
        wiring.connect(m, wiring.flipped(self.i_command), fetcher.i_command)
        wiring.connect(m, ring.ends_a, fetcher.i_ending)
        wiring.connect(m, fetcher.o, blocks.i)
        m.d.comb += [
            fetcher.row.eq(ring.row),
            ring.place_a.eq(fetcher.place),
            fetcher.bank_words.eq(ring.bank_words_a),
        ]

        # Take a beat's part of the mask and count it.
        block = blocks.o.payload
        beat = Signal(range(self.config.block_beats))
        final = Signal()  # beat of the block
        part = Signal(lanes)
        m.submodules.prefix = prefix = PrefixSum(lanes)
        m.d.comb += [
            final.eq(beat == block.beats),
            part.eq(block.mask.word_select(beat, lanes)),
            prefix.mask.eq(part),
        ]
        t_valid = Signal()
        t_mask = Signal(lanes, reset_less=True)
        t_ranks = Signal.like(prefix.ranks, reset_less=True)
        t_total = Signal.like(prefix.total, reset_less=True)
        t_place = Signal.like(block.place, reset_less=True)
        t_first = Signal(reset_less=True)  # beat of the block
        t_last = Signal(reset_less=True)  # beat of the packet
        t_words = Signal.like(block.words, reset_less=True)
        t_void = Signal(reset_less=True)
        t_error = Signal.like(block.error, reset_less=True)
        launch = Signal()
        step = Signal()
        m.d.comb += [
            step.eq(blocks.o.valid & (~t_valid | launch)),
            blocks.o.ready.eq(step & final),
        ]
        with m.If(~t_valid | launch):
            m.d.sync += t_valid.eq(blocks.o.valid)
        with m.If(step):
            m.d.sync += [
                beat.eq(Mux(final, 0, beat + 1)),
                t_mask.eq(part),
                t_ranks.eq(prefix.ranks),
                t_total.eq(prefix.total),
                t_place.eq(block.place),
                t_first.eq(beat == 0),
                t_last.eq(block.last & final),
                t_words.eq(block.words),
                t_void.eq(block.void),
                t_error.eq(block.error),
            ]

        # Set out when the words are there, or will never be, and the output has room.
        place = Signal(Place(self.config, rows))  # of the beat's first word
        behind = Signal(Place(self.config, rows))  # its last
        running = Signal.like(place)  # `behind` of the beat before
        draining = Signal()  # the packet's last beat has set out, its end has not come in
        m.d.comb += [
            place.eq(Mux(t_first & ~draining, t_place, running)),
            behind.as_value().eq(place.as_value() + t_total),
        ]
        ends = ring.ends_b
        available = available_words(m, self.config, rows, ring.row, ends, place)
        enough, has_room = Signal(), Signal()
        m.submodules.output = output = PacketOutput(self.config, DecompressorStatus(), room)
        on_their_way = Signal(range(room + 1))  # beats set out that have not left the queue
        m.d.comb += [
            enough.eq(available >= t_total),
            has_room.eq(on_their_way != room),
            launch.eq(
                t_valid
                & has_room
                & ~draining
                & (enough | ends.valid)
                & (~t_last | output.i_status.ready)
            ),
        ]
        with m.If(launch):
            m.d.sync += running.eq(behind)

        # Free the rows that are done with; at a packet's end all of it, draining what is left over.
        ended, left_over, spilled = Signal(), Signal(), Signal()
        m.d.comb += [
            ended.eq((launch & t_last | draining) & ends.valid),
            ends.ready.eq(ended),
            left_over.eq(available != Mux(draining, 0, t_total)),
        ]
        m.d.sync += spilled.eq(draining & ~ended & (left_over | spilled))
        with m.If(launch & t_last & ~ended):
            m.d.sync += draining.eq(1)
        with m.If(ended):
            m.d.sync += [draining.eq(0), ring.free.eq(ends.payload.row + 1)]
        with m.Elif(draining):
            m.d.sync += ring.free.eq(ring.row)
        with m.Elif(launch & enough):
            m.d.sync += ring.free.eq(behind.row)

        self._report(
            m,
            output.i_status,
            launch=launch,
            first=t_first,
            last=t_last,
            words=t_total + Mux(t_first & ~t_void, fmt.mask_words, 0),
            error=Mux(t_error != 0, t_error, Mux(enough, ErrorCode.NONE, ErrorCode.TRUNCATED)),
            draining=draining,
            ended=ended,
            left_over=left_over | spilled | ends.payload.ragged,
        )

        # Bring the words to their lanes.
        u_mask = Signal(lanes)
        u_ranks = Signal.like(t_ranks, reset_less=True)
        u_place = Signal.like(place, reset_less=True)
        for lane in range(lanes):
            there = enough | (available > t_ranks[lane])
            m.d.sync += u_mask[lane].eq(launch & t_mask[lane] & there)
        m.d.sync += [u_ranks.eq(t_ranks), u_place.eq(place)]
        m.submodules.expander = expander = Expander(lanes, fmt.word_bits)
        v_words = Signal.like(ring.bank_words_b, reset_less=True)
        m.d.sync += v_words.eq(ring.bank_words_b)
        m.d.comb += [
            ring.place_b.eq(u_place),
            expander.mask.eq(u_mask),
            expander.ranks.eq(u_ranks),
            expander.offset.eq(u_place.lane),
            expander.bank_words.eq(v_words),
        ]
        arrives = Signal(data.StructLayout({"valid": 1, "last": 1, "count": lanes.bit_length()}))
        coming = Signal.like(arrives)
        m.d.comb += [
            coming.valid.eq(launch),
            coming.last.eq(t_last),
            coming.count.eq(t_words),
        ]
        for stage in range(1 + expander.latency):
            register = Signal.like(arrives, name=f"coming{stage}")
            m.d.sync += register.eq(coming)
            coming = register
        m.submodules.queue = queue = Queue(Row(self.config), room)
        m.d.comb += [
            queue.i.valid.eq(coming.valid),
            queue.i.payload.words.eq(expander.words),
            queue.i.payload.count.eq(coming.count),
            queue.i.payload.last.eq(coming.last),
        ]
        leaves = queue.o.valid & queue.o.ready
        m.d.sync += on_their_way.eq(on_their_way + launch - leaves)
        wiring.connect(m, queue.o, output.i)
        wiring.connect(m, wiring.flipped(self.o), output.o)
        wiring.connect(m, wiring.flipped(self.o_status), output.o_status)
        return m

    def _report(self, m, status, *, launch, first, last, words, error, draining, ended, left_over):
        """Count the words of the stream and remember the first error of each packet."""
        size = self.config.format.word_bytes
        fresh = Signal(init=1)  # no beat of this packet has set out
        offset = Signal(COUNT_BITS)  # words of the packet before this beat
        block_offset = Signal(COUNT_BITS)  # ... before this block
        found = Signal(unsigned(2))
        found_at = Signal(COUNT_BITS)

        here = Mux(fresh, 0, offset)
        block_here = Mux(first, here, block_offset)
        behind = Signal(COUNT_BITS)
        known = Mux(fresh, 0, found)
        first_error = Signal(unsigned(2))
        at = Signal(COUNT_BITS)
        m.d.comb += behind.eq(here + words)
        trailing = Mux(left_over, ErrorCode.TRAILING, ErrorCode.NONE)
        with m.If(draining & (found == 0)):
            m.d.comb += [first_error.eq(trailing), at.eq(offset)]
        with m.Elif(draining | (known != 0)):
            m.d.comb += [first_error.eq(found), at.eq(found_at)]
        with m.Elif(error != 0):
            m.d.comb += [first_error.eq(error), at.eq(block_here)]
        with m.Else():
            m.d.comb += [first_error.eq(trailing), at.eq(behind)]

        with m.If(launch):
            m.d.sync += [
                fresh.eq(last & ended),
                offset.eq(behind),
                block_offset.eq(block_here),
                found.eq(Mux(known != 0, known, error)),
            ]
            with m.If(known == 0):
                m.d.sync += found_at.eq(block_here)
        with m.If(draining & ended):
            m.d.sync += fresh.eq(1)
        m.d.comb += [
            status.valid.eq(ended),
            status.payload.error.eq(first_error),
            status.payload.bytes.eq(at * size),
        ]
