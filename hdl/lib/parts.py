"""Wide sums and comparisons in parts of a few bits, so that no carry runs over many of them."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal


def advance_in_parts(
    m: Module, value: Signal, step, name: str, *, parts: int, down: bool = False
) -> Signal:
    """Add ``step``, or with ``down`` subtract, in the domain ``sync``.

    Each of the ``parts`` of ``value``, but the last as long as the others or shorter, has an adder;
    its carry reaches the next part a cycle later. Gives the registers of the carries, of which one
    is set while ``value`` is not yet valid: at most as many cycles as there are parts, less one,
    after the last step. Statements that set ``value`` later clear the carries, too.
    """
    bits = -(-len(value) // parts)
    places = range(0, len(value), bits)
    carries = Signal(max(len(places) - 1, 1), name=f"{name}_carries")
    step = Cat(step, Const(0, max(len(value) - len(step), 1)))
    for k, low in enumerate(places):
        part = value[low : low + bits]
        added, carry = step[low : low + len(part)], carries[k - 1] if k else Const(0, 1)
        total = Signal(len(part) + 1, name=f"{name}_total{k}")
        m.d.comb += total.eq(part - added - carry if down else part + added + carry)
        m.d.sync += part.eq(total)
        if k + 1 < len(places):
            m.d.sync += carries[k].eq(total[-1])
    return carries


def is_below(m: Module, a, b, name: str, *, parts: int):
    """``a < b`` of unsigned numbers: each part beside the others, then all of them."""
    return _joined(*_compared(m, m.d.comb, a, b, name, parts))


def is_below_next(m: Module, a, b, name: str, *, parts: int):
    """``a < b`` of unsigned numbers a cycle later: from a register for each part, through gates."""
    return _joined(*_compared(m, m.d.sync, a, b, name, parts))


def _compared(m, domain, a, b, name, parts):
    """Each part of ``a`` below that of ``b``, and the same, in a domain: two signals."""
    width = max(len(a), len(b))
    bits = -(-width // parts)
    a, b = (Cat(value, Const(0, max(width - len(value), 1))) for value in (a, b))
    places = range(0, width, bits)
    less, same = (Signal(len(places), name=f"{name}_{kind}") for kind in ("less", "same"))
    for k, low in enumerate(places):
        part = slice(low, min(low + bits, width))
        domain += [less[k].eq(a[part] < b[part]), same[k].eq(a[part] == b[part])]
    return less, same


def _joined(less, same):
    """A number is below another: in its highest part that differs."""
    is_less = Const(0, 1)
    for k in range(len(less)):
        is_less = Mux(same[k], is_less, less[k])
    return is_less


def is_below_later(m: Module, a, b, name: str, *, parts: int) -> Signal:
    """``a < b`` of unsigned numbers, two cycles later: first each part, then all of them."""
    found = Signal(name=name)
    m.d.sync += found.eq(is_below_next(m, a, b, name, parts=parts))
    return found
