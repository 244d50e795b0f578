"""The rows of a packet's stream that have come and are not read yet."""

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.signals import select
from cdma.hdl.zvc.beat import Beat, count_thermometer
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.layouts import MOST_PASSED

ROW_BITS = 6  # of a row's index: those of the queue, and those that a wrong stream reaches for


class RowQueue(wiring.Component):
    """Queue of rows of one packet's stream: when rows are passed, all others move up.

    So the rows to read payload from are always the first two, without a multiplexer. Bytes behind
    the packet's end are zero. A packet's last row closes the queue until ``restart``.

    Throughput one row a cycle, latency :attr:`LATENCY`. All outputs come from registers, but for
    ``i.ready``, which is a gate behind them.

    Parameters
    ----------
    config : Config
        Size of a row.
    depth : int
        Rows of the queue, at least 4.

    Members
    -------
    i : In stream of :class:`~cdma.hdl.zvc.beat.Beat`, ``keep`` by bytes
    passes : In, rows to pass, also those that are not there
    drain : In, accept rows and drop them
    restart : In, the next packet begins; to be set only with ``ended``
    rows : Out, array of rows
    valid : Out, a bit per row, contiguous from the first
    ended : Out, the packet's last row has come
    end_row, end_byte : Out, when ``ended``: where the stream ends, counted from the start of the
        first row; ``end_row`` is negative when more rows were passed
    """

    #: Cycles from a beat to its row.
    LATENCY = 1

    i: stream.Interface
    passes: Signal
    drain: Signal
    restart: Signal
    rows: data.View
    valid: Signal
    ended: Signal
    end_row: Signal
    end_byte: Signal

    def __init__(self, config: Config, depth: int):
        if depth < 4:
            raise ValueError(f"Depth of a row queue must be at least 4, not {depth!r}")
        self.config = config
        self.depth = depth
        super().__init__(
            {
                "i": In(stream.Signature(Beat(config))),
                "passes": In(range(MOST_PASSED + 1)),
                "drain": In(1),
                "restart": In(1),
                "rows": Out(data.ArrayLayout(config.beat_bits, depth)),
                "valid": Out(depth),
                "ended": Out(1),
                "end_row": Out(signed(ROW_BITS)),
                "end_byte": Out(range(config.beat_bytes)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        depth, beat = self.depth, self.i.payload
        kept = Cat(byte.replicate(8) for byte in beat.keep | (~beat.last).replicate(len(beat.keep)))
        row = Signal(self.config.beat_bits)
        enters, filled = Signal(), Signal(depth + 1)
        m.d.comb += [
            row.eq(beat.words.as_value() & kept),
            self.i.ready.eq((~self.valid[-1] | self.drain) & ~self.ended),
            enters.eq(self.i.valid & self.i.ready & ~self.drain),
            filled.eq(Mux(enters, Cat(1, self.valid), self.valid)),
        ]
        valid = select(
            m,
            self.passes,
            [filled[count:][:depth] for count in range(MOST_PASSED + 1)],
            "next_valid",
        )
        m.d.sync += self.valid.eq(valid & ~self.restart.replicate(depth))
        self._move(m, row)

        # An end with a full row is the start of the next.
        arrived = Signal(signed(ROW_BITS))
        length = count_thermometer(beat.keep)
        m.d.comb += arrived.eq(count_thermometer(self.valid) + length[-1])
        ends = self.i.valid & self.i.ready & beat.last
        m.d.sync += [
            self.ended.eq((self.ended | ends) & ~self.restart),
            self.end_row.eq(Mux(ends, arrived, self.end_row) - self.passes),
        ]
        with m.If(ends):
            m.d.sync += self.end_byte.eq(length)
        return m

    def _move(self, m, row):
        """Each row becomes a later one, or the one that comes in."""
        depth = self.depth
        rows = [
            Signal(self.config.beat_bits, name=f"row{k}", reset_less=True) for k in range(depth)
        ]
        for k, current in enumerate(rows):
            later = [
                Mux(self.valid[source], rows[source], row) if source < depth else row
                for source in range(k, k + MOST_PASSED + 1)
            ]
            m.d.comb += self.rows[k].eq(current)
            m.d.sync += current.eq(select(m, self.passes, later, f"next_row{k}"))
