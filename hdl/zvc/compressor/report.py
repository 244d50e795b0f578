"""The status of the compressor."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.counter import Counter
from cdma.hdl.zvc.beat import COUNT_BITS, CompressorStatus, count_thermometer
from cdma.hdl.zvc.compressor.assembly.store import AssembledRow
from cdma.hdl.zvc.config import Config


class CompressorReport(wiring.Component):
    """Count the words that came in and the bytes that leave, row by row.

    Latency one cycle.

    Parameters
    ----------
    config : Config
        Lanes and format.

    Members
    -------
    enable : In, a row leaves
    row : In, :class:`~cdma.hdl.zvc.compressor.assembly.store.AssembledRow` that leaves
    status : Out, :class:`~cdma.hdl.zvc.beat.CompressorStatus` of the packet whose last row left in
        the cycle before
    """

    enable: Signal
    row: data.View
    status: data.View

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {"enable": In(1), "row": In(AssembledRow(config)), "status": Out(CompressorStatus())}
        )

    def elaborate(self, platform):
        m = Module()
        fmt = self.config.format
        row, kept = self.row.row, self.row.kept
        # All blocks but a packet's last are whole, so the lowest bits come from one of them only.
        low = (fmt.block_words & -fmt.block_words).bit_length() - 1
        cells = {"for_cells": self.config.is_asic}
        m.submodules.words_in = words_in = Counter(COUNT_BITS - low, len(kept) - low, **cells)
        rest = Signal(low)
        lane_bits = self.config.lanes.bit_length() - 1
        m.submodules.rows_out = rows_out = Counter(COUNT_BITS - lane_bits, 1, **cells)
        is_first = Signal(init=1)  # the row begins a packet
        last_keep = Signal.like(row.keep)
        with m.If(self.enable):
            m.d.sync += [is_first.eq(row.last), last_keep.eq(row.keep)]
            m.d.sync += rest.eq(Mux(is_first, 0, rest) | kept[:low])
        m.d.comb += [
            words_in.enable.eq(self.enable),
            words_in.restart.eq(is_first),
            words_in.step.eq(kept[low:]),
            rows_out.enable.eq(self.enable),
            rows_out.restart.eq(is_first),
            # A last row that is not full adds the words that it keeps.
            rows_out.step.eq(row.keep[-1]),
            self.status.words.eq(Cat(rest, words_in.value)),
            self.status.bytes.eq(
                Cat(count_thermometer(last_keep)[:-1], rows_out.value) * fmt.word_bytes
            ),
        ]
        return m
