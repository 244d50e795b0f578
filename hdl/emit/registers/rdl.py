"""The register table as SystemRDL 2.0, for tools that make documents or models of it."""

from cdma.hdl.engine.registers import Access, Block, Field, Guard, Map, Register

_ACCESS = {
    Access.CONST: "sw = r; hw = na;",
    Access.RO: "sw = r; hw = w;",
    Access.RW: "sw = rw; hw = r;",
    Access.RWH: "sw = rw; hw = rw;",
    Access.W1C: "sw = rw; hw = w; onwrite = woclr;",
    Access.W1S: "sw = rw; hw = r; onwrite = woset;",
    Access.START: "sw = rw; hw = rw; onwrite = woset; hwclr;",
}


#: What no property of SystemRDL says.
_GUARDED = {
    Guard.NONE: "",
    Guard.IDLE: "; a write while the ring is active gets SLVERR",
    Guard.WINDOW: "; a write while the ring is active, or after LOCK, gets SLVERR",
}
_HELD = {Access.W1S: "; only aresetn clears it, not CTRL.RESET"}


def system_rdl(table: Map) -> str:
    """The address map of one engine.

    Parameters
    ----------
    table : Map
        Its registers; resets and the number of channels are those of its size.
    """
    lines = [
        "// Registers of the cdma engine. Generated from its register table: do not edit.",
        "addrmap cdma {",
        f'    name = "cdma engine {table.config.name}";',
        "    default regwidth = 32;",
        "    default accesswidth = 32;",
    ]
    for block in table.blocks:
        lines += _block(block)
    return "\n".join([*lines, "};", ""])


def _block(block: Block) -> list[str]:
    lines = ["", f"    // {block.name}: {block.text}", "    regfile {"]
    for register in block.registers:
        lines += _register(register)
    array = f"[{block.count}]" if block.count > 1 else ""
    step = f" += 0x{block.stride:X}" if block.count > 1 else ""
    return [*lines, f"    }} {block.name}{array} @ 0x{block.base:X}{step};"]


def _register(register: Register) -> list[str]:
    if not register.fields:  # SystemRDL has no register without a field
        return [f"        // {register.name} @ 0x{register.offset:X}: reads as zero in this size"]
    text = f"{register.text}{_GUARDED[register.guard]}"
    lines = ["        reg {", f"            desc = {_quoted(text)};"]
    for field in register.fields:
        lines += _field(field)
    return [*lines, f"        }} {register.name} @ 0x{register.offset:X};"]


def _field(field: Field) -> list[str]:
    high = field.low + field.bits - 1
    text = f"{field.text}{_HELD.get(field.access, '')}"
    return [
        f"            field {{ {_ACCESS[field.access]} desc = {_quoted(text)}; }} "
        f"{field.name}[{high}:{field.low}] = 0x{field.reset:X};"
    ]


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
