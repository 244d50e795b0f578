"""CRCs of prefetched stripes compared with the index."""

from amaranth.hdl import Module, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import Status
from cdma.engine_config import EngineConfig
from cdma.hdl.engine.common.crc import StripeCrc
from cdma.hdl.engine.common.records import Row
from cdma.hdl.engine.prefetch.records import StripeError, StripeTag


class Expected(data.StructLayout):
    """What the index says of a stripe: ``has_crc`` and ``crc``; and its ``tag``."""

    def __init__(self, config: EngineConfig):
        super().__init__({"tag": StripeTag(config), "has_crc": unsigned(1), "crc": unsigned(32)})


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
    o_error : Out stream of :class:`~cdma.hdl.engine.prefetch.records.StripeError`, at the stripe's
        offset
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
                "i_expected": In(stream.Signature(Expected(config))),
                "o_error": Out(stream.Signature(StripeError(config))),
                "done": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.crc = crc = StripeCrc(self.config)
        wiring.connect(m, wiring.flipped(self.i), crc.i)
        expected = self.i_expected.payload
        report = self.o_error.payload
        # Both are compared in one cycle; they stay until the report of a difference is collected.
        both, is_compared, differs, moves = Signal(), Signal(), Signal(), Signal()
        m.d.sync += [
            is_compared.eq(both & ~moves),
            differs.eq(expected.has_crc & (expected.crc != crc.o.payload)),
        ]
        m.d.comb += [
            both.eq(crc.o.valid & self.i_expected.valid),
            moves.eq(both & is_compared & (~differs | self.o_error.ready)),
            crc.o.ready.eq(moves),
            self.i_expected.ready.eq(moves),
            self.done.eq(moves),
            self.o_error.valid.eq(both & is_compared & differs),
            report.tag.eq(expected.tag),
            report.status.eq(Status.CRC),
            self.idle.eq(crc.idle),
        ]
        return m
