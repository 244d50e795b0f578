"""The words of each beat, counted."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.prefix import PrefixSum
from cdma.hdl.lib.queue import Queue
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.beats.beat import CountedBeat, MaskedBeat
from cdma.hdl.zvc.decompressor.fetch import fetcher_of
from cdma.hdl.zvc.decompressor.fetch.lookup import LookupFetcher


class BeatCounter(wiring.Component):
    """Count the non-zero words of each beat and queue the beat for the reader.

    Throughput one beat a cycle; latency :meth:`latency` cycles. ``o`` comes from registers. Each
    register loads when it is empty or emptied, so bubbles close.

    Parameters
    ----------
    config : Config
        Lanes and format.

    Members
    -------
    valid, i : In, :class:`~cdma.hdl.zvc.decompressor.beats.beat.MaskedBeat`
    step : Out, the beat is taken when there is one
    next_step : Out, a beat would be accepted in the next cycle
    o : Out stream of :class:`~cdma.hdl.zvc.decompressor.beats.beat.CountedBeat`
    """

    valid: Signal
    i: data.View
    step: Signal
    next_step: Signal
    o: stream.Interface

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "valid": In(1),
                "i": In(MaskedBeat(config)),
                "step": Out(1),
                "next_step": Out(1),
                "o": Out(stream.Signature(CountedBeat(config))),
            }
        )

    @staticmethod
    def latency(config: Config) -> int:
        """Cycles from a beat to its count: the prefix sum and the queue."""
        return 1 + PrefixSum.latency(config.lanes)

    def elaborate(self, platform):
        m = Module()
        lanes = self.config.lanes
        # Short blocks have one queue entry more: then it need not be known whether the reader takes
        # one before a block is accepted.
        is_short = fetcher_of(self.config) is LookupFetcher
        m.submodules.prefix = prefix = PrefixSum(lanes)
        m.submodules.queue = queue = Queue(
            CountedBeat(self.config), 3 if is_short else 2, for_cells=self.config.is_asic
        )
        wiring.connect(m, queue.o, wiring.flipped(self.o))

        stages = prefix.latency(lanes)
        are_valid, next_are_valid = Signal(stages), Signal(stages)
        steps = Signal(stages + 1)
        before, beat = Cat(self.valid, are_valid), self.i
        m.d.comb += steps[-1].eq(queue.i.ready)
        for stage in range(stages):
            m.d.comb += [
                steps[stage].eq(~are_valid[stage] | steps[stage + 1]),
                next_are_valid[stage].eq(Mux(steps[stage], before[stage], are_valid[stage])),
            ]
            held = Signal.like(beat, name=f"beat{stage}", reset_less=True)
            with m.If(steps[stage]):
                m.d.sync += held.eq(beat)
            beat = held
        m.d.sync += are_valid.eq(next_are_valid)

        next_step = ~queue.fills if is_short else (self.o.valid & self.o.ready) | ~queue.fills
        for next_is_valid in reversed(next_are_valid):
            next_step = ~next_is_valid | next_step
        counted = queue.i.payload
        m.d.comb += [
            self.step.eq(steps[0]),
            self.next_step.eq(next_step),
            prefix.mask.eq(self.i.mask),
            prefix.enable.eq(self.step),
            queue.i.valid.eq(before[-1]),
            counted.mask.eq(beat.mask),
            counted.ranks.eq(prefix.ranks),
            counted.total.eq(prefix.total),
            counted.is_empty.eq(~beat.mask.any()),
            counted.tags.eq(beat.tags),
        ]
        return m
