"""The compressor."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.buffer import RowBuffer
from cdma.hdl.lib.counter import Counter
from cdma.hdl.lib.prefix import PrefixSum
from cdma.hdl.lib.queue import Queue
from cdma.hdl.zvc.beat import COUNT_BITS, Beat, CompressorStatus, count_thermometer
from cdma.hdl.zvc.compressor.assembler import Assembler, Place
from cdma.hdl.zvc.compressor.placer import Placed, Placer
from cdma.hdl.zvc.compressor.zeros import MaskGenerator
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.network import Compactor
from cdma.hdl.zvc.output import PacketOutput

PIECE_BITS = 16  # of a word, in which a one is looked for in one go


class Compressor(wiring.Component):
    """Turn packets of words into packets of their zero-value-compressed stream.

    Beats wait, as they came, until the mask of their block is whole. Meanwhile their non-zero words
    are counted and given their places in the stream. Then one cyclic butterfly brings a beat's
    words to their banks, and the assembler puts them behind the mask.

    Throughput one beat a cycle on the side that has more of them: a block costs the larger of its
    input beats and its stream words over ``lanes``, for any data. Latency see :meth:`latency`.
    ``i.ready`` comes from registers through a gate, the output beat through a multiplexer.

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
    def latency(config: Config) -> int:
        """Cycles from a packet's first beat in to its first beat out, both included, when its first
        block is whole; and the most by which a packet takes longer than its beats."""
        # The wait for the block's mask, the network, the assembler; and the beat's own cycle.
        return Compressor.rows(config) + Compactor.latency(config.lanes) + 2

    @staticmethod
    def rows(config: Config) -> int:
        """Rows of the buffer in which beats wait for their block's mask: one for each cycle for
        which a block's first beat waits, until the last is in, and at least until it is counted and
        has its place. A beat comes in as one sets out."""
        return max(config.block_beats, 3 + PrefixSum.latency(config.lanes))

    def elaborate(self, platform):
        m = Module()
        config = self.config
        lanes, fmt = config.lanes, config.format
        rows = self.rows(config)

        # Take in a beat, find its zeros, and keep both.
        beat = self.i.payload
        accept, launch = Signal(), Signal()
        keep = Signal(lanes)
        block_beat = Signal(range(config.block_beats))
        block_end = Signal()
        pieces = _pieces(config)
        m.submodules.zeros = zeros = MaskGenerator(lanes * pieces, fmt.word_bits // pieces)
        m.submodules.buffer = buffer = RowBuffer(beat.words.shape(), rows)
        m.submodules.parts = parts = Queue(_Part(config), rows, pipe=True)
        m.d.comb += [
            # The lowest byte of a word decides; before the packet's last beat all are kept.
            keep.eq(beat.keep[:: fmt.word_bytes] | (~beat.last).replicate(lanes)),
            block_end.eq(beat.last | (block_beat == config.block_beats - 1)),
            Value.cast(zeros.words).eq(Value.cast(beat.words)),
            zeros.keep.eq(Cat(kept.replicate(pieces) for kept in keep)),
            self.i.ready.eq(buffer.i.ready),
            accept.eq(self.i.valid & self.i.ready),
            buffer.i.valid.eq(self.i.valid),
            buffer.i.payload.eq(beat.words),
            buffer.o.ready.eq(launch),
            parts.i.valid.eq(accept),
            parts.i.payload.pieces.eq(zeros.mask),
            parts.i.payload.end.eq(block_end),
            parts.i.payload.last.eq(beat.last),
            parts.i.payload.kept.eq(count_thermometer(beat.keep[:: fmt.word_bytes])),
            parts.o.ready.eq(launch),
        ]
        with m.If(accept):
            m.d.sync += block_beat.eq(Mux(block_end, 0, block_beat + 1))

        # Give the beat its place in the stream.
        m.submodules.placer = placer = Placer(config)
        m.submodules.placed = placed = Queue(Placed(config), rows, pipe=True)
        wiring.connect(m, placer.o, placed.i)
        m.d.comb += [
            placer.valid.eq(accept),
            placer.mask.eq(_mask(zeros.mask, pieces)),
            placer.keep.eq(keep),
            placer.first.eq(block_beat == 0),
            placer.last.eq(beat.last),
            placed.o.ready.eq(launch),
        ]

        # Let it go once it has its place and its block is whole: an end that waits is that of the
        # first block. Known a cycle before, but for whether the beat before it goes.
        enable, may_launch = Signal(), Signal()
        m.d.comb += launch.eq(enable & may_launch)
        ends = Cat(entry.end for entry in parts.entries) & parts.valid
        # Kept apart by synthesis too: what comes from far away only selects.
        goes, stays = (Signal(name=name, attrs={"keep": 1}) for name in ("if_goes", "if_stays"))
        for k, (may, ready) in enumerate(((stays, ~parts.valid[-1]), (goes, 1))):
            is_whole = ends[k:].any() | (self.i.valid & ready & block_end)
            m.d.comb += may.eq((placer.o.valid | placed.valid[k]) & is_whole)
        m.d.sync += may_launch.eq(Mux(launch, goes, stays))
        m.submodules.network = network = Compactor(lanes, fmt.word_bits)
        m.d.comb += [
            network.enable.eq(enable),
            network.words.eq(buffer.o.payload),
            network.routes.eq(placed.o.payload.routes),
        ]
        travels = Signal(_Travels(config))
        is_inside, end = _block_end(m, config, parts)
        masks = [
            _mask(entry.pieces, pieces) & inside.replicate(lanes)
            for entry, inside in zip(parts.entries, is_inside, strict=False)
        ]
        # Where a packet's stream ends with a full row, this row is its last, though beats follow
        # that bring nothing but zeros: what they complete is not there.
        place = placed.o.payload.place
        is_closed, closes = Signal(), Signal()
        m.d.comb += [
            closes.eq(end.last & ~Cat(masks[1:]).any() & place.is_full),
            travels.mask.eq(Cat(masks)),
            travels.kept.eq(Mux(place.has_mask, end.words, 0)),
            travels.place.eq(place),
            travels.first.eq(place.lane + Mux(place.has_mask, fmt.mask_words, 0)),
            travels.place.last.eq((place.last | closes) & ~is_closed),
            travels.place.rows.eq(Mux(is_closed, 0, place.rows)),
        ]
        with m.If(launch):
            m.d.sync += is_closed.eq((closes | is_closed) & ~place.last)
        valid = launch
        for stage in range(network.latency(lanes) - 1):
            arrives = Signal.like(travels, name=f"travels{stage}", reset_less=True)
            arrives_valid = Signal(name=f"valid{stage}")
            with m.If(enable):
                m.d.sync += [arrives.eq(travels), arrives_valid.eq(valid)]
            travels, valid = arrives, arrives_valid

        # Put it behind what went before.
        m.submodules.assembler = assembler = Assembler(config)
        m.submodules.output = output = PacketOutput(config, CompressorStatus())
        row = assembler.o.payload.row
        m.d.comb += [
            assembler.valid.eq(valid),
            assembler.place.eq(travels.place),
            assembler.first.eq(travels.first),
            assembler.mask.eq(travels.mask),
            assembler.kept.eq(travels.kept),
            assembler.bank_words.eq(network.bank_words),
            enable.eq(assembler.enable),
            output.i.valid.eq(assembler.o.valid),
            output.i.payload.eq(row),
            assembler.o.ready.eq(output.i.ready),
        ]
        wiring.connect(m, wiring.flipped(self.o), output.o)
        wiring.connect(m, wiring.flipped(self.o_status), output.o_status)

        # Count what came in and went out, row by row.
        kept = assembler.o.payload.kept
        # All blocks but a packet's last are whole, so the lowest bits come from one of them only.
        low = (fmt.block_words & -fmt.block_words).bit_length() - 1
        m.submodules.words_in = words_in = Counter(COUNT_BITS - low, len(kept) - low)
        rest = Signal(low)
        m.submodules.rows_out = rows_out = Counter(COUNT_BITS - (lanes.bit_length() - 1), 1)
        leaves = output.i.valid & output.i.ready
        is_first = Signal(init=1)  # the row begins a packet
        last_keep = Signal.like(row.keep)
        with m.If(leaves):
            m.d.sync += [is_first.eq(row.last), last_keep.eq(row.keep)]
            m.d.sync += rest.eq(Mux(is_first, 0, rest) | kept[:low])
        m.d.comb += [
            words_in.enable.eq(leaves),
            words_in.restart.eq(is_first),
            words_in.step.eq(kept[low:]),
            rows_out.enable.eq(leaves),
            rows_out.restart.eq(is_first),
            # A last row that is not full brings the words that it keeps.
            rows_out.step.eq(row.keep[-1]),
            output.i_status.words.eq(Cat(rest, words_in.value)),
            output.i_status.bytes.eq(
                Cat(count_thermometer(last_keep)[:-1], rows_out.value) * fmt.word_bytes
            ),
        ]
        return m


def _pieces(config: Config) -> int:
    """Pieces of a word that are looked at before its beat is queued: a whole word takes longer."""
    return max(1, config.format.word_bits // PIECE_BITS)


def _mask(non_zero: Value, pieces: int) -> Value:
    """A bit per word: one of its pieces is not zero."""
    words = range(0, len(non_zero), pieces)
    return Cat(non_zero[start : start + pieces].any() for start in words)


class _Part(data.StructLayout):
    """A beat's part of its block's mask, a bit for each piece of a word, whether block and packet
    end with it, and its words."""

    def __init__(self, config: Config):
        lanes = config.lanes
        pieces = lanes * _pieces(config)
        super().__init__({"pieces": pieces, "end": 1, "last": 1, "kept": lanes.bit_length()})


class _Travels(data.StructLayout):
    """What goes beside a beat's words through the network."""

    def __init__(self, config: Config):
        block_words = config.format.block_words
        super().__init__(
            {
                "mask": block_words,
                "kept": range(block_words + 1),
                "place": Place(config),
                "first": range(config.lanes + config.format.mask_words),
            }
        )


class _BlockEnd(data.StructLayout):
    """Words of data of a block, and whether the packet ends with it."""

    def __init__(self, config: Config):
        super().__init__({"words": range(config.format.block_words + 1), "last": 1})


def _block_end(m, config: Config, parts: Queue):
    """Which entries are of the block whose first beat is at the head; and its end."""
    inside, is_inside = [], Const(1)
    end = Signal(_BlockEnd(config))
    lane_bits = config.lanes.bit_length() - 1
    for index, entry in enumerate(list(parts.entries)[: config.block_beats]):
        inside.append(is_inside)
        with m.If(is_inside & entry.end):
            m.d.comb += [
                # Before the packet's last beat all words are kept, whatever `tkeep` says.
                end.words.eq(
                    Cat(
                        entry.kept[:lane_bits] & entry.last.replicate(lane_bits),
                        (entry.kept[lane_bits] | ~entry.last) + index,
                    )
                ),
                end.last.eq(entry.last),
            ]
        is_inside = is_inside & ~entry.end
    return inside, end
