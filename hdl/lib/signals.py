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


def copies(m: Module, value: Value, name: str, *, enable=1) -> list[Signal]:
    """Three registers of ``value``, for what one alone would drive too slowly.

    Their values at reset differ, as synthesis would else make one register of them: for a cycle
    after reset they must not matter.
    """
    ones = (1 << len(value)) - 1
    registers = [
        Signal(len(value), name=f"{name}_a", reset_less=True),
        Signal(len(value), name=f"{name}_b", init=0),
        Signal(len(value), name=f"{name}_c", init=ones),
    ]
    with m.If(enable):
        m.d.sync += [register.eq(value) for register in registers]
    return registers
