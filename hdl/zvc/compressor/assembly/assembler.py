"""Beat assembly: words from the network's banks become full rows."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.zvc.beat import thermometer
from cdma.hdl.zvc.compressor.assembly.account import RowAccount
from cdma.hdl.zvc.compressor.assembly.mask import turned_ahead, width_turned
from cdma.hdl.zvc.compressor.assembly.place import Place
from cdma.hdl.zvc.compressor.assembly.plan import LandingPlan
from cdma.hdl.zvc.compressor.assembly.store import AssembledRow, RowStore
from cdma.hdl.zvc.config import Config


class Assembler(wiring.Component):
    """Append the masks and words of the beats to the stream and send full rows.

    Beats are written to a ring of rows, which sends full rows. A block's mask and a beat's words
    are written in one cycle. All places without a word are zero in a row that leaves.

    Throughput one beat in and one row out a cycle, latency :attr:`LATENCY` cycles. ``enable`` is
    registered: a beat is written if there is space for it even if no row leaves. ``o`` comes from
    registers, through one multiplexer.

    Parameters
    ----------
    config : Config
        Lanes and format.

    Members
    -------
    valid : In, there is a beat; none in the cycle after reset
    place : In, its :class:`~cdma.hdl.zvc.compressor.assembly.place.Place`
    first : In, place of its first word of data, counted as ``place.end`` is
    mask : In, its block's mask
    closes : In, only for standard cells, else a part of ``place.last``: the packet's stream ends
        with this beat's row, and beats without words follow
    kept : In, words of data of the block that begins with the beat, or 0
    bank_words : In, its words as :class:`~cdma.hdl.zvc.network.Compactor` gives them, a cycle later
        than those above
    enable : Out, the beat is accepted; low in the cycle after reset
    o : Out stream of :class:`~cdma.hdl.zvc.compressor.assembly.store.AssembledRow`
    """

    #: Cycles from a beat to the row that it completes.
    LATENCY = 2

    valid: Signal
    place: data.View
    first: Signal
    mask: Signal
    closes: Signal
    kept: Signal
    bank_words: data.View
    enable: Signal
    o: stream.Interface

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "valid": In(1),
                "place": In(Place(config)),
                "first": In(range(config.lanes + config.format.mask_words)),
                "mask": In(config.format.block_words),
                **({"closes": In(1)} if config.is_asic else {}),
                "kept": In(range(config.format.block_words + 1)),
                "bank_words": In(data.ArrayLayout(config.format.word_bits, config.lanes)),
                "enable": Out(1),
                "o": Out(stream.Signature(AssembledRow(config))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        lanes, place = self.config.lanes, self.place
        m.submodules.account = account = RowAccount(self.config)
        m.submodules.plan = plan = LandingPlan(self.config)
        m.submodules.store = store = RowStore(self.config)
        wiring.connect(m, store.o, wiring.flipped(self.o))
        m.d.comb += [
            account.valid.eq(self.valid),
            account.place.eq(place),
            account.leaves.eq(self.o.valid & self.o.ready),
            self.enable.eq(account.enable),
            plan.enable.eq(account.lands),
            plan.valid.eq(self.valid),
            plan.place.eq(place),
            plan.first.eq(self.first),
        ]

        # The tags of a beat wait one cycle for its words.
        last = Signal(reset_less=True)
        keep = Signal(lanes, reset_less=True)  # of the row in which the beat ends
        mask = Signal(width_turned(self.config), reset_less=True)
        kept = Signal.like(self.o.payload.kept)  # words of data that no row counts, the beat's too
        is_whole = ~place.last | place.is_full
        ends_at = thermometer(place.end[: len(place.lane)], lanes)
        with m.If(account.lands):
            m.d.sync += [
                last.eq(place.last | self.closes if self.config.is_asic else place.last),
                keep.eq(ends_at | is_whole.replicate(lanes)),
                mask.eq(turned_ahead(m, self.config, self.mask, place.lane)),
                kept.eq(self._counted(m, kept, plan.o.completes.any())),
            ]
        m.d.comb += [
            store.enable.eq(account.lands),
            store.landing.eq(plan.o),
            store.mask.eq(mask),
            store.bank_words.eq(self.bank_words),
            store.tags.last.eq(last),
            store.tags.keep.eq(keep),
            store.tags.kept.eq(kept),
            store.has_row.eq(account.has_row),
        ]
        if self.config.format.mask_words > 1:  # else a bank can take but one word of the mask
            lane = Signal.like(place.lane, reset_less=True)
            with m.If(account.lands):
                m.d.sync += lane.eq(place.lane)
            m.d.comb += store.lane.eq(lane)
        return m

    def _counted(self, m, kept, completes):
        """Words of data that no row counts, with those of the offered beat."""
        if not self.config.is_asic:
            return Mux(completes, 0, kept) + Mux(self.valid, self.kept, 0)
        # Only a packet's last block has a number of words with low bits set: they need no sum.
        low = _low_bits(self.config)
        offered, behind = Signal.like(kept), Signal.like(kept)
        m.d.comb += [
            offered.eq(Mux(self.valid, self.kept, 0)),
            behind.eq(Cat(kept[:low] | offered[:low], kept[low:] + offered[low:])),
        ]
        return Mux(completes, offered, behind)


def _low_bits(config):
    """Bits of a number of words that are not set for whole blocks."""
    words = config.format.block_words
    return (words & -words).bit_length() - 1
