"""Verilog of a unit."""

import gc
import re
import warnings
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import amaranth
from amaranth._toolchain.yosys import find_yosys
from amaranth.back import rtlil
from amaranth.hdl import UnusedElaboratable

from cdma import __version__
from cdma.hdl.axi.stream import AxiTop, checked_unit, top, unit_class
from cdma.hdl.codecs import UnitConfig
from cdma.hdl.emit.keywords import KEYWORDS
from cdma.hdl.emit.ports import declare_ports

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

#: Attributes of Amaranth and Yosys that do not help a reader.
_NOISE = ("generator", "top", "init", "amaranth.hierarchy", "amaranth.decoding")

#: What Verilator warns of at its default settings or with -Wall, and why it does not matter here.
#: slang, Icarus Verilog and Yosys have no warnings at their default settings.
_PRAGMAS = """\
// Operands of unequal widths are extended as the language says:
// verilator lint_off WIDTHEXPAND
// verilator lint_off WIDTHTRUNC
// A loop over lanes compares each with constants that some lanes cannot reach:
// verilator lint_off CMPCONST
// Bits of one signal follow from other bits of it, as in a prefix sum; there is no feedback:
// verilator lint_off UNOPTFLAT
// Structures travel whole through ports; synthesis drops what nobody reads of them:
// verilator lint_off UNUSEDSIGNAL
// One file has all modules of a unit:
// verilator lint_off DECLFILENAME"""


def verilog(
    unit: str, config: UnitConfig, name: str | None = None, *, with_sources: bool = False
) -> str:
    """Verilog-2001 of a unit's AXI4-Stream top.

    The same on every run and machine for the same versions of the tools: no dates, no paths.

    Parameters
    ----------
    unit : str
        ``"compressor"`` or ``"decompressor"``.
    config : UnitConfig
        Its size.
    name : str or None
        Name of the top module, which the names of all others begin with; ``None`` is
        ``cdma_<unit>``.
    with_sources : bool
        Keep attributes that name the line of the Amaranth source of each cell.

    Raises
    ------
    ValueError
        When there is no such unit, or the name is no plain identifier of Verilog.
    """
    module = module_name(unit, name)
    axi, code = generated(unit, config, name, with_sources)
    return framed(_header(unit, config), declare_ports(code, module, axi))


def framed(header: str, code: str) -> str:
    """A file of ``code`` between what linters need to know."""
    parts = [header, "// verilator lint_save", _PRAGMAS, "", code, ""]
    return "\n".join([*parts, "// verilator lint_restore", ""])


def module_name(unit: str, name: str | None = None) -> str:
    """Name of a unit's top module; raises as :func:`verilog` does."""
    checked_unit(unit)
    if name is None:
        return f"cdma_{unit}"
    return checked_name(name)


def checked_name(name: str) -> str:
    """``name`` itself; ValueError unless it is a plain identifier of Verilog and no keyword."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"Name of a module must be a plain Verilog identifier, not {name!r}")
    if name in KEYWORDS:
        raise ValueError(f"Name of a module must be no keyword of Verilog, not {name!r}")
    return name


def latency(unit: str, config: UnitConfig) -> int:
    """Cycles by which a packet may take longer than its beats, see the units' ``latency``.

    Raises
    ------
    ValueError
        When there is no such unit.
    """
    return unit_class(unit, config).latency(config)


def pause(unit: str, config: UnitConfig) -> int:
    """Cycles that each packet may add, beyond its beats, to those of packets back to back; see the
    units' ``pause``.

    Raises
    ------
    ValueError
        When there is no such unit.
    """
    return unit_class(unit, config).pause(config)


class Generated(NamedTuple):
    """A top, and the Verilog that Yosys writes of it."""

    axi: AxiTop
    code: str


def generated(unit: str, config: UnitConfig, name: str | None, with_sources: bool) -> Generated:
    """Elaborate a top once; arguments and errors as for :func:`verilog`."""
    return _generate(unit, config, module_name(unit, name), with_sources)


@lru_cache(maxsize=64)
def _generate(unit: str, config: UnitConfig, module: str, with_sources: bool) -> Generated:
    axi = top(unit, config)
    return Generated(axi, converted(axi, module, with_sources))


def converted(axi, module: str, with_sources: bool = False) -> str:
    """Verilog that Yosys writes of a top level, its ports not yet declared in the header."""
    with few_collections():
        text = _plain_names(rtlil.convert(axi, name=module, emit_src=with_sources))
    if with_sources:
        for package in (Path(__file__).parents[2], Path(amaranth.__file__).parents[1]):
            text = text.replace(f"{package}/", "")
    drop = " ".join(f"-remove {attribute}" for attribute in _NOISE)
    script = [
        f"read_rtlil <<rtlil\n{text}\nrtlil",
        # Without processes there is no `always @*` that a simulator fails to run at time 0.
        "proc -norom",
        # State is made known by reset, not by power-up, which a chip cannot do.
        "delete t:$meminit_v2",
        "memory_collect",
        "opt_expr",
        "opt_clean -purge",
        f"attrmap {drop}",
        f"attrmap -modattr {drop}",
        "write_verilog -norename",
    ]
    yosys = find_yosys(lambda found: found >= (0, 40))
    code = yosys.run(["-q", "-"], "\n".join(script), ignore_warnings=True)
    code = re.sub(r"^/\*.*?\*/\n", "", code, count=1, flags=re.DOTALL).strip()
    return _plain_functions(code)


@contextmanager
def few_collections():
    """Let Python look for garbage among young objects only.

    Elaboration makes millions of objects that stay to its end. By default, Python looks through all
    of them each time that they are a quarter more, which takes a third of the time.
    """
    before = gc.get_threshold()
    gc.set_threshold(50_000, 10, 1_000_000)
    try:
        yield
    except BaseException:
        # What was broken off is not elaborated, and Amaranth would say so of each part.
        warnings.simplefilter("ignore", UnusedElaboratable)
        raise
    finally:
        gc.set_threshold(*before)


def _plain_functions(code: str) -> str:
    """Give functions names without ``$``, which Icarus Verilog takes for system functions."""
    functions = set(re.findall(r"^\s*function\b.*?\\(\S+) ;", code, flags=re.MULTILINE))

    def plain(match):
        name = match[1]
        return f"select{name.replace('$', '_')} " if name in functions else match[0]

    return re.sub(r"\\(\S+) ", plain, code) if functions else code


def _header(unit: str, config: UnitConfig) -> str:
    return (
        f"// cdma {__version__} {unit}: {config.title}.\n"
        f"// {config.beat_bytes} bytes a cycle, latency {latency(unit, config)} cycles.\n"
        f"// SPDX-License-Identifier: Apache-2.0\n"
        f"// Generated by cdma generate: the parameters are fixed, generate again for others.\n"
        f"// Ports, records and timing: the .json beside this file, and docs/interfaces.md."
    )


def _plain_names(text: str) -> str:
    """Give modules names without dots, which Verilog would have to escape."""
    modules = set(re.findall(r"^module \\(\S+)$", text, flags=re.MULTILINE))

    def plain(match):
        name = match[2].replace(".", "_") if match[2] in modules else match[2]
        return f"{match[1]}\\{name}"

    return re.sub(r"^(\s*(?:module|cell) )\\(\S+)", plain, text, flags=re.MULTILINE)
