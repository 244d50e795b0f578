"""Where a packet ends whose stream ends itself."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.zvc.beat import Row, kept_words
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.reader.reader import ReadBeat


class TailTags(data.StructLayout):
    """Description of a beat that leaves, for the report.

    Members
    -------
    used : words of the stream that it took, its mask's included, missing words excluded
    first : a mask precedes its words
    cut : the packet ends with it, but not as an encoder ends a packet
    in_block : what is cut is the block of this beat, not what follows it
    """

    def __init__(self, config: Config):
        most = config.lanes + config.format.mask_words
        super().__init__({"used": range(most + 1), "first": 1, "cut": 1, "in_block": 1})


class _Held(data.StructLayout):
    """A beat that is held."""

    def __init__(self, config: Config):
        super().__init__(
            {
                "words": data.ArrayLayout(config.format.word_bits, config.lanes),
                "keep": config.lanes,
                "closed": 1,
                "cut": 1,
                "used": TailTags(config)["used"].shape,
                "first": 1,
            }
        )


class TailStage(wiring.Component):
    """Find a packet's last word, and mark its beat as the last.

    With a tail of ones the packet ends at the first mask bit without a word. That may be the first
    bit of a beat, or the packet ends with a block, so a beat is held until it is known whether a
    word follows it. What follows the last word up to the end of its block, and the empty beat that
    stands for the end of the packet, is dropped.

    Throughput one beat a cycle; the dropped beats cost a cycle each. Latency one cycle for a beat
    with another behind it. ``o.valid`` comes from registers through one gate, and from ``valid``.

    Parameters
    ----------
    config : Config
        Lanes and format.

    Members
    -------
    valid : In, there is a beat
    read : In, its :class:`~cdma.hdl.zvc.decompressor.reader.reader.ReadBeat`
    words : In, its words
    missing : In, a bit per lane: it is marked, and the packet has no word for it
    ready : Out, the beat is taken
    o : Out stream of :class:`~cdma.hdl.zvc.beat.Row`
    tags : Out, :class:`TailTags` of the row at ``o``
    """

    valid: Signal
    read: data.View
    words: data.View
    missing: Signal
    ready: Signal
    o: stream.Interface
    tags: data.View

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "valid": In(1),
                "read": In(ReadBeat(config)),
                "words": In(data.ArrayLayout(config.format.word_bits, config.lanes)),
                "missing": In(config.lanes),
                "ready": Out(1),
                "o": Out(stream.Signature(Row(config))),
                "tags": Out(TailTags(config)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, lanes, tags = self.config, self.config.lanes, self.read.tags
        over = Signal()  # the packet's last word has come: drop what is behind
        is_held = Signal()
        held = Signal(_Held(config), reset_less=True)
        is_dry = self.missing.any()
        brings_none = tags.last | self.missing[0]  # the packet has ended before the beat
        keep = Cat(~self.missing[: lane + 1].any() for lane in range(lanes))
        cut = Signal()
        m.d.comb += cut.eq(self._is_cut(keep))

        joins = is_held & ~held.closed & brings_none  # the held beat is the packet's last
        accept = self.valid & self.ready
        row = self.o.payload
        m.d.comb += [
            self.ready.eq(over | ~is_held | self.o.ready),
            self.o.valid.eq(is_held & (held.closed | (self.valid & ~over))),
            row.words.eq(kept_words(held.words, held.keep) if config.fills else held.words),
            row.keep.eq(held.keep),
            row.last.eq(held.closed | brings_none),
            self.tags.used.eq(held.used),
            self.tags.first.eq(held.first),
            self.tags.cut.eq(Mux(held.closed, held.cut, cut)),
            self.tags.in_block.eq(held.closed | ~(tags.first | tags.last)),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += is_held.eq(0)
        with m.If(accept):
            m.d.sync += over.eq((over | is_dry) & ~tags.last)
        with m.If(accept & ~over & ~joins):
            absent = Mux(is_dry, self.read.behind - self.read.there, 0)
            m.d.sync += [
                is_held.eq(1),
                held.words.eq(self.words),
                held.keep.eq(keep & (~brings_none).replicate(lanes)),
                held.closed.eq(is_dry | tags.last),
                held.cut.eq(cut),
                held.used.eq(Mux(brings_none, 0, self.read.used - absent)),
                held.first.eq(tags.first),
            ]
        return m

    def _is_cut(self, keep):
        """Where the packet ends with the beat: it does not end as an encoder ends a packet."""
        read, tags = self.read, self.read.tags
        is_left = (read.behind < read.there) | read.has_more
        is_padded = (keep | self.missing).all() & tags.rest
        has_no_word = self.missing[0] & tags.first
        return Mux(tags.last, is_left, ~is_padded | has_no_word | read.has_more)
