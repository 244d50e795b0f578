"""The mask of a block, from its flags and nibbles."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.prefix import PrefixSum
from cdma.hdl.zvc.network import expand, routes


class MaskDecoder(wiring.Component):
    """Spread the nibbles of a mask to their places, and add up differences.

    Throughput one mask a cycle; latency two cycles, each when its ``load`` is set; ``mask`` comes
    from registers.

    Parameters
    ----------
    groups : int
        Nibbles of a mask, a power of two from 2 to 32.

    Members
    -------
    flags : In, nibbles that are in the body; others are zero
    body : In, those nibbles, in order, lowest first
    load_spread : In, load the registers of the first stage
    differences, dense : In, for the second stage: bits are differences of neighbours; all are 1
    load_mask : In, load the registers of the second stage
    mask : Out, ``4 * groups`` bits
    """

    flags: Signal
    body: Signal
    load_spread: Signal
    differences: Signal
    dense: Signal
    load_mask: Signal
    mask: Signal

    def __init__(self, groups: int):
        if groups not in (2, 4, 8, 16, 32):
            raise ValueError(f"Nibbles of a mask must be 2, 4, 8, 16 or 32, not {groups!r}")
        self.groups = groups
        super().__init__(
            {
                "flags": In(groups),
                "body": In(4 * groups),
                "load_spread": In(1),
                "differences": In(1),
                "dense": In(1),
                "load_mask": In(1),
                "mask": Out(4 * groups),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # Known from reset on: the first block of a packet adds the length of none before it.
        spread = Signal(4 * self.groups)
        m.submodules.prefix = prefix = PrefixSum(self.groups, most=self.groups)  # combinational
        m.d.comb += [prefix.enable.eq(1), prefix.mask.eq(self.flags)]
        sent = [self.body.word_select(rank, 4) for rank in range(self.groups)]
        starts = routes(m, prefix.ranks, Const(0, self.groups.bit_length() - 1))
        for group, nibble in enumerate(expand(m, sent, starts)):
            with m.If(self.load_spread):
                m.d.sync += spread.word_select(group, 4).eq(nibble & self.flags[group].replicate(4))

        ones = spread
        for level in range((4 * self.groups - 1).bit_length()):
            longer = Signal.like(spread, name=f"xor{level}")
            m.d.comb += longer.eq(ones ^ (ones << (1 << level)))
            ones = longer
        with m.If(self.load_mask):
            m.d.sync += self.mask.eq(
                Mux(self.differences, ones, spread) | self.dense.replicate(len(self.mask))
            )
        return m
