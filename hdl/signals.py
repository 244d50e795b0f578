"""Small idioms of signals that several components use."""

from amaranth.hdl import Module, Signal, Value


def registered(m: Module, value, name: str, *, is_reset: bool = False) -> Signal:
    """``value`` a cycle later."""
    register = Signal.like(value, name=name, reset_less=not is_reset)
    m.d.sync += register.eq(value)
    return register


def select(m: Module, number: Value, values: list, name: str | None = None) -> Signal:
    """``values[number]``; the first of them for a number that is too large."""
    chosen = Signal.like(values[0], name=name)
    m.d.comb += chosen.eq(values[0])
    for k, value in enumerate(values[1:], 1):
        with m.If(number == k):
            m.d.comb += chosen.eq(value)
    return chosen
