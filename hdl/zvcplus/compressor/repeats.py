"""The bits that say which words are repeated."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.delay import DelayLine
from cdma.hdl.lib.prefix import PrefixSum
from cdma.hdl.lib.queue import Queue
from cdma.hdl.lib.signals import assert_ready
from cdma.hdl.zvc.network import Compactor, routes
from cdma.hdl.zvcplus.compressor.records import BlockPlan, RepeatBits
from cdma.hdl.zvcplus.config import Config

#: Words that are counted in one cycle; of more, the halves are counted first.
MOST_COMBINATIONAL = 64


class RepeatCoder(wiring.Component):
    """Bring the bits of the words that are not zero side by side, for each block.

    Blocks come in as they are planned, and leave with their first beat. At most :attr:`DEPTH` are
    between, so that the input is always ready.

    Throughput one block a cycle, latency :meth:`latency` cycles; ``o`` comes from registers.

    Parameters
    ----------
    config : Config
        Element type, with repeats.

    Members
    -------
    valid : In, a block comes in
    plan : In, its :class:`~cdma.hdl.zvcplus.compressor.records.BlockPlan`
    o : Out stream of :class:`~cdma.hdl.zvcplus.compressor.records.RepeatBits`
    """

    #: Blocks that are planned and have not given a beat: the plan at hand, and at most one in each
    #: register of the counter.
    DEPTH = 4

    valid: Signal
    plan: data.View
    o: stream.Interface

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "valid": In(1),
                "plan": In(BlockPlan(config)),
                "o": Out(stream.Signature(RepeatBits(config))),
            }
        )

    @staticmethod
    def latency(config: Config) -> int:
        """Cycles from a block to its bits."""
        words = config.word.block_words
        return PrefixSum.latency(words, MOST_COMBINATIONAL) + Compactor.latency(words) + 1

    def elaborate(self, platform):
        m = Module()
        words, plan = self.config.word.block_words, self.plan
        m.submodules.prefix = prefix = PrefixSum(words, most=MOST_COMBINATIONAL)
        counting = PrefixSum.latency(words, MOST_COMBINATIONAL)
        m.submodules.counted = counted = DelayLine(_Counted(words), counting)
        m.submodules.network = network = Compactor(words, 1)
        m.submodules.beside = beside = DelayLine(range(words + 1), network.latency(words))
        m.submodules.queue = queue = Queue(RepeatBits(self.config), self.DEPTH)
        assert_ready(m, platform, queue.i)
        m.d.comb += [
            prefix.enable.eq(1),
            prefix.mask.eq(plan.mask),
            counted.enable.eq(1),
            counted.i_valid.eq(self.valid),
            counted.i.repeated.eq(plan.repeated),
            counted.i.has_repeats.eq(plan.has_repeats),
            network.enable.eq(1),
            # Words that are zero are not repeated: their bits can come anywhere.
            network.words.eq(counted.o.repeated),
            network.routes.eq(routes(m, prefix.ranks, Const(0, words.bit_length() - 1))),
            beside.enable.eq(1),
            beside.i_valid.eq(counted.o_valid),
            beside.i.eq(Mux(counted.o.has_repeats, prefix.total, 0)),
            queue.i.valid.eq(beside.o_valid),
            queue.i.payload.bits.eq(network.bank_words.as_value()),
            queue.i.payload.count.eq(beside.o),
        ]
        wiring.connect(m, queue.o, wiring.flipped(self.o))
        return m


class _Counted(data.StructLayout):
    """A block while its words are counted: repeated words, and whether it uses repeats."""

    def __init__(self, words: int):
        super().__init__({"repeated": words, "has_repeats": 1})
