"""ULX3S with an LFE5U-85F: its pins, and the system on it."""

from litex.build.generic_platform import GenericPlatform, Pins, Subsignal
from litex.gen import LiteXModule
from litex.soc.cores.clock import ECP5PLL
from migen import Cat, ClockDomain, Signal
from soc import System, add_on_chip_device

#: Device of the board, as options of nextpnr.
DEVICE = ["--85k", "--speed", "6", "--package", "CABGA381"]
#: Oscillator of the board.
CRYSTAL_HZ = 25e6
#: Pins from the board's published constraints: oscillator, the USB serial chip, eight LEDs.
_IO = [
    ("clk25", 0, Pins("G2")),
    ("serial", 0, Subsignal("tx", Pins("L4")), Subsignal("rx", Pins("M1"))),
    ("leds", 0, Pins("B2 C2 C1 D2 D1 E2 E1 H3")),
]


class Clocks(LiteXModule):
    """The system's clock, of a PLL; reset until it is locked.

    Parameters
    ----------
    platform : GenericPlatform
        Has ``clk25``.
    clock_hz : float
        Frequency of the domain ``sys``.
    """

    def __init__(self, platform, clock_hz: float):
        self.cd_sys = ClockDomain()
        self.cd_por = ClockDomain(reset_less=True)
        self.pll = ECP5PLL()
        self.pll.register_clkin(platform.request("clk25"), CRYSTAL_HZ)
        self.pll.create_clkout(self.cd_sys, clock_hz, with_reset=False)
        is_locked = Signal(2)
        self.sync.por += is_locked.eq(Cat(self.pll.locked, is_locked))
        self.comb += [self.cd_por.clk.eq(self.cd_sys.clk), self.cd_sys.rst.eq(~is_locked[1])]


def make(clock_hz: float) -> tuple[System, GenericPlatform]:
    """The system, finalized, with block RAM as device and host memory, and a UART on pins.

    Raises
    ------
    ValueError
        When the PLL cannot make this clock.
    """
    platform = GenericPlatform("LFE5U-85F", _IO, name="ulx3s")
    soc = System(platform, Clocks(platform, clock_hz), clock_hz, "serial", add_on_chip_device)
    soc.finalize()
    return soc, platform


def constraints(platform: GenericPlatform) -> str:
    """Pins, their voltage and the oscillator's frequency, as an LPF file."""
    lines = []
    for _, pins, _, (resource, _, part) in platform.constraint_manager.get_sig_constraints():
        port = f"{resource}_{part}" if part else resource
        for number, pin in enumerate(pins):
            each = f"{port}[{number}]" if len(pins) > 1 else port
            lines += [
                f'LOCATE COMP "{each}" SITE "{pin}";',
                f'IOBUF PORT "{each}" IO_TYPE=LVCMOS33;',
            ]
    lines.append(f'FREQUENCY PORT "clk25" {CRYSTAL_HZ / 1e6:g} MHZ;')
    return "\n".join(lines) + "\n"
