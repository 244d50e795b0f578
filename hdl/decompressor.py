"""The decompressor."""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.golden.format import ErrorCode
from cdma.hdl.beat import COUNT_BITS, Beat, DecompressorCommand, DecompressorStatus, Row
from cdma.hdl.butterfly import Expander
from cdma.hdl.config import Config
from cdma.hdl.fetch import Block, MaskFetcher
from cdma.hdl.output import PacketOutput
from cdma.hdl.prefix import PrefixSum
from cdma.hdl.queue import Queue
from cdma.hdl.ring import Place, StreamRing, available_words


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
            m.d.sync += [draining.eq(0), ring.free.eq(ends.payload.next_row)]
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
