"""The arena of streams with APPEND."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_config import HOST_ALIGNMENT

_LOW = HOST_ALIGNMENT.bit_length() - 1
_PART_BITS = 8


class Arena(wiring.Component):
    """Where the next stream goes, and the room up to the end.

    One descriptor with APPEND is in flight at a time, because the address of the next one follows
    from the size of its stream. Sums and differences are made in parts: a carry reaches the next
    part a cycle later, so ``is_free`` comes some cycles after ``ends``, and after ``run``.

    Parameters
    ----------
    address_bits : int

    Members
    -------
    run : In, the ring runs; else software writes the registers
    write_low, write_high : In, one cycle: software writes half of the pointer
    write_data : In, what it writes
    clear : In, the pointer becomes zero
    end : In, of the arena, aligned
    takes : In, one cycle: a descriptor with APPEND was started
    ends : In, one cycle: it has ended
    advances : In, with ``ends``: its stream is complete, and stays
    size : In, bytes of the stream, with ``advances``
    pointer : Out
    room : Out, bytes from ``pointer`` to ``end``, zero where there are none; valid when ``is_free``
    is_free : Out, nothing is in flight, and all is valid
    adds : Out, from the cycle after ``ends`` on: a carry of the pointer is on its way
    """

    def __init__(self, address_bits: int):
        self.bits = address_bits + 1
        parts = len(range(0, self.bits - _LOW, _PART_BITS))
        self.settle = 2 * parts
        super().__init__(
            {
                "run": In(1),
                "write_low": In(1),
                "write_high": In(1),
                "write_data": In(32),
                "clear": In(1),
                "end": In(self.bits),
                "takes": In(1),
                "ends": In(1),
                "advances": In(1),
                "size": In(self.bits),
                "pointer": Out(self.bits),
                "room": Out(self.bits),
                "is_free": Out(1),
                "adds": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        is_busy, settled = Signal(), Signal(range(self.settle + 1))
        with m.If(self.takes | self.ends):
            m.d.sync += is_busy.eq(self.takes)
        with m.If(~self.run | self.ends):
            m.d.sync += settled.eq(0)
        with m.Elif(~self.is_free):
            m.d.sync += settled.eq(settled + 1)
        m.d.comb += self.is_free.eq(~is_busy & (settled == self.settle))
        pointer = self._pointer(m)
        self._room(m, pointer)
        return m

    def _pointer(self, m):
        """Software writes it in halves, APPEND advances it."""
        pointer = Signal(self.bits - _LOW)
        size = self.size[_LOW:]
        # A partial unit counts as a whole one.
        carry = self.advances & self.size[:_LOW].any()
        total, carries = [], []
        for low in range(0, len(pointer), _PART_BITS):
            part = pointer[low : low + _PART_BITS]
            step = Mux(self.advances, size[low : low + _PART_BITS], 0)
            piece = Signal(len(part), name=f"piece{low}")
            gives = Signal(name=f"carry{low}")
            following = Signal(name=f"following{low}")
            m.d.comb += Cat(piece, following).eq(part + step + carry)
            m.d.sync += gives.eq(following)
            total.append(piece)
            carries.append(gives)
            carry = gives
        m.d.sync += pointer.eq(Cat(total))
        m.d.comb += self.adds.eq(Cat(carries[:-1]).any())
        low_bits = 32 - _LOW
        with m.If(self.write_low):
            m.d.sync += pointer[:low_bits].eq(self.write_data[_LOW:])
        with m.If(self.write_high):
            m.d.sync += pointer[low_bits:].eq(self.write_data)
        with m.If(self.clear):
            m.d.sync += pointer.eq(0)
        m.d.comb += self.pointer.eq(Cat(Const(0, _LOW), pointer))
        return pointer

    def _room(self, m, pointer):
        """The difference, part by part in as many cycles."""
        end, borrow, parts = self.end[_LOW:], 0, []
        for low in range(0, len(pointer), _PART_BITS):
            high = min(low + _PART_BITS, len(pointer))
            part = Signal(high - low, name=f"room{low}", reset_less=True)
            takes = Signal(name=f"borrow{low}", reset_less=True)
            m.d.sync += Cat(part, takes).eq(end[low:high] - pointer[low:high] - borrow)
            parts.append(part)
            borrow = takes
        room = Mux(borrow, 0, Cat(parts))
        m.d.comb += self.room.eq(Cat(Const(0, _LOW), room))
