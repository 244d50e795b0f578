"""Bursts of a stream on their way to the port."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.full import Attributes
from cdma.hdl.engine.job import WriteClient
from cdma.hdl.engine.offload.write.cut import Piece
from cdma.hdl.lib.counter import StepCounter
from cdma.hdl.lib.queue import Queue
from cdma.hdl.lib.signals import any_of, select

_WAITING = 2  # bursts that have ended and are not issued; that are issued and not sent
_AHEAD = 8  # beats that are left to be sent when the next burst ends early, so that none is missed


class _Issued(data.StructLayout):
    """A burst that is sent, as a :class:`Piece`; ``single``: it has one beat."""

    def __init__(self, block_words: int):
        bits = block_words.bit_length() - 1
        super().__init__({"first": unsigned(bits), "last": unsigned(bits), "single": unsigned(1)})


class BurstSender(wiring.Component):
    """Issue the bursts of a stream, and send their frames in beats.

    Throughput one beat a cycle, and a burst in two cycles. An address is valid two cycles after its
    burst has ended, its first beat four cycles after that. ``client.aw`` and ``client.w`` come from
    registers and memories, the latter through multiplexers.

    Parameters
    ----------
    address_bits, link_bytes : int
    word_bits, frame_words, frames : int
        Of the :class:`~cdma.hdl.engine.offload.write.ring.WordRing`; a frame is one beat or more.
    block_words : int
        Words of the longest burst, a power of two.
    most : int
        Most bursts that are issued and not answered.

    Members
    -------
    i : In stream of :class:`~cdma.hdl.engine.offload.write.cut.Piece`
    address : In, of a stream's first word, while its first burst waits
    discard : In, issue nothing: drop the bursts that come. Their frames are not loaded.
    attr : In, attributes of the addresses
    client : Out, :class:`~cdma.hdl.engine.job.WriteClient`, whose ``b`` is always ready
    load, frame : Out, In, of the ring
    issues : Out, one cycle: ``client.aw`` has a new address from the next cycle on
    is_idle : Out, nothing is left to be sent
    holds : Out, a stream's first burst waits: ``address`` is needed
    wants : Out, little is left to be sent, and few bursts are out: end a burst early; a register
    outstanding : Out, bursts that are issued and not answered
    """

    def __init__(
        self,
        address_bits: int,
        link_bytes: int,
        word_bits: int,
        frame_words: int,
        frames: int,
        block_words: int,
        most: int,
    ):
        self.address_bits = address_bits
        self.link_bytes = link_bytes
        self.word_bits = word_bits
        self.frame_words = frame_words
        self.frames = frames
        self.block_words = block_words
        self.most = most
        super().__init__(
            {
                "i": In(stream.Signature(Piece(block_words))),
                "address": In(address_bits),
                "discard": In(1),
                "attr": In(Attributes()),
                "client": Out(WriteClient(address_bits, link_bytes)),
                "load": Out(1),
                "frame": In(data.ArrayLayout(word_bits, frame_words)),
                "issues": Out(1),
                "is_idle": Out(1),
                "holds": Out(1),
                "wants": Out(1),
                "outstanding": Out(range(most + 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.ended = ended = Queue(Piece(self.block_words), _WAITING)
        m.submodules.issued = issued = Queue(_Issued(self.block_words), _WAITING)
        wiring.connect(m, wiring.flipped(self.i), ended.i)
        self._issue(m, ended, issued)
        left, has_frame = self._load(m, ended.o.payload)
        self._send(m, issued, has_frame)
        m.d.comb += [
            self.client.b.ready.eq(1),
            self.is_idle.eq(~ended.o.valid & ~issued.o.valid & ~self.client.aw.valid),
        ]
        ahead = max(2, 8 * _AHEAD * self.link_bytes // (self.word_bits * self.frame_words))
        firsts = [ended.valid[k] & ended.entries[k].begins for k in range(_WAITING)]
        m.d.comb += self.holds.eq(any_of(firsts))
        is_few = self.outstanding < max(self.most // 2, 1)
        m.d.sync += self.wants.eq(~ended.o.valid & (left < ahead) & is_few)
        return m

    @property
    def _beat_low(self) -> int:
        """Bits of a word's place in its beat."""
        return (8 * self.link_bytes // self.word_bits).bit_length() - 1

    def _issue(self, m, ended, issued):
        """Issue the oldest burst that has ended, or drop it."""
        aw, piece, low = self.client.aw, ended.o.payload, self._beat_low
        first, last = piece.first[low:], piece.last[low:]
        word = (self.word_bits // 8).bit_length() - 1
        high = word + self.block_words.bit_length() - 1
        m.submodules.block = block = StepCounter(self.address_bits - high)
        is_full, is_end = Signal(), Signal()
        m.d.comb += [
            self.issues.eq(ended.o.valid & issued.i.ready & ~aw.valid & ~is_full & ~self.discard),
            ended.o.ready.eq(self.issues | self.discard),
            issued.i.valid.eq(self.issues),
            issued.i.payload.first.eq(piece.first),
            issued.i.payload.last.eq(piece.last),
            issued.i.payload.single.eq(first == last),
            block.load.eq(self.issues & piece.begins),
            block.load_value.eq(self.address[high:]),
        ]
        place = Signal.like(first)
        with m.If(self.issues):
            m.d.sync += [
                aw.valid.eq(1),
                place.eq(first),
                aw.payload.beats.eq(last - first + 1),
                aw.payload.attr.eq(self.attr),
                is_end.eq(piece.last.all()),
            ]
        with m.Elif(aw.ready):
            m.d.sync += aw.valid.eq(0)
        # The next block's address follows two cycles after the handshake of one before, before it
        # can be wanted.
        m.d.sync += block.step.eq(aw.valid & aw.ready & is_end)
        answered = self.client.b.valid
        m.d.sync += [
            self.outstanding.eq(self.outstanding + self.issues - answered),
            is_full.eq(self.outstanding >= self.most),
        ]
        m.d.comb += aw.payload.address.eq(Cat(Const(0, word + low), place, block.value))

    def _load(self, m, piece):
        """Load the frames of issued bursts; gives how many are left, and whether one is loaded."""
        low = self.frame_words.bit_length() - 1
        left, more = Signal(range(self.frames + 1)), Signal(range(self.frames + 1))
        has_frame, is_done = Signal(), Signal()
        frames = piece.last[low:] - piece.first[low:] + 1
        m.d.sync += [
            more.eq(Mux(self.issues, frames, 0)),
            left.eq(left + more - self.load),
            has_frame.eq(self.load | (has_frame & ~is_done)),
        ]
        m.d.comb += self.load.eq((left != 0) & (~has_frame | is_done))
        self._is_done = is_done
        return left, has_frame

    def _send(self, m, issued, has_frame):
        """Send the beats of the loaded frame."""
        w, head, low = self.client.w, issued.o.payload, self._beat_low
        first, last = head.first[low:], head.last[low:]
        place, beat = Signal.like(first, name="next_beat"), Signal.like(first)
        is_begun, is_near, is_last, moves = Signal(), Signal(), Signal(), Signal()
        bits = self.frame_words.bit_length() - 1 - low  # of a beat's place in its frame
        size, words = 8 * self.link_bytes, 1 << low
        is_part_last = beat[:bits].all() if bits else 1
        frame = self.frame.as_value()
        beats = [frame[size * k : size * (k + 1)] for k in range(1 << bits)]
        m.d.comb += [
            beat.eq(Mux(is_begun, place, first)),
            is_last.eq(Mux(is_begun, is_near, head.single)),
            moves.eq(w.valid & w.ready),
            self._is_done.eq(moves & (is_last | is_part_last)),
            w.valid.eq(has_frame),
            w.payload.data.eq(select(m, beat[:bits], beats, "beat_data")),
            w.payload.last.eq(is_last),
            issued.o.ready.eq(moves & is_last),
        ]
        # Only a stream's first word and its last one are not at the border of a beat.
        kept = [
            (is_begun | (head.first[:low] <= k)) & (~is_last | (head.last[:low] >= k))
            for k in range(words)
        ]
        m.d.comb += w.payload.strobe.eq(Cat(bit.replicate(self.word_bits // 8) for bit in kept))
        with m.If(moves):
            m.d.sync += [
                is_begun.eq(~is_last),
                place.eq(beat + 1),
                is_near.eq((beat + 1)[: len(beat)] == last),
            ]
