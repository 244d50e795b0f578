"""The choice of a block's coding, for floats."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.adder import difference, exceeds
from cdma.hdl.lib.queue import Queue
from cdma.hdl.lib.signals import any_of
from cdma.hdl.zvcplus.compressor.plain.planner.choice import MaskChoice, most_nibbles
from cdma.hdl.zvcplus.compressor.plain.records import BlockCoding, BlockPlan, BlockStats
from cdma.hdl.zvcplus.compressor.records import RAW, SENT
from cdma.hdl.zvcplus.config import Config

#: Bits of mode, d and k.
_FIXED_BITS = 8


class StepPlanner(wiring.Component):
    """Choose the coding of each block and the length of its control.

    One step. Late in it, it is known whether the base is near that of the block coded before: both
    lengths are ready by then. A block can be too long only with nearly all words non-zero and all
    their bits sent, so that lengths are compared for a few numbers of zeros, without a multiplier.

    A block's plan and its coding are there in the same cycle. Throughput one block a cycle, latency
    :attr:`LATENCY` cycles. ``o`` and ``o_coding`` come from registers.

    Parameters
    ----------
    config : Config
        Element type, a float without repeats.

    Members
    -------
    i : In stream of :class:`~cdma.hdl.zvcplus.compressor.plain.records.BlockStats`
    o : Out stream of :class:`~cdma.hdl.zvcplus.compressor.plain.records.BlockPlan`, for the control
    can_load : Out, with a plan that leaves, or without one, ``i`` is ready
    next_valid : Out, ``o.valid`` in the next cycle, not registered
    o_coding : Out stream of :class:`~cdma.hdl.zvcplus.compressor.plain.records.BlockCoding`, for
        the payload
    """

    #: Cycles from a block's statistics to its plan.
    LATENCY = 1
    #: Codings that wait for the beats of their blocks.
    CODINGS = 2

    i: stream.Interface
    o: stream.Interface
    can_load: Signal
    next_valid: Signal
    o_coding: stream.Interface

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(BlockStats(config))),
                "o": Out(stream.Signature(BlockPlan(config))),
                "can_load": Out(1),
                "next_valid": Out(1),
                "o_coding": Out(stream.Signature(BlockCoding(config))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        plan, coding = self._last_step(m, self.i)
        exponent, stats = self.config.word.exponent, self.i.payload
        mask = MaskChoice(stats, self.config.word)
        is_raw = Signal()
        is_near = self._follow_base(m, stats, plan, mask.is_coded & ~is_raw)
        near_raw, far_raw = self._too_long(stats, mask)
        near_bits, far_bits = Signal(len(plan.bits)), Signal(len(plan.bits))
        fixed = _FIXED_BITS
        m.d.comb += [
            is_raw.eq(Mux(is_near, near_raw, far_raw)),
            near_bits.eq(mask.bits(stats.is_wide, fixed)),
            far_bits.eq(mask.bits(stats.is_wide, fixed + exponent)),
            plan.kind.eq(Mux(is_raw, RAW, mask.kind())),
            plan.coding.base.eq(stats.top),
            plan.coding.k.eq(self._offset_bits(m, stats)),
            plan.coding.is_wide.eq(stats.is_wide),
            plan.last.eq(stats.extent.last),
            coding.coding.eq(plan.coding),
            coding.is_raw.eq(is_raw),
            coding.words.eq(stats.extent.words),
            coding.last.eq(stats.extent.last),
        ]
        coded = Mux(is_near, Mux(near_raw, 5, near_bits), Mux(far_raw, 5, far_bits))
        m.d.comb += [
            plan.bits.eq(Mux(mask.is_coded, coded, Mux(mask.is_nothing, 0, 2))),
        ]
        mask.plan(m, plan, stats.masks.mask)
        return m

    def _last_step(self, m, source) -> tuple[data.View, data.View]:
        """Registers of plans and codings behind ``source``, a stream of blocks; what to load."""
        m.submodules.plans = plans = Queue(BlockPlan(self.config), 1, pipe=True)
        m.submodules.codings = codings = Queue(BlockCoding(self.config), self.CODINGS)
        m.d.comb += [
            plans.i.valid.eq(source.valid & codings.i.ready),
            codings.i.valid.eq(source.valid & plans.i.ready),
            source.ready.eq(plans.i.ready & codings.i.ready),
            self.can_load.eq(codings.i.ready),
            self.next_valid.eq(Mux(plans.i.ready, plans.i.valid, 1)),
        ]
        wiring.connect(m, plans.o, wiring.flipped(self.o))
        wiring.connect(m, codings.o, wiring.flipped(self.o_coding))
        return plans.i.payload, codings.i.payload

    def _offset_bits(self, m, stats):
        """Bits of an exponent offset, or ``SENT``."""
        exponent = self.config.word.exponent
        span, k = Signal(exponent), Signal(3)
        m.d.comb += span.eq(difference(stats.top, stats.least))
        for bit in range(exponent):
            with m.If(span[bit]):
                m.d.comb += k.eq(min(bit + 1, SENT))
        return k

    def _is_full(self, stats):
        """Words of a block that is wide have all their bits."""
        exponent = self.config.word.exponent
        rest = min(exponent - 1, SENT - 1)  # bits of the greatest offset that has fewer bits
        top, least = stats.top, stats.least
        borrows = exceeds(least[:rest], top[:rest])
        ways = [
            (top[rest:] == high) & (least[rest:] == low) & (~borrows if high - low == 1 else 1)
            for high in range(1 << exponent - rest)
            for low in range(high)
        ]
        return any_of(ways)

    def _too_long(self, stats, mask):
        """Whether a block is too long with a base that is near, and with one that is sent."""
        word, masks, fixed = self.config.word, stats.masks, _FIXED_BITS
        is_full = stats.is_wide & self._is_full(stats)
        found = []
        for base_bits in (0, word.exponent):
            ways = [~masks.zeros[0]]
            for zeros in range(1, self.config.most_zeros + 1):
                room = self.config.block_bits - (word.block_words - zeros) * word.bits
                here = masks.zeros[zeros - 1] & ~masks.zeros[zeros]
                # A raw mask is the longest coding: its bound holds for all numbers of nibbles.
                head = fixed + base_bits + 3
                least = max(0, -(-(room - head - word.flags) // 4))
                if head + word.block_words >= room:
                    ways.append(here & (masks.nibbles >= min(least, most_nibbles(word) + 1)))
            found.append(is_full & any_of(ways))
        return found

    def _follow_base(self, m, stats, plan, is_coded):
        """Whether the base is near that of the block coded before, and the difference.

        The exponents that are near a block's base are known a cycle before it is known whether the
        block is coded: they count as soon as it is, and are kept a cycle later.
        """
        base, moves = _Base(self.config, "base"), self.i.valid & self.i.ready
        latest, is_latest = _Base(self.config, "latest"), Signal()
        is_near = Signal()
        m.d.comb += [
            is_near.eq(Mux(is_latest, latest.is_near(stats.top), base.is_near(stats.top))),
            plan.d.eq(
                Mux(is_near, (stats.top[:3] - Mux(is_latest, latest.below, base.below))[:3], SENT)
            ),
        ]
        m.d.sync += [latest.become(stats.top), is_latest.eq(moves & is_coded & ~stats.extent.last)]
        with m.If(moves & stats.extent.last):
            m.d.sync += base.become(Const(0, len(stats.top)))
        with m.Elif(is_latest):
            m.d.sync += base.copy(latest)
        return is_near


class _Base:
    """Registers for a base: the exponents that are near it, and below it by three, the lowest bits.

    Parameters
    ----------
    config : Config
        Element type.
    name : str
    """

    def __init__(self, config: Config, name: str):
        exponent = config.word.exponent
        self.lowest = Signal(exponent, name=f"{name}_lowest")
        self.highest = Signal(exponent, name=f"{name}_highest", init=3)
        self.below = Signal(3, name=f"{name}_below", init=-3 % 8)

    def is_near(self, top):
        """An exponent is near the base."""
        return ~exceeds(self.lowest, top) & ~exceeds(top, self.highest)

    def become(self, top):
        """Statements: take another base."""
        most = (1 << len(top)) - 1
        return [
            self.lowest.eq(Mux(top < 3, 0, top - 3)),
            self.highest.eq(Mux(top > most - 3, most, top + 3)),
            self.below.eq(top - 3),
        ]

    def copy(self, other):
        """Statements: become another base."""
        return [
            self.lowest.eq(other.lowest),
            self.highest.eq(other.highest),
            self.below.eq(other.below),
        ]
