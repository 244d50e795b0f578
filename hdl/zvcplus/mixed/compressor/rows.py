"""Items of all types become rows of the stream."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.queue import Queue
from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.hdl.zvcplus.compressor.assembler import BitAssembler
from cdma.hdl.zvcplus.compressor.landing import land_items
from cdma.hdl.zvcplus.compressor.place import BitPlacer
from cdma.hdl.zvcplus.compressor.records import BitRow
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
        moved = placer.LATENCY + BitPacker.latency(size.lanes, LANE_BITS)
        delay = self.latency(size, self.control_latency) - 1 - moved
        enable, parts = assembler.ready, (placer, rotator, assembler)
        for stage in (placer, network, rotator):
            m.d.comb += stage.enable.eq(enable)
        m.d.comb += [
            self.enable.eq(enable),
            placer.valid.eq(item.valid),
            *(getattr(placer, name).eq(item[name]) for name in dict(Item(size)) if name != "valid"),
            Value.cast(network.words).eq(self.fields),
            network.starts.eq(placer.starts),
            rotator.control.eq(self.control),
            land_items(m, size, enable, parts, network.bits, delay, self.control_latency),
        ]
        wiring.connect(m, assembler.o, queue.i)
        wiring.connect(m, queue.o, wiring.flipped(self.o))
        return m
