"""Writing a dense stream of words."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import Status
from cdma.engine_config import BURST_BYTES, PART_BYTES
from cdma.hdl.axi.full import Attributes
from cdma.hdl.engine.common.records import ErrorReport, Tag
from cdma.hdl.engine.common.words import Words
from cdma.hdl.engine.job import WriteClient
from cdma.hdl.engine.offload.write.cut import BurstCutter
from cdma.hdl.engine.offload.write.log import BurstLog
from cdma.hdl.engine.offload.write.ring import WordRing
from cdma.hdl.engine.offload.write.send import BurstSender

_LEAST_FRAMES = 32
#: Bursts that have begun and are not issued, and places that are free a little late.
_NOT_ISSUED = 4


class StreamWriter(wiring.Component):
    """Write rows of words to memory, without a gap, in bursts.

    A burst ends at a multiple of ``burst_bytes``, with the stream, or at a multiple of 128 bytes
    when the port would run dry. Its address is issued when all of its words are here. Throughput a
    row a cycle in, a beat a cycle out; from the row that ends a burst to its address three cycles.

    There is no back-pressure: who sends rows sends none in the cycle after one with ``is_tight``.
    Streams follow each other: one begins when the one before has ended.

    Parameters
    ----------
    address_bits, link_bytes : int
    word_bits, row_words : int
        Of the rows, at most 64 bytes.
    depth : int
        Bursts that have begun and are not answered, a power of two from 8 on. Full throughput
        needs as many as cover the latency of the memory.
    burst_bytes : int
        Most bytes of a burst, a power of two from 128 on up to a page.

    Members
    -------
    clear : In, nothing is left: forget what was dropped
    start : In, a stream begins at ``address``
    address : In, at the border of a word, and of 64 bytes if rows have more than one word; of the
        stream, from ``start`` on as long as ``is_open``
    valid, i : In, a row: :class:`~cdma.hdl.engine.common.words.Words`
    flush : In, level, until ``is_open`` falls: no row will come, end the last burst
    discard : In, issue nothing more
    attr : In, attributes of the addresses
    opens : Out, a burst begins with the row
    tags, tag : In, the next burst's :class:`~cdma.hdl.engine.common.records.Tag`, at most five
        cycles after ``opens``
    client : Out, :class:`~cdma.hdl.engine.job.WriteClient`
    o_error : Out stream of :class:`~cdma.hdl.engine.common.records.ErrorReport`
    is_tight : Out, send no further row; it comes from registers
    is_open : Out, a burst was begun and has not ended, or the stream's first has not been issued
    collects : Out, one cycle: a burst has ended and will be issued or dropped
    answers : Out, one cycle: a burst was answered
    idle : Out, nothing is left to be issued, sent, answered or reported
    """

    def __init__(
        self,
        address_bits: int,
        link_bytes: int,
        word_bits: int,
        row_words: int,
        depth: int,
        burst_bytes: int = BURST_BYTES,
    ):
        self.address_bits = address_bits
        self.link_bytes = link_bytes
        self.word_bits = word_bits
        self.row_words = row_words
        self.depth = depth
        self.burst_bytes = burst_bytes
        super().__init__(
            {
                "clear": In(1),
                "start": In(1),
                "address": In(address_bits),
                "valid": In(1),
                "i": In(Words(word_bits, row_words)),
                "flush": In(1),
                "discard": In(1),
                "attr": In(Attributes()),
                "opens": Out(1),
                "tags": In(1),
                "tag": In(Tag()),
                "client": Out(WriteClient(address_bits, link_bytes)),
                "o_error": Out(stream.Signature(ErrorReport())),
                "is_tight": Out(1),
                "is_open": Out(1),
                "collects": Out(1),
                "answers": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        size, rows = self.word_bits // 8, self.row_words
        frame_words = max(self.link_bytes // size, rows)
        block_words, part_words = self.burst_bytes // size, PART_BYTES // size
        frames = max(_LEAST_FRAMES, 2 * block_words // frame_words)
        m.submodules.ring = ring = WordRing(self.word_bits, rows, frame_words, frames)
        m.submodules.cutter = cutter = BurstCutter(rows, block_words, part_words)
        m.submodules.sender = sender = BurstSender(
            self.address_bits,
            self.link_bytes,
            self.word_bits,
            frame_words,
            frames,
            block_words,
            self.depth - _NOT_ISSUED,
        )
        m.submodules.log = log = BurstLog(self.address_bits, self.depth, Status.HOST_SLVERR)
        wiring.connect(m, cutter.o, sender.i)
        wiring.connect(m, sender.client, wiring.flipped(self.client))
        wiring.connect(m, log.o_error, wiring.flipped(self.o_error))
        low = size.bit_length() - 1
        # Bits of an address: a word's place in its frame, and in a block.
        frame_bits, block_bits = (low + (n.bit_length() - 1) for n in (frame_words, block_words))
        issued = Signal()
        m.d.sync += issued.eq(sender.issues)
        m.d.comb += [
            ring.clear.eq(self.clear),
            ring.align.eq(self.start),
            ring.first.eq(self.address[low:frame_bits]),
            ring.valid.eq(self.valid),
            ring.i.eq(self.i),
            ring.load.eq(sender.load),
            sender.frame.eq(ring.o),
            cutter.start.eq(self.start),
            cutter.place.eq(self.address[low:block_bits]),
            cutter.valid.eq(self.valid),
            cutter.count.eq(self.i.count),
            cutter.is_early.eq(sender.wants),
            cutter.flush.eq(self.flush & sender.i.ready),
            sender.address.eq(self.address),
            sender.discard.eq(self.discard),
            sender.attr.eq(self.attr),
            log.clear.eq(self.clear),
            log.tags.eq(self.tags),
            log.tag.eq(self.tag),
            log.issues.eq(issued),
            log.address.eq(sender.client.aw.payload.address),
            log.answers.eq(self.client.b.valid),
            log.resp.eq(self.client.b.payload),
            self.opens.eq(cutter.opens),
            self.is_tight.eq(ring.is_tight | ~sender.i.ready),
            self.is_open.eq(cutter.is_open | sender.holds),
            self.collects.eq(cutter.o.valid),
            self.answers.eq(self.client.b.valid),
            self.idle.eq(
                sender.is_idle & (sender.outstanding == 0) & ~log.is_behind & ~log.o_error.valid
            ),
        ]
        return m
