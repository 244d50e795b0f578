"""From blocks to counted beats."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.beats.beat import CountedBeat
from cdma.hdl.zvc.decompressor.beats.counter import BeatCounter
from cdma.hdl.zvc.decompressor.beats.cutter import BlockCutter
from cdma.hdl.zvc.decompressor.fetch.block import Block


class BlockBeats(wiring.Component):
    """The beats of each block, one after the other, with their words counted.

    Throughput one beat a cycle, also from block to block; latency :meth:`latency` cycles.
    ``i.ready`` and ``o`` come from registers.

    Parameters
    ----------
    config : Config
        Lanes and format.

    Members
    -------
    i : In stream of :class:`~cdma.hdl.zvc.decompressor.fetch.block.Block`
    next_ready : Out, ``i.ready`` of the next cycle
    o : Out stream of :class:`~cdma.hdl.zvc.decompressor.beats.beat.CountedBeat`
    mask : Out, in the cycle after a block came in: its mask
    """

    i: stream.Interface
    next_ready: Signal
    o: stream.Interface
    mask: Signal

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(Block(config))),
                "o": Out(stream.Signature(CountedBeat(config))),
                "next_ready": Out(1),
                "mask": Out(config.format.block_words),
            }
        )

    @staticmethod
    def latency(config: Config) -> int:
        """Cycles from a block to its first beat."""
        return 1 + BeatCounter.latency(config)

    def elaborate(self, platform):
        m = Module()
        m.submodules.cutter = cutter = BlockCutter(self.config)
        m.submodules.counter = counter = BeatCounter(self.config)
        wiring.connect(m, wiring.flipped(self.i), cutter.i)
        wiring.connect(m, counter.o, wiring.flipped(self.o))
        m.d.comb += [
            self.next_ready.eq(cutter.next_ready),
            self.mask.eq(cutter.mask),
            counter.valid.eq(cutter.valid),
            counter.i.eq(cutter.o),
            cutter.step.eq(counter.step),
            cutter.next_step.eq(counter.next_step),
        ]
        return m
