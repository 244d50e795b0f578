"""The mask of a block, from its flags and nibbles."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.prefix import PrefixSum
from cdma.hdl.lib.signals import one_of, registered, wire

CHAIN = 4  # nibbles whose differences are added up in one cycle
DENSE = 0b100_1111  # of a nibble: its bits, and how many are 1


class MaskDecoder(wiring.Component):
    """Add up the differences of a mask, and spread its nibbles to their places.

    Differences are added up in the order in which nibbles are sent: those that are not sent are
    zero. So the bits of a nibble that is not sent are all equal the last bit in front of it.

    Throughput one mask a cycle. ``counts`` comes two cycles after the inputs, ``mask`` too, when
    ``load`` is set in the second of them; they come from registers, and stay as long as the inputs
    of two cycles before.

    Parameters
    ----------
    groups : int
        Nibbles of a mask, a power of two from 2 to 32.

    Members
    -------
    flags : In, nibbles that are in the body; others are zero
    body : In, those nibbles, in order, lowest first
    differences, dense : In, bits are differences of neighbours; all are 1
    load : In, load the register of the mask
    counts : Out, ones in each nibble of the mask
    mask : Out, ``4 * groups`` bits
    """

    flags: Signal
    body: Signal
    differences: Signal
    dense: Signal
    load: Signal
    counts: data.View
    mask: Signal

    def __init__(self, groups: int):
        if groups not in (2, 4, 8, 16, 32):
            raise ValueError(f"Nibbles of a mask must be 2, 4, 8, 16 or 32, not {groups!r}")
        self.groups = groups
        super().__init__(
            {
                "flags": In(groups),
                "body": In(4 * groups),
                "differences": In(1),
                "dense": In(1),
                "load": In(1),
                "counts": Out(data.ArrayLayout(3, groups)),
                "mask": Out(4 * groups),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.prefix = prefix = PrefixSum(self.groups, most=self.groups)  # combinational
        m.d.comb += [prefix.enable.eq(1), prefix.mask.eq(self.flags)]
        flags = registered(m, self.flags, "was_flags")
        dense = registered(m, self.dense, "was_dense")
        ranks = [
            registered(m, Cat(rank == k for k in range(group + 1)), f"rank{group}")
            for group, rank in enumerate(prefix.ranks)
        ]
        sent = self._sent(m)
        mask = Signal(4 * self.groups)
        for group, rank in enumerate(ranks):
            bits, count, before = _parts(wire(m, one_of(rank, sent[: group + 1]), f"sent_{group}"))
            is_sent = flags[group]
            own = Cat(Mux(is_sent, bits, before.replicate(4)), Mux(is_sent, count, before << 2))
            bits, count, _ = _parts(wire(m, Mux(dense, DENSE, own), f"nibble{group}"))
            m.d.comb += mask.word_select(group, 4).eq(bits)
            m.d.sync += self.counts[group].eq(count)
        with m.If(self.load):
            m.d.sync += self.mask.eq(mask)
        return m

    def _sent(self, m):
        """Of each nibble as it is sent, a cycle later: its bits of the mask, how many are 1, and
        the bit in front of it."""
        turns, items, parities = Const(0, 1), [], []
        for rank in range(self.groups):
            sent, inside = self.body.word_select(rank, 4), Signal(name=f"inside{rank}")
            m.d.comb += inside.eq(turns & self.differences)
            own, count = self._own(m, sent, rank)
            item = self._item(m, own, count, Const(0, 1), inside, f"item{rank}")
            items.append(registered(m, item, f"sent{rank}"))
            turns = turns ^ sent.xor()
            if rank % CHAIN == CHAIN - 1:
                parities.append(registered(m, turns & self.differences, f"parity{rank}"))
                turns = Const(0, 1)
        # The chains in front of that of a nibble.
        turned, whole = Const(0, 1), []
        for rank, item in enumerate(items):
            if rank and rank % CHAIN == 0:
                turned = parities[rank // CHAIN - 1] ^ turned
            whole.append(
                self._item(m, *_parts(item), turned, f"whole{rank}") if rank >= CHAIN else item
            )
        return whole

    def _own(self, m, sent, rank):
        """Bits of a nibble with a zero in front of it, and how many are 1."""
        own, count = Signal(4, name=f"own{rank}"), Signal(3, name=f"count{rank}")
        adds = self.differences
        # Differences of two neighbours are known without a sum.
        low, high = (Mux(adds, sent[k + 1], sent[k] ^ sent[k + 1]) for k in (0, 2))
        are_low = sent[0] & (sent[1] ^ adds)
        are_high = own[2] & (sent[3] ^ adds)
        m.d.comb += [
            own[0].eq(sent[0]),
            own[1].eq(sent[1] ^ (adds & sent[0])),
            own[2].eq(sent[2] ^ (adds & (sent[0] ^ sent[1]))),
            own[3].eq(sent[3] ^ (adds & (sent[0] ^ sent[1] ^ sent[2]))),
            count[0].eq(low ^ high),
            count[1].eq(are_low ^ are_high ^ (low & high)),
            count[2].eq(are_low & are_high),
        ]
        return own, count

    def _item(self, m, bits, count, before, turned, name):
        """An item whose bits are turned, or not."""
        rest = Cat(count[0], count[0] ^ count[1], ~count.any())  # of 4
        item = Signal(8, name=name)
        m.d.comb += item.eq(
            Cat(bits ^ turned.replicate(4), Mux(turned, rest, count), before ^ turned)
        )
        return item


def _parts(item):
    """Bits of a nibble, how many are 1, and the bit in front of it."""
    return item[:4], item[4:7], item[7:]
