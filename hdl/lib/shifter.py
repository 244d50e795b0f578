"""Shifts of arrays by a number of words."""

from amaranth.hdl import Const, Module, Mux, Signal, Value


def shift_down(m: Module, words: list, amount: Value, name: str) -> list[Signal]:
    """As many words as ``words``, of which word ``i`` is ``words[i + amount]``, 0 past the end."""
    return _stages(m, words, amount, name, lambda i, step: i + step)


def rotate_up(m: Module, words: list, amount: Value, name: str) -> list[Signal]:
    """As many words as ``words``, a power of two, of which word ``i`` is ``words[i - amount]``,
    counted around."""
    return _stages(m, words, amount, name, lambda i, step: (i - step) % len(words))


def rotate_down(m: Module, words: list, amount: Value, name: str) -> list[Signal]:
    """As many words as ``words``, a power of two, of which word ``i`` is ``words[i + amount]``,
    counted around."""
    return _stages(m, words, amount, name, lambda i, step: (i + step) % len(words))


def _stages(m, words, amount, name, source):
    """A logarithmic shifter, one row of multiplexers for each bit of ``amount``."""
    zero = Const(0, len(words[0]))
    for bit in range(len(amount)):
        row = []
        for i, word in enumerate(words):
            j = source(i, 1 << bit)
            other = words[j] if 0 <= j < len(words) else zero
            signal = Signal(len(word), name=f"{name}{bit}_{i}")
            m.d.comb += signal.eq(Mux(amount[bit], other, word))
            row.append(signal)
        words = row
    return words
