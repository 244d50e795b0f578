"""The stream rules as formal statements. For simulations see ``cdma.sim.cocotb.ports``."""

from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Cat, Module, Mux, Signal, Value


def anything(m: Module, shape, name: str) -> Signal:
    """A signal with an unconstrained value in each cycle."""
    signal = Signal(shape, name=name)
    value = Value.cast(signal)
    m.d.comb += value.eq(AnySeq(len(value)))
    return signal


def is_one_at_most(bits: Value) -> Value:
    """One of the bits is set, or none."""
    return (bits & (bits - 1)) == 0


def any_transfer(*channels) -> Value:
    """One of the streams, at least, has a transfer in this cycle."""
    return Cat(channel.valid & channel.ready for channel in channels).any()


def leave_open(m: Module, component, *names: str) -> None:
    """Drive inputs of a component with unconstrained values in each cycle."""
    for name in names:
        value = Value.cast(getattr(component, name))
        m.d.comb += value.eq(anything(m, len(value), f"any_{name}"))


def leave_ports_open(m: Module, component, flow, *but: str) -> None:
    """Drive all inputs or all outputs of a component, ``flow``, with unconstrained values in each
    cycle, ``but`` those named. The signals of a stream go both ways."""
    for path, member, value in component.signature.flatten(component):
        if member.flow == flow and path[0] not in but:
            value = Value.cast(value)
            m.d.comb += value.eq(anything(m, len(value), "any_" + "_".join(map(str, path))))


def joined(one, other) -> list[Assert]:
    """Two interfaces of one signature are connected: each member is the same in both."""
    found = []
    for path, _, value in one.signature.flatten(one):
        twin = other
        for step in path:
            twin = twin[step] if isinstance(step, int) else getattr(twin, step)
        found.append(Assert(Value.cast(value) == Value.cast(twin)))
    return found


def offer(m: Module, port, name: str) -> Signal:
    """Drive a stream: any payload at any time, held until the transfer.

    Returns a signal that is high on a transfer.
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
    # Clear the register when it is a don't-care, to keep the state space small.
    m.d.sync += [is_kept.eq(stalls), kept.eq(Mux(stalls, payload, 0))]
    return passes


def take(m: Module, port, name: str) -> Signal:
    """Accept beats of a stream at any time, and assert that a stalled beat is held.

    Returns a signal that is high on a transfer.
    """
    m.d.comb += port.ready.eq(anything(m, 1, f"{name}_ready"))
    hold_to_rule(m, port, name)
    passes = Signal(name=f"{name}_passes")
    m.d.comb += passes.eq(port.valid & port.ready)
    return passes


def hold_to_rule(m: Module, port, name: str) -> None:
    """Assert that a stalled beat keeps ``valid`` and payload."""
    payload = Value.cast(port.payload)
    was_stalled, kept = Signal(name=f"{name}_stalled"), Signal(len(payload), name=f"{name}_was")
    stalls = port.valid & ~port.ready
    m.d.sync += [was_stalled.eq(stalls), kept.eq(Mux(stalls, payload, 0))]
    with m.If(was_stalled):
        m.d.comb += [Assert(port.valid), Assert(payload == kept)]


def goes_on(m: Module, *, willing, moves, most: int, status, owed) -> Signal:
    """Assert that a unit makes progress.

    While all ports are ``willing`` (no stall), a transfer (``moves``) happens within ``most``
    cycles. With two pending statuses (``owed``), one is offered.

    Returns the number of cycles since the last transfer.
    """
    idle = Signal(range(most + 1), name="idle")
    m.d.sync += idle.eq(Mux(willing & ~moves & (idle != most), idle + 1, 0))
    m.d.comb += [Assert(idle != most), Assert(status.valid | (owed < 2))]
    return idle
