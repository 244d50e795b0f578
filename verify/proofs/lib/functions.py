"""The shared functions of the components agree with plain arithmetic, for all input values."""

from amaranth.hdl import Array, Assert, Assume, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.lib.prefix import popcount
from cdma.hdl.lib.signals import registered, select
from cdma.hdl.zvc.beat import count_thermometer, thermometer
from cdma.hdl.zvc.decompressor.rows import add_row
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import Proof, swapped


class Says(Elaboratable):
    """A design without a component: a function states the assertions in the module it gets."""

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
    """Recursive definition: the count without the uppermost bit, plus this bit; zero bits have no
    ones."""

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


PROOFS = (
    Proof(
        name="thermometer",
        promise="A thermometer code has its lowest bits set, as many as the count",
        components=(thermometer,),
        design=lambda size: marks_the_lowest(thermometer, *size),
        sizes={"8 bits by 4": (8, 4), "8 by 3": (8, 3), "64 by 7": (64, 7)},
        broken=swapped(
            1,
            {
                "a bit more than the count": lambda: marks_the_lowest(
                    lambda count, width: thermometer(count + 1, width), 8, 4
                )
            },
        ),
    ),
    Proof(
        name="count_thermometer",
        promise="The count of a thermometer code is the number of its ones",
        components=(count_thermometer,),
        design=lambda width: counts_the_lowest(count_thermometer, width),
        sizes={"8 bits": 8, "32 bits": 32},
        broken=swapped(
            1,
            {
                "the lowest bit does not count": lambda: counts_the_lowest(
                    lambda bits: count_thermometer(bits & ~1), 8
                )
            },
        ),
    ),
    Proof(
        name="popcount",
        promise="The result is the number of ones",
        components=(popcount,),
        design=lambda width: counts_ones(popcount, width),
        sizes={"16 bits": 16},
        broken=swapped(
            1,
            {
                "the uppermost bit does not count": lambda: counts_ones(
                    lambda m, mask: popcount(m, mask[: max(1, len(mask) - 1)]), 8
                )
            },
        ),
    ),
    Proof(
        name="add_row",
        promise="A row number wraps around at the end of the ring",
        components=(add_row,),
        design=lambda size: goes_around(add_row, *size),
        sizes={
            "2 rows by 4": (2, 4),
            "5 by 3": (5, 3),
            "8 by 8": (8, 8),
            "11 by 20": (11, 20),
        },
        broken=swapped(
            1,
            {
                "the ring is a row longer": lambda: goes_around(
                    lambda m, row, step, rows: add_row(m, row, step, rows + 1), 5, 3
                )
            },
        ),
    ),
    Proof(
        name="select",
        promise="The output is the selected value",
        components=(select,),
        design=lambda count: chooses(select, count),
        sizes={"5 values": 5},
        broken=swapped(
            1,
            {
                "the values are in reverse order": lambda: chooses(
                    lambda m, number, values, name: select(m, number, values[::-1], name), 5
                )
            },
        ),
    ),
    Proof(
        name="registered",
        promise="A register delays its input by one cycle",
        components=(registered,),
        design=lambda function: waits_a_cycle(function),
        sizes={"8 bits": registered},
        broken=swapped(
            2,
            {
                "no reset": lambda: waits_a_cycle(
                    lambda m, value, name, is_reset=False: registered(m, value, name)
                )
            },
        ),
    ),
)
