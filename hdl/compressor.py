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
    kept_words,
)
from cdma.hdl.buffers import BlockBuffer, PacketOutput
from cdma.hdl.butterfly import Compactor
from cdma.hdl.config import Config
from cdma.hdl.mask import MaskGenerator
from cdma.hdl.prefix import PrefixSum


class Compressor(wiring.Component):
    """Turn packets of words into packets of their zero-value-compressed stream.

    The datapath never stalls and never moves a word twice: a beat's zeros are found, its non-zero
    words counted, and one cyclic butterfly writes them behind each other into a ring of rows. When
    a block begins, the places of its mask are left free; when it ends, the mask is written there
    and the rows before the next block may leave. The ring is thus block buffer, beat assembly and
    output queue in one; a beat is accepted only when the ring has room for it.

    Throughput one beat a cycle on the side that has more of them: a block costs the larger of its
    input beats and its stream words over ``lanes``, for any data. Latency see :attr:`latency`.
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

    @property
    def mask_writes(self) -> int:
        """Cycles in which a mask is written: more than one where it is longer than a beat."""
        return -(-self.config.format.mask_words // self.config.lanes)

    @property
    def commit_delay(self) -> int:
        """Cycles from the counting of a block's last beat until all of the block is written."""
        return max(self.config.lanes.bit_length() - 2, self.mask_writes)

    @property
    def latency(self) -> int:
        """Cycles from a whole block's first beat in to its first beat out, and the most by which
        a packet takes longer than its beats."""
        # Accepting the block; zero detect, prefix sum, the delay, the output register.
        return self.config.block_beats + 3 + self.commit_delay

    @property
    def rows(self) -> int:
        """Rows of the ring."""
        lanes, mask_words = self.config.lanes, self.config.format.mask_words
        block = -(-(self.config.format.block_words + mask_words) // lanes) + 1
        slack = 2 + -(-2 * mask_words // lanes) + self.commit_delay
        return 1 << (block + slack + self._reserve(3) - 1).bit_length()

    def _reserve(self, beats: int) -> int:
        """Rows that ``beats`` beats with no packet's end among them can take beyond the present."""
        lanes, mask_words = self.config.lanes, self.config.format.mask_words
        return (lanes - 1 + beats * (lanes + mask_words)) // lanes

    def elaborate(self, platform):
        m = Module()
        lanes, fmt = self.config.lanes, self.config.format
        lane_bits = lanes.bit_length() - 1
        row_bits = (self.rows - 1).bit_length()
        place = data.StructLayout({"lane": lane_bits, "row": row_bits + 1})
        place_bits = lane_bits + row_bits + 1

        # Accept a beat and find its zeros.
        accept = Signal()
        beat = self.i.payload
        keep = kept_words(beat.keep, self.config) | beat.last.replicate(lanes) ^ ~Const(0, lanes)
        block_beat = Signal(range(self.config.block_beats))
        block_end = Signal()
        m.d.comb += [
            accept.eq(self.i.valid & self.i.ready),
            block_end.eq(beat.last | (block_beat == self.config.block_beats - 1)),
        ]
        with m.If(accept):
            m.d.sync += block_beat.eq(Mux(block_end, 0, block_beat + 1))
        m.submodules.mask = mask = MaskGenerator(lanes, fmt.word_bits)
        m.d.comb += [mask.words.eq(beat.words), mask.keep.eq(keep)]

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
            a_mask.eq(mask.mask),
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
        b_kept = Signal(lanes.bit_length(), reset_less=True)
        b_last = Signal(reset_less=True)
        b_beat = Signal.like(block_beat, reset_less=True)
        b_end = Signal(reset_less=True)
        b_void = Signal(reset_less=True)  # a last beat without a word, at the start of a block
        m.d.sync += [
            b_valid.eq(a_valid),
            b_words.eq(a_words),
            b_mask.eq(Mux(a_valid, a_mask, 0)),
            b_ranks.eq(prefix.ranks),
            b_total.eq(prefix.total),
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
        next_row = Signal(row_bits + 1)  # where a packet after this one begins
        m.d.comb += [
            end.as_value().eq(Mux(b_void, start.as_value(), base.as_value() + b_total)),
            next_row.eq(end.row + ((end.lane != 0) | b_void)),
        ]
        next_start = Mux(b_last, Cat(Const(0, lane_bits), next_row), end.as_value())
        next_base = Signal(place)
        m.d.comb += next_base.eq(base)
        with m.If(b_valid):
            m.d.comb += next_base.eq(Mux(b_end, next_start + fmt.mask_words, end.as_value()))
            with m.If(b_end):
                m.d.sync += start.eq(next_start)
        m.d.sync += base.eq(next_base)

        m.submodules.compactor = compactor = Compactor(lanes, fmt.word_bits)
        m.submodules.buffer = buffer = BlockBuffer(self.config, self.rows)
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
        committed = _delayed(m, start.row, self.commit_delay, "committed", init=0)

        # Let whole rows out.
        m.submodules.output = output = PacketOutput(self.config, CompressorStatus(), 4)
        wiring.connect(m, wiring.flipped(self.o), output.o)
        wiring.connect(m, wiring.flipped(self.o_status), output.o_status)
        row = Signal(row_bits + 1)
        m.submodules.ends = ends = Memory(
            shape=data.StructLayout({"count": lanes.bit_length(), "words": COUNT_BITS}),
            depth=self.rows,
            init=[],
        )
        mark, ending = ends.write_port(), ends.read_port(domain="comb")
        is_last = Signal(self.rows)
        packet_words = self._count_words(m, b_valid, b_last, b_kept)
        m.d.comb += [
            mark.addr.eq(next_row - 1),
            mark.en.eq(b_valid & b_last),
            mark.data.count.eq(Mux(b_void | (end.lane != 0), end.lane, lanes)),
            mark.data.words.eq(packet_words),
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

        # Accept a beat only where it finds room. Not counted in `next_base` are the beat now being
        # counted, the one now at the door, and the one that `ready` will let in.
        used = Signal(row_bits + 2)
        ends_coming = (a_valid & a_last) + (accept & beat.last) + 1
        per_end = 1 + fmt.mask_words // lanes
        m.d.comb += used.eq((next_base.row - row)[: row_bits + 1])
        room = used + self._reserve(3) + ends_coming * per_end <= self.rows
        m.d.sync += self.i.ready.eq(room & self._masks_keep_up(m, accept, beat.last, block_beat))
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

        words = Signal(data.ArrayLayout(fmt.word_bits, self.mask_writes * slots), reset_less=True)
        place = Signal(len(start), reset_less=True)
        left = Signal(range(fmt.mask_words + 1))  # words still to write
        with m.If(ready):
            m.d.sync += [words.eq(whole), place.eq(start), left.eq(fmt.mask_words)]
        with m.Else():
            m.d.sync += [
                words.eq(words.as_value() >> slots * fmt.word_bits),
                place.eq(place + lanes),
                left.eq(Mux(left > lanes, left - lanes, 0)),
            ]

        m.d.comb += Cat(buffer.mask.start, buffer.mask.row).eq(place)
        slot_bits = slots.bit_length() - 1
        for bank in range(lanes):
            # How far this bank is from the mask's first place: there the mask's word stands.
            index = (bank - place[:lane_bits])[:lane_bits]
            m.d.comb += [
                buffer.mask.enable[bank].eq(index < left),
                buffer.mask.words[bank].eq(words[index[:slot_bits]] if slots > 1 else words[0]),
            ]

    def _masks_keep_up(self, m, accept, last, block_beat):
        """Where a mask takes longer to write than the shortest packet to come in, wait for it."""
        extra = self.mask_writes - 1
        if extra == 0:
            return Const(1)
        wait = Signal(range(extra + 1))
        with m.If(accept & last & (block_beat < extra)):
            m.d.sync += wait.eq(extra - block_beat)
        with m.Elif(wait != 0):
            m.d.sync += wait.eq(wait - 1)
        return (wait <= 1) & ~(accept & last & (block_beat < extra))


def _delayed(m, value, cycles, name, init=None):
    for cycle in range(cycles):
        register = Signal(len(value), name=f"{name}{cycle}", reset_less=init is None, init=init or 0)
        m.d.sync += register.eq(value)
        value = register
    return value
