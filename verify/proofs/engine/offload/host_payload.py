"""What the writer to the host passes on: words of rows, units of CRCs, and all of its parts' ports.

The proof of the writer to the host has any streams and CRCs. Here is what these are given and what
they give, field by field.
"""

from amaranth.hdl import Array, Assert, C, Cat, Cover, Module, Mux, Signal, Value

from cdma.hdl.engine.common.crc import unit_words
from cdma.hdl.engine.offload.gather import row_words
from cdma.hdl.engine.offload.host import HostWriter
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, joined


def check_payload(m: Module, bench) -> None:
    """Assert that rows, units, entries, tags, bursts, answers and errors pass as they are.

    ``bench`` has the writer ``dut``, and of it ``ledger``, the streams ``data`` and ``index``, and
    ``crc``.
    """
    _ports(m, bench)
    was = _rows(m, bench)
    _units(m, bench, was)


def _ports(m, bench):
    """The clients of the link are those of the streams; what the parts are told is what comes in,
    and what they tell goes out."""
    dut, ledger, streams = bench.dut, bench.ledger, (bench.data, bench.index)
    for name, client, stream in zip(("data", "index"), (dut.data, dut.index), streams, strict=True):
        for channel in (client.aw, client.w):
            m.d.comb += channel.ready.eq(anything(m, 1, f"any_{name}_ready"))
        m.d.comb += [
            client.b.valid.eq(anything(m, 1, f"any_{name}_b_valid")),
            Value.cast(client.b.payload).eq(anything(m, 2, f"any_{name}_b")),
            *joined(client, stream.client),
            Assert(stream.start == dut.start),
            Assert(stream.clear == dut.clear),
            Assert(stream.discard == dut.discard),
            Assert(stream.attr == dut.attr),
            Assert(Value.cast(stream.tag) == Value.cast(ledger.tag)),
        ]
    parts = (ledger, *streams)
    for error in dut.o_error[1:]:
        m.d.comb += error.ready.eq(anything(m, 1, "any_error_ready"))
    for error, part in zip(dut.o_error, parts, strict=True):
        m.d.comb += joined(error, part.o_error)
    m.d.comb += [
        Assert(ledger.start == dut.start),
        Assert(Value.cast(ledger.job) == Value.cast(dut.job)),
        Assert(ledger.number == dut.number),
        Assert(ledger.opens == bench.data.opens),
        *(Assert(each == where) for each, where in zip(ledger.where, dut.where, strict=True)),
        Assert(dut.collects == Cat(each.collects for each in streams)),
        Assert(dut.answers == Cat(each.answers for each in streams)),
        Assert(dut.idle == (Cat(each.idle for each in parts).all() & ~ledger.valid)),
        *(
            Assert(getattr(dut, name) == getattr(ledger, name))
            for name in ("offset", "stripes", "raw_stripes")
        ),
        Assert(~bench.index.valid | (bench.index.i.words[0][26:32] == 0)),
    ]


def _rows(m, bench):
    """A row in the pipeline is the one that was taken from the channel whose turn it was; gives
    the row at hand of the cycle before."""
    dut, row = bench.dut, bench.ledger.i
    assert row_words(bench.config) == bench.config.lanes, "a row is a beat"
    turn = dut.order.payload.channel
    was = Signal(dut.i[0].payload.shape(), name="was_row")
    status = Signal(dut.i_status[0].payload.shape(), name="was_status")
    channel, passes = Signal.like(turn, name="was_turn"), Signal(name="row_passed")
    m.d.sync += [
        was.eq(Array([port.payload.as_value() for port in dut.i])[turn]),
        status.eq(Array([port.payload.as_value() for port in dut.i_status])[turn]),
        channel.eq(turn),
        passes.eq(Cat(port.valid & port.ready for port in dut.i).any()),
    ]
    m.d.comb += Assert(bench.ledger.valid == passes)
    if bench.config.has_padding:
        m.d.comb += Assert(~bench.ledger.valid | (row.missing == was.missing))
    with m.If(bench.ledger.valid):
        m.d.comb += [
            Assert(row.count == was.count),
            Assert(row.last == was.last),
            Assert(row.channel == channel),
            Assert(~row.last | (row.status.as_value() == status.as_value())),
            *(Assert(row.words[k] == was.words[k]) for k in range(bench.config.lanes)),
            *(Assert(bench.data.i.words[k] == was.words[k]) for k in range(bench.config.lanes)),
        ]
    return was


def _units(m, bench, was):
    """Of each row that is not dropped, the CRC takes all units in order, and is told how much of
    the last one is past the end of the stripe. Bytes past it that fill up a word are zero."""
    crc, size, job = bench.crc, unit_words(bench.config), bench.dut.job
    units = bench.config.lanes // size
    number, behind = Signal(range(units), name="unit"), Signal(range(units + 1), name="units")
    kept = [_kept(bench.config, was, k) for k in range(units * size)]
    words = Array([Cat(kept[k : k + size]) for k in range(0, units * size, size)])
    past = Signal(range(units * size * bench.config.word_bytes + 1), name="past")
    m.d.comb += past.eq(behind * size - was.count)
    if bench.config.has_padding:
        m.d.comb += past.eq((behind * size - was.count) * bench.config.word_bytes + was.missing)
    m.d.comb += behind.eq(number + crc.valid)
    m.d.sync += number.eq(Mux(bench.ledger.valid, 0, behind))
    m.d.comb += Assert(crc.clear == bench.dut.clear)
    with m.If(crc.valid):
        m.d.comb += [Assert(crc.unit == words[number]), Cover(crc.last & (behind == units))]
        with m.If(crc.last):
            m.d.comb += Assert(crc.excess == past[: len(crc.excess)])
    with m.If(bench.ledger.valid & bench.ledger.i.live & job.index & job.crc):
        m.d.comb += Assert(crc.valid & (behind * size >= was.count))
    # Invariant: the gather counts units, too.
    if units > 1:
        place = probe(m, "dut.gather.place", (units - 1).bit_length())
        m.d.comb += Assert(place == Mux(bench.ledger.valid, 0, behind))


def _kept(config, row, k):
    """A word of a row, without the bytes that are past the end of the stripe."""
    if not config.has_padding:
        return row.words[k]
    is_end = row.last & (row.count == k + 1)
    word, size = row.words[k], config.word_bytes
    shorter = [Cat(word[: 8 * (size - n)], C(0, 8 * n)) for n in range(size)]
    return Mux(is_end, Array(shorter)[row.missing], word)


class WrongField(HostWriter):
    """Inverts a field on its way: a wire has no cell that could have a fault."""

    field = None

    def elaborate(self, platform):
        m = super().elaborate(platform)
        to, of = type(self).field(self)
        m.d.comb += Value.cast(to).eq(~Value.cast(of))
        return m


def _client(dut, number):
    return dut.writers[number].client


#: Fields that are inverted: where they go, and where they come from.
FIELDS = {
    "AWADDR": lambda dut: (dut.data.aw.payload.address, _client(dut, 0).aw.payload.address),
    "AWLEN": lambda dut: (dut.data.aw.payload.beats, _client(dut, 0).aw.payload.beats),
    "WDATA": lambda dut: (dut.data.w.payload.data, _client(dut, 0).w.payload.data),
    "WSTRB": lambda dut: (dut.index.w.payload.strobe, _client(dut, 1).w.payload.strobe),
    "WLAST": lambda dut: (dut.index.w.payload.last, _client(dut, 1).w.payload.last),
    "BRESP": lambda dut: (_client(dut, 1).b.payload, dut.index.b.payload),
    "tag": lambda dut: (dut.writers[0].tag.number, dut._ledger.tag.number),
    "attributes": lambda dut: (dut.writers[1].attr, dut.attr),
    "where": lambda dut: (dut._ledger.where[0], dut.where[0]),
    "error": lambda dut: (dut.o_error[2].payload.where, dut.writers[1].o_error.payload.where),
}


def wrong_fields() -> dict[str, type]:
    """A wrong writer to the host for each field, by the name of the fault."""
    return {
        f"{name} inverted": type("WrongField", (WrongField,), {"field": staticmethod(field)})
        for name, field in FIELDS.items()
    }
