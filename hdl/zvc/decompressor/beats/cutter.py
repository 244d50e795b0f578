"""A block, cut into its beats."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.zvc.beat import thermometer
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.beats.beat import MaskedBeat
from cdma.hdl.zvc.decompressor.fetch import fetcher_of
from cdma.hdl.zvc.decompressor.fetch.block import Block
from cdma.hdl.zvc.decompressor.fetch.lookup import LookupFetcher


class BlockCutter(wiring.Component):
    """Give the beats of a block, one after the other.

    Throughput one beat a cycle, also from block to block; latency one cycle. ``i.ready`` comes from
    a register; a block is accepted in the cycle after its predecessor's last beat left.

    Parameters
    ----------
    config : Config
        Lanes and format.

    Members
    -------
    i : In stream of :class:`~cdma.hdl.zvc.decompressor.fetch.block.Block`
    next_ready : Out, ``i.ready`` of the next cycle
    mask : Out, what is left of the mask; in the cycle after a block came in all of it
    valid, o : Out, :class:`~cdma.hdl.zvc.decompressor.beats.beat.MaskedBeat`
    step : In, the beat is taken
    next_step : In, a beat would be accepted in the next cycle
    """

    i: stream.Interface
    next_ready: Signal
    mask: Signal
    valid: Signal
    o: data.View
    step: Signal
    next_step: Signal

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(Block(config))),
                "next_ready": Out(1),
                "mask": Out(config.format.block_words),
                "valid": Out(1),
                "o": Out(MaskedBeat(config)),
                "step": In(1),
                "next_step": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        lanes = self.config.lanes
        # Where masks are looked up a block may follow later than the last one's last beat.
        may_pause = fetcher_of(self.config) is LookupFetcher
        block = Signal(Block(self.config), reset_less=True)
        has_mask = Signal(reset_less=True)
        keep = Signal(lanes, reset_less=True)  # the beat's words within the data; of a whole mask
        is_final = Signal()  # the block ends with the beat
        ready = Signal(init=1)
        next_valid, next_final = Signal.like(self.valid), Signal.like(is_final)
        m.d.comb += [
            self.i.ready.eq(ready),
            self.mask.eq(block.mask),
            next_valid.eq(self.valid),
            next_final.eq(is_final),
            self.next_ready.eq(~next_valid | (next_final & self.next_step)),
        ]
        m.d.sync += [
            self.valid.eq(next_valid),
            is_final.eq(next_final),
            ready.eq(self.next_ready),
        ]

        def within(block, is_final):
            if self.config.format.ends_itself:
                return ~0
            kept = Mux(block.last & is_final, thermometer(block.words, lanes), ~0)
            return kept & (~block.truncated).replicate(lanes)

        with m.If(ready):
            m.d.comb += [next_valid.eq(self.i.valid), next_final.eq(self.i.payload.single)]
            m.d.sync += [
                block.eq(self.i.payload),
                has_mask.eq(~self.i.payload.void),
                keep.eq(within(self.i.payload, self.i.payload.single)),
            ]
        with m.Elif(self.step):
            m.d.comb += next_final.eq(block.beats == 1)
            if may_pause:
                m.d.comb += next_valid.eq(~is_final)
            m.d.sync += [
                block.mask.eq(self._shifted(block.mask)),
                block.beats.eq(block.beats - 1),
                has_mask.eq(0),
                keep.eq(within(block, block.beats == 1)),
            ]

        self._mark(m, block, keep, has_mask, is_final)
        return m

    def _shifted(self, mask):
        """What is left of the mask behind a beat; with a tail of ones, ones follow."""
        lanes = self.config.lanes
        if self.config.format.ends_itself:
            return Cat(mask[lanes:], Const(-1, lanes))
        return mask >> lanes

    def _mark(self, m, block, keep, has_mask, is_final):
        """The beat's part of the mask, and the tags that follow from the mask."""
        lanes, tags = self.config.lanes, self.o.tags
        part = block.mask[:lanes]
        if self.config.format.ends_itself:
            m.d.comb += [
                self.o.mask.eq(part & (~block.void).replicate(lanes)),
                tags.first.eq(has_mask),
                tags.final.eq(is_final),
                tags.last.eq(block.last & is_final),
                tags.rest.eq(block.mask[lanes:].all()),
            ]
            return
        is_past = (part & ~keep).any() | block.mask[lanes:].any()
        m.d.comb += [
            self.o.mask.eq(part & keep),
            tags.words.eq(block.words),
            tags.first.eq(has_mask),
            tags.final.eq(is_final),
            tags.last.eq(block.last & is_final),
            tags.truncated.eq(block.truncated),
            tags.past_end.eq(tags.last & is_past & ~block.truncated & ~block.void),
        ]
