"""The payload of each beat, counted."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.prefix import PrefixSum
from cdma.hdl.lib.queue import Queue
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
        Element type, a float.

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
        m.submodules.prefix = prefix = PrefixSum(lanes)  # of few enough lanes: combinational
        wiring.connect(m, wiring.flipped(self.i), blocks.i)
        wiring.connect(m, multiplied.o, wiring.flipped(self.o))

        block, beat = blocks.o.payload, counted.i.payload
        index = Signal(2)
        m.d.comb += [
            counted.i.valid.eq(blocks.o.valid),
            blocks.o.ready.eq(counted.i.ready & beat.end),
            beat.mask.eq(
                block.mask.word_select(index, lanes) | (block.kind == RAW).replicate(lanes)
            ),
            beat.coding.eq(block.coding),
            beat.end.eq(index == block.extent.beats),
            beat.final.eq(block.extent.last),
            beat.words.eq(Mux(beat.end & beat.final, block.extent.words, lanes)),
            prefix.enable.eq(1),
            prefix.mask.eq(beat.mask),
            beat.ranks.eq(prefix.ranks),
            beat.count.eq(prefix.total),
            beat.width.eq(_width(block.coding, config)),
        ]
        with m.If(counted.i.valid & counted.i.ready):
            m.d.sync += index.eq(Mux(beat.end, 0, index + 1))

        beat, payload = counted.o.payload, multiplied.i.payload
        m.d.comb += [
            multiplied.i.valid.eq(counted.o.valid),
            counted.o.ready.eq(multiplied.i.ready),
            payload.total.eq(beat.count * beat.width),
            *(payload[name].eq(beat[name]) for name in _SHARED),
        ]
        for behind, rank in zip(payload.behind, beat.ranks, strict=True):
            m.d.comb += behind.eq(rank * beat.width)
        return m


def _width(coding, config: Config):
    """Bits of a word that is sent."""
    word = config.word
    return word.mantissa + Mux(coding.k == SENT, word.exponent, coding.k) + coding.is_wide


#: Members of a payload that are known before it is counted.
_SHARED = ("mask", "coding", "words", "end", "final")


class _Counted(data.StructLayout):
    """A beat: its words that are sent, counted, and their width."""

    def __init__(self, config: Config):
        lanes = config.lanes
        super().__init__(
            {
                "mask": lanes,
                "coding": Coding(config),
                "words": range(lanes + 1),
                "end": 1,
                "final": 1,
                "ranks": data.ArrayLayout(range(lanes), lanes),
                "count": range(lanes + 1),
                "width": range(config.word.bits + 1),
            }
        )
