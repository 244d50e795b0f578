"""The beats that wait until the mask of their block is complete."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.buffer import RowBuffer
from cdma.hdl.lib.queue import Queue
from cdma.hdl.lib.signals import assert_ready
from cdma.hdl.zvc.beat import Beat, count_thermometer
from cdma.hdl.zvc.compressor.placer import Placer
from cdma.hdl.zvc.compressor.zeros import MaskGenerator, mask_of, pieces_of
from cdma.hdl.zvc.config import Config


class MaskPart(data.StructLayout):
    """The part of a block's mask that comes from one beat.

    Members
    -------
    pieces : a bit per piece of a word that is not zero, see
        :data:`~cdma.hdl.zvc.compressor.zeros.PIECE_BITS`
    end : the block ends with the beat
    last : the packet ends with the beat
    kept : words of the beat, meaningful when ``last``
    """

    def __init__(self, config: Config):
        pieces = config.lanes * pieces_of(config)
        super().__init__({"pieces": pieces, "end": 1, "last": 1, "kept": config.lanes.bit_length()})


class Intake(wiring.Component):
    """Detect the zeros of each beat and hold its words until they are issued.

    Throughput one beat a cycle; a beat is at the head one cycle after it came in at the earliest.
    ``i.ready`` comes from registers through one gate: a full buffer accepts a beat while one
    leaves.

    Parameters
    ----------
    config : Config
        Lanes and format.

    Members
    -------
    zero : In, with ``config.zero_port``: the word that is omitted
    i : In stream of :class:`~cdma.hdl.zvc.beat.Beat`; ``keep`` by whole words
    accept : Out, a beat comes in, described by ``mask``, ``keep``, ``first`` and ``last``
    mask, keep : Out, its non-zero words and its words, a bit per lane
    first, last : Out, a block begins with the beat; the packet ends with the beat
    offers_end : Out, a beat that ends its block is at ``i``
    issue : In, the beat at the head leaves
    words : Out, array of the words of the beat at the head
    parts : Out, array of :class:`MaskPart`, the head first
    valid : Out, a bit per entry of ``parts``, contiguous from the head
    """

    i: stream.Interface
    accept: Signal
    mask: Signal
    keep: Signal
    first: Signal
    last: Signal
    offers_end: Signal
    issue: Signal
    words: data.View
    parts: data.View
    valid: Signal

    def __init__(self, config: Config):
        self.config = config
        rows = self.rows(config)
        super().__init__(
            {
                **({"zero": In(config.format.word_bits)} if config.zero_port else {}),
                "i": In(stream.Signature(Beat(config))),
                "accept": Out(1),
                "mask": Out(config.lanes),
                "keep": Out(config.lanes),
                "first": Out(1),
                "last": Out(1),
                "offers_end": Out(1),
                "issue": In(1),
                "words": Out(data.ArrayLayout(config.format.word_bits, config.lanes)),
                "parts": Out(data.ArrayLayout(MaskPart(config), rows)),
                "valid": Out(rows),
            }
        )

    @staticmethod
    def rows(config: Config) -> int:
        """Beats that are held: a block's first beat waits until the last is in, and at least until
        it is counted and has its place."""
        return max(config.block_beats, 1 + Placer.latency(config))

    def _compared(self, words):
        """What is compared with zero, bit by bit."""
        fmt = self.config.format
        if fmt.fold_negative_zero:
            return Cat(Cat(word[:-1], Const(0, 1)) for word in words)
        if self.config.fills:
            zero = self.zero if self.config.zero_port else Const(fmt.zero_value, fmt.word_bits)
            return Cat(word ^ zero for word in words)
        return Value.cast(words)

    @staticmethod
    def latency(config: Config) -> int:
        """Cycles from a block's first beat in to its issue, when the next beats follow at once."""
        return Intake.rows(config)

    def elaborate(self, platform):
        m = Module()
        config, beat = self.config, self.i.payload
        lanes, rows, pieces = config.lanes, self.rows(config), pieces_of(config)
        word_bits, word_bytes = config.format.word_bits, config.format.word_bytes

        block_beat = Signal(range(config.block_beats))
        ends_block = Signal()
        m.submodules.zeros = zeros = MaskGenerator(lanes * pieces, word_bits // pieces)
        m.d.comb += [
            # The lowest byte of a word decides; before the packet's last beat all are kept.
            self.keep.eq(beat.keep[::word_bytes] | (~beat.last).replicate(lanes)),
            ends_block.eq(beat.last | (block_beat == config.block_beats - 1)),
            Value.cast(zeros.words).eq(self._compared(beat.words)),
            zeros.keep.eq(Cat(kept.replicate(pieces) for kept in self.keep)),
            self.mask.eq(mask_of(zeros.mask, config)),
            self.first.eq(block_beat == 0),
            self.last.eq(beat.last),
            self.offers_end.eq(self.i.valid & ends_block),
            self.accept.eq(self.i.valid & self.i.ready),
        ]
        with m.If(self.accept):
            m.d.sync += block_beat.eq(Mux(ends_block, 0, block_beat + 1))

        # Words and mask parts wait side by side, in buffers of the same depth.
        m.submodules.buffer = buffer = RowBuffer(
            beat.words.shape(), rows, in_flip_flops=config.is_asic
        )
        m.submodules.queue = queue = Queue(MaskPart(config), rows, pipe=True)
        m.d.comb += [
            self.i.ready.eq(buffer.i.ready),
            buffer.i.valid.eq(self.i.valid),
            buffer.i.payload.eq(beat.words),
            buffer.o.ready.eq(self.issue),
            self.words.eq(buffer.o.payload),
            queue.i.valid.eq(self.accept),
            queue.i.payload.pieces.eq(zeros.mask),
            queue.i.payload.end.eq(ends_block),
            queue.i.payload.last.eq(beat.last),
            queue.i.payload.kept.eq(count_thermometer(beat.keep[::word_bytes])),
            queue.o.ready.eq(self.issue),
            self.parts.eq(queue.entries),
            self.valid.eq(queue.valid),
        ]
        assert_ready(m, platform, queue.i)
        return m
