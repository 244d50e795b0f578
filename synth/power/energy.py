"""Energy of a unit in standard cells while the unit processes a tensor.

The model has no wires and no clock tree:

- each change of a net charges or discharges the driven pins: half of ``C * V**2``;
- each change of a cell's output costs the energy in the library's tables at this load, the mean
  over rising and falling, related pins and states; the same for changes of inputs with a table,
  mainly the clock pin of every flip-flop, twice a cycle;
- every signal has the same transition time: 10 % of the longest that the library allows;
- every cell has the leakage in the library, for all states.

The changes of each net are counted in two simulations of the mapped netlist. In the simulation
without delays, a net changes at most once a cycle. In the simulation with one unit of delay for
each cell, a net also changes while its inputs have not settled (glitches).
"""

from dataclasses import dataclass
from pathlib import Path

from cdma.golden.codecs import codec_of
from cdma.synth.flow import asic
from cdma.synth.flow.harness import CLOCK
from cdma.synth.liberty.cells import Cells
from cdma.synth.liberty.library import Liberty
from cdma.synth.power import netlist, switching
from cdma.synth.power.netlist import Netlist
from cdma.synth.power.switching import Window


@dataclass(frozen=True)
class Energy:
    """Energy in a window, in joules, by consumer.

    Parameters
    ----------
    clock : float
        Net of the clock, and the driven clock pins.
    storage : float
        Other changes at flip-flops.
    logic : float
        Changes at other cells, and of the nets that the unit's inputs drive.
    """

    clock: float
    storage: float
    logic: float

    @property
    def total(self) -> float:
        """Sum of all parts."""
        return self.clock + self.storage + self.logic


def energy(unit: Netlist, cells: Cells, window: Window) -> Energy:
    """Energy of the changes in a window."""
    clock = unit.ports[CLOCK][1][0]
    loads = unit.loads()
    spent = {"clock": 0.0, "storage": 0.0, "logic": 0.0}
    for instance in unit.instances:
        kind = "storage" if instance.cell.state else "logic"
        for name, net in instance.nets.items():
            pin, changes = instance.cell.pins[name], window.toggles.get(net, 0)
            load = loads[net] if pin.is_output else 0.0
            charge = 0.5 * cells.farads * load * cells.volts**2
            cost = changes * (pin.energy(cells.slew, load) * cells.joules + charge)
            spent["clock" if net == clock else kind] += cost
    for way, nets in unit.ports.values():
        for net in nets if way == "input" else ():
            charge = 0.5 * cells.farads * loads.get(net, 0.0) * cells.volts**2
            spent["clock" if net == clock else "logic"] += window.toggles.get(net, 0) * charge
    return Energy(**spent)


def measure(mapped: asic.Mapped, unit: str, config, words, liberty: Liberty, scratch: Path) -> dict:
    """Energy of a mapped compressor or decompressor on one packet.

    Parameters
    ----------
    mapped : Mapped
        The unit, module ``cdma_<unit>``.
    unit : str
        ``"compressor"`` or ``"decompressor"``.
    config : UnitConfig
        Size of the unit.
    words : ndarray, shape (n,)
        The packet's words, before compression.
    liberty : Liberty
        The library of the mapped cells.
    scratch : Path
        Existing working folder for the tools.

    Returns
    -------
    dict
        For JSON: ``cycles``, ``is_equal`` (whether the output of the netlist is equal to the golden
        model's), ``leakage_mw``, ``idle_pj_per_cycle``, and for both simulations, ``settled`` and
        ``with_glitches``, ``pj_per_cycle`` and ``pj_per_byte`` of uncompressed data, divided into
        ``clock``, ``storage`` and ``logic``, both without leakage.

    Raises
    ------
    UserError
        When a tool is missing or fails, or the library lacks data that the model needs.
    """
    gates = netlist.read(f"cdma_{unit}", mapped, liberty, scratch)
    cells = liberty.cells
    data = words.tobytes()
    stream = codec_of(config.format).compress(words, config.format).tobytes()
    is_compressor = unit == "compressor"
    packet, expected = (data, stream) if is_compressor else (stream, data)
    command = None if is_compressor or config.format.ends_itself else words.size
    runs = {
        name: switching.simulate(gates, packet, command, scratch, delay)
        for name, delay in (("settled", 0), ("with_glitches", 1))
    }
    settled = runs["settled"]
    figures = {
        "words": int(words.size),
        "stream_bytes": len(stream),
        "cycles": settled.busy.cycles,
        "is_equal": all(run.output == expected for run in runs.values()),
        "leakage_mw": 1e3 * cells.watts * sum(each.cell.leakage for each in gates.instances),
        "idle_pj_per_cycle": 1e12 * energy(gates, cells, settled.idle).total / settled.idle.cycles,
    }
    for name, run in runs.items():
        spent = energy(gates, cells, run.busy)
        figures[name] = {
            "pj_per_cycle": 1e12 * spent.total / run.busy.cycles,
            "pj_per_byte": 1e12 * spent.total / len(data),
            "clock": spent.clock / spent.total,
            "storage": spent.storage / spent.total,
            "logic": spent.logic / spent.total,
        }
    return figures


def at_clock(figures: dict, period_ns: float) -> dict:
    """Power in mW at a clock, with leakage: idle, and busy in both simulations."""
    leakage = figures["leakage_mw"]
    return {
        "mhz": 1e3 / period_ns,
        "idle_mw": leakage + figures["idle_pj_per_cycle"] / period_ns,
        **{
            f"{name}_mw": leakage + figures[name]["pj_per_cycle"] / period_ns
            for name in ("settled", "with_glitches")
        },
    }
