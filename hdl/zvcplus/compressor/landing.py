"""From a place to the assembler: places pass beside controls and payloads that they belong to."""

from amaranth.hdl import Signal

from cdma.hdl.lib.counter import Counter
from cdma.hdl.lib.delay import DelayLine
from cdma.hdl.lib.signals import registered_if
from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.hdl.zvcplus.compressor.assembler import Landing, land
from cdma.hdl.zvcplus.compressor.records import Place


def land_items(m, size, enable, parts, bits, delay: int, control_latency: int) -> list:
    """Registers between placer, rotator and assembler, and the statements that connect them.

    Parameters
    ----------
    size : Config or ByteLanes
        Size of rows and places.
    enable : Signal
        All of these registers load.
    parts : tuple
        :class:`~cdma.hdl.zvcplus.compressor.place.BitPlacer`,
        :class:`~cdma.hdl.zvcplus.compressor.rotator.ControlRotator` and
        :class:`~cdma.hdl.zvcplus.compressor.assembler.BitAssembler`.
    bits : Value
        Bits of words at their places, as they leave the network.
    delay : int
        Cycles that they wait for the control.
    control_latency : int
        Cycles from an item to its control.
    """
    placer, rotator, assembler = parts
    for stage in range(delay):
        bits = registered_if(m, enable, bits, f"bits{stage}")
    # The place goes beside the control, then beside the rotator to the assembler.
    coded = DelayLine(Place(size), control_latency - placer.LATENCY)
    rotated = DelayLine(Place(size), rotator.LATENCY - 1)
    landed = DelayLine(Landing(size), 1)
    m.submodules.coded, m.submodules.rotated, m.submodules.landed = coded, rotated, landed
    for stage in (coded, rotated, landed):
        m.d.comb += stage.enable.eq(enable)
    return [
        assembler.payload.eq(bits),
        rotator.at.eq(coded.o.at),
        coded.i_valid.eq(placer.o_valid),
        coded.i.eq(placer.place),
        rotated.i_valid.eq(coded.o_valid),
        rotated.i.eq(coded.o),
        landed.i_valid.eq(rotated.o_valid),
        land(landed.i, rotated.o),
        assembler.valid.eq(landed.o_valid),
        assembler.landing.eq(landed.o),
        assembler.words.eq(_counted(m, enable & rotated.o_valid, rotated.o)),
        assembler.control.eq(rotator.bits),
    ]


def _counted(m, enable, place):
    """Words of the packet up to the item that enters the assembler."""
    m.submodules.words = words = Counter(COUNT_BITS, len(place.words))
    is_first = Signal(init=1)
    with m.If(enable):
        m.d.sync += is_first.eq(place.last)
    m.d.comb += [
        words.enable.eq(enable),
        words.restart.eq(is_first),
        words.step.eq(place.words),
    ]
    return words.value
