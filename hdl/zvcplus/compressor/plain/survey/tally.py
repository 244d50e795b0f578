"""The mask of a block, gathered from its beats."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.delay import DelayLine
from cdma.hdl.lib.prefix import popcount
from cdma.hdl.zvcplus.compressor.plain.records import Masks
from cdma.hdl.zvcplus.compressor.survey.masks import nonzero_nibbles
from cdma.hdl.zvcplus.config import Config


class MaskTally(wiring.Component):
    """Gather the mask of a block beat by beat, and count its nibbles that are not zero.

    Beats that a block does not have count as zeros. Throughput one beat a cycle, latency
    :attr:`LATENCY` cycles; the output is registered.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    enable : In, array of equal bits: the first, and the second registers load
    valid : In, there is a beat
    index : In, number of the beat in its block
    end : In, the block ends with the beat
    mask : In, a bit per word that is not zero
    o : Out, :class:`~cdma.hdl.zvcplus.compressor.plain.records.Masks` of the block up to the beat
    """

    #: Cycles from a beat to the mask with it.
    LATENCY = 2

    enable: Signal
    valid: Signal
    index: Signal
    end: Signal
    mask: Signal
    o: data.View

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "enable": In(2),
                "valid": In(1),
                "index": In(2),
                "end": In(1),
                "mask": In(config.lanes),
                "o": Out(Masks(config)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.flagged = flagged = DelayLine(_Flagged(self.config), 1)
        before = Signal()  # last bit of the mask of the beat before, in a block
        is_short = Signal()
        differences = self.mask ^ Cat(before, self.mask[:-1])
        beat = flagged.i
        m.d.comb += [
            flagged.enable.eq(self.enable[0]),
            flagged.i_valid.eq(self.valid),
            beat.mask.eq(self.mask),
            is_short.eq(self.end & (self.index != self.config.block_beats - 1)),
            beat.first.eq(self.index == 0),
            beat.here.eq(Cat(self.index == each for each in range(self.config.block_beats))),
            beat.is_short.eq(is_short),
            beat.as_is.eq(popcount(m, nonzero_nibbles(self.mask))),
            beat.differences.eq(popcount(m, nonzero_nibbles(differences))),
            # Behind a mask that ends with a one there is one more difference.
            beat.has_tail.eq(self.mask[-1] & is_short),
        ]
        with m.If(self.enable[0] & self.valid):
            m.d.sync += before.eq(self.mask[-1] & ~self.end)
        self._gather(m, self.enable[1] & flagged.o_valid, flagged.o)
        return m

    def _gather(self, m, enable, beat):
        """Add a beat to those before."""
        lanes, is_first = self.config.lanes, beat.first
        for index, is_here in enumerate(beat.here):
            part = Signal(lanes, name=f"mask{index}", reset_less=True)
            # A block's first beat clears what is behind it.
            clears = is_first if index else is_here
            held = part & (~(enable & (is_here | clears))).replicate(lanes)
            m.d.comb += self.o.mask.word_select(index, lanes).eq(part)
            m.d.sync += part.eq(held | (beat.mask & (enable & is_here).replicate(lanes)))
        sums = []
        for name in ("differences", "as_is"):
            total = Signal.like(self.o.nibbles, name=name, reset_less=True)
            following = Signal.like(total, name=f"next_{name}")
            before = total & (~is_first).replicate(len(total))
            more = beat.has_tail if name == "differences" else 0
            m.d.comb += following.eq(before + beat[name] + more)
            with m.If(enable):
                m.d.sync += total.eq(following)
            sums.append(following)
        is_differences = sums[0] <= sums[1]
        nibbles = Signal.like(self.o.nibbles, reset_less=True)
        shorter, is_zero = Signal(reset_less=True), Signal(reset_less=True)
        zeros = Signal.like(self.o.zeros, reset_less=True)
        most = len(zeros)
        absent = beat.is_short.replicate(most)
        before = zeros & (~is_first).replicate(most)
        m.d.comb += [
            self.o.is_differences.eq(shorter),
            self.o.nibbles.eq(nibbles),
            self.o.is_zero.eq(is_zero),
            self.o.zeros.eq(zeros),
        ]
        with m.If(enable):
            m.d.sync += [
                shorter.eq(is_differences),
                nibbles.eq(Mux(is_differences, *sums)),
                is_zero.eq((is_zero | is_first) & ~beat.mask.any()),
                zeros.eq(Cat(both(before, at_least(~beat.mask, most))) | absent),
            ]


class _Flagged(data.StructLayout):
    """A beat: its mask, how many nibbles of it and of its differences are not zero, whether there
    is a difference behind it, whether it is its block's first, its number, one-hot, and whether its
    block ends early with it."""

    def __init__(self, config: Config):
        flags = config.lanes // 4
        super().__init__(
            {
                "mask": config.lanes,
                "as_is": range(flags + 1),
                "differences": range(flags + 1),
                "has_tail": 1,
                "first": 1,
                "here": config.block_beats,
                "is_short": 1,
            }
        )


def at_least(bits, most: int) -> list:
    """For each number from 1 to ``most``: at least so many of ``bits`` are set."""
    if len(bits) == 1:
        return [bits, *[Const(0, 1)] * (most - 1)]
    half = len(bits) // 2
    return both(at_least(bits[:half], most), at_least(bits[half:], most))


def both(first, second) -> list:
    """The same of both together."""
    ways = [Const(1, 1), *first], [Const(1, 1), *second]
    return [
        Cat(ways[0][k] & ways[1][number - k] for k in range(number + 1)).any()
        for number in range(1, len(first) + 1)
    ]
