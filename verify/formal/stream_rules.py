"""The rules of a stream as statements of a proof (``cdma.sim.cocotb.ports``: in simulations)."""

from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Module, Mux, Signal, Value


def anything(m: Module, shape, name: str) -> Signal:
    """Signal that may have any value in any cycle."""
    signal = Signal(shape, name=name)
    value = Value.cast(signal)
    m.d.comb += value.eq(AnySeq(len(value)))
    return signal


def offer(m: Module, port, name: str) -> Signal:
    """Offer any payload at any time to a stream, and keep the offer until it is taken.

    Gives whether a transfer takes place.
    """
    payload = Value.cast(port.payload)
    fresh_valid = anything(m, 1, f"{name}_fresh_valid")
    fresh = anything(m, len(payload), f"{name}_fresh")
    is_kept, kept = Signal(name=f"{name}_is_kept"), Signal(len(payload), name=f"{name}_kept")
    passes = Signal(name=f"{name}_passes")
    stalls = port.valid & ~port.ready
    m.d.comb += [
        port.valid.eq(is_kept | fresh_valid),
        payload.eq(Mux(is_kept, kept, fresh)),
        passes.eq(port.valid & port.ready),
    ]
    # Nothing is remembered that does not matter: it would make of one state many.
    m.d.sync += [is_kept.eq(stalls), kept.eq(Mux(stalls, payload, 0))]
    return passes


def take(m: Module, port, name: str) -> Signal:
    """Accept beats of a stream at any time, and check that an offered beat is held until accepted.

    Gives whether a transfer takes place.
    """
    m.d.comb += port.ready.eq(anything(m, 1, f"{name}_ready"))
    hold_to_rule(m, port, name)
    passes = Signal(name=f"{name}_passes")
    m.d.comb += passes.eq(port.valid & port.ready)
    return passes


def hold_to_rule(m: Module, port, name: str) -> None:
    """Promise that a stalled beat keeps ``valid`` and payload."""
    payload = Value.cast(port.payload)
    was_stalled, kept = Signal(name=f"{name}_stalled"), Signal(len(payload), name=f"{name}_was")
    stalls = port.valid & ~port.ready
    m.d.sync += [was_stalled.eq(stalls), kept.eq(Mux(stalls, payload, 0))]
    with m.If(was_stalled):
        m.d.comb += [Assert(port.valid), Assert(payload == kept)]


def goes_on(m: Module, *, willing, moves, most: int, status, owed) -> Signal:
    """Promise that a unit does not stop: something moves within ``most`` cycles while all are
    willing, and of two statuses that are owed one is offered.

    Gives the number of cycles for which nothing has moved.
    """
    idle = Signal(range(most + 1), name="idle")
    m.d.sync += idle.eq(Mux(willing & ~moves & (idle != most), idle + 1, 0))
    m.d.comb += [Assert(idle != most), Assert(status.valid | (owed < 2))]
    return idle
