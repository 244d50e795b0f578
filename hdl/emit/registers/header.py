"""The register table as a C header of plain macros."""

from enum import IntEnum

from cdma import engine_codes
from cdma.engine_config import COMPLETION_BYTES, DESCRIPTOR_BYTES, INDEX_BYTES
from cdma.hdl.engine.registers import ID, MAJOR, MINOR, Block, Map

_TOP = """\
/* Registers and codes of the cdma engine. Generated from its register table: do not edit.
   Fields of the upper halves of addresses are those of an engine with as many bits of address;
   all else is the same for all engines. */
#ifndef CDMA_REGS_H
#define CDMA_REGS_H

#include <stdint.h>
"""
_CODES = {
    "OP": engine_codes.Op,
    "RAW": engine_codes.Raw,
    "STATUS": engine_codes.Status,
    "STATE": engine_codes.State,
    "WAIT": engine_codes.Wait,
}


def c_header(table: Map) -> str:
    """The header: addresses, fields and codes.

    Addresses are ``CDMA_<BLOCK>_<REGISTER>``, of a block that repeats with the instance as its
    argument. Fields are ``..._<FIELD>_LOW`` and ``..._<FIELD>_MASK``. The sizes of one engine are
    not in it, but for the upper bits of addresses: software reads them from CAP0 to CAP2.

    Parameters
    ----------
    table : Map
        Registers of any engine; the addresses of all engines are the same.
    """
    lines = [_TOP, _define("ID_VALUE", f"0x{ID:08X}u")]
    lines += [_define("VERSION_MAJOR", f"{MAJOR}u"), _define("VERSION_MINOR", f"{MINOR}u")]
    lines += [
        _define("DESCRIPTOR_BYTES", f"{DESCRIPTOR_BYTES}u"),
        _define("COMPLETION_BYTES", f"{COMPLETION_BYTES}u"),
        _define("INDEX_BYTES", f"{INDEX_BYTES}u"),
        _define("LINK", f"0x{engine_codes.LINK:02X}u"),
    ]
    for name, codes in _CODES.items():
        lines += ["", *_codes(name, codes)]
    for block in table.blocks:
        lines += ["", *_block(block)]
    return "\n".join([*lines, "", "#endif", ""])


def _define(name: str, value: str) -> str:
    return f"#define CDMA_{name} {value}"


def _codes(name: str, codes: type[IntEnum]) -> list[str]:
    return [_define(f"{name}_{code.name}", f"{code.value}u") for code in codes]


def _block(block: Block) -> list[str]:
    lines = [f"/* {block.name}: {block.text} */"]
    repeats = block.name in ("RING", "CHANNEL", "CHANNEL_COUNTERS")
    for register in block.registers:
        name = f"{block.name}_{register.name}"
        address = f"0x{block.base + register.offset:03X}u"
        if repeats:
            step = f"0x{block.stride:X}u"
            lines.append(_define(f"{name}(i)", f"({address} + {step} * (uint32_t)(i))"))
        else:
            lines.append(_define(name, address))
        for field in register.fields:
            lines.append(_define(f"{name}_{field.name}_LOW", f"{field.low}u"))
            lines.append(_define(f"{name}_{field.name}_MASK", f"0x{field.mask:08X}u"))
    return lines
