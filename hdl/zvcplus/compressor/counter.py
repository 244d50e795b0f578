"""The payload of each beat, counted."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.prefix import PrefixSum
from cdma.hdl.lib.queue import Queue
from cdma.hdl.lib.signals import select
from cdma.hdl.zvcplus.compressor.records import RAW, SENT, BlockPlan, Coding, Payload
from cdma.hdl.zvcplus.config import Config


class PayloadCounter(wiring.Component):
    """Divide blocks into beats, and count the bits of their payloads.

    Three steps, a register after each: the block waits while its beats are taken one by one; the
    words that are sent are counted; the counts are multiplied with the width of a word. No step
    depends on the control of the next block, so all are done by the time that is there.

    Throughput one beat a cycle, latency :attr:`LATENCY` cycles to a block's first beat. ``o``
    comes from registers; ``i.ready`` follows ``o.ready`` through three gates.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    i : In stream of :class:`~cdma.hdl.zvcplus.compressor.records.BlockPlan`
    o : Out stream of :class:`~cdma.hdl.zvcplus.compressor.records.Payload`
    """

    #: Cycles from a plan to the first beat of the block.
    LATENCY = 3

    i: stream.Interface
    o: stream.Interface

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(BlockPlan(config))),
                "o": Out(stream.Signature(Payload(config))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, lanes = self.config, self.config.lanes
        m.submodules.blocks = blocks = Queue(BlockPlan(config), 1, pipe=True)
        m.submodules.counted = counted = Queue(_Counted(config), 1, pipe=True)
        m.submodules.multiplied = multiplied = Queue(Payload(config), 1, pipe=True)
        wiring.connect(m, wiring.flipped(self.i), blocks.i)
        wiring.connect(m, multiplied.o, wiring.flipped(self.o))

        block, beat = blocks.o.payload, counted.i.payload
        index = Signal(2)
        sent = block.mask & ~block.repeated if config.has_repeats else block.mask
        m.d.comb += [
            counted.i.valid.eq(blocks.o.valid),
            blocks.o.ready.eq(counted.i.ready & beat.end),
            beat.mask.eq(sent.word_select(index, lanes) | (block.kind == RAW).replicate(lanes)),
            beat.coding.eq(block.coding),
            beat.end.eq(index == block.extent.beats),
            beat.final.eq(block.extent.last),
            beat.words.eq(Mux(beat.end & beat.final, block.extent.words, lanes)),
        ]
        self._count(m, beat, self._widths(m, block, index))
        with m.If(counted.i.valid & counted.i.ready):
            m.d.sync += index.eq(Mux(beat.end, 0, index + 1))

        beat, payload = counted.o.payload, multiplied.i.payload
        m.d.comb += [
            multiplied.i.valid.eq(counted.o.valid),
            counted.o.ready.eq(multiplied.i.ready),
            *(payload[name].eq(beat[name]) for name in _SHARED),
        ]
        size, before = lanes // config.beat_groups, []
        for group, (count, width) in enumerate(zip(beat.counts, beat.widths, strict=True)):
            for lane in range(group * size, (group + 1) * size):
                bits = beat.ranks[lane] * width
                m.d.comb += payload.behind[lane].eq(sum(before, bits))
            before.append(count * width)
        m.d.comb += payload.total.eq(sum(before[1:], before[0]))
        return m

    def _widths(self, m, block, index):
        """Bits of a word that is sent, per group of the beat."""
        word, coding = self.config.word, block.coding
        if word.is_float:
            exponent = Mux(coding.k == SENT, word.exponent, coding.k)
            return [word.mantissa + exponent + coding.is_wide]
        widths = block.groups.widths
        groups = self.config.beat_groups
        return [
            select(m, index, list(widths)[group::groups], f"width{group}")
            for group in range(groups)
        ]

    def _count(self, m, beat, widths):
        """Words that are sent, per group."""
        size = self.config.lanes // self.config.beat_groups
        for group, width in enumerate(widths):
            name = f"prefix{group}" if group else "prefix"
            m.submodules[name] = prefix = PrefixSum(size)  # of few enough lanes: combinational
            m.d.comb += [
                prefix.enable.eq(1),
                prefix.mask.eq(beat.mask.word_select(group, size)),
                beat.counts[group].eq(prefix.total),
                beat.widths[group].eq(width),
            ]
            for lane, rank in enumerate(prefix.ranks, group * size):
                m.d.comb += beat.ranks[lane].eq(rank)


#: Members of a payload that are known before it is counted.
_SHARED = ("mask", "coding", "words", "end", "final")


class _Counted(data.StructLayout):
    """A beat: its words that are sent, counted in each group, and their widths."""

    def __init__(self, config: Config):
        lanes, groups = config.lanes, config.beat_groups
        size = lanes // groups
        super().__init__(
            {
                "mask": lanes,
                "coding": Coding(config),
                "words": range(lanes + 1),
                "end": 1,
                "final": 1,
                "ranks": data.ArrayLayout(range(size), lanes),
                "counts": data.ArrayLayout(range(size + 1), groups),
                "widths": data.ArrayLayout(range(config.word.bits + 1), groups),
            }
        )
