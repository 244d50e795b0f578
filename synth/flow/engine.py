"""Figures of the engine in standard cells, by part.

An engine has too many gates to be mapped in one piece: each part is mapped by itself
(:mod:`cdma.synth.flow.parts`). Channels differ in nothing but the constant of their number, so the
parts of channel 0 count for all of them.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from cdma.engine_config import EngineConfig
from cdma.errors import UserError
from cdma.synth.flow import asic, parts
from cdma.synth.flow.figures import asic_figures, record
from cdma.synth.liberty.library import Liberty
from cdma.toolchain.steps import Steps

#: Parts, and the ends of the names of their roots.
ROOTS = {
    "front end": ("_front",),
    "link port": ("_link",),
    "gather and write": ("_data_offload",),
    "read and split": ("_data_prefetch",),
    "CRC-32": ("_data_offload_host_crc", "_data_prefetch_check_crc"),
    "wires between": ("", "_data"),
    "channel": ("_data_offload_channel0", "_data_prefetch_channel0", "_data_memory0"),
    "codec": (
        "_data_offload_channel0_codec_compressor",
        "_data_prefetch_channel0_codec_decompressor",
    ),
}
#: Parts that each channel has.
OF_CHANNELS = ("channel", "codec")
#: Script of ABC that the figures of each part are from.
FLOW = "abc"


@dataclass(frozen=True)
class _Part:
    """A part of the engine: its area in um2 for ``count`` channels, and its memories."""

    count: int
    area: float
    storage: float
    macros: tuple[parts.Macro, ...]


def cells(
    steps: Steps,
    label: str,
    top: str,
    verilog: str,
    config: EngineConfig,
    liberty: Liberty,
    *,
    flow: str = FLOW,
    with_timing: bool = True,
) -> dict:
    """Figures of an engine, and under ``parts`` those of each part.

    Parameters
    ----------
    steps : Steps
    label : str
        Label for progress.
    top : str
        Name of the engine's module.
    verilog : str
    config : EngineConfig
    liberty : Liberty
    flow : str
        Script of ABC, a key of :data:`asic.FLOWS <cdma.synth.flow.asic.FLOWS>`.
    with_timing : bool
        Also measure the critical path. Channels but the first are black boxes there, and paths from
        and to macros have no delay.

    Returns
    -------
    dict
        :func:`~cdma.synth.flow.figures.asic_figures` with ``ram_bits``, ``macros``: a list with
        name, width, rows, ports and count of each, and ``parts``: the same figures by name. The
        last two only with ``FLOW``.

    Raises
    ------
    UserError
        When a tool fails, or the design has not the parts of an engine.
    """
    modules = parts.Modules(verilog)
    roots = {f"{top}{end}" for ends in ROOTS.values() for end in ends}
    if missing := sorted(roots - set(modules.texts)):
        raise UserError(f"{label}: the design has no module {missing[0]}, is it an engine?")
    channels = re.compile(rf"{top}_data_(offload_channel|prefetch_channel|memory)[1-9]\d*")
    others = {name for name in modules.texts if channels.fullmatch(name)}
    found, netlists = {}, {}
    for name, ends in ROOTS.items():
        mapped = []
        for root in (f"{top}{end}" for end in ends):
            part = modules.part(root, roots | others)
            mapped.append(parts.synthesise(steps, f"{label}: {root}", root, part, liberty, flow))
            netlists[root] = mapped[-1].netlist
        found[name] = _Part(
            config.channels if name in OF_CHANNELS else 1,
            sum(each.area for each in mapped),
            sum(each.storage for each in mapped),
            tuple(macro for each in mapped for macro in each.macros),
        )
    figures = _figures(found.values(), config, liberty)
    if with_timing:
        whole = asic.Mapped(
            figures["area_um2"], figures["storage_um2"], "\n".join(netlists.values())
        )
        timed = asic.critical_path(steps, label, top, whole, liberty, flow)
        figures |= asic_figures(
            config.beat_bytes,
            figures["area_um2"],
            figures["storage_um2"],
            timed.period_ns,
            liberty.nand2_area,
        )
        start, end = (_register(top, name, netlists) for name in (timed.start, timed.end))
        figures["critical_path"] = f"{start} to {end}, {timed.gates} cells"
    if flow != FLOW:  # its memories are the same, and no report has its parts
        return figures
    figures["macros"] = [
        {name: value for name, value in asdict(macro).items() if name != "enables"}
        | {"bits": macro.bits, "count": part.count}
        for part in found.values()
        for macro in part.macros
    ]
    figures["parts"] = {name: _figures([part], config, liberty) for name, part in found.items()}
    return figures


def _register(top: str, instance: str, netlists: Mapping[str, str]) -> str:
    """Output signal of a flip-flop in a part, after the path of the part."""
    path, _, cell = instance.rpartition("/")
    root = "_".join([top, *path.split("/")]) if path else top
    name = asic.register(cell, netlists.get(root, ""))
    return f"{path}/{name}" if path else name


def _figures(found: Sequence[_Part], config: EngineConfig, liberty: Liberty) -> dict:
    """Figures of some parts, for all channels."""
    area = sum(part.count * part.area for part in found)
    storage = sum(part.count * part.storage for part in found)
    bits = sum(part.count * macro.bits for part in found for macro in part.macros)
    figures = asic_figures(config.beat_bytes, area, storage, None, liberty.nand2_area)
    return figures | {"ram_bits": bits}


def part_records(whole: Mapping) -> list[dict]:
    """Records of an engine's parts, which follow the record of the engine in a report.

    So a baseline also compares each part.
    """
    found = (whole["asic"] or {}).get(FLOW) or {}
    size = (whole["config"], whole["lanes"], whole["word_bits"])
    return [
        record(f"engine: {name}", *size, None, {"library": whole["asic"]["library"], FLOW: figures})
        for name, figures in found.get("parts", {}).items()
    ]
