"""What all planners have in common: ports, and two steps with a register after each."""

from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.queue import Queue
from cdma.hdl.zvcplus.compressor.records import BlockPlan, BlockStats
from cdma.hdl.zvcplus.config import Config


class Planner(wiring.Component):
    """Choose the coding of each block and the length of its control, in two steps.

    Throughput one block a cycle, latency :attr:`LATENCY` cycles. ``i.ready`` and ``o`` come
    from registers.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    i : In stream of :class:`~cdma.hdl.zvcplus.compressor.records.BlockStats`
    o : Out stream of :class:`~cdma.hdl.zvcplus.compressor.records.BlockPlan`
    """

    #: Cycles from a block's statistics to its plan.
    LATENCY = 2

    i: stream.Interface
    o: stream.Interface

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(BlockStats(config))),
                "o": Out(stream.Signature(BlockPlan(config))),
            }
        )

    def _steps(self, m, choice):
        """The registers after both steps: a queue of ``choice``, and one of plans."""
        m.submodules.chosen = chosen = Queue(choice, 2)
        m.submodules.planned = planned = Queue(BlockPlan(self.config), 1, pipe=True)
        m.d.comb += [
            chosen.i.valid.eq(self.i.valid),
            self.i.ready.eq(chosen.i.ready),
            planned.i.valid.eq(chosen.o.valid),
            chosen.o.ready.eq(planned.i.ready),
        ]
        wiring.connect(m, planned.o, wiring.flipped(self.o))
        return chosen, planned
