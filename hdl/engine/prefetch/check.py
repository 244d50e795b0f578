"""CRCs of prefetched stripes compared with the index."""

from amaranth.hdl import Module, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import LINK, Status
from cdma.engine_config import EngineConfig
from cdma.hdl.engine.common.crc import StripeCrc
from cdma.hdl.engine.common.errors import ErrorSlot
from cdma.hdl.engine.common.records import ErrorReport, Row, Tag
from cdma.hdl.lib.queue import Queue


class Expected(data.StructLayout):
    """What the index says of a stripe: ``has_crc`` and ``crc``; and its ``tag``."""

    def __init__(self):
        super().__init__({"tag": Tag(), "has_crc": unsigned(1), "crc": unsigned(32)})


class CrcCheck(wiring.Component):
    """Compute the CRC of each stripe, and report those that differ from the index.

    Throughput that of :class:`~cdma.hdl.engine.common.crc.StripeCrc`.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    i : In stream of :class:`~cdma.hdl.engine.common.records.Row`
    i_expected : In stream of :class:`Expected`, one for each stripe
    o_error : Out stream of :class:`~cdma.hdl.engine.common.records.ErrorReport`
    done : Out, one cycle: the CRC of the next stripe, in order, is known
    idle : Out, no row waits and no CRC is owed
    """

    i: stream.Interface
    i_expected: stream.Interface
    o_error: stream.Interface
    done: Signal
    idle: Signal

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(Row(config))),
                "i_expected": In(stream.Signature(Expected())),
                "o_error": Out(stream.Signature(ErrorReport())),
                "done": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.rows = rows = Queue(Row(self.config), 2)
        m.submodules.crc = crc = StripeCrc(self.config)
        m.submodules.slot = slot = ErrorSlot()
        wiring.connect(m, wiring.flipped(self.i), rows.i)
        wiring.connect(m, rows.o, crc.i)
        wiring.connect(m, slot.o, wiring.flipped(self.o_error))
        expected = self.i_expected.payload
        moves = crc.o.valid & self.i_expected.valid
        m.d.comb += [
            crc.o.ready.eq(self.i_expected.valid),
            self.i_expected.ready.eq(crc.o.valid),
            self.done.eq(moves),
            slot.valid.eq(moves & expected.has_crc & (expected.crc != crc.o.payload)),
            slot.report.tag.eq(expected.tag),
            slot.report.status.eq(Status.CRC),
            slot.report.where.eq(expected.tag.offset),
            slot.report.channel.eq(LINK),
            self.idle.eq(~rows.o.valid & ~crc.o.valid & ~slot.o.valid),
        ]
        return m
