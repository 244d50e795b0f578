"""AXI4-Lite subordinate (Arm IHI 0022, B1): one register access at a time, 32 bits."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.full import Response
from cdma.hdl.axi.signature import SizedSignature
from cdma.integers import integer

#: Names after the prefix, flow as the subordinate sees it, bits; 0 is those of an address.
LITE_SIGNALS = (
    ("awaddr", In, 0),
    ("awprot", In, 3),
    ("awvalid", In, 1),
    ("awready", Out, 1),
    ("wdata", In, 32),
    ("wstrb", In, 4),
    ("wvalid", In, 1),
    ("wready", Out, 1),
    ("bresp", Out, 2),
    ("bvalid", Out, 1),
    ("bready", In, 1),
    ("araddr", In, 0),
    ("arprot", In, 3),
    ("arvalid", In, 1),
    ("arready", Out, 1),
    ("rdata", Out, 32),
    ("rresp", Out, 2),
    ("rvalid", Out, 1),
    ("rready", In, 1),
)


class LiteSignature(SizedSignature):
    """Signals of an AXI4-Lite port of 32 bits, seen from the subordinate.

    Parameters
    ----------
    address_bits : int
        Width of ``awaddr`` and ``araddr``.
    """

    def __init__(self, address_bits: int):
        self.address_bits = address_bits
        super().__init__(
            {name: flow(bits or address_bits) for name, flow, bits in LITE_SIGNALS},
        )


class BusSignature(SizedSignature):
    """Register bus, seen from its initiator: one write and one read at a time, separately.

    A write is done in the cycle of ``write``; ``write_refused`` answers in the same cycle, and
    ``write_data`` is stable in the next two, too. A read
    begins in the one cycle of ``read`` and ends in the cycle of ``read_done``, which may be the
    same one or any later one; ``read_address`` is stable until then.

    Parameters
    ----------
    address_bits : int
        Width of the byte addresses; all are multiples of four.
    """

    def __init__(self, address_bits: int):
        self.address_bits = address_bits
        super().__init__(
            {
                "write": Out(1),
                "write_address": Out(address_bits),
                "write_data": Out(32),
                "write_refused": In(1),
                "read": Out(1),
                "read_address": Out(address_bits),
                "read_done": In(1),
                "read_data": In(32),
                "read_refused": In(1),
            }
        )


class LiteSubordinate(wiring.Component):
    """AXI4-Lite port in front of a register bus.

    Every output of the AXI port is a register, and no combinational path connects an input of the
    AXI port to the bus. A write reaches the bus in the cycle after the later one of its AW and W
    handshakes. Reads and writes do not wait for each other.

    Misaligned addresses, writes with ``wstrb`` other than 1111, and accesses that the bus refuses
    are answered SLVERR; the first two do not reach the bus. A refused read returns zero.

    Parameters
    ----------
    address_bits : int
        Width of the byte addresses.

    Members
    -------
    axi : Out, :class:`LiteSignature`, which is seen from here: connect a flipped one
    bus : Out, :class:`BusSignature`
    """

    axi: wiring.PureInterface
    bus: wiring.PureInterface

    def __init__(self, address_bits: int):
        self.address_bits = integer("Number of address bits", address_bits)
        if address_bits < 3:
            raise ValueError(f"Number of address bits must be at least 3, not {address_bits!r}")
        super().__init__(
            {"axi": Out(LiteSignature(address_bits)), "bus": Out(BusSignature(address_bits))}
        )

    def elaborate(self, platform):
        m = Module()
        self._write(m)
        self._read(m)
        return m

    def _write(self, m):
        axi, bus = self.axi, self.bus
        has_address, has_data, strobes = Signal(), Signal(), Signal(4)
        is_free, was_free = Signal(), Signal()
        is_valid = Signal()
        m.d.sync += was_free.eq(is_free)
        m.d.comb += [
            axi.awready.eq(~has_address),
            axi.wready.eq(~has_data & ~was_free),
            is_free.eq(has_address & has_data & (~axi.bvalid | axi.bready)),
            is_valid.eq((strobes == 0b1111) & (bus.write_address[:2] == 0)),
            bus.write.eq(is_free & is_valid),
        ]
        with m.If(axi.awvalid & axi.awready):
            m.d.sync += [has_address.eq(1), bus.write_address.eq(axi.awaddr)]
        with m.If(axi.wvalid & axi.wready):
            m.d.sync += [has_data.eq(1), bus.write_data.eq(axi.wdata), strobes.eq(axi.wstrb)]
        with m.If(axi.bready):
            m.d.sync += axi.bvalid.eq(0)
        with m.If(is_free):
            is_refused = ~is_valid | bus.write_refused
            m.d.sync += [
                has_address.eq(0),
                has_data.eq(0),
                axi.bvalid.eq(1),
                axi.bresp.eq(Mux(is_refused, Response.SLVERR, Response.OKAY)),
            ]

    def _read(self, m):
        axi, bus = self.axi, self.bus
        starts, waits = Signal(), Signal()
        is_aligned = bus.read_address[:2] == 0
        m.d.comb += [
            axi.arready.eq(~starts & ~waits & ~axi.rvalid),
            bus.read.eq(starts & is_aligned),
        ]
        with m.If(axi.arvalid & axi.arready):
            m.d.sync += [starts.eq(1), bus.read_address.eq(axi.araddr)]
        with m.If(axi.rready):
            m.d.sync += axi.rvalid.eq(0)
        with m.If(starts):
            m.d.sync += [starts.eq(0), waits.eq(1)]
        is_wrong = Signal()
        m.d.comb += is_wrong.eq(~is_aligned | bus.read_refused)
        with m.If((starts | waits) & (bus.read_done | ~is_aligned)):
            m.d.sync += [
                waits.eq(0),
                axi.rvalid.eq(1),
                axi.rdata.eq(Mux(is_wrong, 0, bus.read_data)),
                axi.rresp.eq(Mux(is_wrong, Response.SLVERR, Response.OKAY)),
            ]
