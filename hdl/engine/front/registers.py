"""The register block: hardware of the register table."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.lite import BusSignature
from cdma.hdl.engine.front.fields import BlockSignature, is_kept
from cdma.hdl.engine.registers import ADDRESS_BITS, Access, Guard, Map, register_map
from cdma.hdl.lib.signals import any_of

#: log2 of the bytes in a page, as long as the registers of a ring.
_PAGE_BITS = 7
#: Blocks whose registers are read from a memory.
IN_MEMORY = ("COUNTERS", "CHANNEL_COUNTERS")


class RegisterBlock(wiring.Component):
    """All registers but the counters, which the bus reads through another port.

    Writes are done in the cycle that the bus asks for them; a field has the new value two cycles
    later. Reads take three cycles. Refused are unmapped addresses, writes to registers that have
    nothing to write, and writes to guarded registers of an active ring.

    Parameters
    ----------
    map_ : Map
        The register table.

    Members
    -------
    bus : In, register bus
    clear : In, all registers get their reset value; not LOCK, nor windows and ATTR of a locked ring
    write_data, write_address : Out, what is written, beside the ``_write`` and ``_pulse`` outputs.
        The data is stable in the two cycles after a write.
    counter_address : Out, byte address of a counter, stable from ``counter_read`` on
    counter_read : Out, one cycle
    counter_done, counter_data : In, the counter's value, once
    <block><instance> : Out, :class:`BlockSignature` of each instance, ``ring0`` for example
    """

    bus: wiring.PureInterface

    def __init__(self, map_: Map):
        self.map = map_
        self.blocks = {
            f"{block.name}{instance}".lower(): (block, instance)
            for block in map_.blocks
            if block.name not in IN_MEMORY
            for instance in range(block.count)
        }
        super().__init__(
            {
                "bus": In(BusSignature(ADDRESS_BITS)),
                "clear": In(1),
                "write_data": Out(32),
                "write_address": Out(ADDRESS_BITS),
                "counter_address": Out(ADDRESS_BITS),
                "counter_read": Out(1),
                "counter_done": In(1),
                "counter_data": In(32),
                **{name: Out(BlockSignature(block)) for name, (block, _) in self.blocks.items()},
            }
        )

    @classmethod
    def of(cls, config) -> "RegisterBlock":
        """The registers of an engine of this size."""
        return cls(register_map(config))

    def elaborate(self, platform):
        m = Module()
        m.d.comb += [
            self.write_data.eq(self.bus.write_data),
            self.write_address.eq(self.bus.write_address),
        ]
        self._is_at = _Decoder(m, self.bus.write_address, "write")
        self._later = {}
        # Also after reset.
        self._clears = Signal(init=1)
        m.d.sync += self._clears.eq(self.clear)
        words, refusals = [], []
        for name, (block, instance) in self.blocks.items():
            port = getattr(self, name)
            for register in block.registers:
                address = block.base + block.stride * instance + register.offset
                words.append((address, self._word(port, block, register)))
                if register.is_written:
                    refusals.append(self._write(m, name, port, register, address))
                    self._keep(m, port, block, register, address)
        m.d.comb += self.bus.write_refused.eq(~any_of(refusals))
        self._read(m, words)
        return m

    def _write(self, m, name, port, register, address) -> Value:
        """What happens in the cycle of a write to a register; gives whether it is accepted."""
        accepted = Signal(name=f"{name}_{register.name}_accepted".lower())
        write = getattr(port, f"{register.name}_write".lower())
        m.d.comb += [
            accepted.eq(self._is_at(address) & self._is_open(port, register)),
            write.eq(accepted & self.bus.write),
        ]
        for field in register.fields:
            written = self.bus.write_data[field.low : field.low + field.bits]
            label = f"{register.name}_{field.name}".lower()
            if field.access in (Access.W1C, Access.START):
                pulse = getattr(port, f"{label}_pulse")
                m.d.comb += pulse.eq(Mux(write, written, 0))
            elif field.access is Access.W1S:
                with m.If(write & written.any()):
                    m.d.sync += getattr(port, label).eq(written)
        return accepted

    @staticmethod
    def _is_open(port, register) -> Value:
        """Nothing refuses a write."""
        if register.guard is Guard.NONE:
            return Const(1)
        return ~port.is_active & ~(port.ctrl_lock if register.guard is Guard.WINDOW else 0)

    def _keep(self, m, port, block, register, address):
        """Load the fields that only software writes, in the cycle after the write."""
        fields = [
            each
            for each in register.fields
            if each.access is not Access.W1S and is_kept(block, register, each)
        ]
        if not fields:
            return
        is_locked = port.ctrl_lock if register.guard is Guard.WINDOW else Const(0)
        loads, clears = self._loads(m, port, register, address), self._clears & ~is_locked
        for field in fields:
            name = f"{register.name}_{field.name}".lower()
            kept = Signal(field.bits, name=name, reset_less=True)
            m.d.comb += getattr(port, name).eq(kept)
            written = self.bus.write_data[field.low : field.low + field.bits]
            # Two gates a bit, where a multiplexer and the reset value have three.
            takes = loads.replicate(field.bits)
            stays = (~loads & ~clears).replicate(field.bits)
            first = Mux(clears & ~loads, field.reset, 0) if field.reset else 0
            m.d.sync += kept.eq((written & takes) | (kept & stays) | first)

    def _loads(self, m, port, register, address):
        """A register was written in the cycle before: its page, where nothing refused that, and the
        word there. Many registers share these."""
        is_at = self._is_at
        is_page = self.bus.write & is_at(address, word=False) & self._is_open(port, register)
        lines = {
            ("page", is_at.page(address), register.guard.value): is_page,
            ("word", is_at.place(address)): is_at.word(address),
        }
        for key, line in lines.items():
            if key not in self._later:
                later = Signal(name="_".join(("wrote", *map(str, key))))
                m.d.sync += later.eq(line)
                self._later[key] = later
        page, word = (self._later[key] for key in lines)
        return page & word

    @staticmethod
    def _word(port, block, register) -> Value:
        """What is read of a register."""
        parts, at = [], 0
        for field in sorted(register.fields, key=lambda each: each.low):
            if field.low > at:
                parts.append(Const(0, field.low - at))
            is_constant = field.access is Access.CONST
            label = f"{register.name}_{field.name}".lower()
            parts.append(Const(field.reset, field.bits) if is_constant else getattr(port, label))
            at = field.low + field.bits
        return Cat(*parts) if parts else Const(0, 32)

    def _read(self, m, words):
        """Two steps: one word of every page, then one of these."""
        bus, address = self.bus, self.bus.read_address
        first, last = Signal(), Signal()
        m.d.sync += [first.eq(bus.read), last.eq(first)]
        is_at = _Decoder(m, address, "read")
        groups = {}
        for at, word in words:
            groups.setdefault(is_at.page(at), []).append((at, word))
        picked, known = [], []
        for number, group in groups.items():
            chosen = Signal(32, name=f"read{number}", reset_less=True)
            is_known = Signal(name=f"is_known{number}", reset_less=True)
            found = [Mux(is_at.word(at), word, 0) for at, word in group]
            is_page = is_at(group[0][0], word=False)
            m.d.sync += chosen.eq(Mux(is_page, _or(found), 0))
            m.d.sync += is_known.eq(is_page & any_of(is_at.word(at) for at, _ in group))
            picked.append(chosen)
            known.append(is_known)
        data, is_known = Signal(32, reset_less=True), Signal(reset_less=True)
        m.d.sync += [data.eq(_or(picked)), is_known.eq(any_of(known))]
        is_counter = Signal()
        m.d.comb += [
            is_counter.eq(any_of(_holds(address, block) for block in self._memories())),
            self.counter_address.eq(address),
            self.counter_read.eq(bus.read & is_counter),
            bus.read_done.eq(Mux(is_counter, self.counter_done, last)),
            bus.read_data.eq(Mux(is_counter, self.counter_data, data)),
            bus.read_refused.eq(~is_counter & ~is_known),
        ]

    def _memories(self):
        return [block for block in self.map.blocks if block.name in IN_MEMORY]


class _Decoder:
    """Tells addresses apart by page and by word in a page, each decoded once."""

    def __init__(self, m, address, name):
        self._m, self._address, self._name, self._lines = m, address, name, {}

    def __call__(self, at: int, *, word: bool = True) -> Value:
        """The address is this one, or on its page."""
        upper = self._line("page", self.page(at), self._address[_PAGE_BITS:])
        return upper & self.word(at) if word else upper

    def word(self, at: int) -> Value:
        """The address has the same place on its page."""
        return self._line("word", self.place(at), self._address[2:_PAGE_BITS])

    @staticmethod
    def page(at: int) -> int:
        """Number of a page."""
        return at >> _PAGE_BITS

    @staticmethod
    def place(at: int) -> int:
        """Number of a word on its page."""
        return at % (1 << _PAGE_BITS) >> 2

    def _line(self, kind, number, bits):
        if (kind, number) not in self._lines:
            line = Signal(name=f"{self._name}_{kind}{number}")
            self._m.d.comb += line.eq(bits == number)
            self._lines[kind, number] = line
        return self._lines[kind, number]


def _holds(address, block) -> Value:
    """Whether a block, whose registers leave no gap, has a register at an address."""
    first, last = block.base, block.base + block.stride * (block.count - 1)
    number = address >> (block.stride.bit_length() - 1)
    offset = address[: block.stride.bit_length() - 1]
    end = max(register.offset for register in block.registers) + 4
    is_inside = (number >= first // block.stride) & (number <= last // block.stride)
    return is_inside & (offset < end)


def _or(values) -> Value:
    total = values[0]
    for value in values[1:]:
        total = total | value
    return total
