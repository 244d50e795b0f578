"""The window on the rows, compared with any bit of the stream that they hold."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Signal

from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.layouts import window_bits
from cdma.hdl.zvcplus.decompressor.unit import Decompressor
from cdma.hdl.zvcplus.decompressor.window import ControlWindow
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.stream_rules import leave_open
from cdma.verify.proofs.proof import Proof, faults


class ShowsTheStream(Elaboratable):
    """Any bit of the window is the bit of the stream so far behind the place, as the rows were
    when the place was given; zero where no row has come. The window stays until the next load."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        size = dut.row_bits
        leave_open(m, dut, "rows", "valid", "row", "bit", "load")
        number = Signal(range(dut.width))
        m.d.comb += [
            number.eq(AnyConst(len(number))),
            Assume(number < dut.width),
            Assume((dut.valid & (dut.valid + 1)) == 0),
        ]
        place = Signal(range(size * (1 << len(dut.row)) + dut.width))
        m.d.comb += place.eq(Cat(dut.bit, dut.row) + number)
        # A row that has not come, and what is behind the last, has no bit.
        stream = Cat(
            row & there.replicate(size) for row, there in zip(dut.rows, dut.valid, strict=True)
        )
        bit = Signal()
        with m.If(place < len(stream)):
            m.d.comb += bit.eq(stream.bit_select(place[: len(stream).bit_length()], 1))
        was, shown = Signal(), Signal()
        is_known, is_loaded = Signal(), Signal()
        m.d.sync += [was.eq(bit), is_known.eq(1)]
        with m.If(dut.load):
            m.d.sync += [shown.eq(was), is_loaded.eq(is_known)]
        with m.If(is_loaded):
            m.d.comb += [
                Assert(dut.bits.bit_select(number, 1) == shown),
                Cover(shown & (number == dut.width - 1)),
            ]
        m.d.comb += Cover(bit & (place >> len(dut.bit) > dut.row))
        return m


def window(config: Config) -> ControlWindow:
    """The window of a unit."""
    return ControlWindow(config.beat_bits, Decompressor.rows(config), window_bits(config))


SIZES = {
    "128 bits, 4 rows": lambda: ControlWindow(128, 4, 90),
    "fp32": lambda: window(Config("fp32")),
    "int8": lambda: window(Config("int8")),
}

PROOFS = (
    Proof(
        name="control_window",
        promise="A window has the bits of the stream behind its place, and zeros where no row is",
        components=(ControlWindow,),
        design=lambda made: ShowsTheStream(made()),
        sizes=SIZES,
        slow=("fp32", "int8"),
        depth=2,
        broken=faults(
            SIZES["128 bits, 4 rows"],
            5,
            late("dut.shift"),
            stuck_at(0, "dut.following", 40),
            inverted("dut.chosen", 3),
        ),
    ),
)
