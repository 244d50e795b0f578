"""Check the units and the engine with all installed tools."""

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from cdma import designs
from cdma.engine_config import ENGINE, EngineConfig
from cdma.hdl.codecs import UnitConfig
from cdma.synth.lint import check, waivers


def lint(
    tools: Iterable[str],
    units: Iterable[str],
    configs: Iterable[UnitConfig | EngineConfig],
    verilog: str | None = None,
) -> Iterator[dict]:
    """Check designs. Yields a record of each unit, configuration and tool.

    Pragmas in generated Verilog disable known warnings of Verilator. Here the pragmas are removed,
    so that every waiver is in :mod:`cdma.synth.lint.waivers`.

    Parameters
    ----------
    tools : iterable of str
        Keys of :data:`cdma.synth.lint.check.CHECKS`.
    units : iterable of str
        ``compressor``, ``decompressor`` and ``engine``.
    configs : iterable of UnitConfig, of EngineConfig for the engine
        Sizes. Units are checked in each ``UnitConfig``, the engine in each ``EngineConfig``.
    verilog : str or None
        Verilog to check in place of the generated Verilog, with the module ``cdma_<unit>``.

    Yields
    ------
    dict
        ``unit``, ``config`` (``None`` with ``verilog``), ``tool``, ``findings`` and ``waived``.
    """
    tools, units = list(tools), list(units)
    with tempfile.TemporaryDirectory(prefix="cdma-lint-") as scratch:
        for config in [None] if verilog is not None else configs:
            for unit in units:
                if config is not None and isinstance(config, EngineConfig) != (unit == ENGINE):
                    continue
                codec = None if config is None else config.codec
                text = verilog if config is None else _loud(designs.of(unit, config))
                for tool in tools:
                    found = check.check(tool, f"cdma_{unit}", text, Path(scratch))
                    findings, waived = waivers.sort(found, waived_of(unit, codec))
                    yield {
                        "unit": unit,
                        "config": None if config is None else config.name,
                        "tool": tool,
                        "findings": [asdict(finding) for finding in findings],
                        "waived": [{**asdict(each), "count": n} for each, n in waived.items()],
                    }


def waived_of(unit: str, codec: str | None = None) -> tuple[waivers.Waiver, ...]:
    """Waivers of a unit of a codec, or of the engine."""
    more = waivers.ENGINE_WAIVERS if unit == ENGINE else ()
    return waivers.WAIVERS + more + (waivers.PLUS_WAIVERS if codec == "zvcplus" else ())


def text(record: Mapping) -> str:
    """A line for a record, and a line for each finding."""
    waived = sum(waiver["count"] for waiver in record["waived"])
    findings = record["findings"]
    lines = [
        f"{record['unit']} {record['config'] or 'as given'}: {record['tool']}: "
        f"{len(findings)} findings, {waived} waived"
    ]
    lines += [f"  line {each['line']}: {each['kind']}: {each['message']}" for each in findings]
    return "\n".join(lines)


def _loud(verilog: str) -> str:
    """Remove the pragmas. The numbers of the lines do not change."""
    return re.sub(r"^// verilator lint_.*$", "//", verilog, flags=re.MULTILINE)
