"""The rows of all channels in the order of their stripes."""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_config import EngineConfig
from cdma.hdl.engine.common.crc import unit_words
from cdma.hdl.engine.common.records import Row
from cdma.hdl.engine.offload.codec import StripeStatus
from cdma.hdl.lib.signals import select

_MOST_BYTES = 64  # of a row that is given: host addresses are a multiple of this


def row_words(config: EngineConfig) -> int:
    """Words of a row that is given: a beat has one such row, or two."""
    return min(config.lanes, _MOST_BYTES // config.word_bytes)


class GatheredRow(data.StructLayout):
    """A row on its way to the host.

    Members
    -------
    words : array of words
    count : words that count, 1 and more; all before a stripe's last row
    kept : words of these that the stream takes
    live : not dropped
    cut : live, and ``kept`` is less than ``count``
    last : the stripe ends with this row
    missing : as in :class:`~cdma.hdl.engine.common.records.Row`
    channel : whose row it is
    status : with ``last``: the stripe's :class:`~cdma.hdl.engine.offload.codec.StripeStatus`
    """

    def __init__(self, config: EngineConfig):
        size = row_words(config)
        padding = {"missing": unsigned(config.word_bytes.bit_length() - 1)}
        super().__init__(
            {
                "words": data.ArrayLayout(config.word_bits, size),
                "count": unsigned(size.bit_length()),
                "kept": unsigned(size.bit_length()),
                "live": unsigned(1),
                "cut": unsigned(1),
                "last": unsigned(1),
                "channel": unsigned(3),
                "status": StripeStatus(),
                **(padding if config.has_padding else {}),
            }
        )


class Gather(wiring.Component):
    """Take the rows of one stripe after the other, each from its channel.

    Throughput one row of at most 64 bytes a cycle, also across stripes; while ``slow``, a unit of
    it a cycle: as much as a beat of the link. Latency one cycle. Nothing behind may stall: a row is
    taken or not, and what is taken goes on. ``o`` and the signals beside it are registers.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    order : In stream of channel numbers, one for each stripe
    i, i_status : In streams of the channels, arrays
    hold, hold_last : In, take no row, or no stripe's last row, in this cycle
    drops : In, rows that are taken are dropped: the stream gets none of their words
    slow : In, take rows in units
    takes, count : Out, in this cycle a row is taken, of so many words
    kept, cut : In, words of these that the stream takes, and whether it takes less than all
    valid, o : Out, a row that was taken: :class:`GatheredRow`
    works, unit, ends : Out, while ``slow``: a unit of the row, its number in the row, and whether
        the stripe ends with it. The row is at ``o`` with each of its units.
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        channels, size = config.channels, row_words(config)
        units = size // unit_words(config)
        super().__init__(
            {
                "order": In(stream.Signature(3)),
                "i": In(stream.Signature(Row(config))).array(channels),
                "i_status": In(stream.Signature(StripeStatus())).array(channels),
                "hold": In(1),
                "hold_last": In(1),
                "drops": In(1),
                "slow": In(1),
                "takes": Out(1),
                "count": Out(range(size + 1)),
                "kept": In(range(size + 1)),
                "cut": In(1),
                "valid": Out(1),
                "o": Out(GatheredRow(config)),
                "works": Out(1),
                "unit": Out(range(units)),
                "ends": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        channel, row = self.order.payload, Signal(Row(self.config))
        has_row, moves, is_done = Signal(), Signal(), Signal()

        def head(values, name):
            return select(m, channel, values, name)

        status = head([port.payload.as_value() for port in self.i_status], "status")
        has_status = head([port.valid for port in self.i_status], "has_status")
        ends_row, ends_beat, place = self._walk(m, row, moves)
        m.d.comb += [
            row.as_value().eq(head([port.payload.as_value() for port in self.i], "row_at_hand")),
            has_row.eq(
                self.order.valid
                & head([port.valid for port in self.i], "row_valid")
                & (~row.last | has_status)
            ),
            moves.eq(has_row & ~self.hold & ~(row.last & ends_beat & self.hold_last)),
            self.takes.eq(moves & ends_row),
            is_done.eq(moves & ends_beat),
            self.order.ready.eq(is_done & row.last),
        ]
        for number, (rows, ends) in enumerate(zip(self.i, self.i_status, strict=True)):
            m.d.comb += [
                rows.ready.eq(is_done & (channel == number)),
                ends.ready.eq(is_done & row.last & (channel == number)),
            ]
        o, is_end = self.o, ends_beat & row.last
        m.d.sync += [
            self.valid.eq(self.takes),
            self.works.eq(moves & self.slow),
            self.ends.eq(is_end),
            o.words.eq(self._words(m, row, place)),
            o.count.eq(self.count),
            o.kept.eq(Mux(self.drops, 0, self.kept)),
            o.live.eq(~self.drops),
            o.cut.eq(self.cut & ~self.drops),
            o.last.eq(is_end),
            o.channel.eq(channel),
            o.status.eq(status),
        ]
        if self.config.has_padding:
            m.d.sync += o.missing.eq(row.missing)
        return m

    def _walk(self, m, row, moves):
        """Go over the units of a beat, or over its rows.

        Gives whether a row ends in this cycle, whether the beat does, and the unit's number.
        """
        config = self.config
        unit, size = unit_words(config), row_words(config)
        units, each = config.lanes // unit, size // unit
        if units == 1:
            m.d.comb += self.count.eq(row.count)
            return 1, 1, None
        place = Signal(range(units))
        behind = Signal(range(units + 1))  # units up to the next one
        ends_beat, ends_row = Signal(), Signal()
        whole = Signal.like(behind)  # units up to the next row
        m.d.comb += [
            whole.eq((place | (each - 1)) + 1),
            behind.eq(Mux(self.slow, place + 1, whole)),
            ends_beat.eq(behind * unit >= row.count),
            ends_row.eq(ends_beat | (behind == whole)),
        ]
        with m.If(moves):
            m.d.sync += place.eq(Mux(ends_beat, 0, behind))
        if each > 1:
            m.d.sync += self.unit.eq(place[: len(self.unit)])
        if size == config.lanes:
            m.d.comb += self.count.eq(row.count)
        else:
            # Words behind the rows that were taken.
            rest = row.count - (place[each.bit_length() - 1 :] * size)
            m.d.comb += self.count.eq(Mux(rest > size, size, rest))
        return ends_row, ends_beat, place

    def _words(self, m, row, place):
        """The words of the row at hand."""
        config, size = self.config, row_words(self.config)
        if size == config.lanes:
            return row.words
        words = [row.words[k] for k in range(config.lanes)]
        rows = [Cat(words[k : k + size]) for k in range(0, config.lanes, size)]
        each = size // unit_words(config)
        return select(m, place[each.bit_length() - 1 :], rows, "row_words")
