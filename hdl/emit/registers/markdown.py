"""The register table as a page of the documents."""

from cdma.hdl.engine.registers import Access, Block, Guard, Map, Register

_TOP = """\
# Registers of the engine

Generated from the register table of cdma: do not edit.
Engine {config}: {shape}.

The register port is AXI4-Lite with 32 bits of data and 12 bits of address. SLVERR answers an access
to an address without a register, a misaligned address, a write to a read-only register, and a write
with WSTRB other than 1111. No read has a side effect. Bits that no field has read as zero and
ignore what is written. Addresses in memory are bytes; a pair `_LO`, `_HI` holds one address.

Reset values that depend on the size are those of this engine. `C` is the number of a channel, `R`
that of a ring: 0 is offload, 1 is prefetch.

| Access | Software | Engine |
|---|---|---|
| const | reads | a parameter, never changes |
| ro | reads | writes |
| rw | reads, writes | reads |
| rwh | reads, writes | reads, writes |
| w1c | reads; writing 1 clears | sets; a set in the same cycle wins |
| w1s | reads; writing 1 sets | reads; only `aresetn` clears |
| start | writing 1 starts; reads 1 until done | clears when done |

Writes to registers marked *idle* get SLVERR while the ring runs or has something outstanding; to
those marked *window*, also after LOCK was set in the ring's CTRL.
"""
_LETTERS = {"RING": "R", "CHANNEL": "C", "CHANNEL_COUNTERS": "C"}


def markdown(table: Map) -> str:
    """The page: a table of each block's registers, and one of their fields.

    Parameters
    ----------
    table : Map
        Registers of an engine; resets and capabilities are those of its size.
    """
    config = table.config
    shape = (
        f"channels {config.channels}, lanes {config.lanes}, words of {config.word_bits} bits, "
        f"link of {config.link_bytes} bytes"
    )
    top = _TOP.format(config=config.name, shape=shape)
    return "\n".join([top, *(_block(block) for block in table.blocks)])


def _block(block: Block) -> str:
    letter = _LETTERS.get(block.name)
    place = f"0x{block.base:03X}" + (f" + 0x{block.stride:02X} * {letter}" if letter else "")
    lines = [f"## {block.name}: {block.text}", "", f"Base address: `{place}`.", ""]
    lines += ["| Offset | Register | Bits | Field | Access | Reset | Meaning |"]
    lines += ["|---|---|---|---|---|---|---|"]
    for register in block.registers:
        lines += _rows(register)
    return "\n".join([*lines, ""])


def _rows(register: Register) -> list[str]:
    guard = "" if register.guard is Guard.NONE else f" (*{register.guard.value}*)"
    head = f"| `{register.offset:02X}` | **{register.name}** | | | | | {register.text}{guard} |"
    rows = [head]
    for field in register.fields:
        high = field.low + field.bits - 1
        bits = f"{high}" if field.bits == 1 else f"{high}:{field.low}"
        codes = ""
        if field.codes is not None:
            codes = ": " + ", ".join(f"{code.value} {code.name}" for code in field.codes)
        reset = f"0x{field.reset:X}" if field.reset > 9 else f"{field.reset}"
        access = field.access.value if isinstance(field.access, Access) else field.access
        text = f"{field.text}{codes}"
        rows.append(f"| | | {bits} | {field.name} | {access} | {reset} | {text} |")
    return rows
