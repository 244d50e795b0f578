"""The functions that components share are plain arithmetic, for every value of what they read."""

import pytest
from amaranth.hdl import Array, Assert, Assume, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.lib.prefix import popcount
from cdma.hdl.lib.signals import registered, select
from cdma.hdl.zvc.beat import count_thermometer, thermometer
from cdma.hdl.zvc.decompressor.ring import add_row
from cdma.verify.formal.stream_rules import anything


class Says(Elaboratable):
    """What is stated by a function that gets the module."""

    def __init__(self, state):
        self.state = state

    def elaborate(self, platform):
        m = Module()
        self.state(m)
        return m


def marks_the_lowest(thermometer, width, bits):
    def state(m):
        count = anything(m, bits, "count")
        marked = thermometer(count, width)
        m.d.comb += Cover(marked[-2])
        m.d.comb += [Assert(bit == (index < count)) for index, bit in enumerate(marked)]

    return Says(state)


def counts_the_lowest(count_thermometer, width):
    def state(m):
        bits = anything(m, width, "bits")
        count = count_thermometer(bits)
        m.d.comb += [Assume((bits & (bits + 1)) == 0), Cover(count == 0), Cover(count == width)]
        m.d.comb += [Assert(bit == (index < count)) for index, bit in enumerate(bits)]

    return Says(state)


def counts_ones(popcount, width):
    """One more than without the uppermost, when that is one; none are ones of nothing."""

    def state(m):
        bits = anything(m, width, "bits")
        for k in range(2, width + 1):
            m.d.comb += Assert(popcount(m, bits[:k]) == popcount(m, bits[: k - 1]) + bits[k - 1])
        m.d.comb += [Assert(popcount(m, bits[:1]) == bits[0]), Cover(popcount(m, bits) == width)]

    return Says(state)


def goes_around(add_row, rows, most):
    def state(m):
        row, step = anything(m, range(rows), "row"), anything(m, range(most + 1), "step")
        m.d.comb += [
            Assume((row < rows) & (step <= most)),
            Assert(add_row(m, row, step, rows) == (row + step) % rows),
            *(Assert(add_row(m, row, k, rows) == (row + k) % rows) for k in range(rows)),
            Cover(row + step > rows),
        ]

    return Says(state)


def chooses(select, count):
    def state(m):
        number = anything(m, range(count + 1), "number")
        values = [anything(m, 8, f"value{k}") for k in range(count)]
        index = Mux(number < count, number, 0)
        m.d.comb += Assert(select(m, number, values, "chosen") == Array(values)[index])
        m.d.comb += Cover(number == count)

    return Says(state)


def waits_a_cycle(registered):
    def state(m):
        value, was, has_run = anything(m, 8, "value"), Signal(8), Signal()
        m.d.sync += [was.eq(value), has_run.eq(1)]
        free = registered(m, value, "free")
        with m.If(has_run):
            m.d.comb += Assert(free == was)
            m.d.comb += Cover(was != value)
        m.d.comb += Assert(registered(m, value, "known", is_reset=True) == was)

    return Says(state)


@pytest.mark.proof("thermometer", "8 and 64 bits", induction=1)
@pytest.mark.parametrize(("width", "bits"), [(8, 4), (8, 3), (64, 7)])
def test_a_thermometer_has_as_many_of_its_lowest_bits_set(formal, width, bits):
    formal(marks_the_lowest(thermometer, width, bits))


@pytest.mark.proof("count_thermometer", "8 and 32 bits", induction=1)
@pytest.mark.parametrize("width", [8, 32])
def test_a_thermometer_is_counted(formal, width):
    formal(counts_the_lowest(count_thermometer, width))


@pytest.mark.proof("popcount", "16 bits", induction=1)
def test_ones_are_counted(formal):
    formal(counts_ones(popcount, 16))


@pytest.mark.proof("add_row", "rings of 2 to 11 rows", induction=1)
@pytest.mark.parametrize(("rows", "most"), [(2, 4), (5, 3), (8, 8), (11, 20)])
def test_rows_go_around_the_ring(formal, rows, most):
    formal(goes_around(add_row, rows, most))


@pytest.mark.proof("select", "5 values", induction=1)
def test_one_value_is_selected(formal):
    formal(chooses(select, 5))


@pytest.mark.proof("registered", "8 bits", induction=1)
def test_a_register_is_a_cycle_late(formal):
    formal(waits_a_cycle(registered))


@pytest.mark.proof("functions", "8 bits", bounded=2)
@pytest.mark.parametrize(
    ("function", "state", "old", "new"),
    [
        (thermometer, lambda f: marks_the_lowest(f, 8, 4), "if index < top", "if index < top // 2"),
        (count_thermometer, lambda f: counts_the_lowest(f, 8), "& ~bits[i + 1]", ""),
        (popcount, lambda f: counts_ones(f, 8), "terms[-1:]", "terms[:1]"),
        (add_row, lambda f: goes_around(f, 5, 3), "row >= rows - step", "row > rows - step"),
        (select, lambda f: chooses(f, 5), "values[1:], 1)", "values[1:], 2)"),
        (registered, waits_a_cycle, "reset_less=not is_reset", "reset_less=True"),
    ],
)
def test_a_broken_function_is_refuted(formal, mutated, function, state, old, new):
    formal.refutes(state(mutated(function, old, new)))
