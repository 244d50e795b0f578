"""Small idioms of signals that several components use."""

from amaranth.hdl import Assert, Cat, Const, Module, Signal, Value


def registered(m: Module, value, name: str, *, is_reset: bool = False) -> Signal:
    """``value`` a cycle later."""
    register = Signal.like(value, name=name, reset_less=not is_reset)
    m.d.sync += register.eq(value)
    return register


def registered_if(m: Module, enable, value, name: str) -> Signal:
    """``value`` of the last cycle with ``enable``, a cycle later."""
    register = Signal.like(value, name=name, reset_less=True)
    with m.If(enable):
        m.d.sync += register.eq(value)
    return register


def wire(m: Module, value: Value, name: str) -> Signal:
    """``value`` as a signal: Amaranth writes the logic of any other value once for each use of it,
    and of each of its bits."""
    signal = Signal.like(value, name=name)
    m.d.comb += signal.eq(value)
    return signal


def select(m: Module, number: Value, values: list, name: str | None = None) -> Signal:
    """``values[number]``; the first of them when ``number`` is beyond the last."""
    # No m.Switch: Yosys writes its multiplexer as a function with overlapping cases. Verilator
    # warns of these, and Icarus Verilog refuses the function's name.
    chosen = Signal.like(values[0], name=name)
    m.d.comb += chosen.eq(values[0])
    for k, value in enumerate(values[1:], 1):
        with m.If(number == k):
            m.d.comb += chosen.eq(value)
    return chosen


def any_of(bits) -> Value:
    """One of ``bits`` is set."""
    return Cat(bits).any()


def one_of(chosen, values: list) -> Value:
    """The value whose bit of ``chosen`` is set, at most one bit; zero if none is."""
    total = Const(0, len(values[0]))
    for bit, value in zip(chosen, values, strict=True):
        total = total | (value & bit.replicate(len(value)))
    return total


def duplicates(m: Module, value: Value, name: str, *, enable=1) -> list[Signal]:
    """Three registers of ``value``, to divide a fan-out that is too large for one.

    Synthesis merges equal registers, so these differ at reset: in the first cycle after reset,
    their value must be a don't-care.
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


def copies_of(m: Module, value: Value, name: str, count: int, *, enable=1) -> list[Signal]:
    """As many registers of ``value``, as :func:`duplicates`, up to ``2**len(value)``."""
    registers = [Signal(len(value), name=f"{name}{k}", init=k) for k in range(count)]
    with m.If(enable):
        m.d.sync += [register.eq(value) for register in registers]
    return registers


def kept_apart(name: str, shape=1) -> Signal:
    """Signal that synthesis does not merge into the logic around it.

    For both inputs of a mux whose select arrives late: Yosys and ABC would else share logic between
    the two, and the late signal would pass through it.
    """
    return Signal(shape, name=name, attrs={"keep": 1})


def assert_ready(m: Module, platform, port) -> None:
    """State for proofs that a stream is ready whenever it is valid.

    For a buffer whose size guarantees that it is ready.
    """
    if platform == "formal":
        m.d.comb += Assert(~port.valid | port.ready)
