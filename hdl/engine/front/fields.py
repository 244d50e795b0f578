"""The fields of a block of registers, as signals."""

from amaranth.hdl import Cat, Const, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.engine.registers import Access, Block, Field, Guard, Register

#: Registers that software writes and a ring keeps, because the ring may refuse the value.
KEPT_OUTSIDE = {("RING", "SQ_TAIL"), ("RING", "CQ_HEAD")}


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
