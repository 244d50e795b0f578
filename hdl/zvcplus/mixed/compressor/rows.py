"""Items of all types become rows of the stream."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.counter import Counter
from cdma.hdl.lib.delay import DelayLine
from cdma.hdl.lib.queue import Queue
from cdma.hdl.lib.signals import registered_if
from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.hdl.zvcplus.compressor.assembler import BitAssembler, Landing, land
from cdma.hdl.zvcplus.compressor.place import BitPlacer
from cdma.hdl.zvcplus.compressor.records import BitRow, Place
from cdma.hdl.zvcplus.compressor.rotator import ControlRotator
from cdma.hdl.zvcplus.mixed.compressor.records import ByteLanes, Item
from cdma.hdl.zvcplus.mixed.lanes import LANE_BITS
from cdma.hdl.zvcplus.network import BitPacker


class ItemRows(wiring.Component):
    """Give items their places, bring their bits there, and make rows of them.

    The bits of words move as those of bytes: each byte has its place, and those of a word follow
    each other, so that together they move as the word does.

    Throughput one item and one row a cycle. Latency :meth:`latency`; ``o`` comes from registers.
    No path runs from ``o.ready`` to ``enable``.

    Parameters
    ----------
    size : ByteLanes
        Size of items.
    control_latency : int
        Cycles from an item to its control, at least 3.

    Members
    -------
    enable : Out, the item is taken, if there is one; all registers load
    item : In, :class:`~cdma.hdl.zvcplus.mixed.compressor.records.Item`
    fields : In, its fields, two cycles with ``enable`` later; zero between and beside them
    control : In, its control, ``control_latency`` cycles with ``enable`` later; zero behind it
    o : Out stream of :class:`~cdma.hdl.zvcplus.compressor.records.BitRow`
    """

    enable: Signal
    item: data.View
    fields: Signal
    control: Signal
    o: stream.Interface

    def __init__(self, size: ByteLanes, control_latency: int):
        self.size = size
        self.control_latency = control_latency
        super().__init__(
            {
                "enable": Out(1),
                "item": In(Item(size)),
                "fields": In(size.beat_bits),
                "control": In(size.front_bits),
                "o": Out(stream.Signature(BitRow(size, COUNT_BITS))),
            }
        )

    @staticmethod
    def latency(size: ByteLanes, control_latency: int) -> int:
        """Cycles from an item to a row with its bits."""
        placed = BitPlacer.LATENCY + BitPacker.latency(size.lanes, LANE_BITS) + 1
        return max(placed, control_latency + ControlRotator.LATENCY) + 1

    def elaborate(self, platform):
        m = Module()
        size, item = self.size, self.item
        m.submodules.placer = placer = BitPlacer(size)
        m.submodules.network = network = BitPacker(size.lanes, LANE_BITS)
        m.submodules.rotator = rotator = ControlRotator(size)
        m.submodules.assembler = assembler = BitAssembler(size)
        m.submodules.queue = queue = Queue(BitRow(size, COUNT_BITS), 2)
        # The place goes beside the control, then beside the rotator to the assembler.
        coded = self.control_latency - placer.LATENCY
        m.submodules.coded = coded = DelayLine(Place(size), coded)
        m.submodules.rotated = rotated = DelayLine(Place(size), rotator.LATENCY - 1)
        m.submodules.landed = landed = DelayLine(Landing(size), 1)
        moved = placer.LATENCY + BitPacker.latency(size.lanes, LANE_BITS)
        delay = self.latency(size, self.control_latency) - 1 - moved
        enable, bits = assembler.ready, network.bits
        for stage in range(delay):
            bits = registered_if(m, enable, bits, f"bits{stage}")
        for stage in (placer, network, rotator, coded, rotated, landed):
            m.d.comb += stage.enable.eq(enable)
        m.d.comb += [
            self.enable.eq(enable),
            placer.valid.eq(item.valid),
            *(getattr(placer, name).eq(item[name]) for name in dict(Item(size)) if name != "valid"),
            Value.cast(network.words).eq(self.fields),
            network.starts.eq(placer.starts),
            assembler.payload.eq(bits),
            rotator.control.eq(self.control),
            rotator.at.eq(coded.o.at),
            coded.i_valid.eq(placer.o_valid),
            coded.i.eq(placer.place),
            rotated.i_valid.eq(coded.o_valid),
            rotated.i.eq(coded.o),
            landed.i_valid.eq(rotated.o_valid),
            land(landed.i, rotated.o),
            assembler.valid.eq(landed.o_valid),
            assembler.landing.eq(landed.o),
            assembler.words.eq(self._counted(m, enable & rotated.o_valid, rotated.o)),
            assembler.control.eq(rotator.bits),
        ]
        wiring.connect(m, assembler.o, queue.i)
        wiring.connect(m, queue.o, wiring.flipped(self.o))
        return m

    def _counted(self, m, enable, place):
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
