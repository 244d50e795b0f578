"""The window on the rows, compared with any bit of the stream that they hold."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.place import reach
from cdma.hdl.zvcplus.decompressor.unit import Decompressor
from cdma.hdl.zvcplus.decompressor.window import ControlWindow
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.stream_rules import is_one_at_most, leave_open
from cdma.verify.proofs.proof import Proof, faults


class ShowsTheStream(Elaboratable):
    """Any bit of the window is the bit so far behind the place, around the ring, as the rows were
    when the place was given. The window stays until the next load."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        leave_open(m, dut, "rows", "slot", "bit", "load")
        number, behind = Signal(range(dut.width)), Signal(range(3 * dut.row_bits))
        m.d.comb += [
            number.eq(AnyConst(len(number))),
            Assume(number < dut.width),
            Assume((dut.slot != 0) & is_one_at_most(dut.slot)),
            behind.eq(dut.bit + number),
            *(
                own.eq(dut.bit[-((len(dut.chunk) - 1).bit_length()) :] == k)
                for k, own in enumerate(dut.chunk)
                if len(dut.chunk) > 1
            ),
            *([dut.chunk.eq(1)] if len(dut.chunk) == 1 else []),
        ]
        slot, rows = Signal(dut.depth), list(dut.rows)
        m.d.comb += slot.eq(Mux(behind >= dut.row_bits, dut.slot.rotate_left(1), dut.slot))
        with m.If(behind >= 2 * dut.row_bits):
            m.d.comb += slot.eq(dut.slot.rotate_left(2))
        bit = Signal()
        for chosen, row in zip(slot, rows, strict=True):
            with m.If(chosen):
                m.d.comb += bit.eq(Value.cast(row).bit_select(behind[: len(dut.bit)], 1))
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
        m.d.comb += Cover(bit & slot[0] & dut.slot[-1])
        return m


def window(config: Config) -> ControlWindow:
    """The window of a unit."""
    return ControlWindow(config.beat_bits, Decompressor.rows(config), reach(config))


SIZES = {
    "128 bits, 4 rows": lambda: ControlWindow(128, 4, 90),
    "128 bits, 3 rows": lambda: ControlWindow(128, 3, 50),
    "64 bits, 4 rows": lambda: ControlWindow(64, 4, 97),
    **{
        config.name.removeprefix("zvcplus-"): (lambda config=config: window(config))
        for config in (Config("fp32"), Config("int8"), Config("fp32", "left"))
    },
}

PROOFS = (
    Proof(
        name="control_window",
        promise="A window has the bits of the ring behind its place",
        components=(ControlWindow,),
        design=lambda made: ShowsTheStream(made()),
        sizes=SIZES,
        slow=("fp32", "int8", "fp32-left"),
        depth=2,
        broken=faults(
            SIZES["128 bits, 4 rows"],
            5,
            late("dut.even"),
            stuck_at(0, "dut.turn5", 1),
            inverted("dut.odd", 9),
        ),
    ),
)
