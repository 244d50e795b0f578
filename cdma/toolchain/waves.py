"""Waveform files: what a file's name asks for, and FST made of VCD.

Verilator writes FST itself only where headers of lz4 are installed, so its VCD is converted.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from cdma.errors import UserError, require

_SCOPES = {"module": 0, "task": 1, "function": 2, "begin": 3, "fork": 4}
_WIRE, _REGISTER, _IMPLICIT = 16, 5, 0  # FST_VT_VCD_WIRE, FST_VT_VCD_REG, FST_VD_IMPLICIT


def wave_format(file: str | os.PathLike, simulator: str) -> str:
    """Format of waveforms that a file's name asks for: ``fst`` or ``vcd``.

    Raises
    ------
    UserError
        When it asks for another, or for one that the simulator does not write, or a package is
        missing.
    """
    kind = Path(file).suffix.removeprefix(".")
    if kind not in ("fst", "vcd"):
        raise UserError(f"{file}: waveforms are written as .fst or .vcd")
    if simulator == "icarus" and kind == "vcd":
        raise UserError(f"{file}: icarus writes waveforms as .fst only")
    if simulator != "icarus" and kind == "fst":
        require("pylibfst", extra="sim", verb="writing .fst files")
    return kind


def convert(vcd: Path, fst: Path) -> None:
    """Write an FST file of a VCD file's signals and changes."""
    library, ffi = _library()
    writer = library.fstWriterCreate(str(fst).encode(), 1)
    if writer == ffi.NULL:
        raise UserError(f"{fst}: cannot write there")
    try:
        with vcd.open() as lines:
            handles = _declare(library, writer, lines)
            _change(library, writer, lines, handles)
    finally:
        library.fstWriterClose(writer)


def _library():
    pylibfst = require("pylibfst", extra="sim", verb="writing .fst files")
    return pylibfst.lib, pylibfst.ffi


def _declare(library, writer, lines: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Scopes and signals of the head; gives handle and bits of each identifier."""
    handles: dict[str, tuple[int, int]] = {}
    for line in lines:
        words = line.split()
        match words[:1]:
            case ["$timescale"]:
                text = "".join(words[1:]).removesuffix("$end")
                library.fstWriterSetTimescaleFromString(writer, text.encode())
            case ["$scope"]:
                library.fstWriterSetScope(writer, _SCOPES.get(words[1], 0), words[2].encode(), b"")
            case ["$upscope"]:
                library.fstWriterSetUpscope(writer)
            case ["$var"]:
                kind, bits, identifier = words[1], int(words[2]), words[3]
                name = " ".join(words[4:-1])
                before, _ = handles.get(identifier, (0, 0))
                handle = library.fstWriterCreateVar(
                    writer, _REGISTER if kind == "reg" else _WIRE, _IMPLICIT, bits, name.encode(),
                    before,
                )  # fmt: skip
                handles.setdefault(identifier, (handle, bits))
            case ["$enddefinitions"]:
                break
    return handles


def _change(library, writer, lines, handles) -> None:
    emit, advance = library.fstWriterEmitValueChange, library.fstWriterEmitTimeChange
    for line in lines:
        first = line[:1]
        if first in "01xzXZ" and len(line) > 1:
            emit(writer, handles[line[1:].strip()][0], first.lower().encode())
        elif first in "bB":
            value, identifier = line[1:].split()
            handle, bits = handles[identifier]
            # Left out are upper bits that are zero, or the same as an unknown highest one.
            fill = value[0] if value[0] in "xz" else "0"
            emit(writer, handle, value.rjust(bits, fill).encode())
        elif first == "#":
            advance(writer, int(line[1:]))
