"""The status of the compressor."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.counter import Counter
from cdma.hdl.zvc.beat import COUNT_BITS, CompressorStatus
from cdma.hdl.zvcplus.compressor.records import BitRow
from cdma.hdl.zvcplus.config import Config


class StreamReport(wiring.Component):
    """Count the bytes that leave, row by row.

    Latency one cycle.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    enable : In, a row leaves
    row : In, :class:`~cdma.hdl.zvcplus.compressor.records.BitRow` that leaves
    status : Out, :class:`~cdma.hdl.zvc.beat.CompressorStatus` of the packet whose last row left in
        the cycle before
    """

    enable: Signal
    row: data.View
    status: data.View

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "enable": In(1),
                "row": In(BitRow(config, COUNT_BITS)),
                "status": Out(CompressorStatus()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        row_bits = self.config.beat_bytes.bit_length() - 1
        m.submodules.rows_out = rows_out = Counter(COUNT_BITS - row_bits, 1, for_cells=True)
        is_first = Signal(init=1)
        rest = Signal(row_bits, reset_less=True)
        words = Signal(COUNT_BITS, reset_less=True)
        is_whole = ~self.row.last | self.row.bytes[-1]
        with m.If(self.enable):
            m.d.sync += [
                is_first.eq(self.row.last),
                rest.eq(self.row.bytes[:-1]),
                words.eq(self.row.words),
            ]
        m.d.comb += [
            rows_out.enable.eq(self.enable),
            rows_out.restart.eq(is_first),
            rows_out.step.eq(is_whole),
            self.status.words.eq(words),
            self.status.bytes.eq(Cat(rest, rows_out.value)),
        ]
        return m
