"""The mask of a block, gathered from its beats."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.zvcplus.compressor.records import Masks
from cdma.hdl.zvcplus.config import Config


class MaskGather(wiring.Component):
    """Gather the mask of a block beat by beat, and find its nibbles that are not zero.

    Beats that a block does not have count as zeros: each beat clears those behind it. Throughput
    one beat a cycle, latency one cycle; the output is registered.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    enable : In, the registers load
    valid : In, there is a beat
    index : In, number of the beat in its block
    mask : In, a bit per word that is not zero
    o : Out, :class:`~cdma.hdl.zvcplus.compressor.records.Masks` of the block up to the beat
    """

    enable: Signal
    valid: Signal
    index: Signal
    mask: Signal
    o: data.View

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "enable": In(1),
                "valid": In(1),
                "index": In(2),
                "mask": In(config.lanes),
                "o": Out(Masks(config)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        lanes, beats = self.config.lanes, self.config.block_beats
        before = Signal()  # last bit of the mask of the beat before
        differences = Signal(lanes)
        m.d.comb += differences.eq(self.mask ^ Cat(before & (self.index != 0), self.mask[:-1]))
        with m.If(self.enable & self.valid):
            m.d.sync += before.eq(self.mask[-1])
        for beat in range(beats):
            parts = [
                Signal(size, name=f"{name}{beat}", reset_less=True)
                for name, size in (("mask", lanes), ("as_is", lanes // 4), ("diff", lanes // 4))
            ]
            ends = Mux(self.index == beat - 1, self.mask[-1], 0) if beat else Const(0, 1)
            with m.If(self.enable & self.valid):
                with m.If(self.index == beat):
                    m.d.sync += Cat(parts).eq(
                        Cat(self.mask, nonzero_nibbles(self.mask), nonzero_nibbles(differences))
                    )
                if beat:  # no beat is before the first
                    with m.Elif(self.index < beat):
                        # Behind a mask that ends with a one there is one more difference.
                        m.d.sync += Cat(parts).eq(Cat(Const(0, lanes + lanes // 4), ends))
            fields = (self.o.mask, self.o.as_is, self.o.differences)
            for part, field in zip(parts, fields, strict=True):
                m.d.comb += field.word_select(beat, len(part)).eq(part)
        return m


def gather_beats(m: Module, enable, index, bits, target, name: str) -> None:
    """Gather bits of the beats of a block in registers; beats that it does not have give zeros.

    Parameters
    ----------
    m : Module
        Gets the logic.
    enable, index, bits : Value
        A beat is there, its number in its block, its bits.
    target : Value
        Gets the bits of the block, of its first beat the lowest.
    name : str
        The registers' name.
    """
    for beat in range(len(target) // len(bits)):
        part = Signal(len(bits), name=f"{name}{beat}", reset_less=True)
        with m.If(enable & (index == beat)):
            m.d.sync += part.eq(bits)
        if beat:
            with m.Elif(enable & (index < beat)):
                m.d.sync += part.eq(0)
        m.d.comb += target.word_select(beat, len(bits)).eq(part)


def nonzero_nibbles(mask):
    """A bit per nibble of ``mask`` that is not zero."""
    return Cat(mask.word_select(index, 4).any() for index in range(len(mask) // 4))
