"""What software does at the registers of an engine: anything, or a short program."""

from amaranth.hdl import Assert, Module, Mux, Signal

from cdma.hdl.axi.lite import LITE_SIGNALS
from cdma.hdl.engine.engine import REGISTERS
from cdma.verify.formal.stream_rules import anything


def lite_of(engine):
    """The signals of the AXI4-Lite port, by name."""
    return {name: getattr(engine, f"{REGISTERS}_{name}") for name, *_ in LITE_SIGNALS}


def write_anything(m: Module, engine) -> None:
    """Any accesses at any time, each held until it is taken. Stalled answers must be held."""
    lite = lite_of(engine)
    for channel, names in (
        ("aw", ("addr", "prot")),
        ("w", ("data", "strb")),
        ("ar", ("addr", "prot")),
    ):
        valid, ready = lite[f"{channel}valid"], lite[f"{channel}ready"]
        is_kept = Signal(name=f"{channel}_is_kept")
        m.d.comb += valid.eq(is_kept | anything(m, 1, f"{channel}_offers"))
        m.d.sync += is_kept.eq(valid & ~ready)
        for name in names:
            port = lite[f"{channel}{name}"]
            kept = Signal.like(port, name=f"{channel}{name}_kept")
            m.d.comb += port.eq(
                Mux(is_kept, kept, anything(m, len(port), f"{channel}{name}_fresh"))
            )
            m.d.sync += kept.eq(port)
    for channel, names in (("b", ("resp",)), ("r", ("resp", "data"))):
        valid, ready = lite[f"{channel}valid"], lite[f"{channel}ready"]
        was_stalled = Signal(name=f"{channel}_was_stalled")
        m.d.comb += ready.eq(anything(m, 1, f"{channel}ready"))
        m.d.sync += was_stalled.eq(valid & ~ready)
        with m.If(was_stalled):
            m.d.comb += Assert(valid)
        for name in names:
            port = lite[f"{channel}{name}"]
            was = Signal.like(port, name=f"{channel}{name}_was")
            m.d.sync += was.eq(port)
            with m.If(was_stalled):
                m.d.comb += Assert(port == was)


def write_program(m: Module, engine, program) -> Signal:
    """Write registers, as fast as the port takes them: pairs of address and value.

    Returns a signal that is high when all are written.
    """
    lite = lite_of(engine)
    most = len(program)
    for name, column in (("aw", 0), ("w", 1)):
        step = Signal(range(most + 1), name=f"{name}_step")
        m.d.comb += lite[f"{name}valid"].eq(step != most)
        for k, pair in enumerate(program):
            with m.If(step == k):
                m.d.comb += lite["awaddr" if name == "aw" else "wdata"].eq(pair[column])
        m.d.sync += step.eq(step + (lite[f"{name}valid"] & lite[f"{name}ready"]))
    m.d.comb += [
        lite["wstrb"].eq(0b1111),
        lite["bready"].eq(1),
        lite["rready"].eq(1),
        Assert(~lite["bvalid"] | (lite["bresp"] == 0)),
    ]
    return step == most
