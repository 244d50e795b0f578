"""The status of a decompressor that counts the words of a packet."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.format import ErrorCode
from cdma.hdl.lib.counter import Counter
from cdma.hdl.zvc.beat import COUNT_BITS, CountedStatus, Row, count_thermometer
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.tail.stage import TailTags


class TailReport(wiring.Component):
    """Count the words of a packet and of its stream as its beats leave.

    Latency one cycle.

    Parameters
    ----------
    config : Config
        Lanes and format.

    Members
    -------
    enable : In, a row leaves
    row : In, the :class:`~cdma.hdl.zvc.beat.Row`; its words are not read
    tags : In, its :class:`~cdma.hdl.zvc.decompressor.tail.stage.TailTags`
    status : Out, :class:`~cdma.hdl.zvc.beat.CountedStatus` of the packet whose last row left in the
        cycle before
    """

    enable: Signal
    row: data.View
    tags: data.View
    status: data.View

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "enable": In(1),
                "row": In(Row(config)),
                "tags": In(TailTags(config)),
                "status": Out(CountedStatus()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        row, tags = self.row, self.tags
        lane_bits = self.config.lanes.bit_length() - 1
        m.submodules.used = used = Counter(
            COUNT_BITS, len(tags.used), for_cells=self.config.is_asic
        )
        m.submodules.rows = rows = Counter(COUNT_BITS - lane_bits, 1)
        is_fresh = Signal(init=1)  # the row begins a packet
        block_start = Signal(COUNT_BITS, reset_less=True)
        last_keep = Signal.like(row.keep)
        is_cut = Signal()
        in_block = Signal()
        m.d.comb += [
            used.enable.eq(self.enable),
            used.restart.eq(is_fresh),
            used.step.eq(tags.used),
            rows.enable.eq(self.enable),
            rows.restart.eq(is_fresh),
            # A last row that is not full adds the words that it keeps.
            rows.step.eq(row.keep[-1]),
        ]
        with m.If(self.enable):
            m.d.sync += [
                is_fresh.eq(row.last),
                last_keep.eq(row.keep),
                is_cut.eq(row.last & tags.cut),
                in_block.eq(tags.in_block),
            ]
            with m.If(is_fresh | tags.first):
                m.d.sync += block_start.eq(Mux(is_fresh, 0, used.value))
        offset = Mux(is_cut & in_block, block_start, used.value)
        m.d.comb += [
            self.status.bytes.eq(offset * self.config.format.word_bytes),
            self.status.words.eq(Cat(count_thermometer(last_keep)[:-1], rows.value)),
            self.status.error.eq(Mux(is_cut, ErrorCode.TRUNCATED, ErrorCode.NONE)),
        ]
        return m
