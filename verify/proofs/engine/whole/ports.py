"""AXI4 ports of an engine with their rules, and memories behind them.

The memories answer in any way that AXI allows: at any time, with any data and any response, the
bursts of an ID in order, those of several IDs mixed.
"""

from dataclasses import dataclass

from amaranth.hdl import Assert, Assume, Cat, Const, Module, Mux, Signal
from amaranth.lib.wiring import Out

from cdma.hdl.axi.full import Manager, Response, wires
from cdma.verify.formal.axi_rules import Writes, beats_of, check_address, check_strobes
from cdma.verify.formal.stream_rules import anything

#: Bursts of an ID whose data is not complete, and writes of an ID without an answer. Asserted.
_BURSTS = 4
#: Most cycles without WVALID while data is due, as in the proofs of the writers.
_GAP = 8


@dataclass(frozen=True)
class Freedom:
    """What memories may do: stall any channel for any time, and respond with errors.

    Without stalls, a memory is always ready and answers in the next cycle, with one ID before the
    other.
    """

    stalls: bool = True
    errors: bool = True


class Port:
    """An AXI4 port of an engine with its rules and its memory.

    Parameters
    ----------
    m : Module
    engine : AxiEngine
    prefix : str
        Prefix of the plain ports.
    data_bytes, id_bits, ids : int
        Width of the data and of an ID, and number of IDs.
    freedom : Freedom
    data_of : callable or None
        Data of a beat that is read, from its ID and its number in its burst. ``None``, also as the
        result, is any data.

    Attributes
    ----------
    axi : the port, with its channels as streams
    writes : monitor of the writes
    at : address of the first byte of the beat on W
    """

    def __init__(self, m: Module, engine, prefix, data_bytes, id_bits, ids, freedom, data_of=None):
        self._m, self._name, self._ids, self._freedom = m, prefix, ids, freedom
        self.data_bytes = data_bytes
        self.axi = axi = self._streams(engine, data_bytes, id_bits)
        check_address(m, axi.ar, data_bytes, ids, f"{prefix}_ar")
        self.writes = writes = Writes(
            m,
            axi.aw,
            axi.w,
            axi.b,
            data_bytes,
            most=1,
            depth=_BURSTS,
            gap=_GAP,
            ids=ids,
            name=f"{prefix}_w",
            answers=False,
            holds_data=False,
            keeps_address=True,
            stalls=freedom.stalls,
        )
        check_strobes(m, axi.w, writes, 0)
        was_stalled, strobe = (
            Signal(name=f"{prefix}_w_was_stalled"),
            Signal.like(axi.w.payload.strobe),
        )
        m.d.sync += [was_stalled.eq(axi.w.valid & ~axi.w.ready), strobe.eq(axi.w.payload.strobe)]
        with m.If(was_stalled):
            m.d.comb += Assert(axi.w.payload.strobe == strobe)
        low = data_bytes.bit_length() - 1
        self.at = Signal.like(axi.aw.payload.address, name=f"{prefix}_at")
        m.d.comb += [
            self.at.eq(((writes.head.address >> low) + writes.sent) << low),
            Assert(axi.b.ready),
        ]
        self._answer_reads(data_of)
        self._answer_writes()

    def _streams(self, engine, data_bytes, id_bits):
        """Connect the plain ports. Asserts the constants of an address."""
        axi = Manager(engine.config.address_bits, data_bytes, id_bits).create()
        for name, value, flow in wires(axi):
            plain = getattr(engine, f"{self._name}_{name}")
            if isinstance(value, Const):
                self._m.d.comb += Assert(plain == value)
            else:
                self._m.d.comb += value.eq(plain) if flow is Out else plain.eq(value)
        return axi

    def _offer(self, channel, owed, name):
        """Offer an answer of an ID that is owed one, and keep a stalled answer."""
        m, freedom = self._m, self._freedom
        valid, payload = channel.valid, channel.payload
        number, response = Signal.like(payload.id, name=f"{name}_number"), payload.resp.as_value()
        if not freedom.stalls:
            for k in reversed(range(self._ids)):
                with m.If(owed[k]):
                    m.d.comb += number.eq(k)
            m.d.comb += valid.eq(owed.any())
        else:
            is_kept, kept = Signal(name=f"{name}_is_kept"), Signal.like(number, name=f"{name}_kept")
            m.d.sync += [is_kept.eq(valid & ~channel.ready), kept.eq(number)]
            m.d.comb += [
                number.eq(Mux(is_kept, kept, anything(m, len(number), f"{name}_fresh"))),
                valid.eq((owed >> number)[0] & (is_kept | anything(m, 1, f"{name}_offers"))),
            ]
        m.d.comb += payload.id.eq(number)
        if freedom.errors:
            given = anything(m, 2, f"{name}_resp")
            m.d.comb += [response.eq(given), Assume(given != Response.EXOKAY)]

    def _answer_reads(self, data_of):
        m, name, ar, r = self._m, self._name, self.axi.ar, self.axi.r
        bits = len(beats_of(ar.payload))
        is_ready = anything(m, 1, f"{name}_ar_ready") if self._freedom.stalls else 1
        m.d.comb += ar.ready.eq(is_ready)
        content = anything(m, len(r.payload.data), f"{name}_r_data")
        owed = Signal(self._ids, name=f"{name}_owed")
        self._offer(r, owed, f"{name}_r")
        if self._freedom.stalls:
            # An answer that is stalled keeps data and response.
            fields = Cat(r.payload.data, r.payload.resp.as_value())
            was_stalled, was = Signal(name=f"{name}_r_stalled"), Signal.like(fields)
            m.d.sync += [was_stalled.eq(r.valid & ~r.ready), was.eq(fields)]
            m.d.comb += Assume(~was_stalled | (fields == was))
        for k in range(self._ids):
            label = f"{name}_r{k}"
            queue = [Signal(bits, name=f"{label}_beats{j}") for j in range(_BURSTS)]
            level, done = Signal(range(_BURSTS + 2), name=f"{label}_level"), Signal(bits)
            asks, gives, is_last = (
                Signal(name=f"{label}_{what}") for what in ("asks", "gives", "last")
            )
            ends = gives & is_last
            m.d.comb += [
                owed[k].eq(level != 0),
                is_last.eq(done + 1 == queue[0]),
                asks.eq(ar.valid & ar.ready & (ar.payload.id == k)),
                gives.eq(r.valid & r.ready & (r.payload.id == k)),
                Assert(level <= _BURSTS),
            ]
            made = data_of(k, done) if data_of else None
            with m.If(r.payload.id == k):
                m.d.comb += r.payload.last.eq(is_last)
                m.d.comb += r.payload.data.eq(content if made is None else made)
            m.d.sync += [
                level.eq(level + asks - ends),
                done.eq(Mux(ends, 0, done + gives)),
            ]
            for j, entry in enumerate(queue):
                with m.If(asks & (level - ends == j)):
                    m.d.sync += entry.eq(beats_of(ar.payload))
                with m.Elif(ends):
                    m.d.sync += entry.eq(queue[j + 1] if j + 1 < _BURSTS else 0)

    def _answer_writes(self):
        """A write is answered after its address and its last beat were taken."""
        m, name, writes, aw, b = self._m, self._name, self.writes, self.axi.aw, self.axi.b
        owed = Signal(self._ids, name=f"{name}_b_owed")
        self._offer(b, owed, f"{name}_b")
        for k in range(self._ids):
            addresses, bursts = (
                Signal(range(_BURSTS + 2), name=f"{name}_b{k}_{what}")
                for what in ("addresses", "bursts")
            )
            answered = b.valid & b.ready & (b.payload.id == k)
            m.d.sync += [
                addresses.eq(addresses + (aw.valid & aw.ready & (aw.payload.id == k)) - answered),
                bursts.eq(bursts + (writes.ends & (writes.head.id == k)) - answered),
            ]
            m.d.comb += [
                owed[k].eq((addresses != 0) & (bursts != 0)),
                Assert(addresses <= _BURSTS),
                Assert(bursts <= _BURSTS),
            ]


def stays_inside(m: Module, port: Port, is_inside) -> None:
    """Assert that each byte that is written is ``is_inside(address)``."""
    w = port.axi.w
    for k in range(port.data_bytes):
        with m.If(w.valid & w.payload.strobe[k]):
            m.d.comb += Assert(is_inside(port.at | k))


def asks_inside(m: Module, channel, data_bytes: int, windows) -> None:
    """Assert that a burst has no beat that is outside of all windows: pairs of base and end."""
    low = data_bytes.bit_length() - 1
    request = channel.payload
    first, last = Signal(len(request.address) + 1), Signal(len(request.address) + 1)
    m.d.comb += [
        first.eq(request.address >> low),
        last.eq(first + beats_of(request) - 1),
    ]
    fits = [
        (((first << low) | (data_bytes - 1)) >= base) & ((last << low) < end)
        for base, end in windows
    ]
    with m.If(channel.valid):
        m.d.comb += Assert(Cat(fits).any())
