"""The register block: hardware of the register table."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.lite import BusSignature
from cdma.hdl.engine.registers import (
    ADDRESS_BITS,
    Access,
    Block,
    Field,
    Guard,
    Map,
    Register,
    register_map,
)
from cdma.hdl.lib.signals import any_of

#: Registers that software writes and a ring keeps, because the ring may refuse the value.
KEPT_OUTSIDE = {("RING", "SQ_TAIL"), ("RING", "CQ_HEAD")}
#: Blocks whose registers are read from a memory.
IN_MEMORY = ("COUNTERS", "CHANNEL_COUNTERS")


def is_kept(block: Block, register: Register, field: Field) -> bool:
    """Whether the register block has flip-flops for this field."""
    return field.access is Access.W1S or (
        field.access is Access.RW and (block.name, register.name) not in KEPT_OUTSIDE
    )


def _members(block: Block) -> dict:
    members = {}
    for register in block.registers:
        if register.is_written:
            members[f"{register.name}_write".lower()] = Out(1)
        for field in register.fields:
            name = f"{register.name}_{field.name}".lower()
            if is_kept(block, register, field):
                members[name] = Out(field.bits, init=field.reset)
            elif field.access is not Access.CONST:
                members[name] = In(field.bits)
            if field.access in (Access.W1C, Access.START):
                members[f"{name}_pulse"] = Out(field.bits)
    if any(register.guard is not Guard.NONE for register in block.registers):
        members["is_active"] = In(1)
    return members


class BlockSignature(wiring.Signature):
    """Fields of one instance of a block, seen from the register block.

    Names are ``<register>_<field>`` in lower case. Fields that software writes and nobody else are
    outputs, all others are inputs. ``<register>_write`` is 1 in the cycle of an accepted write;
    ``<register>_<field>_pulse`` has the ones that were written to a W1C or START field, in that
    cycle. ``is_active`` refuses writes to guarded registers.
    """

    def __init__(self, block: Block):
        self.block = block
        super().__init__(_members(block))

    def __eq__(self, other):
        return isinstance(other, BlockSignature) and other.block == self.block


class RegisterBlock(wiring.Component):
    """All registers but the counters, which the bus reads through another port.

    Writes are done in the cycle that the bus asks for them; an output has the new value in the next
    cycle. Reads take three cycles. Refused are unmapped addresses, writes to registers that have
    nothing to write, and writes to guarded registers of an active ring.

    Parameters
    ----------
    map_ : Map
        The register table.

    Members
    -------
    bus : In, register bus
    clear : In, all registers get their reset value; not LOCK, nor the windows of a locked ring
    write_data, write_address : Out, what is written, beside the ``_write`` and ``_pulse`` outputs.
        The data is stable in the cycle after a write.
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
        words, refusals = [], []
        for name, (block, instance) in self.blocks.items():
            port = getattr(self, name)
            for register in block.registers:
                address = block.base + block.stride * instance + register.offset
                is_written = self._write(m, name, port, block, register, address)
                refusals.append(is_written)
                words.append((address, self._word(port, block, register)))
        m.d.comb += self.bus.write_refused.eq(~any_of(refusals))
        self._read(m, words)
        return m

    def _write(self, m, name, port, block, register, address) -> Value:
        """Registers of one address; gives whether a write there is accepted."""
        if not register.is_written:
            return Const(0)
        accepted = Signal(name=f"{name}_{register.name}_accepted".lower())
        is_here = self.bus.write_address == address
        if register.guard is not Guard.NONE:
            is_here &= ~port.is_active
        if register.guard is Guard.WINDOW:
            is_here &= ~port.ctrl_lock
        m.d.comb += accepted.eq(is_here)
        write = getattr(port, f"{register.name}_write".lower())
        m.d.comb += write.eq(accepted & self.bus.write)
        for field in register.fields:
            written = self.bus.write_data[field.low : field.low + field.bits]
            label = f"{register.name}_{field.name}".lower()
            if field.access in (Access.W1C, Access.START):
                pulse = getattr(port, f"{label}_pulse")
                m.d.comb += pulse.eq(Mux(write, written, 0))
            elif field.access is Access.W1S:
                with m.If(write & written.any()):
                    m.d.sync += getattr(port, label).eq(written)
            elif is_kept(block, register, field):
                kept = getattr(port, label)
                is_locked = port.ctrl_lock if register.guard is Guard.WINDOW else Const(0)
                with m.If(write):
                    m.d.sync += kept.eq(written)
                with m.Elif(self.clear & ~is_locked):
                    m.d.sync += kept.eq(field.reset)
        return accepted

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
        """Two steps: one word of every sixteen, then one of these."""
        bus, address = self.bus, self.bus.read_address
        first, last = Signal(), Signal()
        m.d.sync += [first.eq(bus.read), last.eq(first)]
        groups = {}
        for at, word in words:
            groups.setdefault(at >> 6, []).append((at, word))
        picked, known = [], []
        for number, group in groups.items():
            chosen = Signal(32, name=f"read{number}", reset_less=True)
            is_known = Signal(name=f"is_known{number}", reset_less=True)
            found = [Mux(address == at, word, 0) for at, word in group]
            m.d.sync += chosen.eq(_or(found))
            m.d.sync += is_known.eq(any_of(address == at for at, _ in group))
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


def address_of(port, name: str, *, align: int = 0) -> Value:
    """Value of a pair of registers, ``<name>_LO`` and ``<name>_HI``.

    Parameters
    ----------
    port : interface of a block
    name : str
        Name of the pair.
    align : int
        Zero bits below the lowest field.
    """
    low = getattr(port, f"{name}_lo_low".lower())
    high = getattr(port, f"{name}_hi_high".lower(), Const(0, 0))
    return Cat(Const(0, align), low, high)
