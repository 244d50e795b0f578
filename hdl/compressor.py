"""The compressor."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.hdl.beat import (
    COUNT_BITS,
    Beat,
    CompressorStatus,
    count_thermometer,
)
from cdma.hdl.butterfly import Compactor
from cdma.hdl.config import Config
from cdma.hdl.mask import MaskGenerator
from cdma.hdl.output import PacketOutput
from cdma.hdl.prefix import PrefixSum, popcount
from cdma.hdl.queue import Queue
from cdma.hdl.ring import BlockBuffer


class Compressor(wiring.Component):
    """Turn packets of words into packets of their zero-value-compressed stream.

    The datapath never stalls and never moves a word twice: a beat's zeros are found, its non-zero
    words counted, and one cyclic butterfly writes them behind each other into a ring of rows. When
    a block begins, the places of its mask are left free; when it ends, the mask is written there
    and the rows before the next block may leave. The ring is thus block buffer, beat assembly and
    output queue in one; a beat is accepted only when the ring has room for it.

    Throughput one beat a cycle on the side that has more of them: a block costs the larger of its
    input beats and its stream words over ``lanes``, for any data. Latency see :meth:`latency`.
    ``i.ready`` and the output beat are registered; the output register loads while ``o.ready``.

    Parameters
    ----------
    config : Config
        Lanes and format.

    Members
    -------
    i : In stream of :class:`Beat`, packets of words; ``keep`` by whole words
    o : Out stream of :class:`Beat`, packets of the stream's bytes
    o_status : Out stream of :class:`CompressorStatus`, one after each packet's last beat
    """

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(Beat(config))),
                "o": Out(stream.Signature(Beat(config))),
                "o_status": Out(stream.Signature(CompressorStatus())),
            }
        )

    @staticmethod
    def mask_writes(config: Config) -> int:
        """Cycles in which a mask is written: more than one where it is longer than a beat."""
        return -(-config.format.mask_words // config.lanes)

    @staticmethod
    def commit_delay(config: Config) -> int:
        """Cycles from the counting of a block's last beat until all of the block is written."""
        # A mask may have to wait until the one before is written.
        return max(config.lanes.bit_length() - 2, 2 * Compressor.mask_writes(config) - 1)

    @staticmethod
    def latency(config: Config) -> int:
        """Cycles from a packet's first beat in to its first beat out, both included, when its first
        block is whole; and the most by which a packet takes longer than its beats."""
        # Taking in the block; prefix sum, places, the delay, the output register.
        return config.block_beats + 4 + Compressor.commit_delay(config)

    @staticmethod
    def rows(config: Config) -> int:
        """Rows of the ring: what is reserved for, and the more of two needs. One is a block with
        what is on its way and two rows of slack, without which mixes of dense and empty blocks
        would cost cycles; the other are packets of one beat, which take a row each."""
        lanes, fmt = config.lanes, config.format
        delay = Compressor.commit_delay(config)
        block_words = fmt.block_words + fmt.mask_words
        blocks = -(-(block_words + 2 * (lanes + fmt.mask_words) + lanes * delay) // lanes)
        packets = delay + 1 + 5 * _rows_per_end(config)
        return 1 << (max(blocks, packets) + _reserve(config) - 1).bit_length()

    def elaborate(self, platform):
        m = Module()
        lanes, fmt = self.config.lanes, self.config.format
        lane_bits = lanes.bit_length() - 1
        rows = self.rows(self.config)
        row_bits = (rows - 1).bit_length()
        place = data.StructLayout({"lane": lane_bits, "row": row_bits + 1})
        place_bits = lane_bits + row_bits + 1

        # Accept a beat and find its zeros.
        accept = Signal()
        beat = self.i.payload
        # The lowest byte of a word decides; before the packet's last beat all are kept.
        keep = beat.keep[:: fmt.word_bytes] | (~beat.last).replicate(lanes)
        block_beat = Signal(range(self.config.block_beats))
        block_end = Signal()
        m.d.comb += [
            accept.eq(self.i.valid & self.i.ready),
            block_end.eq(beat.last | (block_beat == self.config.block_beats - 1)),
        ]
        with m.If(accept):
            m.d.sync += block_beat.eq(Mux(block_end, 0, block_beat + 1))
        m.submodules.zeros = zeros = MaskGenerator(lanes, fmt.word_bits)
        m.d.comb += [zeros.words.eq(beat.words), zeros.keep.eq(keep)]

        a_valid = Signal()
        a_words = Signal.like(beat.words, reset_less=True)
        a_mask = Signal(lanes, reset_less=True)
        a_keep = Signal(lanes, reset_less=True)
        a_last = Signal(reset_less=True)
        a_beat = Signal.like(block_beat, reset_less=True)
        a_end = Signal(reset_less=True)
        m.d.sync += [
            a_valid.eq(accept),
            a_words.eq(beat.words),
            a_mask.eq(zeros.mask),
            a_keep.eq(keep),
            a_last.eq(beat.last),
            a_beat.eq(block_beat),
            a_end.eq(block_end),
        ]

        # Count its non-zero words.
        m.submodules.prefix = prefix = PrefixSum(lanes)
        m.d.comb += prefix.mask.eq(a_mask)
        b_valid = Signal()
        b_words = Signal.like(a_words, reset_less=True)
        b_mask = Signal(lanes, reset_less=True)
        b_ranks = Signal.like(prefix.ranks, reset_less=True)
        b_total = Signal.like(prefix.total, reset_less=True)
        b_step = Signal(range(lanes + fmt.mask_words + 1), reset_less=True)
        b_kept = Signal(lanes.bit_length(), reset_less=True)
        b_last = Signal(reset_less=True)
        b_beat = Signal.like(block_beat, reset_less=True)
        b_end = Signal(reset_less=True)
        b_void = Signal(reset_less=True)  # a last beat without a word, at the start of a block
        b_ended = Signal()  # the beat before was a packet's last
        m.d.sync += [
            b_valid.eq(a_valid),
            b_ended.eq(b_valid & b_last),
            b_words.eq(a_words),
            b_mask.eq(Mux(a_valid, a_mask, 0)),
            b_ranks.eq(prefix.ranks),
            b_total.eq(prefix.total),
            b_step.eq(prefix.total + Mux(a_end, fmt.mask_words, 0)),
            b_kept.eq(count_thermometer(a_keep)),
            b_last.eq(a_last),
            b_beat.eq(a_beat),
            b_end.eq(a_end),
            b_void.eq((a_beat == 0) & ~a_keep[0]),
        ]

        # Give it its places in the ring: a mask's are left free at the start of each block.
        start = Signal(place)  # of the block's mask
        base = Signal(place, init={"lane": fmt.mask_words % lanes, "row": fmt.mask_words // lanes})
        end = Signal(place)  # behind the beat's last word
        next_start, next_base = Signal(place), Signal(place)
        next_row = Signal(row_bits + 1)  # where a packet after this one begins
        filled = Signal(lane_bits + 2)  # words of the row, were it longer
        m.d.comb += [
            filled.eq(base.lane + b_total),
            end.as_value().eq(base.as_value() + b_total),
            # The end rounded up to a row; a packet without a word takes a row as well.
            next_row.eq(Mux(b_void, start.row + 1, base.row + ((filled + lanes - 1) >> lane_bits))),
        ]
        with m.If(b_last):
            m.d.comb += [
                next_start.row.eq(next_row),
                next_base.as_value().eq((next_row << lane_bits) + fmt.mask_words),
            ]
        with m.Else():
            m.d.comb += [
                next_start.eq(end),
                next_base.as_value().eq(base.as_value() + b_step),
            ]
        with m.If(b_valid):
            m.d.sync += base.eq(next_base)
            with m.If(b_end):
                m.d.sync += start.eq(next_start)

        m.submodules.compactor = compactor = Compactor(lanes, fmt.word_bits)
        m.submodules.buffer = buffer = BlockBuffer(self.config, rows)
        at = _delayed(m, base.as_value()[: place_bits - 1], compactor.latency, "at")
        m.d.comb += [
            compactor.words.eq(b_words),
            compactor.mask.eq(b_mask),
            compactor.ranks.eq(b_ranks),
            compactor.offset.eq(base.lane),
            buffer.data.enable.eq(compactor.bank_mask),
            buffer.data.words.eq(compactor.bank_words),
            Cat(buffer.data.start, buffer.data.row).eq(at),
        ]
        self._write_mask(
            m, buffer, b_valid & b_end & ~b_void, b_mask, b_beat, start.as_value()[:-1]
        )

        # What was given places by now is written after the delay.
        delay = self.commit_delay(self.config)
        committed = _delayed(m, start.row, delay, "committed", is_reset=True)

        # Let whole rows out.
        m.submodules.output = output = PacketOutput(self.config, CompressorStatus(), 4)
        wiring.connect(m, wiring.flipped(self.o), output.o)
        wiring.connect(m, wiring.flipped(self.o_status), output.o_status)
        row = Signal(row_bits + 1)
        m.submodules.ends = packet_ends = Memory(
            shape=data.StructLayout({"count": lanes.bit_length(), "words": COUNT_BITS}),
            depth=rows,
            init=[],
        )
        mark, ending = packet_ends.write_port(), packet_ends.read_port(domain="comb")
        is_last = Signal(rows)
        # A cycle after its last beat was counted, `start` stands behind the packet.
        packet_words = self._count_words(m, b_valid, b_last, b_kept)
        count = Mux(b_void, start.lane, Mux(end.lane == 0, lanes, end.lane))
        m.d.sync += [mark.data.count.eq(count), mark.data.words.eq(packet_words)]
        m.d.comb += [
            mark.addr.eq(start.row - 1),
            mark.en.eq(b_ended),
            ending.addr.eq(row),
            buffer.row.eq(row),
            output.i.payload.words.eq(buffer.words),
            output.i.payload.last.eq(is_last.bit_select(row[:row_bits], 1)),
            output.i.payload.count.eq(ending.data.count),
        ]
        take = Signal()
        may_leave = Signal()
        m.d.comb += [
            may_leave.eq((row != committed) & (~output.i.payload.last | output.i_status.ready)),
            output.i.valid.eq(may_leave),
            take.eq(may_leave & output.i.ready),
            buffer.take.eq(take),
            output.i_status.valid.eq(take & output.i.payload.last),
        ]
        rows_out = Signal(COUNT_BITS)  # of this packet, before this row
        stream_words = (rows_out << lane_bits) + ending.data.count
        m.d.comb += [
            output.i_status.payload.words.eq(ending.data.words),
            output.i_status.payload.bytes.eq(stream_words * fmt.word_bytes),
        ]
        with m.If(take):
            m.d.sync += [
                row.eq(row + 1),
                rows_out.eq(Mux(output.i.payload.last, 0, rows_out + 1)),
                is_last.bit_select(row[:row_bits], 1).eq(0),
            ]
        with m.If(mark.en):
            m.d.sync += is_last.bit_select(mark.addr, 1).eq(1)

        # Accept a beat only where it finds room. `used` is what was taken a cycle ago; room is kept
        # for the beats on their way since then and for the one that `ready` will let in.
        used = Signal(row_bits + 1)
        ends = Cat(b_ended, b_valid & b_last, a_valid & a_last, accept & beat.last)
        per_end = _rows_per_end(self.config)
        m.d.sync += used.eq(base.row - row)
        room = used + popcount(m, ends) * per_end <= rows - _reserve(self.config) - per_end
        m.d.sync += self.i.ready.eq(
            room & self._masks_keep_up(m, accept & beat.last & keep[0], block_beat)
        )
        return m

    def _count_words(self, m, valid, last, kept):
        """Words of the packet up to and with the beat now counted."""
        lane_bits = self.config.lanes.bit_length() - 1
        beats = Signal(COUNT_BITS - lane_bits)  # whole ones before this
        whole = Signal.like(beats)
        m.d.comb += whole.eq(beats + kept[lane_bits])
        with m.If(valid):
            m.d.sync += beats.eq(Mux(last, 0, whole))
        return Cat(kept[:lane_bits], whole)

    def _write_mask(self, m, buffer, ready, beat_mask, beat_index, start):
        """Collect the block's mask and write it into the places left free for it."""
        lanes, fmt = self.config.lanes, self.config.format
        lane_bits = lanes.bit_length() - 1
        slots = min(lanes, 1 << (fmt.mask_words - 1).bit_length())  # words written in a cycle

        collected = Signal(fmt.block_words)
        whole = Signal(fmt.block_words)
        m.d.comb += whole.eq(collected | beat_mask << beat_index * lanes)
        with m.If(ready):
            m.d.sync += collected.eq(0)
        with m.Else():
            m.d.sync += collected.eq(whole)

        writes = self.mask_writes(self.config)
        pending = data.StructLayout({"mask": fmt.block_words, "place": len(start)})
        valid, mask, index = Signal(), Signal(pending), Signal(range(writes))
        if writes == 1:
            m.d.sync += [valid.eq(ready), mask.mask.eq(whole), mask.place.eq(start)]
        else:
            m.submodules.masks = masks = Queue(pending, 4)
            m.d.comb += [
                masks.i.valid.eq(ready),
                masks.i.payload.mask.eq(whole),
                masks.i.payload.place.eq(start),
                valid.eq(masks.o.valid),
                mask.eq(masks.o.payload),
                masks.o.ready.eq(index == writes - 1),
            ]
            with m.If(valid):
                m.d.sync += index.eq(Mux(masks.o.ready, 0, index + 1))

        words = Signal(data.ArrayLayout(fmt.word_bits, slots))
        left = Signal(range(fmt.mask_words + 1))  # words from this one on
        place = Signal.like(start)
        m.d.comb += [
            words.eq(mask.mask.word_select(index, slots * fmt.word_bits)),
            left.eq(fmt.mask_words - index * lanes),
            place.eq(mask.place + index * lanes),
            Cat(buffer.mask.start, buffer.mask.row).eq(place),
        ]
        slot_bits = slots.bit_length() - 1
        for bank in range(lanes):
            # How far this bank is from the mask's first place: there the mask's word stands.
            distance = Signal(lane_bits, name=f"distance{bank}")
            m.d.comb += [
                distance.eq(bank - place[:lane_bits]),
                buffer.mask.enable[bank].eq(valid & (distance < left)),
                buffer.mask.words[bank].eq(words[distance[:slot_bits]] if slots > 1 else words[0]),
            ]

    def _masks_keep_up(self, m, packet_ends, block_beat):
        """Where a mask takes longer to write than the shortest packet to come in, wait for it."""
        extra = self.mask_writes(self.config) - 1
        if extra == 0:
            return Const(1)
        wait = Signal(range(extra + 1))
        is_short = packet_ends & (block_beat < extra)
        with m.If(is_short):
            m.d.sync += wait.eq(extra - block_beat)
        with m.Elif(wait != 0):
            m.d.sync += wait.eq(wait - 1)
        return (wait <= 1) & ~is_short


def _reserve(config: Config) -> int:
    """Rows that the beats on their way can take, no packet's end among them."""
    lanes, beats = config.lanes, 5
    blocks = 1 + (beats - 1) // config.block_beats
    return (lanes - 1 + beats * lanes + blocks * config.format.mask_words) // lanes


def _rows_per_end(config: Config) -> int:
    """Rows that a packet's end can take beyond that: the rest of its row, and the next mask's."""
    return 1 + config.format.mask_words // config.lanes


def _delayed(m, value, cycles, name, *, is_reset=False):
    for cycle in range(cycles):
        register = Signal(len(value), name=f"{name}{cycle}", reset_less=not is_reset)
        m.d.sync += register.eq(value)
        value = register
    return value
