"""Where controls and fields land in the stream."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.delay import DelayLine
from cdma.hdl.lib.prefix import PrefixSum
from cdma.hdl.zvcplus.config import Config


class Place(data.StructLayout):
    """Where an item lands, in bits from the start of the row that is being filled.

    A row that is full, but of which more may follow or not, is still the row that is being filled.

    Members
    -------
    at : place of the control, from 0 on; 256 behind a full row
    start : place of the first bit of payload
    end : place behind the last bit
    """

    def __init__(self, config: Config):
        most = 2 * config.beat_bits + config.control_bits
        super().__init__({"at": 9, "start": range(most + 1), "end": range(most + 1)})


class BitPlacer(wiring.Component):
    """Give each control and each word its place.

    Four steps, a register after each: count the words that are sent, multiply with their width,
    add, and append to the place so far. A fifth gives each word its start. The only feedback loop
    is the place.

    Throughput one item a cycle, latency :attr:`LATENCY` cycles to ``place``, one more to
    ``starts``; both are registered.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    enable : In, the registers load
    valid : In, there is an item
    mask : In, a bit per word that is sent
    widths : In, array of two numbers: bits of a word of the lower and of the upper half of a beat
    control_bits : In, length of the control, 0 without one
    is_after : In, the control begins the next packet
    last : In, the packet ends with the item
    o_valid : Out, there is an item
    place : Out, its :class:`Place`
    starts : Out, a cycle later: array of the places of the words, modulo a row
    """

    #: Cycles from an item to its place.
    LATENCY = 4

    enable: Signal
    valid: Signal
    mask: Signal
    widths: data.View
    control_bits: Signal
    is_after: Signal
    last: Signal
    o_valid: Signal
    place: data.View
    starts: data.View

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "enable": In(1),
                "valid": In(1),
                "mask": In(config.lanes),
                "widths": In(data.ArrayLayout(range(config.word.bits + 1), 2)),
                "control_bits": In(range(config.control_bits + 1)),
                "is_after": In(1),
                "last": In(1),
                "o_valid": Out(1),
                "place": Out(Place(config)),
                "starts": Out(data.ArrayLayout(8, config.lanes)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        lines = {
            "counted": _Counted(self.config),
            "multiplied": _Multiplied(self.config),
            "summed": _Summed(self.config),
            "placed": _Placed(self.config),
        }
        valid = self.valid
        for name, shape in lines.items():
            m.submodules[name] = lines[name] = line = DelayLine(shape, 1)
            m.d.comb += [line.enable.eq(self.enable), line.i_valid.eq(valid)]
            valid = line.o_valid
        counted, multiplied, summed, placed = lines.values()
        self._count(m, counted.i)
        self._multiply(m, counted.o, multiplied.i)
        self._add(m, multiplied.o, summed.i)
        self._append(m, summed.o_valid, summed.o, placed.i)
        m.d.comb += [self.o_valid.eq(placed.o_valid), self.place.eq(placed.o.place)]
        half = self.config.lanes // 2
        starts = Signal.like(self.starts, reset_less=True)
        m.d.comb += self.starts.eq(starts)
        with m.If(self.enable):
            m.d.sync += [
                start.eq((placed.o.place.start if lane < half else placed.o.middle) + behind)
                for lane, (start, behind) in enumerate(zip(starts, placed.o.behind, strict=True))
            ]
        return m

    def _count(self, m, counted):
        half = self.config.lanes // 2
        m.d.comb += [
            counted.widths.eq(self.widths),
            counted.control.bits.eq(self.control_bits),
            counted.control.is_after.eq(self.is_after),
            counted.control.last.eq(self.last),
        ]
        for side in range(2):
            prefix = PrefixSum(half)  # of few enough words to be combinational
            m.submodules[f"prefix{side}"] = prefix
            m.d.comb += [
                prefix.enable.eq(1),
                prefix.mask.eq(self.mask.word_select(side, half)),
                counted.totals[side].eq(prefix.total),
            ]
            for lane, rank in enumerate(prefix.ranks):
                m.d.comb += counted.ranks[side * half + lane].eq(rank)

    def _multiply(self, m, counted, multiplied):
        half = self.config.lanes // 2
        m.d.comb += multiplied.control.eq(counted.control)
        for side in range(2):
            width = counted.widths[side]
            m.d.comb += multiplied.totals[side].eq(counted.totals[side] * width)
            for lane in range(side * half, (side + 1) * half):
                m.d.comb += multiplied.behind[lane].eq(counted.ranks[lane] * width)

    def _add(self, m, multiplied, summed):
        control, (lower, upper) = multiplied.control, multiplied.totals
        before = Mux(control.is_after, 0, control.bits)
        m.d.comb += [
            summed.behind.eq(multiplied.behind),
            summed.before.eq(before),
            summed.middle.eq(before + lower),
            summed.step.eq(before + lower + upper),
            summed.after.eq(Mux(control.is_after, control.bits, 0)),
            summed.last.eq(control.last),
        ]

    def _append(self, m, valid, summed, placed):
        at = Signal(9)
        end = placed.place.end
        m.d.comb += [
            placed.behind.eq(summed.behind),
            placed.middle.eq(at + summed.middle),
            placed.place.at.eq(at),
            placed.place.start.eq(at + summed.before),
            end.eq(at + summed.step),
        ]
        with m.If(self.enable & valid):
            is_full = ~end[:8].any() & end[8:].any()
            m.d.sync += at.eq(Mux(summed.last, summed.after, end[:8] | is_full << 8))


class _Control(data.StructLayout):
    def __init__(self, config: Config):
        super().__init__({"bits": range(config.control_bits + 1), "is_after": 1, "last": 1})


class _Counted(data.StructLayout):
    def __init__(self, config: Config):
        half = config.lanes // 2
        super().__init__(
            {
                "control": _Control(config),
                "widths": data.ArrayLayout(range(config.word.bits + 1), 2),
                "totals": data.ArrayLayout(range(half + 1), 2),
                "ranks": data.ArrayLayout(range(half), config.lanes),
            }
        )


class _Multiplied(data.StructLayout):
    def __init__(self, config: Config):
        super().__init__(
            {
                "control": _Control(config),
                "totals": data.ArrayLayout(range(config.beat_bits // 2 + 1), 2),
                "behind": data.ArrayLayout(8, config.lanes),
            }
        )


class _Summed(data.StructLayout):
    def __init__(self, config: Config):
        most = config.beat_bits + config.control_bits
        super().__init__(
            {
                "behind": data.ArrayLayout(8, config.lanes),
                "before": range(config.control_bits + 1),
                "middle": range(most + 1),
                "step": range(most + 1),
                "after": range(config.control_bits + 1),
                "last": 1,
            }
        )


class _Placed(data.StructLayout):
    def __init__(self, config: Config):
        super().__init__(
            {"behind": data.ArrayLayout(8, config.lanes), "middle": 8, "place": Place(config)}
        )
